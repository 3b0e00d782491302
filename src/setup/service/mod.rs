//! A bridge that stays: the system starts `mcp-bridge serve` when its user logs in, and again when it fails.
//!
//! Each system has a file that says so, and a program that is told of it: a unit and `systemctl`, an agent and
//! `launchctl`, a task and `schtasks`.

mod texts;

use std::path::{Path, PathBuf};

use texts::{MARK, NAME};

use super::{
    change::Change,
    file::Found,
    machine::{Machine, System},
    refusal::Refusal,
    run::Run,
};

/// A service of this user's, as it is to be.
#[derive(Debug, Clone)]
pub struct Service {
    /// Whose it is.
    kind: Kind,
    /// Where its file is.
    pub file: PathBuf,
    /// The program that knows services, if it is here.
    manager: Option<PathBuf>,
    /// Who the user is to launchd and Windows, if that is known.
    user: Option<String>,
}

/// Which program knows of services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Systemd,
    Launchd,
    TaskScheduler,
}

/// What is to be done, and how a person sees that it was.
pub struct Steps {
    /// The change of the file, before which nothing is done.
    pub change: Change,
    /// What is run after it, in order.
    pub runs: Vec<Run>,
    /// How a person sees how the service is.
    pub look: &'static str,
    /// What else they should know.
    pub note: Option<&'static str>,
}

/// What takes a service out.
pub struct Removal {
    /// What is run first.
    pub before: Vec<Run>,
    /// The change by which its file goes.
    pub change: Change,
    /// What is run after that.
    pub after: Vec<Run>,
}

impl Service {
    /// The service on this machine.
    pub fn of(machine: &Machine) -> Self {
        let (kind, file, manager) = match machine.system {
            System::Linux => (
                Kind::Systemd,
                machine
                    .xdg_config()
                    .join("systemd/user")
                    .join(format!("{NAME}.service")),
                "systemctl",
            ),
            System::MacOs => (
                Kind::Launchd,
                machine
                    .home
                    .join("Library/LaunchAgents")
                    .join(format!("{NAME}.plist")),
                "launchctl",
            ),
            System::Windows => (
                Kind::TaskScheduler,
                machine.local_app_data().join(NAME).join("service.xml"),
                "schtasks",
            ),
        };
        Self {
            kind,
            file,
            manager: machine.find_program(manager),
            user: user(machine),
        }
    }

    /// Why there can be no service here, in a sentence with what to do instead; none if there can.
    pub fn why_not(&self, machine: &Machine) -> Option<String> {
        let (name, what) = match self.kind {
            Kind::Systemd => ("systemctl", "systemd"),
            Kind::Launchd => ("launchctl", "launchd"),
            Kind::TaskScheduler => ("schtasks", "Task Scheduler"),
        };
        let instead = "Let what starts programs at log-in here run `mcp-bridge serve`";
        if self.manager.is_none() {
            return Some(format!(
                "there is no {what} here ({name} is not on PATH). {instead}"
            ));
        }
        let asked = match self.kind {
            Kind::Systemd => self.run(&["--user", "show-environment"]),
            Kind::Launchd | Kind::TaskScheduler => None,
        };
        let error = asked?.run(machine).err()?;
        Some(format!(
            "systemd does not run for this user ({error}), as in containers and where WSL is without it. {instead}"
        ))
    }

    /// The file's text, for this program and these settings, given by their variables.
    pub fn text(&self, program: &Path, variables: &[(String, String)]) -> String {
        match self.kind {
            Kind::Systemd => texts::unit(program, variables),
            Kind::Launchd => texts::agent(program, variables),
            Kind::TaskScheduler => texts::task(program, self.user.as_deref()),
        }
    }

    /// Whether settings can be given to it: a task of Windows has no variables of its own.
    pub fn takes_settings(&self) -> bool {
        self.kind != Kind::TaskScheduler
    }

    /// Whether it runs, as far as the system tells.
    fn runs(&self, machine: &Machine) -> bool {
        let domain = format!("gui/{}/{NAME}", self.user.as_deref().unwrap_or_default());
        let asked = match self.kind {
            Kind::Systemd => self.run(&["--user", "is-active", "--quiet", NAME]),
            Kind::Launchd => self.run(&["print", &domain]),
            Kind::TaskScheduler => self.run(&["/Query", "/TN", NAME]),
        };
        asked.is_none_or(|asked| asked.run(machine).is_ok())
    }

