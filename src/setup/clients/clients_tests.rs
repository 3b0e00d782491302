use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{
    adding::{self, Wish},
    all,
    client::{Client, Scope},
    look::{self, State},
    named, removing,
    shape::Reach,
};
use crate::setup::{
    asking::{Asking, How},
    edit::Format,
    ledger::Ledger,
    machine::{Machine, System},
};

const NAME: &str = "computercraft";
const URL: &str = "http://127.0.0.1:3000/mcp";
const SECRET: &str = "a-very-secret-token";

/// A whole path on the system that the tests run on.
const ELSEWHERE: &str = if cfg!(windows) {
    "C:/elsewhere"
} else {
    "/elsewhere"
};

/// A user's machine in a folder of its own.
struct Scene {
    folder: TempDir,
    machine: Machine,
}

impl Scene {
    fn new(system: System) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let variables = BTreeMap::from([
            ("APPDATA".to_owned(), text(at("home/AppData/Roaming"))),
            ("LOCALAPPDATA".to_owned(), text(at("home/AppData/Local"))),
        ]);
        let machine = Machine {
            system,
            home: at("home"),
            here: at("project"),
            // With slashes, which stand in all formats as they are.
            program: text(folder.path().join("bin/mcp-bridge"))
                .replace('\\', "/")
                .into(),
            variables,
        };
        Self { folder, machine }
    }

    fn program(&self, env: &[(&str, &str)]) -> Reach {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Reach::Program {
            command: self.machine.program.to_str().unwrap().to_owned(),
            env: env.iter().map(own).collect(),
        }
    }

    /// What is said, and whether something was refused.
    fn asked(&self, act: impl FnOnce(&mut Ledger, &mut Asking<'_>)) -> (String, bool) {
        let (mut input, mut output) = (&b""[..], Vec::new());
        let mut asking = Asking::new(How::Yes, false, &mut input, &mut output);
        let mut ledger = Ledger::open(&self.folder.path().join("state"));
        act(&mut ledger, &mut asking);
        let failed = asking.failed;
        (String::from_utf8(output).unwrap(), failed)
    }

    fn add(&self, client: &'static Client, scope: Scope, reach: Reach) -> (String, bool) {
        let wish = Wish {
            machine: &self.machine,
            name: NAME.to_owned(),
            reach,
            url: URL.to_owned(),
            scope,
        };
        self.asked(|ledger, asking| adding::add(client, &wish, ledger, asking))
    }

    fn remove(&self) -> (String, bool) {
        self.asked(|ledger, asking| removing::remove(&[], &self.machine, URL, ledger, asking))
    }

    fn state(&self, client: &'static Client, scope: Scope) -> State {
        let file = self.file(client, scope);
        look::at(client, scope, &file, NAME, &self.machine, URL).state
    }

    fn file(&self, client: &Client, scope: Scope) -> PathBuf {
        client.files(&self.machine, scope).remove(0)
    }
}

/// A scope in which setup writes a file of a client; none if it only prints.
fn written(client: &Client) -> Option<Scope> {
    let machine = Scene::new(System::Linux).machine;
    [Scope::User, Scope::Project]
        .into_iter()
        .find(|scope| !client.files(&machine, *scope).is_empty())
}

/// A file of the folder of a client's test data.
fn data(client: &Client, name: &str) -> String {
    let ending = match client.format {
        Format::Json | Format::Jsonc => "json",
        Format::Toml => "toml",
        Format::Yaml => "yaml",
    };
    let file = format!("tests/setup/{}/{name}.{ending}", client.id);
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file));
    text.unwrap_or_else(|error| panic!("{file}: {error}"))
        .replace("\r\n", "\n")
}

