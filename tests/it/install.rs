//! `install.sh` as a person runs it, in a home folder of its own.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// The built program, which the tests install instead of building it again.
const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-bridge");

/// What any Unix system has, and the script uses.
const SYSTEM_TOOLS: [&str; 11] = [
    "basename", "cat", "chmod", "cp", "dirname", "mkdir", "mv", "rm", "sed", "sh", "uname",
];

/// A machine with nothing of the user's own: an empty home folder, and only the system's tools.
struct Machine {
    root: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            root: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(machine.home()).unwrap();
        fs::create_dir(machine.tools()).unwrap();
        for tool in SYSTEM_TOOLS {
            machine.link_tool(tool, &found_on_path(tool));
        }
        machine
    }

    fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    fn tools(&self) -> PathBuf {
        self.root.path().join("tools")
    }

    /// Where the program goes when nothing else is said.
    fn installed(&self) -> PathBuf {
        self.home().join(".local/bin/mcp-bridge")
    }

    fn link_tool(&self, name: &str, target: &Path) {
        symlink(target, self.tools().join(name)).unwrap();
    }

    /// Adds a tool that is a shell script.
    fn script_tool(&self, name: &str, script: &str) {
        let file = self.tools().join(name);
        write_program(&file, &format!("#!/bin/sh\n{script}\n"));
    }

    /// The script, started from a folder that is not the repository's.
    fn install(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .arg(script())
            .args(arguments)
            .current_dir(self.root.path())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", self.tools())
            .env("SHELL", "/bin/bash")
            .stdin(Stdio::null());
        command
    }

    /// Installs the built program.
    fn install_program(&self, arguments: &[&str]) -> Output {
        let mut all = vec!["--from", PROGRAM];
        all.extend(arguments);
        self.install(&all).output().unwrap()
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh")
}

fn found_on_path(tool: &str) -> PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join(tool))
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("this machine has no {tool}"))
}

/// Writes an executable file by another process, so that no test that forks at this moment keeps it open for writing:
/// the system would refuse to run it.
fn write_program(file: &Path, content: &str) {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(file)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer
        .stdin
        .take()
        .unwrap()
        .write_all(content.as_bytes())
        .unwrap();
    assert!(writer.wait().unwrap().success());
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The text of a success, with nothing complained of.
fn success(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}{}",
        stdout(output),
        stderr(output)
    );
    assert_eq!(stderr(output), "");
    stdout(output)
}

/// The complaint of a failure.
fn failure(output: &Output) -> String {
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}{}",
        stdout(output),
        stderr(output)
    );
    stderr(output)
}

#[test]
fn the_program_is_installed_and_runs() {
    let machine = Machine::new();
    let said = success(&machine.install_program(&[]));
    let installed = machine.installed();
    assert!(
        said.contains(&format!(
            "Installed mcp-bridge {}: {}",
            env!("CARGO_PKG_VERSION"),
            installed.display()
        )),
        "{said}"
    );
    assert_eq!(
        fs::metadata(&installed).unwrap().permissions().mode() & 0o777,
        0o755
    );
    let ran = Command::new(&installed).arg("--version").output().unwrap();
    assert_eq!(
        stdout(&ran),
        format!("mcp-bridge {}\n", env!("CARGO_PKG_VERSION"))
    );
    // Nothing is left beside it.
    assert_eq!(
        fs::read_dir(installed.parent().unwrap()).unwrap().count(),
        1
    );
}

