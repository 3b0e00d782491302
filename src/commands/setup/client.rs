//! `mcp-bridge setup client`: the bridge's entry in the files of MCP clients.

use clap::Args;
use serde_json::json;

use super::scene::Scene;
use crate::setup::ledger::Ledger;

/// The name of this part in the ledger.
const PART: &str = "client";

/// Show the entry that MCP clients need to start the bridge
#[derive(Debug, Default, Args)]
pub struct Client {}

impl Client {
    pub fn run(self, scene: &mut Scene<'_, '_>) {
        if scene.remove {
            let ledger = Ledger::open(&scene.folders.shared);
            for addition in ledger.of(PART) {
                scene.asking.say(&format!(
                    "Take the entry out of {}.",
                    addition.file.display()
                ));
            }
            return;
        }
        let entry = json!({"mcpServers": {"computercraft": {"command": scene.machine.program}}});
        scene
            .asking
            .say("Most MCP clients take this into their file of servers:\n");
        scene.asking.say(&format!("{entry:#}"));
    }
}