/// Files as users have them: none, and these.
fn files_of_users(client: &Client) -> Vec<(&'static str, Option<String>)> {
    let others = data(client, "others");
    let mut files = vec![
        ("no file", None),
        ("an empty file", Some(String::new())),
        ("only a line's end", Some("\r\n".to_owned())),
        ("CRLF", Some(others.replace('\n', "\r\n"))),
        ("a byte-order mark", Some(format!("\u{feff}{others}"))),
        (
            "no end of the last line",
            Some(others.trim_end().to_owned()),
        ),
    ];
    if client.format != Format::Yaml {
        let tabbed = others.replace("    ", "\t").replace("\n  ", "\n\t");
        files.push(("tabs", Some(tabbed)));
    }
    if matches!(client.format, Format::Json | Format::Jsonc) {
        files.push(("an empty object", Some("{}".to_owned())));
        files.push((
            "an empty container",
            Some(format!("{{\"{}\": {{ }} }}\n", client.container)),
        ));
        if client.format == Format::Json {
            let value: serde_json::Value = serde_json::from_str(&others).unwrap();
            files.push(("minified", Some(value.to_string())));
        }
    }
    files.push(("others", Some(others)));
    files
}

fn put(file: &Path, text: Option<&str>) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    if let Some(text) = text {
        fs::write(file, text).unwrap();
    }
}

#[test]
fn each_client_gets_its_entry_once_and_loses_it_again_without_a_trace() {
    for client in all() {
        let Some(scope) = written(client) else {
            continue;
        };
        for (what, text) in files_of_users(client) {
            let scene = Scene::new(System::Linux);
            let file = scene.file(client, scope);
            put(&file, text.as_deref());
            let told = format!("{} with {what}", client.id);

            let (said, failed) =
                scene.add(client, scope, scene.program(&[("CC_LINK_PORT", "3002")]));
            assert!(!failed, "{told}: {said}");
            let State::Right(entry) = scene.state(client, scope) else {
                panic!("{told}: {:?}\n{said}", scene.state(client, scope));
            };
            assert_eq!(
                entry.command.as_deref(),
                scene.machine.program.to_str(),
                "{told}"
            );
            assert_eq!(entry.env["CC_LINK_PORT"], "3002", "{told}");
            let once = fs::read(&file).unwrap();

            let (said, failed) = scene.add(client, scope, scene.program(&[]));
            assert!(
                !failed && said.contains("has the entry already"),
                "{told}: {said}"
            );
            assert_eq!(
                fs::read(&file).unwrap(),
                once,
                "{told}: a second time changes nothing"
            );

            let (said, failed) = scene.remove();
            assert!(
                !failed && said.contains("has the entry no more"),
                "{told}: {said}"
            );
            assert_eq!(fs::read_to_string(&file).ok(), text, "{told}");
            let beside = fs::read_dir(file.parent().unwrap()).unwrap().flatten();
            let left =
                beside.filter(|entry| entry.file_name().to_string_lossy().contains("mcp-bridge"));
            assert_eq!(left.count(), 0, "{told}: nothing lies beside it");
        }
    }
}

#[test]
fn what_others_change_meanwhile_stays_when_the_entry_goes() {
    for client in all() {
        let Some(scope) = written(client) else {
            continue;
        };
        let scene = Scene::new(System::Linux);
        let file = scene.file(client, scope);
        let others = data(client, "others");
        put(&file, Some(&others));
        scene.add(client, scope, scene.program(&[]));
        // Another server's name.
        let changed = |text: &str| {
            let names = [
                "filesystem",
                "github",
                "aws-docs",
                "developer",
                "cloud",
                "browser",
            ];
            names.iter().fold(text.to_owned(), |text, name| {
                text.replacen(name, "renamed", 1)
            })
        };
        fs::write(&file, changed(&fs::read_to_string(&file).unwrap())).unwrap();
        let (said, failed) = scene.remove();
        assert!(!failed, "{}: {said}", client.id);
        let plain = |text: &str| {
            text.split_whitespace()
                .collect::<String>()
                .replace(",}", "}")
        };
        let left = fs::read_to_string(&file).unwrap();
        assert_eq!(
            plain(&left),
            plain(&changed(&others)),
            "{}: {left}",
            client.id
        );
    }
}

