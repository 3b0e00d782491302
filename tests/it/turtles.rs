//! `turtle` and `turtle-status`, with the real agent on turtles in a world of blocks.

use std::sync::Arc;

use mcp_bridge::{
    link::agent,
    simulator::{Computer, Land, Position},
};
use serde_json::json;
use tokio::runtime::Handle;

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    soon,
};

/// A rock north of the turtle, with ore and gravel in it.
const ROCK: &str = r#"
[[layer]]
block = "stone"
from = -64
to = 63
[[fill]]
block = "stone"
from = [-5, 64, -10]
to = [5, 70, -2]
[[block]]
block = "coal_ore"
at = [0, 64, -3]
[[block]]
block = "gravel"
at = [0, 65, -4]
[[block]]
block = "bedrock"
at = [0, 64, -7]
"#;

const MINER: &str = r#"
[[computer]]
id = 1
kind = "turtle"
at = [0, 64, 0]
fuel = 500
items = [{ item = "coal", count = 3, slot = 4 }, { item = "bricks", count = 5 }]
"#;

/// A bridge with the computers of a world, which run the agent and are quick.
struct Base {
    bridge: Bridge,
    land: Arc<Land>,
    _computers: Vec<Computer>,
}

impl Base {
    async fn of(world: &str, version: Option<&str>) -> Self {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let (land, residents) = Land::read(world).unwrap();
        land.set_clock_speed(10.0);
        let mut agents = Vec::new();
        let computers = residents
            .into_iter()
            .map(|resident| {
                let mut options = resident.options;
                options.clock_speed = 10.0;
                if let Some(version) = version {
                    options.version = version.parse().unwrap();
                }
                let program = resident.program.unwrap_or_else(|| {
                    agents.push(options.id);
                    format!("mcp-computer ws://{port}")
                });
                let options = options.with_file("mcp-computer.lua", agent::program());
                Computer::start_in(&land, options, &program, &Handle::current()).unwrap()
            })
            .collect();
        for id in agents {
            bridge.linked(id).await;
        }
        Self {
            bridge,
            land,
            _computers: computers,
        }
    }

    async fn drive(&mut self, arguments: serde_json::Value) -> ToolAnswer {
        self.bridge.call("turtle", arguments).await
    }

    fn at(&self) -> (Position, &'static str) {
        self.land.computer(1).unwrap()
    }
}

#[tokio::test]
async fn a_turtle_does_its_steps_and_tells_where_it_is_and_what_it_dug() {
    for version in ["1.89", "1.113"] {
        let mut base = Base::of(&format!("{ROCK}{MINER}"), Some(version)).await;
        let steps = [
            "forward",
            "dig",
            "forward",
            "dig",
            "forward 1",
            "digUp",
            "turnLeft",
            "inspect",
            "dig",
            "place bricks",
            "right 2",
            "dig",
            "place 1",
            "back 0",
            "refuel 2",
        ];
        let answer = base.drive(json!({ "steps": steps })).await;
        assert!(!answer.is_error, "{version}: {}", answer.text);
        assert_eq!(
            answer.text,
            "Did all 15 steps.\nNow at 0 0 -3, facing east (counted from where it was first driven; there is no GPS); \
             fuel 657 of 100000.\nDug: 1 coal_ore, 4 stone.\nSeen: in front: stone.",
            "{version}"
        );
        base.bridge.leave().await;
    }
}

#[tokio::test]
async fn a_step_that_fails_is_told_with_its_reason_and_the_turtle_comes_back_if_asked() {
    let mut base = Base::of(&format!("{ROCK}{MINER}"), None).await;
    let blocked = base
        .drive(json!({ "steps": ["up", "down", "forward 5"] }))
        .await;
    assert!(blocked.is_error);
    assert!(
        blocked.text.starts_with(
            "Step 3 of 3, `forward 5`, failed: Movement obstructed by stone (after 1 of 5) (2 steps before it done)."
        ),
        "{}",
        blocked.text
    );
    assert_eq!(base.at(), (Position::new(0, 64, -1), "north"));

    // Through ore and gravel that falls, up to what can't be dug, and back on the same way.
    let home = json!({ "steps": ["right 2", "left 2", "forward 9"], "dig": true, "home": true });
    let back = base.drive(home).await;
    assert!(
        back.is_error
            && back
                .text
                .contains("Cannot break unbreakable block (after 5 of 9)")
            && back.text.contains("It is back where it began.")
            && back.text.contains("1 coal_ore, 1 gravel, 4 stone"),
        "{}",
        back.text
    );
    assert_eq!(base.at(), (Position::new(0, 64, -1), "north"));
    let status = base.bridge.call("turtle-status", json!({})).await;
    assert!(
        status.text.contains("at 0 0 -1, facing north (counted"),
        "{}",
        status.text
    );
    base.bridge.leave().await;
}