    /// Whether the system knows a service of this name, whosever it is.
    fn is_known(&self, machine: &Machine) -> bool {
        let asked = match self.kind {
            Kind::Systemd => self.run(&["--user", "cat", NAME]),
            Kind::Launchd | Kind::TaskScheduler => {
                return self.manager.is_some() && self.runs(machine);
            }
        };
        asked.is_some_and(|asked| asked.run(machine).is_ok())
    }

    /// Whether it does not run, though it was started. What Windows started it does not tell.
    pub fn is_down(&self, machine: &Machine) -> bool {
        self.manager.is_some() && !self.runs(machine)
    }

    /// Refuses a text without a secret that the file has: a bridge whose computers showed a token would take all.
    ///
    /// # Errors
    /// There is one, by its variable.
    pub fn keeps_secrets(&self, text: &str, secrets: &[&str]) -> Result<(), Refusal> {
        let before = self.found()?.text.unwrap_or_default();
        let lost = |name: &&&str| before.contains(**name) && !text.contains(**name);
        match secrets.iter().find(lost) {
            Some(name) => Err(Refusal::new(format!(
                "has {name}, which would be gone: give that again, or take the service out first \
                 (`mcp-bridge setup service --remove`)"
            ))
            .of(&self.file)),
            None => Ok(()),
        }
    }

    /// Whether it runs still, though it was to be stopped.
    pub fn is_stuck(&self, machine: &Machine) -> bool {
        self.manager.is_some() && self.runs(machine)
    }

    /// How a value may stand in the file.
    pub fn forms(value: &str) -> Vec<String> {
        vec![
            value.to_owned(),
            texts::in_xml(value),
            texts::quoted(value).trim_matches('"').to_owned(),
        ]
    }

    /// What installs and starts it with this text; none where it is as it should be, and runs.
    ///
    /// # Errors
    /// There is a file of somebody else's, or it can't be read.
    pub fn adding(&self, text: String, machine: &Machine) -> Result<Option<Steps>, Refusal> {
        let found = self.found()?;
        let was_there = found.text.is_some();
        if !was_there && self.is_known(machine) {
            return Err(self.anothers());
        }
        let change = Change::new(found, Some(text));
        if change.is_nothing() && self.runs(machine) {
            return Ok(None);
        }
        let file = self.file.to_string_lossy().into_owned();
        let (runs, look, note) = match self.kind {
            Kind::Systemd => (
                vec![
                    self.run(&["--user", "daemon-reload"]),
                    self.run(&["--user", "enable", NAME]),
                    self.run(&["--user", "restart", NAME]),
                ],
                "systemctl --user status mcp-bridge",
                Some("It ends when you log out. For one that stays: loginctl enable-linger"),
            ),
            Kind::Launchd => {
                let domain = format!("gui/{}", self.user.as_deref().unwrap_or_default());
                let service = format!("{domain}/{NAME}");
                let out = was_there.then(|| self.run(&["bootout", &service]));
                (
                    vec![out.flatten(), self.run(&["bootstrap", &domain, &file])],
                    "launchctl print gui/$(id -u)/mcp-bridge",
                    None,
                )
            }
            Kind::TaskScheduler => (
                vec![
                    self.run(&["/Create", "/TN", NAME, "/XML", &file, "/F"]),
                    self.run(&["/Run", "/TN", NAME]),
                ],
                "schtasks /Query /TN mcp-bridge",
                None,
            ),
        };
        Ok(Some(Steps {
            change,
            runs: runs.into_iter().flatten().collect(),
            look,
            note,
        }))
    }

    /// What stops it and takes it out; none where there is none.
    ///
    /// # Errors
    /// The file is somebody else's, or can't be read.
    pub fn removing(&self) -> Result<Option<Removal>, Refusal> {
        let found = self.found()?;
        if found.text.is_none() {
            return Ok(None);
        }
        let (before, after) = match self.kind {
            Kind::Systemd => (
                vec![self.run(&["--user", "disable", "--now", NAME])],
                vec![self.run(&["--user", "daemon-reload"])],
            ),
            Kind::Launchd => {
                let service = format!("gui/{}/{NAME}", self.user.as_deref().unwrap_or_default());
                (vec![self.run(&["bootout", &service])], vec![])
            }
            Kind::TaskScheduler => (
                vec![
                    self.run(&["/End", "/TN", NAME]),
                    self.run(&["/Delete", "/TN", NAME, "/F"]),
                ],
                vec![],
            ),
        };
        let flat = |runs: Vec<Option<Run>>| runs.into_iter().flatten().collect();
        Ok(Some(Removal {
            before: flat(before),
            change: Change::taking_out(found, None),
            after: flat(after),
        }))
    }

