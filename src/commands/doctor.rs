//! `mcp-bridge doctor`: what is wrong with the set-up, why that matters, and what mends it.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::Args;
use serde_json::{Value, json};

use super::{console, startup::BAD_SETTINGS};
use crate::{
    doctor::{
        self,
        check::{Check, Group},
        finding::{Finding, Verdict},
        known,
        patient::Patient,
        round::{self, Examined},
    },
    settings::{Config, FlagsOf, Folders},
    setup::{
        asking::{self, Asking, How},
        machine::Machine,
    },
};

/// The exit code when something does not work.
const PROBLEM: u8 = 1;

/// Find out what is wrong with the set-up, and what mends it
///
/// Looks at this program, the link port, MCP clients, the game and the computers, all at once and within 10 s: one line for each, with ✓ where all
/// is well, ! where it could be better, and ✗ where it does not work. Nothing outside this machine is asked, and no token is
/// shown. Exit code 0: nothing is broken; 1: something is; 2: the command line is wrong, or
/// --fix had nobody to ask.
#[derive(Debug, Args)]
pub struct Doctor {
    /// The checks or groups to look at, as --checks names them [default: all]
    #[arg(value_name = "CHECK")]
    checks: Vec<String>,

    /// Show it as JSON
    #[arg(long)]
    json: bool,

    /// Mend what can be mended, after a yes to each
    #[arg(long)]
    fix: bool,

    /// Say yes to everything that --fix asks
    #[arg(short = 'y', long, requires = "fix")]
    yes: bool,

    /// The game's folder, the one with `saves` and `mods` in it, or a server's [default: the usual places]
    #[arg(long, value_name = "DIR")]
    game: Option<PathBuf>,

    /// List the checks there are
    #[arg(long = "checks", exclusive = true)]
    names_checks: bool,

    #[command(flatten)]
    settings: FlagsOf<Config>,
}

impl Doctor {
    pub fn run(self, folders: &Folders) -> ExitCode {
        if self.names_checks {
            for check in doctor::ALL.iter().copied().flatten() {
                console::say(&format!(
                    "{:<10} {:<10} {}",
                    check.group.name(),
                    check.id,
                    check.about
                ));
            }
            return ExitCode::SUCCESS;
        }
        let checks = match doctor::chosen(&self.checks) {
            Ok(checks) => checks,
            Err(name) => {
                return refused(&format!(
                    "there is no check or group {name}; `mcp-bridge doctor --checks` names all"
                ));
            }
        };
        // A wrong flag is a wrong command line; what the environment and the file say is looked at.
        if let Err(error) = Config::resolve(&self.settings.given, |_| None, Path::new(""), "") {
            return refused(&error.to_string());
        }
        let Some(machine) = Machine::this() else {
            return refused("this user has no home folder, so there is nothing to look at");
        };
        let mut examined = self.examine(&machine, folders, &checks);
        let mended = self.fix.then(|| self.mend(&examined));
        if mended.as_ref().is_some_and(|mended| mended.anything) {
            if !self.json {
                console::say("After that:\n");
            }
            examined = self.examine(&machine, folders, &checks);
        }
        let text = match self.json {
            true => format!("{:#}\n", in_fields(&examined)),
            false => in_words(&examined, self.fix),
        };
        match self.json {
            true => drop(console::show(&text)),
            false => console::show_painted(&text),
        }
        // Each version that looks is known to later ones by that. What can't be noted is no worse than before.
        let _ = known::note(&folders.shared, &machine.program);
        if mended.is_some_and(|mended| mended.unanswered) {
            console::note("Nothing was mended: nobody can be asked here. `--yes` says yes.");
            return ExitCode::from(BAD_SETTINGS);
        }
        match count(&examined, Verdict::Problem) {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::from(PROBLEM),
        }
    }

