//! `mcp-bridge tools test`.

use std::{fs, path::PathBuf, time::Instant};

use anyhow::Context as _;
use clap::Args;
use futures_util::StreamExt;

use super::{
    house::{count, in_runtime, load, roots},
    testing::{
        junit,
        report::{self, Tally},
        suite::Suites,
    },
};
use crate::{
    commands::console::{note, say, show_painted},
    settings::{FlagsOf, Folders, ToolsConfig},
};

/// Run the examples of tools against simulated computers, and say what came of each
///
/// Examples are in the manifests, as `mcp.examples`. Each runs in a world of its own.
#[derive(Debug, Args)]
pub struct Test {
    /// The folder of tools [default: all that are set]
    folder: Option<PathBuf>,

    /// Only the examples of this tool, prompt or resource
    #[arg(long, value_name = "NAME")]
    only: Option<String>,

    /// Write what came of them as JUnit's XML too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    #[command(flatten)]
    settings: FlagsOf<ToolsConfig>,
}

impl Test {
    /// Runs them; tells whether there were some, all passed, and nothing is wrong with the manifests.
    pub fn run(self, folders: &Folders) -> anyhow::Result<bool> {
        in_runtime(async {
            let config = load(&self.settings.given, folders)?;
            let roots = roots(self.folder, &config, folders);
            let places: Vec<_> = roots
                .iter()
                .map(|root| root.path.display().to_string())
                .collect();
            let start = Instant::now();
            let suite = Suites::new(roots, &config).look().await;
            let problems = &suite.look.problems;
            let mut junit = junit::Report::begin();
            for problem in problems {
                junit.add_problem(problem);
                note(&problem.to_string());
            }
            let is_meant = |of: &str| self.only.as_deref().is_none_or(|only| only == of);
            let tests = suite.tests.iter().filter(|test| is_meant(&test.of));
            let mut results = Box::pin(suite.run(tests));
            let mut tally = Tally::default();
            while let Some((test, outcome)) = results.next().await {
                tally.count(&outcome);
                junit.add(test, &outcome);
                show_painted(&format!("{}\n", report::told(test, &outcome)));
            }
            if let Some(file) = &self.junit {
                fs::write(file, junit.end())
                    .with_context(|| format!("{} can't be written", file.display()))?;
            }
            match (tally == Tally::default(), problems.is_empty()) {
                (false, _) => say(&tally.told(start.elapsed())),
                // They may stand in what is left out.
                (true, false) => {}
                (true, true) => {
                    let of = match &self.only {
                        Some(only) => format!(" of {only}"),
                        None => String::new(),
                    };
                    note(&format!(
                        "There are no examples{of} in {}. A tool's own stand in its entry, as `mcp.examples`.",
                        places.join(", ")
                    ));
                }
            }
            if !problems.is_empty() {
                note(&format!(
                    "{} above: not all that is written could be tried.",
                    count(problems.len(), "problem")
                ));
            }
            Ok(tally.passed > 0 && tally.failed == 0 && problems.is_empty())
        })
    }
}
