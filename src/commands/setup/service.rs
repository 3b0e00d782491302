//! `mcp-bridge setup service`: a bridge that the system starts at log-in.

use std::{path::Path, thread, time::Duration};

use clap::Args;
use serde_json::Value;

use super::{environment::environment, scene::Scene};
use crate::{
    settings::{Config, FlagsOf, McpConfig},
    setup::{
        asking::{How, Verdict},
        ledger::{Addition, Ledger},
        refusal::Refusal,
        service,
    },
};

/// The name of this part in the ledger.
const PART: &str = "service";

/// How long after its start a service that can't serve has ended.
const TO_FAIL: Duration = Duration::from_millis(1_500);

/// Settings whose values no diff shows.
const SECRETS: [&str; 2] = ["CC_LINK_TOKEN", "MCP_TOKEN"];

/// Have the system start `mcp-bridge serve` when you log in; settings that are given go into its file
#[derive(Debug, Default, Args)]
pub struct Service {
    #[command(flatten)]
    settings: FlagsOf<Config>,

    #[command(flatten)]
    mcp: FlagsOf<McpConfig>,
}

impl Service {
    pub fn run(self, scene: &mut Scene<'_, '_>) {
        let service = service::Service::of(scene.machine);
        let done = match scene.remove {
            true => take_out(&service, scene),
            false => self.put(&service, scene),
        };
        if let Err(problem) = done {
            scene.asking.refuse(&format!("✗ {problem}"));
        }
    }

    fn put(&self, service: &service::Service, scene: &mut Scene<'_, '_>) -> Result<(), String> {
        let variables = self.variables(service, scene)?;
        let text = service.text(&scene.machine.program, &variables);
        if scene.asking.how == How::Print {
            scene
                .asking
                .say(&format!("In {}:\n\n{text}", service.file.display()));
            return Ok(());
        }
        if let Some(why) = service.why_not(scene.machine) {
            return Err(format!("No service: {why}."));
        }
        service.keeps_secrets(&text, &SECRETS).map_err(words)?;
        let Some(mut steps) = service.adding(text, scene.machine).map_err(words)? else {
            scene.asking.say(&format!(
                "✓ The service is there already ({}).",
                service.file.display()
            ));
            return Ok(());
        };
        let secrets = variables
            .iter()
            .filter(|(name, _)| SECRETS.contains(&name.as_str()));
        let secrets = secrets.flat_map(|(_, value)| service::Service::forms(value));
        steps.change.secrets = secrets.collect();
        steps.change.is_private = !steps.change.secrets.is_empty();
        steps.change.is_closing = steps.change.is_private;
        scene
            .asking
            .say("A bridge that stays, started by the system when you log in:");
        for run in &steps.runs {
            scene.asking.say(&run.shown);
        }
        let verdict = scene.asking.change(&[steps.change], "Do this?");
        if verdict.map_err(words)? != Verdict::Yes {
            return Ok(());
        }
        // Before it runs: what fails halfway is taken out by `--remove`.
        let mut ledger = Ledger::open(&scene.folders.shared);
        ledger
            .add(addition(&service.file))
            .map_err(|error| format!("That it was added can't be noted: {error}."))?;
        for run in &steps.runs {
            run.run(scene.machine).map_err(|error| {
                format!(
                    "The service is written, but could not be started: {}: {error}. `mcp-bridge setup service --remove` \
                     takes it out.",
                    run.shown
                )
            })?;
        }
        thread::sleep(TO_FAIL);
        if service.is_down(scene.machine) {
            return Err(format!(
                "The service was started, and ended at once: `{}` says why. Mend that and run this again, or take it out: \
                 `mcp-bridge setup service --remove`.",
                steps.look
            ));
        }
        let note = steps
            .note
            .map_or(String::new(), |note| format!("\n  {note}"));
        scene.asking.say(&format!(
            "✓ mcp-bridge serve runs, and from now on whenever you are logged in. How it is: {}{note}",
            steps.look
        ));
        Ok(())
    }

    /// What it is to have in its environment.
    fn variables(
        &self,
        service: &service::Service,
        scene: &mut Scene<'_, '_>,
    ) -> Result<Vec<(String, String)>, String> {
        let given = self.settings.variables().len() + self.mcp.variables().len();
        if given > 0 && !service.takes_settings() {
            return Err(
                "A task of Windows has no settings of its own: write them into config.toml, whose place \
                 `mcp-bridge status` tells."
                    .to_owned(),
            );
        }
        McpConfig::resolve(&self.mcp.given, |_| None, Path::new("config.toml"), "")
            .map_err(|error| error.to_string())?;
        let mut variables = environment(&self.settings, scene)?;
        let of_mcp = self.mcp.variables().into_iter();
        variables.extend(of_mcp.map(|(name, value)| (name.to_owned(), value)));
        Ok(variables.into_iter().collect())
    }
}

/// Stops it and takes it out.
fn take_out(service: &service::Service, scene: &mut Scene<'_, '_>) -> Result<(), String> {
    let mut ledger = Ledger::open(&scene.folders.shared);
    let is_noted = ledger.of(PART).any(|noted| noted.file == service.file);
    if !is_noted {
        scene.asking.say("No service is noted that setup added.");
        return Ok(());
    }
    if let Some(removal) = service.removing().map_err(words)? {
        for run in removal.before.iter().chain(&removal.after) {
            scene.asking.say(&run.shown);
        }
        let verdict = scene.asking.agrees(&format!(
            "Stop the service, and delete {}?",
            service.file.display()
        ));
        if verdict != Verdict::Yes {
            return Ok(());
        }
        let mut troubles = Vec::new();
        for run in removal.before {
            // It may not run, or be known no more.
            let Err(error) = run.run(scene.machine) else {
                continue;
            };
            if service.is_stuck(scene.machine) {
                return Err(format!(
                    "The service could not be stopped, so it is left as it is: {}: {error}",
                    run.shown
                ));
            }
            troubles.push(format!("! {}: {error}", run.shown));
        }
        removal.change.apply().map_err(words)?;
        for run in removal.after {
            if let Err(error) = run.run(scene.machine) {
                troubles.push(format!("! {}: {error}", run.shown));
            }
        }
        for trouble in troubles {
            scene.asking.say(&trouble);
        }
    }
    ledger
        .forget(&addition(&service.file))
        .map_err(|error| format!("That it is taken out can't be noted: {error}."))?;
    scene.asking.say("✓ There is no service any more.");
    Ok(())
}

fn addition(file: &Path) -> Addition {
    Addition {
        part: PART.to_owned(),
        file: file.to_path_buf(),
        what: Value::Null,
    }
}

fn words(refusal: Refusal) -> String {
    format!("{refusal}.")
}