#[test]
fn the_end_says_how_to_set_it_up() {
    let machine = Machine::new();
    let said = success(&machine.install_program(&[]));
    // Not on the PATH, so its whole path.
    let path = machine.installed().display().to_string();
    let command = format!("\"{path}\" setup");
    assert!(said.lines().any(|line| line.trim() == command), "{said}");
    for paper in ["examples/clients/README.md", "examples/game/README.md"] {
        assert!(said.contains(paper), "{said}");
        assert!(script().with_file_name(paper).is_file());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_it_offers_to_set_it_up_and_does_so_only_after_a_yes() {
    for (answer, does) in [("y\n", true), ("\n", true), ("n\n", false), ("", false)] {
        let machine = Machine::new();
        let (installed, said) = install_on_a_terminal(&machine, answer);
        assert!(installed, "{said}");
        assert!(said.contains("Do that now? [Y/n]"), "{said}");
        let (_, after) = said.split_once("Do that now? [Y/n]").unwrap();
        assert_eq!(after.contains("mcpServers"), does, "{answer:?}: {said}");
    }
}

#[test]
fn another_folder_can_be_named() {
    let machine = Machine::new();
    let folder = machine.root.path().join("my programs");
    let output = machine
        .install(&["--from", PROGRAM])
        .env("MCP_BRIDGE_INSTALL_DIR", format!("{}/", folder.display()))
        .env_remove("HOME")
        .output()
        .unwrap();
    let said = success(&output);
    assert!(folder.join("mcp-bridge").is_file());
    assert!(
        said.contains(&format!("{}\n", folder.join("mcp-bridge").display())),
        "{said}"
    );
}

#[test]
fn what_to_add_to_path_is_said_in_the_shells_own_words() {
    for (shell, file, line) in [
        (
            "/bin/bash",
            if cfg!(target_os = "macos") {
                "~/.bash_profile"
            } else {
                "~/.bashrc"
            },
            "export PATH=\"FOLDER:$PATH\"",
        ),
        ("/usr/bin/zsh", "~/.zshrc", "export PATH=\"FOLDER:$PATH\""),
        (
            "/usr/bin/fish",
            "~/.config/fish/config.fish",
            "fish_add_path \"FOLDER\"",
        ),
        ("/bin/dash", "~/.profile", "export PATH=\"FOLDER:$PATH\""),
    ] {
        let machine = Machine::new();
        let output = machine
            .install(&["--from", PROGRAM])
            .env("SHELL", shell)
            .output()
            .unwrap();
        let said = success(&output);
        let folder = machine.installed().parent().unwrap().display().to_string();
        assert!(
            said.contains(&format!(
                "{folder} is not on your PATH. Add this line to {file},"
            )),
            "{shell}: {said}"
        );
        assert!(
            said.contains(&format!("\n  {}\n", line.replace("FOLDER", &folder))),
            "{shell}: {said}"
        );
    }
}

#[test]
fn nothing_is_said_of_path_when_the_folder_is_on_it() {
    let machine = Machine::new();
    let folders = [machine.tools(), machine.home().join(".local/bin")];
    let output = machine
        .install(&["--from", PROGRAM])
        .env("PATH", std::env::join_paths(folders).unwrap())
        .output()
        .unwrap();
    let said = success(&output);
    assert!(!said.contains("PATH"), "{said}");
}

#[test]
fn why_the_program_can_not_be_put_in_place_is_said() {
    let machine = Machine::new();
    fs::write(machine.home().join(".local"), "").unwrap();
    let complaint = failure(&machine.install_program(&[]));
    assert!(
        complaint.contains("/.local/bin can't be made. ") && complaint.contains("Not a directory"),
        "{complaint}"
    );
}

#[test]
fn without_a_terminal_an_installed_program_is_replaced_only_with_yes() {
    let machine = Machine::new();
    success(&machine.install_program(&[]));
    write_program(&machine.installed(), "#!/bin/sh\necho mcp-bridge 0.9.0\n");

    let complaint = failure(&machine.install_program(&[]));
    assert!(
        complaint.contains("exists already (mcp-bridge 0.9.0)"),
        "{complaint}"
    );
    assert!(complaint.contains("./install.sh --yes"), "{complaint}");
    let kept = Command::new(machine.installed()).output().unwrap();
    assert_eq!(stdout(&kept), "mcp-bridge 0.9.0\n");

    success(&machine.install_program(&["--yes"]));
    let new = Command::new(machine.installed())
        .arg("--version")
        .output()
        .unwrap();
    assert_eq!(
        stdout(&new),
        format!("mcp-bridge {}\n", env!("CARGO_PKG_VERSION"))
    );
}

/// Runs the script on a terminal of its own, where `answer` is typed.
#[cfg(target_os = "linux")]
fn install_on_a_terminal(machine: &Machine, answer: &str) -> (bool, String) {
    let mut terminal = Command::new(found_on_path("script"));
    terminal
        .args(["--quiet", "--return", "--command"])
        .arg(format!("sh '{}' --from '{PROGRAM}'", script().display()))
        .arg("/dev/null")
        .env_clear()
        .env("HOME", machine.home())
        .env("PATH", machine.tools())
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut terminal = terminal.spawn().unwrap();
    terminal
        .stdin
        .take()
        .unwrap()
        .write_all(answer.as_bytes())
        .unwrap();
    let output = terminal.wait_with_output().unwrap();
    (output.status.success(), stdout(&output))
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_it_asks_before_it_replaces_an_installed_program() {
    let machine = Machine::new();
    success(&machine.install_program(&[]));
    write_program(&machine.installed(), "#!/bin/sh\necho mcp-bridge 0.9.0\n");

    let (installed, said) = install_on_a_terminal(&machine, "n\n");
    assert!(
        !installed && said.contains("(mcp-bridge 0.9.0). Replace it? [y/N]"),
        "{said}"
    );
    assert!(said.contains("nothing was changed"), "{said}");
    let kept = Command::new(machine.installed()).output().unwrap();
    assert_eq!(stdout(&kept), "mcp-bridge 0.9.0\n");

    let (installed, said) = install_on_a_terminal(&machine, "y\n");
    assert!(installed, "{said}");
    let new = Command::new(machine.installed())
        .arg("--version")
        .output()
        .unwrap();
    assert_eq!(
        stdout(&new),
        format!("mcp-bridge {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_bridge_that_runs_is_replaced_all_the_same() {
    let machine = Machine::new();
    success(&machine.install_program(&[]));
    let mut running = Command::new(machine.installed())
        .env("MCP_BRIDGE_CONFIG_DIR", machine.home())
        .env("MCP_BRIDGE_STATE_DIR", machine.home())
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    success(&machine.install_program(&["--yes"]));
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success());
}

#[test]
fn a_program_that_does_not_run_here_is_not_installed() {
    let machine = Machine::new();
    success(&machine.install_program(&[]));
    let broken = machine.root.path().join("broken");
    write_program(&broken, "#!/bin/sh\nexit 1\n");
    let output = machine
        .install(&["--yes", "--from", broken.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(failure(&output).contains("does not run on this machine"));
    assert!(
        Command::new(machine.installed())
            .arg("--version")
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(
        fs::read_dir(machine.installed().parent().unwrap())
            .unwrap()
            .count(),
        1
    );
}

/// The folder of the Rust tools that run these tests.
fn rust_tools() -> PathBuf {
    Path::new(env!("CARGO")).parent().unwrap().to_owned()
}

#[test]
fn what_the_build_lacks_is_named_with_where_to_get_it() {
    let machine = Machine::new();
    let install = || failure(&machine.install(&[]).output().unwrap());

    let complaint = install();
    assert!(
        complaint.contains("cargo is missing") && complaint.contains("https://rustup.rs"),
        "{complaint}"
    );
    assert!(
        complaint.contains(env!("CARGO_PKG_RUST_VERSION")),
        "{complaint}"
    );

    machine.link_tool("cargo", &rust_tools().join("cargo"));
    let complaint = install();
    assert!(complaint.contains("rustc is missing"), "{complaint}");

    machine.link_tool("rustc", &rust_tools().join("rustc"));
    let complaint = install();
    assert!(
        complaint.contains("the C compiler cc is missing"),
        "{complaint}"
    );
    assert!(
        complaint.contains("apt-get install build-essential"),
        "{complaint}"
    );
    assert!(!machine.installed().exists());
}

#[test]
fn a_rust_that_is_too_old_is_named_with_the_one_that_is_needed() {
    let machine = Machine::new();
    machine.script_tool("cargo", "exit 1");
    for old in ["1.63.0", "1.87.0", "0.99.0"] {
        machine.script_tool(
            "rustc",
            &format!("echo 'rustc {old} (0123abcd 2020-01-01)'"),
        );
        let complaint = failure(&machine.install(&[]).output().unwrap());
        assert!(
            complaint.contains(concat!(
                "Rust ",
                env!("CARGO_PKG_RUST_VERSION"),
                " or later is needed"
            )),
            "{complaint}"
        );
        assert!(
            complaint.contains(old.trim_end_matches(".0")),
            "{complaint}"
        );
    }
}

#[test]
fn without_a_program_at_hand_it_builds_one_by_the_lock_file() {
    let machine = Machine::new();
    machine.link_tool("cc", &found_on_path("cc"));
    machine.script_tool("rustc", "echo 'rustc 2.0.0 (0123abcd 2030-01-01)'");
    // Plays cargo: the real build takes minutes, and `.ci/run` does it.
    machine.script_tool(
        "cargo",
        &format!(
            r#"test "$*" = "build --release --locked --target-dir $CARGO_TARGET_DIR" && test -f Cargo.toml || exit 1
mkdir -p "$CARGO_TARGET_DIR/release" && cp '{PROGRAM}' "$CARGO_TARGET_DIR/release/mcp-bridge""#
        ),
    );
    let mut install = machine.install(&[]);
    let output = install
        .env("CARGO_TARGET_DIR", machine.root.path().join("build"))
        .output()
        .unwrap();
    success(&output);
    assert!(
        Command::new(machine.installed())
            .arg("--version")
            .output()
            .unwrap()
            .status
            .success()
    );

    machine.script_tool("cargo", "exit 101");
    let complaint = failure(&machine.install(&["--yes"]).output().unwrap());
    assert!(complaint.contains("the build failed"), "{complaint}");
}

#[test]
fn wrong_options_change_nothing() {
    let machine = Machine::new();
    for (arguments, complaint) in [
        (&["--force"][..], "unknown option --force"),
        (&["--from"], "--from must be followed by a file"),
        (
            &["--from", "/no/such/file"],
            "there is no file /no/such/file",
        ),
    ] {
        let said = failure(&machine.install(arguments).output().unwrap());
        assert!(said.contains(complaint), "{said}");
    }
    let help = success(&machine.install(&["--help"]).output().unwrap());
    assert!(
        help.contains("--yes") && help.contains("MCP_BRIDGE_INSTALL_DIR"),
        "{help}"
    );
    assert!(!machine.installed().exists());
}