    /// Why nothing is done where the system has a service of this name from elsewhere, which ours would hide or replace.
    fn anothers(&self) -> Refusal {
        let user = self.user.as_deref().unwrap_or_default();
        let (look, end) = match self.kind {
            Kind::Systemd => (
                format!("systemctl --user cat {NAME}"),
                format!("systemctl --user disable --now {NAME}"),
            ),
            Kind::Launchd => (
                format!("launchctl print gui/{user}/{NAME}"),
                format!("launchctl bootout gui/{user}/{NAME}"),
            ),
            Kind::TaskScheduler => (
                format!("schtasks /Query /TN {NAME} /XML"),
                format!("schtasks /Delete /TN {NAME}"),
            ),
        };
        Refusal::new(format!(
            "There is a service `{NAME}` already that was not written by setup, so it is left as it is. `{look}` shows \
             it. Go on using it, or take it out (`{end}`, and its file) and run this again"
        ))
    }

    /// The file as it is, if it is ours or not there.
    fn found(&self) -> Result<Found, Refusal> {
        let found = Found::read(&self.file)?;
        match &found.text {
            Some(text) if !text.contains(MARK) => Err(Refusal::new(
                "is there already and was not written by setup, so it is left as it is. Take it away, or go on using it",
            )
            .of(&self.file)),
            _ => Ok(found),
        }
    }

    fn run(&self, arguments: &[&str]) -> Option<Run> {
        let manager = self.manager.clone()?;
        let name = manager.file_stem()?.to_string_lossy().into_owned();
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Some(Run::new(manager, &name, arguments))
    }
}

/// Who the user is: to launchd by their number, to Windows by their domain and name.
fn user(machine: &Machine) -> Option<String> {
    match machine.system {
        System::Linux => None,
        System::MacOs => number(),
        System::Windows => {
            let name = machine.variable("USERNAME")?;
            Some(match machine.variable("USERDOMAIN") {
                Some(domain) => format!("{domain}\\{name}"),
                None => name.to_owned(),
            })
        }
    }
}

#[cfg(unix)]
fn number() -> Option<String> {
    Some(rustix::process::getuid().as_raw().to_string())
}

#[cfg(not(unix))]
fn number() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(system: System, home: &Path) -> Machine {
        Machine {
            system,
            home: home.to_path_buf(),
            here: home.to_path_buf(),
            program: home.join("bin/mcp-bridge"),
            variables: [("USERNAME", "ann"), ("USERDOMAIN", "FARM")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        }
    }

    #[test]
    fn each_system_has_its_file() {
        let home = Path::new("/home/ann");
        for (system, file) in [
            (System::Linux, ".config/systemd/user/mcp-bridge.service"),
            (System::MacOs, "Library/LaunchAgents/mcp-bridge.plist"),
            (System::Windows, "AppData/Local/mcp-bridge/service.xml"),
        ] {
            let service = Service::of(&machine(system, home));
            assert_eq!(service.file, home.join(file));
        }
    }

    #[test]
    fn what_is_there_already_is_nothing_to_do_and_what_is_anothers_is_left() {
        let home = tempfile::tempdir().unwrap();
        for system in [System::Linux, System::MacOs, System::Windows] {
            let machine = machine(system, home.path());
            let service = Service::of(&machine);
            let text = service.text(&machine.program, &[]);
            let steps = service.adding(text.clone(), &machine).unwrap().unwrap();
            steps.change.apply().unwrap();
            assert!(service.adding(text.clone(), &machine).unwrap().is_none());
            let removal = service.removing().unwrap().unwrap();
            removal.change.apply().unwrap();
            assert!(service.removing().unwrap().is_none());

            std::fs::write(&service.file, "somebody else's").unwrap();
            for refused in [
                service.adding(text, &machine).err().unwrap(),
                service.removing().err().unwrap(),
            ] {
                assert!(
                    refused.to_string().contains("was not written by setup"),
                    "{refused}"
                );
            }
        }
    }
}
