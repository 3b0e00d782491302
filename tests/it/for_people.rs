//! What shells, the manual and terminals make of the binary.

use std::{
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-bridge");

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output
}

/// Whether a program is on this machine. What can't be tried without it is said.
fn is_here(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let is_here = found.is_ok();
    if !is_here {
        let _ = writeln!(
            std::io::stderr().lock(),
            "not tried: there is no {program} here"
        );
    }
    is_here
}

/// What a program says of a text on its standard input.
fn said_of(text: &[u8], program: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&text));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output
}

#[test]
fn bash_completes_commands_flags_and_what_is_below_a_command() {
    if !is_here("bash") {
        return;
    }
    let script = String::from_utf8(run(&["completions", "bash"]).stdout).unwrap();
    let completed = |words: &[&str]| {
        let list = words.join("' '");
        let ask = format!(
            "{script}\nCOMP_WORDS=('{list}'); COMP_CWORD={}; COMP_LINE=\"${{COMP_WORDS[*]}}\"\n\
             \"$(complete -p mcp-bridge | sed 's/.*-F \\([^ ]*\\).*/\\1/')\" mcp-bridge '{}' '{}'\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let output = said_of(ask.as_bytes(), "bash", &["--norc"]);
        assert!(output.stderr.is_empty(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["mcp-bridge", "doc"]), ["doctor"]);
    assert_eq!(completed(&["mcp-bridge", "setup", "cl"]), ["client"]);
    assert_eq!(completed(&["mcp-bridge", "doctor", "--js"]), ["--json"]);
    assert_eq!(completed(&["mcp-bridge", "nothing"]), [""]);
}

#[test]
fn every_shell_takes_what_completes_for_it() {
    for (shell, check) in [
        ("bash", &["-n"][..]),
        ("zsh", &["-n"]),
        ("fish", &["--no-execute"]),
    ] {
        let script = run(&["completions", shell]).stdout;
        if is_here(shell) {
            let output = said_of(&script, shell, check);
            assert!(output.status.success(), "{shell}: {output:?}");
        }
    }
    for shell in ["powershell", "elvish"] {
        let script = String::from_utf8(run(&["completions", shell]).stdout).unwrap();
        assert!(
            script.contains("'mcp-bridge;setup;client'"),
            "{shell}: {script}"
        );
    }
}

#[test]
fn the_manual_has_a_page_for_every_command_and_no_reader_complains() {
    for command in [&[][..], &["setup"], &["setup", "client"], &["tools", "run"]] {
        let page = run(&[&["man"][..], command].concat()).stdout;
        let text = String::from_utf8(page.clone()).unwrap();
        let name = [&["mcp-bridge"][..], command].concat().join("-");
        assert!(text.contains(&format!(".TH {name} 1")), "{text}");
        if is_here("groff") {
            let output = said_of(&page, "groff", &["-man", "-Tutf8", "-ww", "-z"]);
            assert!(
                output.status.success() && output.stderr.is_empty(),
                "{name}: {output:?}"
            );
        }
    }
    let unknown = Command::new(PROGRAM)
        .args(["man", "nothing"])
        .output()
        .unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no command `nothing`"));
}

/// Commands that have something to paint, in a scratch home.
fn painted(home: &Path) -> [Vec<String>; 2] {
    let game = home.to_string_lossy().into_owned();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let doctor = [words("doctor program --game"), vec![game]].concat();
    [words("--help"), doctor]
}

#[test]
fn nothing_is_in_colours_where_there_is_no_terminal() {
    let home = tempfile::tempdir().unwrap();
    for arguments in painted(home.path()) {
        let output = Command::new(PROGRAM)
            .args(&arguments)
            .env("HOME", home.path())
            .env("MCP_BRIDGE_STATE_DIR", home.path())
            .env_remove("CLICOLOR_FORCE")
            .output()
            .unwrap();
        assert!(!output.stdout.is_empty());
        assert!(!output.stdout.contains(&0x1b), "{arguments:?}: {output:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_terminal_has_colours_unless_its_user_wants_none() {
    use tokio::io::AsyncReadExt;

    let home = tempfile::tempdir().unwrap();
    for arguments in painted(home.path()) {
        for no_color in [false, true] {
            let (mut pty, terminal) = pty_process::open().unwrap();
            pty.resize(pty_process::Size::new(50, 120)).unwrap();
            let mut command = pty_process::Command::new(PROGRAM)
                .args(&arguments)
                .env("HOME", home.path())
                .env("MCP_BRIDGE_STATE_DIR", home.path())
                .env("TERM", "xterm-256color")
                .env_remove("NO_COLOR")
                .kill_on_drop(true);
            if no_color {
                command = command.env("NO_COLOR", "1");
            }
            let mut child = command.spawn(terminal).unwrap();
            let mut shown = Vec::new();
            let reading = async {
                let mut bytes = [0; 4096];
                // Linux reports an error where other systems report the end.
                while let Ok(length @ 1..) = pty.read(&mut bytes).await {
                    shown.extend_from_slice(&bytes[..length]);
                }
                child.wait().await.unwrap()
            };
            crate::common::soon("the command ends", reading).await;
            let shown = String::from_utf8_lossy(&shown);
            assert_eq!(
                shown.contains('\u{1b}'),
                !no_color,
                "{arguments:?}, NO_COLOR: {no_color}: {shown:?}"
            );
        }
    }
}
