//! `mcp-bridge tools check`.

use std::path::PathBuf;

use clap::Args;

use super::house::{found, in_runtime, load, roots};
use crate::{
    commands::console::say,
    settings::{FlagsOf, Folders, ToolsConfig},
    tools::{builtin, folder, kit::Kit},
};

/// Check a folder of tools, or all that are set, and say what is wrong in which file and line
#[derive(Debug, Args)]
pub struct Check {
    /// The folder
    folder: Option<PathBuf>,

    #[command(flatten)]
    settings: FlagsOf<ToolsConfig>,
}

impl Check {
    /// Checks folders of tools; tells whether nothing is wrong.
    pub fn run(self, folders: &Folders) -> anyhow::Result<bool> {
        in_runtime(async {
            let config = load(&self.settings.given, folders)?;
            let kit = Kit::default();
            let built_in = builtin::offer(&kit, config.probe_timeout);
            let roots = roots(self.folder, &config, folders);
            for root in &roots {
                say(&format!("{}", root.path.display()));
            }
            let mut folders = folder::Folders::new(roots, kit, &built_in);
            let look = folders.look_closely().await;
            for problem in &look.problems {
                say(&problem.to_string());
            }
            say(&found(&look));
            Ok(look.problems.is_empty())
        })
    }
}