#[tokio::test]
async fn nothing_is_done_where_a_step_is_no_step() {
    let mut base = Base::of(&format!("{ROCK}{MINER}"), None).await;
    let slip = base.drive(json!({ "steps": ["forward", "jump 3"] })).await;
    assert!(
        slip.is_error
            && slip.text.starts_with(
                "Nothing was done: step 2, `jump 3`: there is no such step; there are attack, "
            ),
        "{}",
        slip.text
    );
    assert_eq!(base.at(), (Position::new(0, 64, 0), "north"));
    let missing = base.drive(json!({ "steps": ["place dirt"] })).await;
    assert!(missing.text.contains("it has no dirt"), "{}", missing.text);
    for (step, told) in [
        ("goto 1", "say where: goto X Y Z"),
        ("goto 0 64 -7 5", "goto takes no 5 there"),
        ("forward x", "forward takes no x there"),
        ("forward up", "forward takes no up there"),
        (
            "dig 3",
            "dig takes no 3 there: to repeat it, say repeat N: dig",
        ),
        ("face up", "say which way: face north, east, south or west"),
        ("select", "say what: select 3, or select coal"),
        ("place coal 3", "place takes no 3 there"),
        (
            "equip pickaxe",
            "select the item first, then say equip left or equip right",
        ),
        ("suck coal", "suck takes no coal there"),
    ] {
        let slip = base.drive(json!({ "steps": ["back", step] })).await;
        let whole = format!("Nothing was done: step 2, `{step}`: {told}.");
        assert!(slip.is_error && slip.text == whole, "{}", slip.text);
    }
    assert_eq!(base.at(), (Position::new(0, 64, 0), "north"));
    // It doesn't set out for where its fuel can't bring it.
    let far = base.drive(json!({ "steps": ["goto 0 0 501"] })).await;
    assert!(
        far.is_error
            && far.text.contains(
                "failed: it needs at least 501 fuel to get there, and has 500: it has not gone"
            ),
        "{}",
        far.text
    );
    assert_eq!(base.at(), (Position::new(0, 64, 0), "north"));
    base.bridge.leave().await;
}