#[test]
fn a_broken_file_or_another_type_is_refused_with_file_line_and_snippet() {
    for client in all() {
        let Some(scope) = written(client) else {
            continue;
        };
        for name in ["broken", "wrong-type"] {
            let scene = Scene::new(System::Linux);
            let file = scene.file(client, scope);
            let text = data(client, name);
            put(&file, Some(&text));
            let (said, failed) =
                scene.add(client, scope, scene.program(&[("CC_LINK_TOKEN", SECRET)]));
            assert!(failed || scope == Scope::Project, "{}: {said}", client.id);
            if scope == Scope::User {
                assert!(
                    said.contains(&format!("{}, line ", file.display())),
                    "{}: {said}",
                    client.id
                );
                let program = scene.machine.program.to_str().unwrap();
                assert!(
                    said.contains(program) && !said.contains(SECRET),
                    "{}: {said}",
                    client.id
                );
            }
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert!(
                matches!(scene.state(client, scope), State::Unreadable(_)),
                "{}",
                client.id
            );
        }
    }
}

#[test]
fn no_token_comes_into_a_projects_file_nor_into_what_is_said() {
    let forms = [
        ("claude-code", "${CC_LINK_TOKEN}"),
        ("cursor", "${env:CC_LINK_TOKEN}"),
        ("vscode", "${env:CC_LINK_TOKEN}"),
        ("opencode", "{env:CC_LINK_TOKEN}"),
        ("gemini-cli", "${CC_LINK_TOKEN}"),
        ("codex", "env_vars = [\"CC_LINK_TOKEN\"]"),
    ];
    for client in all() {
        let scene = Scene::new(System::Linux);
        for scope in [Scope::Project, Scope::User] {
            if client.files(&scene.machine, scope).is_empty() {
                continue;
            }
            let (said, failed) =
                scene.add(client, scope, scene.program(&[("CC_LINK_TOKEN", SECRET)]));
            assert!(!said.contains(SECRET), "{}: {said}", client.id);
            let text = fs::read_to_string(scene.file(client, scope)).unwrap_or_default();
            assert_eq!(
                text.contains(SECRET),
                scope == Scope::User,
                "{}: {text}",
                client.id
            );
            if scope == Scope::Project {
                match forms.iter().find(|(id, _)| *id == client.id) {
                    Some((_, form)) => assert!(text.contains(form), "{text}"),
                    None if failed => {
                        assert!(said.contains("CC_LINK_TOKEN would stand in a project's file"))
                    }
                    None => assert!(text.contains("CC_LINK_TOKEN"), "{}: {text}", client.id),
                }
            }
        }
        let noted =
            fs::read_to_string(scene.folder.path().join("state/setup.json")).unwrap_or_default();
        assert!(!noted.contains(SECRET), "{noted}");
    }
}

#[test]
fn an_entry_is_judged_as_it_is() {
    let scene = Scene::new(System::Linux);
    let client = named("cursor").unwrap();
    let file = scene.file(client, Scope::User);
    let program = scene.machine.program.to_str().unwrap();
    let entry = |entry: String| {
        put(
            &file,
            Some(&format!(
                "{{\"mcpServers\": {{\"computercraft\": {entry}}}}}"
            )),
        );
        scene.state(client, Scope::User)
    };
    assert!(matches!(scene.state(client, Scope::User), State::Absent));
    assert!(matches!(
        entry(format!("{{\"command\": \"{program}\"}}")),
        State::Right(_)
    ));
    assert!(matches!(
        entry(format!("{{\"url\": \"{URL}\"}}")),
        State::Right(_)
    ));
    let edited = entry(format!(
        "{{\"command\": \"{program}\", \"disabled\": true}}"
    ));
    assert!(matches!(edited, State::Edited(told) if told.is_off && told.others == ["disabled"]));
    let stale = entry("{\"command\": \"C:\\\\old\\\\MCP-Bridge.EXE\"}".to_owned());
    assert!(matches!(stale, State::Stale(_)));
    assert!(matches!(
        entry("{\"command\": \"npx\"}".to_owned()),
        State::Foreign(_)
    ));
    assert!(matches!(
        entry("{\"url\": \"https://example.com/mcp\"}".to_owned()),
        State::Foreign(_)
    ));
    assert!(matches!(entry("3".to_owned()), State::Unreadable(_)));
    assert!(
        look::everywhere(NAME, &scene.machine, URL)
            .iter()
            .any(|seen| seen.file == file)
    );

    let (said, failed) = scene.add(client, Scope::User, scene.program(&[]));
    assert!(failed && said.contains("is a number"), "{said}");
    entry("{\"command\": \"npx\"}".to_owned());
    let (said, failed) = scene.add(client, Scope::User, scene.program(&[]));
    assert!(
        failed && said.contains("which starts npx") && said.contains("--name"),
        "{said}"
    );
}

