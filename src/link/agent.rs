//! The in-game agent as the bridge holds it: its modules in one file, and the installer that fetches it.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _, sync::LazyLock};

use super::compact::compact;
use crate::base::{
    lua::{
        literal,
        own::{self, TOOLS},
    },
    store,
};

/// Each module's name in `require`, and its source.
macro_rules! modules {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("mcp-computer.", $name), include_str!(concat!("../../lua/mcp-computer/", $name, ".lua")))),*]
    };
}

/// The agent's program, which the modules are put before.
const PROGRAM: &str = include_str!("../../lua/mcp-computer.lua");

/// The installer's program.
const INSTALLER: &str = include_str!("../../lua/install.lua");

/// The agent's modules by the names that `require` is called with.
const MODULES: &[(&str, &str)] = modules![
    "acts",
    "advice",
    "agent",
    "autostart",
    "base64",
    "chunk",
    "consent",
    "console",
    "control",
    "courier",
    "describe",
    "disk",
    "doctor",
    "environment",
    "errors",
    "game",
    "guard",
    "halting",
    "handlers",
    "harmless",
    "helpers",
    "hosting",
    "identity",
    "incoming",
    "input",
    "installation",
    "job",
    "jobs",
    "json",
    "key",
    "legacy",
    "link",
    "liveness",
    "manage",
    "memory",
    "methods",
    "monitors",
    "number",
    "options",
    "outgoing",
    "output",
    "paper",
    "policy",
    "presence",
    "present",
    "printing",
    "program",
    "question",
    "reply",
    "requests",
    "screens",
    "setting",
    "sha256",
    "status_line",
    "stream",
    "tabs",
    "text",
    "told",
    "update",
    "url",
    "view",
    "window",
];

/// What looks at files for a sync, and changes nothing.
const SYNC_READS: &str = "sync/reading.lua";

/// How many digits of a hash the agent has: what is sent it is held to the whole one.
const HASH_DIGITS: usize = 32;

/// The line of a module that holds those hashes.
const HASHES_LINE: &str = "local HASHES = {}";

/// The line of the agent that holds its default address, and of the installer that holds the bridge's.
const ADDRESS_LINE: &str = "local DEFAULT_URL = nil";

/// The agent in one file, without an address of its own.
pub fn program() -> String {
    program_for(None)
}

/// The agent in one file, which links to the bridge at `host` (a Host header) when it is given no other address.
pub fn program_for(host: Option<&str>) -> String {
    static ALL: LazyLock<String> = LazyLock::new(|| bundled(MODULES.iter()));
    let program = with_address(PROGRAM, host);
    let program = by_short_names(&program);
    let program = short(&program);
    format!("{OPENING}{program}{}{END}", *ALL)
}

/// The installer that fetches the agent from the bridge at `host`.
pub fn installer_for(host: Option<&str>) -> String {
    static NEEDED: LazyLock<String> = LazyLock::new(|| {
        bundled(
            MODULES
                .iter()
                .filter(|(name, _)| INSTALLER_MODULES.contains(name)),
        )
    });
    let program = with_address(INSTALLER, host);
    let program = by_short_names(&program);
    let program = short(&program);
    format!("{INSTALLER_OPENING}{program}{}", *NEEDED)
}

/// The modules that the installer shares with the agent.
const INSTALLER_MODULES: [&str; 8] = [
    "mcp-computer.autostart",
    "mcp-computer.disk",
    "mcp-computer.installation",
    "mcp-computer.presence",
    "mcp-computer.question",
    "mcp-computer.setting",
    "mcp-computer.update",
    "mcp-computer.url",
];

/// The last line of the agent. What starts it with its computer looks whether the file has it: one that was cut off can
/// still be Lua.
const END: &str = "-- end of mcp-computer\n";

/// What stands before a program: it is the file's first function, so that its errors name its own lines.
const OPENING: &str = "--[[ mcp-computer, all modules in one file. Served by mcp-bridge. ]]local function main(R,require,...)";
const INSTALLER_OPENING: &str =
    "--[[ Installs mcp-computer. Served by mcp-bridge. ]]local function main(R,require,...)";

/// What stands behind a program: its modules, with a `require` that finds them; any other name goes to the `require` of the
/// shell. Each module is a chunk of its own, so its errors name its own file and line.
fn bundled<'a>(modules: impl Iterator<Item = &'a (&'static str, &'static str)>) -> String {
    let mut bundle = String::from("\nend\nlocal S={}\n");
    for (name, source) in modules {
        let source = with_hashes(source);
        let source = by_short_names(&source);
        let source = short(&source);
        let level = literal::level(&source);
        // Writing to a String can't fail. Lua passes over a line break right after the bracket.
        let _ = writeln!(
            bundle,
            "S.{}=[{level}[\n{source}]{level}]",
            name.trim_start_matches("mcp-computer.")
        );
    }
    bundle.push_str(BUNDLE_REQUIRE);
    bundle
}

