//! `mcp-bridge doctor`: what is wrong with the set-up, why that matters, and what mends it.

use std::{
    io::{self, BufRead, IsTerminal},
    path::Path,
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
        patient::Patient,
        round::{self, Examined},
    },
    settings::{Config, FlagsOf, Folders},
    setup::machine::Machine,
};

/// The exit code when something does not work.
const PROBLEM: u8 = 1;

/// Find out what is wrong with the set-up, and what mends it
///
/// Looks at this program, the link port and the computers, all at once and within 10 s: one line for each, with ✓ where all
/// is well, ! where it could be better, and ✗ where it does not work. Nothing outside this machine is asked, and no token is
/// shown. Exit code 0: nothing is broken; 1: something is; 2: the command line is wrong.
#[derive(Debug, Args)]
pub struct Doctor {
    /// The checks or groups to look at, as --list names them [default: all]
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

    /// List the checks there are
    #[arg(long, exclusive = true)]
    list: bool,

    #[command(flatten)]
    settings: FlagsOf<Config>,
}

impl Doctor {
    pub fn run(self, folders: &Folders) -> ExitCode {
        if self.list {
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
                    "there is no check or group {name}; `mcp-bridge doctor --list` names all"
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
        if self.fix && self.mend(&examined) {
            if !self.json {
                console::say("After that:\n");
            }
            examined = self.examine(&machine, folders, &checks);
        }
        let text = match self.json {
            true => format!("{:#}\n", in_fields(&examined)),
            false => in_words(&examined, self.fix),
        };
        console::show(&text);
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
        let patient = Patient::new(&self.settings.given, machine.clone(), folders);
        round::examine(&Arc::new(patient), checks, round::TIME)
    }

    /// Mends what a person wants mended; whether anything was tried.
    fn mend(&self, examined: &[Examined]) -> bool {
        let mends = findings(examined).filter_map(|(_, finding)| {
            let fix = finding.mend.as_ref()?.fix.as_ref()?;
            Some((finding, fix))
        });
        let mut tried = false;
        for (finding, fix) in mends {
            console::note(&format!("{} {}", sign(finding.verdict), finding.message));
            if !self.yes && !is_agreed(&fix.words()) {
                continue;
            }
            tried = true;
            match fix.apply() {
                Ok(()) => console::note(&format!("  done: {}", fix.words())),
                Err(error) => console::note(&format!("  could not {}: {error}", fix.words())),
            }
        }
        tried
    }
}

fn refused(problem: &str) -> ExitCode {
    console::note(&format!("mcp-bridge: {problem}"));
    ExitCode::from(BAD_SETTINGS)
}

/// Asks a person whether to do something; no, where none can be asked.
fn is_agreed(what: &str) -> bool {
    if !io::stdin().is_terminal() {
        console::note(&format!(
            "  not done, since nobody can be asked here: {what}. --yes says yes to all"
        ));
        return false;
    }
    console::note(&format!("  {what}? [y/N]"));
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
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