#[test]
fn a_stale_path_is_mended_and_what_the_user_added_stays_and_is_told_when_it_goes() {
    let scene = Scene::new(System::Linux);
    let client = named("opencode").unwrap();
    let file = scene.file(client, Scope::User);
    scene.add(client, Scope::User, scene.program(&[]));
    let program = scene.machine.program.to_str().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let by_hand = text
        .replace(
            &format!("\"{program}\""),
            "\"/old/mcp-bridge\", \"--read-only\"",
        )
        .replace(
            "\"enabled\": true",
            "\"enabled\": false, // not now\n      \"timeout\": 9000",
        );
    fs::write(&file, &by_hand).unwrap();
    assert!(matches!(scene.state(client, Scope::User), State::Stale(_)));
    let (said, failed) = scene.add(client, Scope::User, scene.program(&[("CC_LINK_PORT", "1")]));
    assert!(!failed, "{said}");
    let now = fs::read_to_string(&file).unwrap();
    for part in [
        program,
        "\"--read-only\"",
        "\"enabled\": false, // not now",
        "\"timeout\": 9000",
        "\"CC_LINK_PORT\": \"1\"",
    ] {
        assert!(now.contains(part), "no {part} in {now}");
    }
    let (said, failed) = scene.remove();
    assert!(
        !failed && said.contains("added to it by hand: timeout"),
        "{said}"
    );
    assert!(!file.exists(), "{said}");
}

#[test]
fn an_entry_that_setup_did_not_add_is_not_taken_out() {
    let scene = Scene::new(System::Linux);
    let client = named("cursor").unwrap();
    let file = scene.file(client, Scope::User);
    put(
        &file,
        Some("{\"mcpServers\": {\"computercraft\": {\"command\": \"/old/mcp-bridge\"}}}"),
    );
    scene.add(client, Scope::User, scene.program(&[]));
    assert!(matches!(scene.state(client, Scope::User), State::Right(_)));
    let (said, _) = scene.remove();
    assert!(said.contains("nothing is noted"), "{said}");
    assert!(matches!(scene.state(client, Scope::User), State::Right(_)));
}

#[test]
fn over_http_each_client_is_told_the_address_in_its_own_words() {
    for client in all() {
        let scene = Scene::new(System::Linux);
        let Some(scope) = written(client) else {
            continue;
        };
        let address = || Reach::Address {
            url: URL.to_owned(),
            token: None,
        };
        // From a program that is started to one that runs: nothing of the first stays.
        scene.add(client, scope, scene.program(&[("CC_LINK_PORT", "1")]));
        let (said, failed) = scene.add(client, scope, address());
        if failed {
            assert!(said.contains("gets no entry for HTTP"), "{said}");
            continue;
        }
        let State::Right(told) = scene.state(client, scope) else {
            panic!("{}: {:?}", client.id, scene.state(client, scope));
        };
        assert_eq!(
            (told.url.as_deref(), told.command, told.env.len()),
            (Some(URL), None, 0),
            "{}",
            client.id
        );
    }
}