#[tokio::test]
async fn a_turtle_knows_its_place_though_it_was_stopped_on_its_way_and_says_if_not() {
    let mut base = Base::of(MINER, None).await;
    let out = base.drive(json!({ "steps": ["forward 2", "right"] })).await;
    assert!(!out.is_error, "{}", out.text);
    for _ in 0..3 {
        let before = base.at().0;
        let steps = json!({ "steps": ["repeat 20: (up 6; down 6)"] });
        base.bridge.start_call("turtle", steps).await;
        soon("it is on its way", async {
            while base.at().0 == before {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let jobs = base.bridge.call("list-jobs", json!({})).await.text;
        let job = jobs.split(' ').next().unwrap();
        let stopped = base
            .bridge
            .call("cancel-job", json!({ "jobId": job }))
            .await;
        assert!(!stopped.is_error, "{jobs}: {}", stopped.text);
        let status = base.bridge.call("turtle-status", json!({})).await.text;
        assert!(status.contains(", facing east (counted"), "{status}");
    }
    let back = base
        .drive(json!({ "steps": ["goto 0 0 0", "face north"] }))
        .await;
    assert!(!back.is_error, "{}", back.text);
    assert_eq!(base.at(), (Position::new(0, 64, 0), "north"));
    // What goes otherwise is not counted.
    base.bridge.lua(1, "turtle.up()").await;
    let anew = base.drive(json!({ "steps": ["up"] })).await;
    assert!(
        anew.text.contains("Now at 0 1 0, facing north")
            && anew.text.contains("\nWhere it was before is lost: "),
        "{}",
        anew.text
    );
    base.bridge.leave().await;
}

#[tokio::test]
async fn what_comes_off_a_side_for_what_is_equipped_is_told() {
    let equipped = r#"
[[computer]]
id = 1
kind = "turtle"
at = [0, 64, 0]
left = "crafting_table"
items = [{ item = "diamond_pickaxe", slot = 2 }]
"#;
    let mut base = Base::of(equipped, None).await;
    let done = base
        .drive(
            json!({ "steps": ["select diamond_pickaxe", "equip left", "select 3", "equip right"] }),
        )
        .await;
    assert!(
        !done.is_error
            && done
                .text
                .contains("\nTaken off: crafting_table from its left, now in slot 2; diamond_pickaxe from its right, now in slot 3."),
        "{}",
        done.text
    );
    base.bridge.leave().await;
}

#[tokio::test]
async fn a_turtle_goes_to_a_place_of_the_world_by_gps() {
    let mut world = "[[computer]]\nid = 1\nkind = \"turtle\"\nat = [20, 64, 30]\nfacing = \"west\"\nmodem = \"wireless\"\n".to_owned();
    for (id, at) in (91..).zip([[0, 200, 0], [9, 200, 0], [0, 200, 9], [0, 209, 0]]) {
        let [x, y, z] = at;
        world.push_str(&format!(
            "[[computer]]\nid = {id}\nat = [{x}, {y}, {z}]\nmodem = \"ender\"\nprogram = \"gps host {x} {y} {z}\"\n"
        ));
    }
    let mut base = Base::of(&world, None).await;
    soon("GPS answers", async {
        while !base
            .bridge
            .call("turtle-status", json!({}))
            .await
            .text
            .contains("(GPS)")
        {}
    })
    .await;
    let status = base.bridge.call("turtle-status", json!({})).await.text;
    assert!(
        status.contains("at 20 64 30, heading not known (GPS)"),
        "{status}"
    );
    let there = base
        .drive(json!({ "steps": ["goto 18 66 33", "face north"] }))
        .await;
    assert!(
        !there.is_error && there.text.contains("Now at 18 66 33, facing north (GPS)"),
        "{}",
        there.text
    );
    assert_eq!(base.at(), (Position::new(18, 66, 33), "north"));
    // Another program turns it, which costs no fuel: by GPS the next way tells.
    base.bridge.lua(1, "turtle.turnRight()").await;
    let moved = base.drive(json!({ "steps": ["forward 2"] })).await;
    assert!(
        moved.text.contains("Now at 20 66 33, facing east (GPS)"),
        "{}",
        moved.text
    );
    base.bridge.leave().await;
}

#[tokio::test]
async fn a_turtle_that_another_drives_is_refused() {
    let mut base = Base::of(&format!("{ROCK}{MINER}"), None).await;
    let held = json!({ "computerId": 1, "code": "sleep(3000)", "exclusive": true });
    base.bridge.start_call("exec-lua", held).await;
    soon("the other drives", async {
        while !base
            .bridge
            .call("list-jobs", json!({}))
            .await
            .text
            .contains("holds the turtle")
        {}
    })
    .await;
    let refused = base.drive(json!({ "steps": ["up"] })).await;
    assert!(
        refused.is_error && refused.text.contains("holds the turtle"),
        "{}",
        refused.text
    );
    // What only reads is not held up.
    let status = base.bridge.call("turtle-status", json!({})).await;
    assert!(!status.is_error, "{}", status.text);
    assert_eq!(base.at(), (Position::new(0, 64, 0), "north"));
    base.bridge.leave().await;
}

#[tokio::test]
async fn how_a_turtle_is_is_told() {
    let world = format!(
        "{ROCK}{MINER}[[block]]\nblock = \"chest\"\nat = [0, 65, 0]\n[[computer]]\nid = 2\nat = [9, 64, 0]\n"
    );
    let mut base = Base::of(&world, None).await;
    let status = base
        .bridge
        .call("turtle-status", json!({ "computerId": 1 }))
        .await;
    assert_eq!(
        status.text,
        "fuel 500 of 100000; its place is not known.\nin front: nothing; above: chest; below: stone.\n\
         Slots, 1 selected, 14 free: 1: 5 bricks; 4: 3 coal."
    );
    for tool in ["turtle", "turtle-status"] {
        let arguments = match tool {
            "turtle" => json!({ "computerId": 2, "steps": ["up"] }),
            _ => json!({ "computerId": 2 }),
        };
        let none = base.bridge.call(tool, arguments).await;
        assert!(
            none.is_error && none.text.contains("Only turtles can do that"),
            "{}",
            none.text
        );
    }
    base.bridge.leave().await;
}

#[tokio::test]
async fn a_room_is_dug_and_its_ores_are_told_in_one_call() {
    let mut base = Base::of(&format!("{ROCK}{MINER}"), None).await;
    let mut steps = vec!["forward".to_owned()];
    for layer in ["", "up", "up"] {
        if !layer.is_empty() {
            steps.push("up".to_owned());
            steps.push("left 2".to_owned());
        }
        steps.push(
            if layer.is_empty() {
                "forward 3"
            } else {
                "forward 2"
            }
            .to_owned(),
        );
        for turn in ["right", "left"] {
            steps.extend([
                turn.to_owned(),
                "forward".to_owned(),
                turn.to_owned(),
                "forward 2".to_owned(),
            ]);
        }
    }
    let dug = base
        .drive(json!({ "steps": steps, "dig": true, "home": true }))
        .await;
    assert!(
        !dug.is_error && dug.text.contains("1 coal_ore"),
        "{}",
        dug.text
    );
    for (x, y, z) in [(0, 64, -2), (2, 64, -4), (0, 65, -3), (2, 66, -2)] {
        assert_eq!(
            base.land.block(Position::new(x, y, z)),
            "minecraft:air",
            "{x} {y} {z}: {}",
            dug.text
        );
    }
    assert_eq!(base.at(), (Position::new(0, 64, 0), "north"));
    base.bridge.leave().await;
}

#[tokio::test]
async fn steps_are_repeated_some_may_fail_and_only_what_is_meant_is_dug() {
    let mut base = Base::of(&format!("{ROCK}{MINER}"), None).await;
    let steps = [
        "repeat 2: (repeat 2: up); right 2",
        "suck?",
        "repeat 4: down; dig?",
        "forward; dig dirt; dig stone; forward; dig coal_ore",
    ];
    let done = base.drive(json!({ "steps": steps })).await;
    assert!(
        !done.is_error
            && done.text.starts_with("Did all 4 steps.\n")
            && done
                .text
                .contains("Dug: 1 coal_ore, 1 stone.\nFailed, and passed over: `dig?` (Nothing to dig here, 4 times), `suck?` (")
            && !done.text.contains("dirt"),
        "{}",
        done.text
    );
    let blocked = base
        .drive(json!({ "steps": ["repeat 9: down?; repeat 5: forward"] }))
        .await;
    assert!(
        blocked.is_error
            && blocked
                .text
                .contains("`forward` in round 2 of 5 in round 1 of 9, failed: Movement obstructed"),
        "{}",
        blocked.text
    );
    for (steps, told) in [
        ("repeat 3: jump", "there is no such step"),
        ("repeat 3:", "there is no such step"),
        ("repeat 9000: up; down", "there are more than 10000 steps"),
    ] {
        let slip = base.drive(json!({ "steps": ["up", steps] })).await;
        assert!(
            slip.is_error
                && slip.text.starts_with("Nothing was done: step 2")
                && slip.text.contains(told),
            "{}",
            slip.text
        );
    }
    base.bridge.leave().await;
}

#[tokio::test]
async fn a_recipe_is_laid_out_and_what_is_missing_for_it_is_said() {
    let crafter = r#"
[[computer]]
id = 1
kind = "turtle"
at = [0, 64, 0]
left = "crafting_table"
items = [{ item = "oak_planks", count = 17 }, { item = "coal", slot = 2 }, { item = "stick", count = 3, slot = 16 }]
"#;
    let mut base = Base::of(crafter, None).await;
    for (step, told) in [
        (
            "craft planks planks planks / planks - planks / planks planks planks",
            "drop the 1 coal in slot 4 first",
        ),
        ("craft stone", "it has no stone"),
        ("craft coal / coal", "it has only 1 coal, and needs 2"),
        ("craft a b c d", "a recipe has up to 3 rows of 3"),
    ] {
        let failed = base.drive(json!({ "steps": [step] })).await;
        assert!(
            failed.is_error && failed.text.contains(told),
            "{step}: {}",
            failed.text
        );
    }
    let steps = [
        "drop coal",
        "drop stick",
        "craft planks planks planks/planks - planks/planks planks planks",
    ];
    let made = base.drive(json!({ "steps": steps })).await;
    assert!(!made.is_error, "{}", made.text);
    let chests: u32 = base
        .land
        .carried(1)
        .iter()
        .filter(|(_, name, _)| name == "minecraft:chest")
        .map(|(_, _, count)| count)
        .sum();
    assert_eq!(chests, 2, "{:?}", base.land.carried(1));
    base.bridge.leave().await;
}