    fn examine(
        &self,
        machine: &Machine,
        folders: &Folders,
        checks: &[&'static Check],
    ) -> Vec<Examined> {
        let patient = Patient::new(
            &self.settings.given,
            machine.clone(),
            folders,
            self.game.clone(),
        );
        round::examine(&Arc::new(patient), checks, round::TIME)
    }

    /// Mends what a person wants mended.
    fn mend(&self, examined: &[Examined]) -> Mended {
        let (mut input, mut output) = (io::stdin().lock(), anstream::stderr().lock());
        let how = if self.yes { How::Yes } else { How::Ask };
        let is_terminal = io::stdin().is_terminal();
        let mut asking = Asking::new(how, is_terminal, &mut input, &mut output).in_colours();
        let mends = findings(examined).filter_map(|(_, finding)| {
            let fix = finding.mend.as_ref()?.fix.as_ref()?;
            Some((finding, fix))
        });
        let mut anything = false;
        for (finding, fix) in mends {
            let sign = sign(finding.verdict);
            asking.say(&format!("{sign} {}\n  To {}", finding.message, fix.words()));
            if asking.agrees("Do this?") != asking::Verdict::Yes {
                continue;
            }
            anything = true;
            match fix.apply() {
                Ok(()) => asking.say("Done."),
                Err(error) => asking.say(&format!("It could not be done: {error}.")),
            }
        }
        Mended {
            anything,
            unanswered: asking.nobody_answered,
        }
    }
}

/// What became of what could be mended.
struct Mended {
    /// Whether anything was tried.
    anything: bool,
    /// Whether something would have been asked, and nobody was there.
    unanswered: bool,
}

fn refused(problem: &str) -> ExitCode {
    console::note(&format!("mcp-bridge: {problem}"));
    ExitCode::from(BAD_SETTINGS)
}

fn findings(examined: &[Examined]) -> impl Iterator<Item = (&'static Check, &Finding)> {
    examined.iter().flat_map(|one| {
        let findings = one.findings.iter();
        findings.map(move |finding| (one.check, finding))
    })
}

fn count(examined: &[Examined], verdict: Verdict) -> usize {
    findings(examined)
        .filter(|(_, finding)| finding.verdict == verdict)
        .count()
}

fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Ok => '✓',
        Verdict::Warning | Verdict::Unknown => '!',
        Verdict::Problem => '✗',
    }
}

/// For a person to read. `mended`: what could be mended was asked about already.
fn in_words(examined: &[Examined], mended: bool) -> String {
    let mut words = String::new();
    let mut group: Option<Group> = None;
    for (check, finding) in findings(examined) {
        if group != Some(check.group) {
            let gap = if group.is_some() { "\n" } else { "" };
            words.push_str(&format!("{gap}{}\n", check.group.name()));
            group = Some(check.group);
        }
        words.push_str(&format!(
            "  {} {}: {}\n",
            sign(finding.verdict),
            check.id,
            finding.message
        ));
        if let Some(why) = &finding.why {
            words.push_str(&format!("      Why it matters: {why}\n"));
        }
        if let Some(mend) = &finding.mend {
            words.push_str(&format!("      What to do: {}\n", mend.words));
        }
    }
    let counted = |verdict, one: &str, many: &str| match count(examined, verdict) {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let counts = [
        counted(Verdict::Problem, "problem", "problems"),
        counted(Verdict::Warning, "warning", "warnings"),
        counted(
            Verdict::Unknown,
            "thing that could not be checked",
            "things that could not be checked",
        ),
    ];
    let counts: Vec<_> = counts.into_iter().flatten().collect();
    if counts.is_empty() {
        words.push_str("\nAll is well.\n");
        return words;
    }
    words.push_str(&format!("\n{}.\n", counts.join(", ")));
    let fixes = findings(examined).filter_map(|(_, finding)| finding.mend.as_ref()?.fix.as_ref());
    match fixes.count() {
        0 if mended => words.push_str(
            "`--fix` mends none of these: what is said under \"What to do\" is left to you.\n",
        ),
        0 => {}
        _ if mended => {}
        1 => words.push_str("`mcp-bridge doctor --fix` mends one of them, after asking.\n"),
        count => words.push_str(&format!(
            "`mcp-bridge doctor --fix` mends {count} of them, after asking.\n"
        )),
    }
    words
}

/// For a program.
fn in_fields(examined: &[Examined]) -> Value {
    let checks = findings(examined).map(|(check, finding)| {
        let mut fields = json!({
            "id": check.id,
            "group": check.group,
            "result": finding.verdict,
            "message": finding.message,
        });
        if let Some(why) = &finding.why {
            fields["why"] = json!(why);
        }
        if let Some(mend) = &finding.mend {
            fields["mend"] = json!(mend.words);
            fields["canFix"] = json!(mend.fix.is_some());
        }
        if let Some(path) = &finding.path {
            fields["path"] = json!(path);
        }
        fields
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ok": count(examined, Verdict::Problem) == 0,
        "checks": checks.collect::<Value>(),
    })
}