#[test]
fn files_are_where_each_system_has_them() {
    let of = |system, id: &str| {
        let mut machine = Scene::new(system).machine;
        machine.home = "/u".into();
        machine.variables.clear();
        let files = named(id).unwrap().files(&machine, Scope::User);
        files
            .into_iter()
            .map(|file| file.to_str().unwrap().replace('\\', "/"))
            .collect::<Vec<_>>()
    };
    for (id, linux, macos, windows) in [
        (
            "claude-desktop",
            "/u/.config/Claude/claude_desktop_config.json",
            "/u/Library/Application Support/Claude/claude_desktop_config.json",
            "/u/AppData/Roaming/Claude/claude_desktop_config.json",
        ),
        (
            "vscode",
            "/u/.config/Code/User/mcp.json",
            "/u/Library/Application Support/Code/User/mcp.json",
            "/u/AppData/Roaming/Code/User/mcp.json",
        ),
        (
            "zed",
            "/u/.config/zed/settings.json",
            "/u/.config/zed/settings.json",
            "/u/AppData/Roaming/Zed/settings.json",
        ),
        (
            "goose",
            "/u/.config/goose/config.yaml",
            "/u/.config/goose/config.yaml",
            "/u/AppData/Roaming/Block/goose/config/config.yaml",
        ),
        (
            "opencode",
            "/u/.config/opencode/opencode.json",
            "/u/.config/opencode/opencode.json",
            "/u/.config/opencode/opencode.json",
        ),
        (
            "cline",
            "/u/.cline/data/settings/cline_mcp_settings.json",
            "/u/.cline/data/settings/cline_mcp_settings.json",
            "/u/.cline/data/settings/cline_mcp_settings.json",
        ),
        (
            "codex",
            "/u/.codex/config.toml",
            "/u/.codex/config.toml",
            "/u/.codex/config.toml",
        ),
    ] {
        for (system, file) in [
            (System::Linux, linux),
            (System::MacOs, macos),
            (System::Windows, windows),
        ] {
            assert_eq!(of(system, id), [file], "{system:?}");
        }
    }
    let mut machine = Scene::new(System::Linux).machine;
    machine
        .variables
        .insert("CODEX_HOME".to_owned(), ELSEWHERE.to_owned());
    machine
        .variables
        .insert("CLAUDE_CONFIG_DIR".to_owned(), ELSEWHERE.to_owned());
    for (id, file) in [("codex", "config.toml"), ("claude-code", ".claude.json")] {
        let files = named(id).unwrap().files(&machine, Scope::User);
        assert_eq!(files, [Path::new(ELSEWHERE).join(file)]);
    }
}

#[test]
fn claude_desktop_of_the_microsoft_store_gets_both_files() {
    let scene = Scene::new(System::Windows);
    let local = scene.machine.local_app_data();
    let packaged = local.join("Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude");
    fs::create_dir_all(&packaged).unwrap();
    fs::create_dir_all(local.join("Packages/Claudette/LocalCache/Roaming/Claude")).unwrap();
    let client = named("claude-desktop").unwrap();
    assert!(client.is_installed(&scene.machine));
    let (said, failed) = scene.add(client, Scope::User, scene.program(&[]));
    assert!(!failed, "{said}");
    let files = client.files(&scene.machine, Scope::User);
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files[1].starts_with(&packaged) && files.iter().all(|file| file.is_file()));
    scene.remove();
    assert!(!files.iter().any(|file| file.exists()));
}

#[test]
fn links_carry_the_entry_and_no_token() {
    let scene = Scene::new(System::Linux);
    let reach = scene.program(&[("CC_LINK_PORT", "1"), ("CC_LINK_TOKEN", SECRET)]);
    let link = |id: &str| named(id).unwrap().deep_link(NAME, &reach);
    let cursor = link("cursor").unwrap();
    assert!(
        cursor.starts_with(
            "cursor://anysphere.cursor-deeplink/mcp/install?name=computercraft&config="
        )
    );
    let code = link("vscode").unwrap();
    assert!(
        code.starts_with("vscode:mcp/install?%7B%22name%22%3A%22computercraft%22%2C"),
        "{code}"
    );
    let goose = link("goose").unwrap();
    assert!(
        goose.contains("bin%2Fmcp-bridge&id=computercraft")
            && goose.ends_with("&env=CC_LINK_PORT%3D1"),
        "{goose}"
    );
    assert!(
        link("lm-studio")
            .unwrap()
            .starts_with("lmstudio://add_mcp?name=computercraft&config=")
    );
    assert_eq!(link("zed"), None);
    for link in [cursor, code, goose] {
        assert!(!link.contains(SECRET) && !link.contains("TOKEN"), "{link}");
    }
}

