//! `mcp-bridge tools list`.

use clap::Args;

use super::house::{in_runtime, load, own, put_together};
use crate::{
    commands::console::{note, say},
    settings::{FlagsOf, Folders, ToolsConfig},
    tools::{Client, policy::Verdict},
};

/// List the tools, prompts and resources there are
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    settings: FlagsOf<ToolsConfig>,
}

impl List {
    /// Lists all there is; tells whether all of it can be used.
    pub fn run(self, folders: &Folders) -> anyhow::Result<bool> {
        in_runtime(async {
            let config = load(&self.settings.given, folders)?;
            let (mut own, built_in) = own(&config, folders);
            let look = own.look_closely().await;
            let (catalogue, problems) = put_together(&config, folders, built_in, look);
            let view = catalogue.now().for_client(Client::Anyone);
            let policy = catalogue.policy();
            for (tool, verdict) in view.all() {
                let state = match verdict {
                    Verdict::Listed => "",
                    Verdict::Reachable => " (not listed, but found by find-tools)",
                    Verdict::Refused(_) => " (switched off)",
                };
                let confined = match policy.confines(tool.as_ref()) {
                    true => " (read-only: what it asks to change is refused)",
                    false => "",
                };
                say(&format!(
                    "tool      {}  [{}]  {}{state}{confined}",
                    tool.definition().name,
                    tool.set(),
                    tool.origin()
                ));
            }
            for prompt in view.prompts() {
                say(&format!("prompt    {}", prompt.name));
            }
            for resource in view.shown() {
                say(&format!("resource  {}", resource.uri()));
            }
            let unmet = policy.unmet(view.all().map(|(tool, _)| tool), view.sets());
            for problem in problems.iter().chain(&unmet) {
                note(problem);
            }
            Ok(problems.is_empty() && unmet.is_empty())
        })
    }
}
