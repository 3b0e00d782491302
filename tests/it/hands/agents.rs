//! `mcp-bridge agents update`: computers with an older agent get this version's, one after the other.

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};

use super::User;
use crate::common::{bridge::Bridge, linked::linked};

/// A computer with an older agent.
async fn older(bridge: &mut Bridge, id: u64) -> Computer {
    let older = agent::program().replacen("\"1.1.0\"", "\"1.0.9\"", 1);
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", older);
    options.clock_speed = 10.0;
    linked(bridge, options, "").await
}

#[tokio::test]
async fn computers_are_updated_one_by_one_and_the_first_that_goes_back_ends_it() {
    let user = User::new();
    let said = user.enters(&["agents", "update"]).await;
    assert!(
        !said.is_well && said.said.contains("No mcp-bridge of this version runs"),
        "{}",
        said.said
    );
    let mut bridge = user.bridge().await;
    let said = user.enters(&["agents", "update"]).await.well();
    assert_eq!(said, "No computer is linked.\n");

    let _first = older(&mut bridge, 1).await;
    let _second = older(&mut bridge, 2).await;
    let _third = older(&mut bridge, 3).await;
    let said = user.enters(&["agents", "update", "3", "77"]).await;
    assert!(!said.is_well, "{}", said.said);
    assert!(
        said.said.contains("No computer 77 is linked."),
        "{}",
        said.said
    );
    assert!(
        said.said
            .contains("3 (Label: nil) was updated from 1.0.9 to 1.1.0."),
        "{}",
        said.said
    );

    let stuck = "local globals = getmetatable(_G).__index
    local real = globals.load
    globals.load = function(text, name, ...)
      if name == '@mcp-computer/link.lua' then error('no links today', 0) end
      return real(text, name, ...)
    end";
    bridge.lua(1, stuck).await;
    let said = user.enters(&["agents", "update"]).await;
    assert!(!said.is_well, "{}", said.said);
    for words in [
        "1 (Label: nil) went back to 1.0.9: no links today.",
        "Left as they are: 1 more.",
    ] {
        assert!(said.said.contains(words), "{}", said.said);
    }
    let said = user.enters(&["agents", "update", "2"]).await.well();
    assert_eq!(said, "2 (Label: nil) was updated from 1.0.9 to 1.1.0.\n");
    bridge.leave().await;
}