#[test]
fn an_entry_that_goes_over_to_the_other_way_keeps_nothing_of_the_first() {
    let scene = Scene::new(System::Linux);
    let client = named("codex").unwrap();
    let file = scene.file(client, Scope::Project);
    let over_http = Reach::Address {
        url: URL.to_owned(),
        token: Some(SECRET.to_owned()),
    };
    let by_program = || scene.program(&[("CC_LINK_TOKEN", SECRET)]);
    scene.add(client, Scope::Project, by_program());
    let first = fs::read_to_string(&file).unwrap();
    scene.add(client, Scope::Project, over_http);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("bearer_token_env_var") && text.contains("url") && !text.contains("env_vars"),
        "{text}"
    );
    scene.add(client, Scope::Project, by_program());
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("bearer_token_env_var"), "{text}");
    let lines = |text: &str| -> Vec<String> {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&text), lines(&first));
}

#[test]
fn in_the_home_folder_a_file_is_looked_at_once() {
    let mut scene = Scene::new(System::Linux);
    scene.machine.here.clone_from(&scene.machine.home);
    for id in ["cursor", "codex", "gemini-cli"] {
        let client = named(id).unwrap();
        scene.add(client, Scope::User, scene.program(&[]));
        let seen = look::everywhere(NAME, &scene.machine, URL);
        let own = seen.iter().filter(|seen| seen.client.id == id);
        assert_eq!(own.count(), 1, "{id}");
    }
}

#[test]
fn a_client_of_which_no_file_is_written_gets_a_snippet() {
    let scene = Scene::new(System::Linux);
    for client in all().iter().filter(|client| written(client).is_none()) {
        let (said, failed) = scene.add(client, Scope::User, scene.program(&[]));
        assert!(
            !failed && said.contains(scene.machine.program.to_str().unwrap()),
            "{said}"
        );
        assert!(said.contains(client.paste.as_deref().unwrap()), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_client_with_a_command_of_its_own_is_told_by_it() {
    use std::os::unix::fs::PermissionsExt;
    let mut scene = Scene::new(System::Linux);
    let bin = scene.folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let file = scene.machine.home.join(".claude.json");
    // It writes what it is told as the client does: into a file with all sorts of things.
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {0}.log\ncase $2 in\nadd-json) printf '{{\"mcpServers\": {{\"%s\": %s}}}}' \"$5\" \"$6\" > {0};;\n\
         remove) echo '{{\"a\": 1}}' > {0};;\nesac\n",
        file.display()
    );
    fs::write(bin.join("claude"), script).unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    scene
        .machine
        .variables
        .insert("PATH".to_owned(), bin.to_str().unwrap().to_owned());
    let client = named("claude-code").unwrap();
    let (said, failed) = scene.add(client, Scope::User, scene.program(&[]));
    assert!(
        !failed && said.contains("$ claude mcp add-json --scope user computercraft '{"),
        "{said}"
    );
    assert!(matches!(scene.state(client, Scope::User), State::Right(_)));
    let (said, failed) = scene.remove();
    assert!(
        !failed && said.contains("$ claude mcp remove --scope user computercraft"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\": 1}\n");
    // A token would be seen in the list of processes.
    let (said, failed) = scene.add(
        client,
        Scope::User,
        scene.program(&[("CC_LINK_TOKEN", SECRET)]),
    );
    assert!(
        !failed && !said.contains("$ claude") && said.contains("+++"),
        "{said}"
    );
    // What the command doesn't do is not said to be done.
    fs::write(
        bin.join("claude"),
        "#!/bin/sh\necho no such thing; exit 3\n",
    )
    .unwrap();
    fs::remove_file(&file).unwrap();
    let (said, failed) = scene.add(client, Scope::User, scene.program(&[]));
    assert!(failed && said.contains("no such thing"), "{said}");
}
