//! Servers that ask who is there (OAuth): a person logs in once, and all bridges use that. The servers are
//! `tests/upstream/http_server.py` with a login server beside it; the person's browser is this test.

use std::{fs, path::Path, process::Stdio, time::Duration};

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::timeout,
};

use crate::common::{
    bridge::Bridge,
    servers::{Place, http_server, listed, status},
};

/// A server that asks for a login, and a user's folders.
struct Guarded {
    place: Place,
    _server: Child,
}

/// What a command said, and whether it succeeded.
struct Ended {
    text: String,
    is_well: bool,
}

impl Guarded {
    async fn new(mode: &str) -> Self {
        let place = Place::new();
        let (server, port) = http_server(mode, &place.path("")).await;
        let url = format!("http://127.0.0.1:{port}/mcp");
        place.write(
            "config/mcp.json",
            &json!({"mcpServers": {"notes": {"url": url}}}),
        );
        Self {
            place,
            _server: server,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
        command
            .env("MCP_BRIDGE_CONFIG_DIR", self.place.path("config"))
            .env("MCP_BRIDGE_STATE_DIR", self.place.path("state"))
            .current_dir(self.place.path("project"))
            .arg("upstream")
            .args(arguments)
            // No test opens a page at whoever runs it.
            .env("PATH", self.place.path("bin"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs `upstream login`, opens the page that it names, and waits for its end.
    async fn log_in(&self, more: &[&str]) -> Ended {
        let arguments = [&["login", "notes", "--in-file", "--no-browser"], more].concat();
        let mut login = self.command(&arguments).spawn().unwrap();
        let mut lines = BufReader::new(login.stdout.take().unwrap()).lines();
        let mut text = String::new();
        while let Some(line) = next(&mut lines).await {
            text += &format!("{line}\n");
            if let Some(page) = line.trim().strip_prefix("http://127.0.0.1:") {
                let back = redirect(&format!("http://127.0.0.1:{page}")).await;
                let shown = get(&back).await;
                assert!(shown.contains("You can close this page."), "{shown}");
            }
        }
        ended(login, text).await
    }

    async fn session(&self) -> Bridge {
        self.place.session().await
    }

    fn refreshes(&self) -> usize {
        self.place.lines("refreshes").len()
    }

    /// The files of logins.
    fn logins(&self) -> Vec<String> {
        let folder = self.place.path("state/upstream/logins");
        let Ok(files) = fs::read_dir(folder) else {
            return Vec::new();
        };
        files
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
            .map(|path| fs::read_to_string(path).unwrap())
            .collect()
    }
}

async fn next(
    lines: &mut tokio::io::Lines<BufReader<tokio::process::ChildStdout>>,
) -> Option<String> {
    let line = timeout(Duration::from_secs(20), lines.next_line()).await;
    line.expect("the command goes on").unwrap()
}

async fn ended(mut child: Child, mut text: String) -> Ended {
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).await.unwrap();
    text += &said;
    let status = timeout(Duration::from_secs(20), child.wait()).await;
    let is_well = status.expect("the command ends").unwrap().success();
    Ended { text, is_well }
}

/// The texts of all files in a folder, but for the folders that are not to be looked into.
fn all_texts(folder: &Path, is_looked_into: fn(&Path) -> bool) -> String {
    let mut texts = String::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            texts += &String::from_utf8_lossy(&fs::read(&path).unwrap_or_default());
        } else if is_looked_into(&path) {
            texts += &all_texts(&path, is_looked_into);
        }
    }
    texts
}

/// What a plain GET of a page of this machine brings, with its head.
async fn get(page: &str) -> String {
    let rest = page.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Where a page sends a browser.
async fn redirect(page: &str) -> String {
    let answer = get(page).await;
    let line = answer
        .lines()
        .find_map(|line| line.strip_prefix("Location: "));
    line.unwrap_or_else(|| panic!("{page} sends nobody anywhere: {answer}"))
        .to_owned()
}

#[tokio::test]
async fn a_person_logs_in_once_and_running_bridges_use_it() {
    let guarded = Guarded::new("login").await;
    let mut bridge = guarded.session().await;
    let state = status(&mut bridge, |state| state.contains("notes: failed")).await;
    assert!(
        state.contains("asks who you are (HTTP 401): run `mcp-bridge upstream login notes`"),
        "{state}"
    );
    let refused = bridge.call("notes__note", json!({"text": "one"})).await;
    assert!(
        refused.is_error && refused.text.contains("`mcp-bridge upstream login notes`"),
        "{}",
        refused.text
    );

    let login = guarded.log_in(&[]).await;
    assert!(
        login.is_well && login.text.contains("✓ Logged in to `notes`"),
        "{}",
        login.text
    );
    listed(&mut bridge, "notes__note").await;
    let called = bridge.call("notes__note", json!({"text": "two"})).await;
    assert_eq!(called.text, "noted two");
    bridge.leave().await;

    // And so do those that start later, without a word.
    let mut later = guarded.session().await;
    let called = later.call("notes__note", json!({"text": "three"})).await;
    assert_eq!(called.text, "noted three");
    assert_eq!(guarded.place.lines("calls"), ["two", "three"]);
    assert_eq!(guarded.logins().len(), 1);
    later.leave().await;

    let out = guarded
        .command(&["logout", "notes"])
        .output()
        .await
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    assert!(guarded.logins().is_empty());
    let again = guarded
        .command(&["logout", "notes"])
        .output()
        .await
        .unwrap();
    assert!(
        String::from_utf8_lossy(&again.stdout).contains("Nobody was logged in to `notes`"),
        "{again:?}"
    );
}

#[tokio::test]
async fn tokens_are_for_their_user_alone_and_never_shown() {
    let guarded = Guarded::new("login").await;
    let login = guarded.log_in(&[]).await;
    let kept = guarded.logins().remove(0);
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let tokens = &kept["login"]["credentials"]["token_response"];
    #[cfg(unix)]
    for file in fs::read_dir(guarded.place.path("state/upstream/logins")).unwrap() {
        use std::os::unix::fs::PermissionsExt;
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.path());
    }
    let mut bridge = guarded.session().await;
    bridge.call("notes__note", json!({"text": "one"})).await;
    let state = status(&mut bridge, |state| state.contains("notes: connected")).await;
    bridge.leave().await;
    let logs = all_texts(&guarded.place.path("state"), |path| {
        !path.ends_with("logins")
    });
    assert!(logs.contains("notes"), "{logs}");
    for name in ["access_token", "refresh_token"] {
        let token = tokens[name].as_str().unwrap();
        for place in [&login.text, &state, &logs] {
            assert!(!place.contains(token), "{name} is shown: {place}");
        }
    }
}

#[tokio::test]
async fn of_all_bridges_that_want_a_new_token_one_gets_it() {
    let guarded = Guarded::new("login").await;
    guarded.log_in(&[]).await;
    let mut bridges = Vec::new();
    for _ in 0..3 {
        let mut bridge = guarded.session().await;
        let called = bridge.call("notes__note", json!({"text": "before"})).await;
        assert_eq!(called.text, "noted before");
        bridges.push(bridge);
    }
    assert_eq!(guarded.refreshes(), 0);
    fs::write(guarded.place.path("forget-login"), "tokens").unwrap();
    let calls = bridges
        .iter_mut()
        .map(|bridge| bridge.call("notes__note", json!({"text": "after"})));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.text, "noted after");
    }
    assert_eq!(guarded.refreshes(), 1);
    assert_eq!(guarded.place.lines("calls").len(), 6);
    for bridge in bridges {
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_token_whose_time_is_over_is_renewed_and_a_lost_login_is_told() {
    let guarded = Guarded::new("login").await;
    fs::write(guarded.place.path("life"), "2").unwrap();
    guarded.log_in(&[]).await;
    let mut bridge = guarded.session().await;
    bridge.call("notes__note", json!({"text": "one"})).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let called = bridge.call("notes__note", json!({"text": "two"})).await;
    assert_eq!(called.text, "noted two");
    assert!(guarded.refreshes() >= 1);

    fs::write(guarded.place.path("life"), "3600").unwrap();
    fs::write(guarded.place.path("forget-login"), "all").unwrap();
    let lost = bridge.call("notes__note", json!({"text": "three"})).await;
    assert!(
        lost.is_error
            && lost.text.contains("does not take the login any more")
            && lost.text.contains("`mcp-bridge upstream login notes`"),
        "{}",
        lost.text
    );
    guarded.log_in(&[]).await;
    let called = bridge.call("notes__note", json!({"text": "four"})).await;
    assert_eq!(called.text, "noted four");
    assert_eq!(guarded.place.lines("calls"), ["one", "two", "four"]);
    bridge.leave().await;
}

#[tokio::test]
async fn a_login_with_too_few_rights_is_told_with_the_command_that_gets_them() {
    let guarded = Guarded::new("login").await;
    guarded.log_in(&[]).await;
    let mut bridge = guarded.session().await;
    let called = bridge.call("notes__note", json!({"text": "one"})).await;
    assert_eq!(called.text, "noted one");
    fs::write(guarded.place.path("needs"), "notes $(admin)").unwrap();
    let lacks = bridge.call("notes__note", json!({"text": "two"})).await;
    // What a server says does nothing in a shell.
    assert!(
        lacks.is_error
            && lacks.text.contains(
                "(HTTP 403): run `mcp-bridge upstream login notes --scope notes --scope '$(admin)'`"
            ),
        "{}",
        lacks.text
    );
    let more = ["--scope", "notes", "--scope", "$(admin)"];
    assert!(guarded.log_in(&more).await.is_well);
    let called = bridge.call("notes__note", json!({"text": "three"})).await;
    assert_eq!(called.text, "noted three");
    assert_eq!(guarded.place.lines("calls"), ["one", "three"]);
    bridge.leave().await;
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_costs_nobody_their_login() {
    let guarded = Guarded::new("login").await;
    let hang_up = guarded.place.path("hang-up");
    fs::write(&hang_up, "once\n").unwrap();
    let login = guarded.log_in(&[]).await;
    assert!(login.is_well, "{}", login.text);
    assert_eq!(fs::read_to_string(&hang_up).unwrap(), "");

    // A login server that never answers is told of.
    fs::write(&hang_up, "once\ntwice\nand again\n").unwrap();
    let login = guarded.log_in(&[]).await;
    assert!(
        !login.is_well
            && login.text.contains(
                "its login server gave no answer when it was asked for a token: try again"
            ),
        "{}",
        login.text
    );
    assert_eq!(fs::read_to_string(&hang_up).unwrap(), "and again\n");
}

#[tokio::test]
async fn a_login_that_fails_says_why() {
    let guarded = Guarded::new("login").await;
    fs::write(guarded.place.path("deny"), "").unwrap();
    let denied = guarded.log_in(&[]).await;
    assert!(
        !denied.is_well && denied.text.contains("the login was refused: Ann said no"),
        "{}",
        denied.text
    );
    assert!(guarded.logins().is_empty());

    let unknown = guarded.command(&["login", "nots"]).output().await.unwrap();
    assert!(!unknown.status.success());
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(said.contains("There is no server `nots`"), "{said}");

    let by_hand = Guarded::new("login-by-hand").await;
    let stranger = by_hand.log_in(&[]).await;
    assert!(
        !stranger.is_well
            && stranger
                .text
                .contains("--client-id ID --callback-port PORT"),
        "{}",
        stranger.text
    );
    let known = by_hand.log_in(&["--client-id", "known"]).await;
    assert!(known.is_well, "{}", known.text);

    // One that asks for nothing.
    let open = Guarded::new("forgets-404").await;
    let needless = open.log_in(&[]).await;
    assert!(
        !needless.is_well && needless.text.contains("it asks for no login"),
        "{}",
        needless.text
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_page_is_opened_in_the_persons_browser() {
    use std::os::unix::fs::PermissionsExt;

    let guarded = Guarded::new("login").await;
    fs::create_dir(guarded.place.path("bin")).unwrap();
    let browser = guarded.place.path("bin/xdg-open");
    let opened = guarded.place.path("opened");
    let script = format!("#!/bin/sh\necho \"$@\" >'{}'\n", opened.display());
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut login = guarded
        .command(&["login", "notes", "--in-file"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(login.stdout.take().unwrap()).lines();
    crate::common::servers::file(&opened).await;
    let page = fs::read_to_string(&opened).unwrap();
    let page = page.trim();
    let port = fs::read_to_string(guarded.place.path("port")).unwrap();
    let authorize = format!("http://127.0.0.1:{port}/authorize?");
    assert!(page.starts_with(&authorize), "{page}");

    // Whoever doesn't know the login's secret can't end it.
    let back = redirect(page).await;
    let (address, _) = back.split_once('?').unwrap();
    let forged = get(&format!("{address}?code=x&state=guessed")).await;
    assert!(forged.starts_with("HTTP/1.1 400"), "{forged}");
    let shown = get(&back).await;
    assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
    let mut text = String::new();
    while let Some(line) = next(&mut lines).await {
        text += &format!("{line}\n");
    }
    let login = ended(login, text).await;
    assert!(login.is_well, "{}", login.text);
}