/// `S` holds their sources. The modules require each other, so they get this `require` too, by the name that [`by_short_names`] gives it.
const BUNDLE_REQUIRE: &str = "\
local loaded, outer_require = {}, require
local function require(name)
  local source = S[name]
  if not source then return outer_require(name) end
  if loaded[name] == nil then
    loaded[name] = assert(load(\"local R=... \" .. source, \"@mcp-computer/\" .. name .. \".lua\"))(require)
  end
  return loaded[name]
end
return main(require, require, ...)
";

/// Our own Lua as short as it goes. All of it can be read, which a test sees to; were it not so, it would be served as it is.
fn short(source: &str) -> Cow<'_, str> {
    compact(source).map_or(Cow::Borrowed(source), Cow::Owned)
}

/// Within the file `require("mcp-computer.text")` is `R"text"`: it would be said hundreds of times. Afterwards that is a
/// global name for what shortens the locals' names, so none of them is called so.
fn by_short_names(source: &str) -> String {
    let mut parts = source.split("require(\"mcp-computer.");
    let mut shorter = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shorter.push_str("R\"");
        shorter.push_str(&part.replacen("\")", "\"", 1));
    }
    shorter
}

fn with_hashes(source: &str) -> Cow<'_, str> {
    if !source.contains(HASHES_LINE) {
        return Cow::Borrowed(source);
    }
    let mut by_hash: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (hash, method) in harmless() {
        // All methods of our own are names of Lua: no test's agent would run otherwise.
        let field = format!("{method} = true");
        let beginning = hash[..HASH_DIGITS].to_owned();
        by_hash.entry(beginning).or_default().push(field);
    }
    let fields: Vec<_> = by_hash
        .iter()
        .map(|(hash, methods)| format!("[\"{hash}\"] = {{ {} }}", methods.join(", ")))
        .collect();
    let line = format!("local HASHES = {{ {} }}", fields.join(", "));
    Cow::Owned(source.replacen(HASHES_LINE, &line, 1))
}

/// Each handler of our own tools that runs on computers and changes nothing: the hash of its source as it is sent, with the
/// modules that it requires, and its function. The agent knows them by that: a read-only one runs no others.
fn harmless() -> impl Iterator<Item = (String, String)> {
    // What a sync looks with is no tool's.
    let of_sync = own::handler(SYNC_READS).into_iter();
    let of_sync = of_sync.map(|source| (store::hash(source.as_bytes()), "read".to_owned()));
    let of_tools = TOOLS.dirs().flat_map(|folder| {
        let path = |name: &str| format!("{}/{name}", folder.path().display());
        let manifest = own::text(&path("_index.yaml"));
        let entries = manifest.unwrap_or_default().split("\n  - name: ");
        // A test holds what is read here to what the tools themselves say.
        entries.skip(1).filter_map(move |entry| {
            let value = |key: &str| entry.lines().find_map(|line| line.trim().strip_prefix(key));
            let is_harmless =
                value("kind: ")? == "computer.lua" && value("readOnlyHint: ")? == "true";
            if !is_harmless {
                return None;
            }
            let source = own::handler(&path(value("source: file://")?)).ok()?;
            let hash = store::hash(source.as_bytes());
            Some((hash, value("method: ").unwrap_or_default().to_owned()))
        })
    });
    of_tools.chain(of_sync)
}

fn with_address<'a>(source: &'a str, host: Option<&str>) -> Cow<'a, str> {
    match host.filter(|host| is_plain(host)) {
        Some(host) => Cow::Owned(source.replacen(
            ADDRESS_LINE,
            &format!("local DEFAULT_URL = \"ws://{host}/\""),
            1,
        )),
        None => Cow::Borrowed(source),
    }
}

