//! The in-game agent as the bridge holds it: its modules in one file, and the installer that fetches it.

use std::fmt::Write as _;

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
    "advice",
    "agent",
    "base64",
    "chunk",
    "console",
    "courier",
    "describe",
    "environment",
    "game",
    "guard",
    "halting",
    "handlers",
    "identity",
    "incoming",
    "input",
    "job",
    "jobs",
    "json",
    "key",
    "legacy",
    "link",
    "liveness",
    "memory",
    "methods",
    "number",
    "options",
    "outgoing",
    "output",
    "paper",
    "present",
    "printing",
    "reply",
    "requests",
    "stream",
    "text",
    "url",
];

/// The line of the agent that holds its default address, and of the installer that holds the bridge's.
const ADDRESS_LINE: &str = "local DEFAULT_URL = nil";

/// The agent in one file, without an address of its own.
///
/// The modules stand before the program as functions, with a `require` that finds them; any other name goes to the
/// `require` of the shell. A module's errors keep the names of the module's own lines.
pub fn program() -> String {
    let mut bundle = String::from(BUNDLE_REQUIRE);
    for (name, source) in MODULES {
        // Writing to a String can't fail.
        let _ = write!(bundle, "modules[\"{name}\"] = function()\n{source}\nend\n");
    }
    bundle.push_str(PROGRAM);
    bundle
}

/// What stands before the modules. They require each other, so they see this `require` too.
const BUNDLE_REQUIRE: &str = "\
-- mcp-computer, all modules in one file. Served by mcp-bridge.
local modules, loaded, outer_require = {}, {}, require
local function require(name)
  if not modules[name] then return outer_require(name) end
  if loaded[name] == nil then loaded[name] = modules[name]() end
  return loaded[name]
end
";

/// The agent in one file, which links to the bridge at `host` (a Host header) when it is given no other address.
pub fn program_for(host: Option<&str>) -> String {
    with_address(program(), host)
}

/// The installer that fetches the agent from the bridge at `host`.
pub fn installer_for(host: Option<&str>) -> String {
    with_address(INSTALLER.to_owned(), host)
}

fn with_address(source: String, host: Option<&str>) -> String {
    match host.filter(|host| is_plain(host)) {
        Some(host) => source.replacen(
            ADDRESS_LINE,
            &format!("local DEFAULT_URL = \"ws://{host}/\""),
            1,
        ),
        None => source,
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
        let line = |host| format!("local DEFAULT_URL = {host}\n");
        assert!(program().contains(&line("nil")));
        assert!(program_for(Some("mc.lan:3001")).contains(&line("\"ws://mc.lan:3001/\"")));
        assert!(installer_for(Some("[::1]:3001")).contains(&line("\"ws://[::1]:3001/\"")));
    }

    #[test]
    fn a_host_header_can_not_become_code() {
        for host in ["a\"..os.reboot()..\"", "a\nb", "", &"x".repeat(300)] {
            assert!(
                program_for(Some(host)).contains("local DEFAULT_URL = nil\n"),
                "{host}"
            );
        }
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
