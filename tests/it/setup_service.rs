//! `mcp-bridge setup service` as a person runs it. The system's own program is one of ours here, which notes what it is
//! told: no test starts a service on the machine that it runs on.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use mcp_bridge::setup::{
    machine::{Machine, System},
    service::Service,
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-bridge");

/// A user's home folder on a machine with systemd.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        home.manager("exit 0");
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn unit(&self) -> PathBuf {
        self.at(".config/systemd/user/mcp-bridge.service")
    }

    /// Makes `systemctl` note what it is told, and end so. It knows the units of this user's folder.
    fn manager(&self, end: &str) {
        self.manager_who_knows(&format!("test -e '{}'", self.unit().display()), end);
    }

    /// The same, which knows a unit `mcp-bridge` if `known` succeeds.
    fn manager_who_knows(&self, known: &str, end: &str) {
        let file = self.at("bin/systemctl");
        fs::create_dir_all(self.at("bin")).unwrap();
        let told = self.at("told");
        let script = format!(
            "#!/bin/sh\nif [ \"$2\" = cat ]; then {known}; exit; fi\necho \"$@\" >>'{}'\n{end}\n",
            told.display()
        );
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What it was told since the last time, but for whether it is there at all.
    fn told(&self) -> Vec<String> {
        let told = fs::read_to_string(self.at("told")).unwrap_or_default();
        let _ = fs::remove_file(self.at("told"));
        told.lines()
            .filter(|line| !line.contains("show-environment") && !line.contains("is-active"))
            .map(str::to_owned)
            .collect()
    }

    fn setup(&self, arguments: &[&str]) -> Output {
        Command::new(PROGRAM)
            .arg("setup")
            .args(arguments)
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", self.at("bin"))
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_is_shown_written_started_found_again_and_taken_out() {
    let home = Home::new();
    let shown = home.setup(&["service", "--dry-run"]);
    assert!(shown.status.success(), "{}", text(&shown));
    assert!(
        text(&shown).contains("+WantedBy=default.target"),
        "{}",
        text(&shown)
    );
    let nobody = home.setup(&["service"]);
    assert_eq!(nobody.status.code(), Some(2), "{}", text(&nobody));
    assert!(!home.unit().exists());
    assert_eq!(home.told(), [""; 0]);

    let added = home.setup(&["service", "--yes", "--link-port", "3005"]);
    assert!(added.status.success(), "{}", text(&added));
    let unit = fs::read_to_string(home.unit()).unwrap();
    assert!(
        unit.contains(&format!("\nExecStart=\"{PROGRAM}\" serve\n")),
        "{unit}"
    );
    assert!(
        unit.contains("\nEnvironment=\"CC_LINK_PORT=3005\"\n"),
        "{unit}"
    );
    let started = [
        "--user daemon-reload",
        "--user enable mcp-bridge",
        "--user restart mcp-bridge",
    ];
    assert_eq!(home.told(), started);

    let again = home.setup(&["service", "--yes", "--link-port", "3005"]);
    assert!(
        text(&again).contains("✓ The service is there already"),
        "{}",
        text(&again)
    );
    assert_eq!(home.told(), [""; 0]);
    let changed = home.setup(&["service", "--yes", "--link-port", "3006"]);
    assert!(
        text(&changed)
            .contains("-Environment=\"CC_LINK_PORT=3005\"\n+Environment=\"CC_LINK_PORT=3006\""),
        "{}",
        text(&changed)
    );
    assert_eq!(home.told(), started);

    let removed = home.setup(&["--remove", "--yes"]);
    assert!(
        text(&removed).contains("✓ There is no service any more."),
        "{}",
        text(&removed)
    );
    assert_eq!(
        home.told(),
        ["--user disable --now mcp-bridge", "--user daemon-reload"]
    );
    let left = fs::read_dir(home.unit().parent().unwrap()).unwrap();
    assert_eq!(left.count(), 0, "nothing but the folder is left");
    let nothing = home.setup(&["service", "--remove", "--yes"]);
    assert!(
        text(&nothing).contains("No service is noted"),
        "{}",
        text(&nothing)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_token_is_for_its_user_alone_and_never_shown() {
    let home = Home::new();
    let token = "a-link-token-of-some-length";
    let added = home.setup(&["service", "--yes", "--link-token", token]);
    assert!(
        added.status.success() && !text(&added).contains(token),
        "{}",
        text(&added)
    );
    let unit = fs::read_to_string(home.unit()).unwrap();
    assert!(unit.contains(token), "{unit}");
    let mode = |home: &Home| fs::metadata(home.unit()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o600);

    // Also of one that was there without.
    let home = Home::new();
    home.setup(&["service", "--yes"]);
    assert_ne!(mode(&home), 0o600);
    let odd = "a&b<c>\"d\"-of-some-length";
    let added = home.setup(&["service", "--yes", "--link-token", odd]);
    assert!(
        added.status.success() && !text(&added).contains("of-some-length"),
        "{}",
        text(&added)
    );
    assert_eq!(mode(&home), 0o600);

    // It is not lost by the way: without it the bridge would take every computer.
    let before = fs::read_to_string(home.unit()).unwrap();
    let without = home.setup(&["service", "--yes", "--mcp-port", "3100"]);
    assert_eq!(without.status.code(), Some(1), "{}", text(&without));
    assert!(
        text(&without).contains("has CC_LINK_TOKEN, which would be gone: give that again"),
        "{}",
        text(&without)
    );
    assert_eq!(fs::read_to_string(home.unit()).unwrap(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn where_there_can_be_no_service_the_reason_is_said_and_nothing_is_written() {
    let home = Home::new();
    home.manager("echo 'Failed to connect to bus' >&2; exit 1");
    let refused = home.setup(&["service", "--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused);
    assert!(
        said.contains("✗ No service: systemd does not run for this user")
            && said.contains("Failed to connect to bus")
            && said.contains("run `mcp-bridge serve`."),
        "{said}"
    );
    fs::remove_file(home.at("bin/systemctl")).unwrap();
    let said = text(&home.setup(&["service", "--yes"]));
    assert!(
        said.contains("there is no systemd here (systemctl is not on PATH)"),
        "{said}"
    );
    assert!(!home.unit().exists());
    // What one would paste can be had all the same.
    let printed = home.setup(&["service", "--print"]);
    assert!(printed.status.success() && text(&printed).contains("[Service]"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_unit_of_somebody_else_and_one_that_does_not_start_are_told() {
    let home = Home::new();
    fs::create_dir_all(home.unit().parent().unwrap()).unwrap();
    fs::write(home.unit(), "[Service]\nExecStart=/bin/true\n").unwrap();
    let refused = home.setup(&["service", "--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused).contains("was not written by setup"),
        "{}",
        text(&refused)
    );
    assert_eq!(home.told(), [""; 0]);

    // Nor does one of the whole machine's, which ours would hide.
    fs::remove_file(home.unit()).unwrap();
    home.manager_who_knows("true", "exit 0");
    let hidden = home.setup(&["service", "--yes"]);
    assert_eq!(hidden.status.code(), Some(1));
    assert!(
        text(&hidden).contains("`systemctl --user cat mcp-bridge` shows it"),
        "{}",
        text(&hidden)
    );
    assert!(!home.unit().exists());
    assert_eq!(home.told(), [""; 0]);

    home.manager("case \"$*\" in *restart*) echo 'Job failed' >&2; exit 1;; esac");
    let failed = home.setup(&["service", "--yes"]);
    assert_eq!(failed.status.code(), Some(1));
    let said = text(&failed);
    assert!(
        said.contains("could not be started: $ systemctl --user restart mcp-bridge: it failed")
            && said.contains("Job failed")
            && said.contains("`mcp-bridge setup service --remove` takes it out"),
        "{said}"
    );
    // What does not run is started again, not called well.
    home.told();
    home.manager("case \"$*\" in *restart*|*is-active*) exit 1;; esac");
    let again = home.setup(&["service", "--yes"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again));
    assert!(
        home.told()
            .contains(&"--user restart mcp-bridge".to_owned())
    );
    // What ends at once is not called well.
    home.manager("case \"$*\" in *is-active*) exit 3;; esac");
    let ended = home.setup(&["service", "--yes"]);
    assert_eq!(ended.status.code(), Some(1), "{}", text(&ended));
    assert!(
        text(&ended).contains("ended at once: `systemctl --user status mcp-bridge` says why"),
        "{}",
        text(&ended)
    );
    // What can't be stopped stays, and stays known.
    home.manager("case \"$*\" in *disable*) echo 'Access denied' >&2; exit 1;; esac");
    let stuck = home.setup(&["service", "--remove", "--yes"]);
    assert_eq!(stuck.status.code(), Some(1));
    assert!(
        text(&stuck).contains("could not be stopped, so it is left as it is"),
        "{}",
        text(&stuck)
    );
    assert!(home.unit().exists());
    home.manager("exit 0");
    home.setup(&["service", "--remove", "--yes"]);
    assert!(!home.unit().exists());
}

#[test]
fn launchd_and_the_task_scheduler_are_told_what_they_have_to_know() {
    for (system, name, asks, adds, takes_out) in [
        (
            System::MacOs,
            "launchctl",
            "print gui/USER/mcp-bridge",
            vec!["bootstrap gui/USER FILE"],
            vec!["bootout gui/USER/mcp-bridge"],
        ),
        (
            System::Windows,
            "schtasks.exe",
            "/Query /TN mcp-bridge",
            vec!["/Create /TN mcp-bridge /XML FILE /F", "/Run /TN mcp-bridge"],
            vec!["/End /TN mcp-bridge", "/Delete /TN mcp-bridge /F"],
        ),
    ] {
        let user = rustix::process::getuid().as_raw().to_string();
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        fs::create_dir(at("bin")).unwrap();
        let program = at("bin").join(name);
        // It knows the service once it has been added, and no more once it was taken out.
        let script = format!(
            "#!/bin/sh\necho \"$@\" >>'{told}'\ncase \"$1\" in\n\
             print|/Query) test -e '{known}'; exit ;;\n\
             bootstrap|/Create) touch '{known}' ;;\n\
             bootout|/Delete) rm '{known}' ;;\nesac\n",
            told = at("told").display(),
            known = at("known").display(),
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let machine = Machine {
            system,
            home: home.path().to_path_buf(),
            here: home.path().to_path_buf(),
            program: PROGRAM.into(),
            variables: [
                (
                    "PATH".to_owned(),
                    format!("{}:/usr/bin:/bin", at("bin").display()),
                ),
                ("USERNAME".to_owned(), "ann".to_owned()),
            ]
            .into(),
        };
        let service = Service::of(&machine);
        let told = || {
            let told = fs::read_to_string(at("told")).unwrap_or_default();
            let _ = fs::remove_file(at("told"));
            told.replace(&*service.file.to_string_lossy(), "FILE")
                .replace(&format!("gui/{user}"), "gui/USER")
                .lines()
                .filter(|line| *line != asks)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let text = service.text(Path::new(PROGRAM), &[]);

        fs::write(at("known"), "").unwrap();
        let anothers = service.adding(text.clone(), &machine).err().unwrap();
        assert!(
            anothers.to_string().contains("was not written by setup"),
            "{anothers}"
        );
        fs::remove_file(at("known")).unwrap();
        told();

        let steps = service.adding(text.clone(), &machine).unwrap().unwrap();
        steps.change.apply().unwrap();
        for run in &steps.runs {
            run.run(&machine).unwrap();
        }
        assert_eq!(told(), adds);
        assert!(service.adding(text, &machine).unwrap().is_none());

        let removal = service.removing().unwrap().unwrap();
        told();
        for run in removal.before.iter().chain(&removal.after) {
            run.run(&machine).unwrap();
        }
        removal.change.apply().unwrap();
        assert_eq!(told(), takes_out);
        assert!(!service.is_stuck(&machine) && !service.file.exists());
    }
}

/// A service on a machine of this system, for a program at a path that means something to it.
fn written(system: System, home: &Path) -> String {
    let machine = Machine {
        system,
        home: home.to_path_buf(),
        here: home.to_path_buf(),
        program: PROGRAM.into(),
        variables: [("USERNAME".to_owned(), "Ann & Bob".to_owned())].into(),
    };
    let variables = [("CC_LINK_TOKEN".to_owned(), "100% <&> \"\\$".to_owned())];
    Service::of(&machine).text(Path::new(PROGRAM), &variables)
}

/// What Python makes of a text on its standard input.
fn python(code: &str, text: &str) -> String {
    use std::io::Write;

    let mut child = Command::new("python3")
        .args(["-c", code])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn other_systems_files_are_read_by_their_formats_own_readers() {
    let home = tempfile::tempdir().unwrap();
    let agent = written(System::MacOs, home.path());
    let read = python(
        "import plistlib, sys; agent = plistlib.loads(sys.stdin.buffer.read()); \
         print(agent['Label'], agent['ProgramArguments'][1], agent['EnvironmentVariables']['CC_LINK_TOKEN'], \
         agent['RunAtLoad'])",
        &agent,
    );
    assert_eq!(read, "mcp-bridge serve 100% <&> \"\\$ True\n");

    let task = written(System::Windows, home.path());
    let read = python(
        "import sys, xml.etree.ElementTree as tree; task = tree.fromstring(sys.stdin.read()); \
         print([node.text for node in task.iter() if node.tag.split('}')[1] in ('UserId', 'Arguments')])",
        &task,
    );
    assert_eq!(read, "['Ann & Bob', 'Ann & Bob', 'serve']\n");
}

#[cfg(target_os = "linux")]
#[test]
fn systemd_reads_the_unit_as_it_is_meant() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mcp-bridge.service");
    fs::write(&file, written(System::Linux, home.path())).unwrap();
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no", "--recursive-errors=no"])
        .arg(&file)
        .env("XDG_RUNTIME_DIR", home.path())
        .output();
    match verified {
        Ok(output) => {
            let problem = String::from_utf8_lossy(&output.stderr);
            assert!(
                !problem.contains("mcp-bridge.service"),
                "systemd complains: {problem}"
            );
        }
        Err(error) => crate::common::memory::tell(format!(
            "not tried: systemd-analyze can't be started here: {error}"
        )),
    }
}