/// Whether a Host header can stand in a Lua string: what comes from outside must not become code.
fn is_plain(host: &str) -> bool {
    !host.is_empty()
        && host.len() <= 255
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_beside_the_agent_is_in_the_bundle() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/mcp-computer");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                format!(
                    "mcp-computer.{}",
                    entry.unwrap().path().file_stem().unwrap().to_str().unwrap()
                )
            })
            .collect();
        files.sort();
        let listed: Vec<_> = MODULES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(files, listed);
    }

    #[test]
    fn the_bundle_and_the_installer_are_lua() {
        let lua = mlua::Lua::new();
        for source in [
            program(),
            program_for(Some("192.168.1.20:3001")),
            installer_for(Some("[::1]:3001")),
        ] {
            lua.load(source).into_function().unwrap();
        }
    }

    #[test]
    fn the_address_is_the_one_the_computer_asked() {
        assert!(!program().contains("ws://mc"));
        assert!(program_for(Some("mc.lan:3001")).contains("=\"ws://mc.lan:3001/\""));
        assert!(installer_for(Some("[::1]:3001")).contains("=\"ws://[::1]:3001/\""));
    }

    #[test]
    fn a_host_header_can_not_become_code() {
        for host in ["a\"..os.reboot()..\"", "a\nb", "", &"x".repeat(300)] {
            assert_eq!(program_for(Some(host)), program(), "{host}");
        }
    }

    #[test]
    fn what_starts_the_agent_knows_a_whole_file() {
        let mark = END.trim_start_matches("-- ").trim_end();
        let starts = include_str!("../../lua/mcp-computer/autostart.lua");
        let (first, rest) = mark.rsplit_once(' ').unwrap();
        assert!(starts.contains(&format!(":find(\"{first} \" .. \"{rest}\", 1, true)")));
        // What starts it is in the file too, and must not be taken for its end.
        assert_eq!(program().matches(mark).count(), 1);
    }

    #[test]
    fn the_agent_as_served_leaves_a_computer_room() {
        let bytes = program().len();
        assert!(bytes < 180_000, "{bytes}");
    }

    #[test]
    fn a_handler_that_changes_nothing_is_known_by_its_source_and_its_function() {
        let source = "return { look = function() return 1 end, change = function() end } -- \u{e9}";
        let hash = store::hash(source.as_bytes());
        let module = |name: &str| {
            let (_, source) = MODULES.iter().find(|(its, _)| its.ends_with(name)).unwrap();
            *source
        };
        let beginning = &hash[..HASH_DIGITS];
        let listed = format!("local HASHES = {{ [\"{beginning}\"] = {{ look = true }} }}");
        let harmless = module(".harmless").replacen(HASHES_LINE, &listed, 1);
        let lua = mlua::Lua::new();
        let sha256: mlua::Table = lua.load(module(".sha256")).eval().unwrap();
        let hex: mlua::Function = sha256.get("hex").unwrap();
        for text in [
            "",
            "abc",
            &"x".repeat(55),
            &"x".repeat(56),
            &"\u{e9}".repeat(1_000),
        ] {
            let told: String = hex.call(text).unwrap();
            assert_eq!(told, store::hash(text.as_bytes()), "{text}");
        }
        let require = lua.create_function(move |_, _: String| Ok(sha256.clone()));
        lua.globals().set("require", require.unwrap()).unwrap();
        let harmless: mlua::Table = lua.load(harmless).eval().unwrap();
        let asks = |name: &str, first: &str, second: &str| {
            let function: mlua::Function = harmless.get(name).unwrap();
            function.call::<bool>((first, second)).unwrap()
        };
        assert!(asks("is_listed", &hash, "look") && asks("is_known", &hash, ""));
        assert!(!asks("is_listed", &hash, "change") && !asks("is_listed", "look", &hash));
        assert!(!asks("is_known", &hash[1..], "") && !asks("is_known", "", ""));
        // What only begins as it does is the hash of no source.
        assert!(!asks("is_known", &beginning[1..], ""));
        assert!(!asks(
            "is_source",
            &format!("{beginning}{beginning}"),
            source
        ));
        assert!(asks("is_source", &hash, source) && !asks("is_source", &hash, "return {}"));
        // What is served has the line, whatever it lists now.
        assert!(with_hashes(module(".harmless")).contains("local HASHES = { "));
    }

    #[test]
    fn an_error_of_the_agent_names_the_module_and_the_line_of_its_source() {
        // What the game gives a program, as far as the agent looks at it when it is loaded.
        let game = r#"
            os = setmetatable({}, { __index = function() return function() return 0 end end })
            http = { websocketAsync = true }
            print = function() end
        "#;
        let line_of = |source: &str, text: &str| {
            1 + source.lines().position(|line| line.contains(text)).unwrap()
        };
        let lua = mlua::Lua::new();
        lua.load(game).exec().unwrap();
        // A module: the link needs an address, and fails where it names its sockets.
        let (_, link) = MODULES
            .iter()
            .find(|(name, _)| name.ends_with(".link"))
            .unwrap();
        let problem = lua
            .load(program().replace("return main(require, require, ...)", "return require"))
            .eval::<mlua::Function>()
            .unwrap()
            .call::<mlua::Table>("link")
            .unwrap()
            .get::<mlua::Function>("new")
            .unwrap()
            .call::<()>(lua.create_table().unwrap())
            .unwrap_err()
            .to_string();
        let place = format!(
            "mcp-computer/link.lua:{}:",
            line_of(link, "prefix = options.address.base")
        );
        assert!(problem.contains(&place), "{place} {problem}");
        // The program itself.
        let problem = lua
            .load(program())
            .set_name("@mcp-computer.lua")
            .call::<()>("--no-such-option")
            .unwrap_err()
            .to_string();
        assert!(
            problem.contains("Unknown option --no-such-option"),
            "{problem}"
        );
        assert!(
            problem.contains(&format!(
                "mcp-computer.lua:{}:",
                line_of(PROGRAM, "error(problem, 0)")
            )),
            "{problem}"
        );
    }

    #[test]
    fn agent_and_bridge_have_one_version() {
        assert!(PROGRAM.contains(concat!(
            "local VERSION = \"",
            env!("CARGO_PKG_VERSION"),
            "\""
        )));
    }
}
