//! What clients give the servers that they start: which of their own variables, in which folder.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::setup::machine::{Machine, System};

/// What the TypeScript SDK of MCP passes on by itself, which most clients use.
const OF_THE_SDK: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// The same on Windows.
const OF_THE_SDK_ON_WINDOWS: &[&str] = &[
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
];

/// What Codex passes on, on Unix.
const OF_CODEX: &[&str] = &[
    "HOME", "LOGNAME", "PATH", "SHELL", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ",
];

/// The `PATH` of what is started from the desktop on macOS.
const PATH_OF_LAUNCHD: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// What Gemini CLI, and what was made of it, keep back: variables with one of these in their names.
const KEPT_BACK: [&str; 6] = ["TOKEN", "KEY", "SECRET", "AUTH", "PASSWORD", "CREDENTIAL"];

/// Clients that run in a terminal, and so have its `PATH`.
const IN_A_TERMINAL: &[&str] = &[
    "claude-code",
    "codex",
    "copilot-cli",
    "crush",
    "droid",
    "gemini-cli",
    "kimi",
    "kiro",
    "amazon-q",
    "opencode",
    "qwen-code",
];

/// The variables of its own that a client gives a server, by what is known of it. Where nothing is, the fewest that any does:
/// what works with them works with more.
pub fn of_client(client: &str, machine: &Machine) -> BTreeMap<String, String> {
    let given = |names: &[&str]| -> BTreeMap<String, String> {
        let own = machine.variables.iter();
        // On Windows a variable is the same in capitals.
        let is_given = |name: &str| match machine.system {
            System::Windows => names.iter().any(|given| given.eq_ignore_ascii_case(name)),
            _ => names.contains(&name),
        };
        own.filter(|(name, _)| is_given(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let fewest = match machine.system {
        System::Windows => OF_THE_SDK_ON_WINDOWS,
        _ => OF_THE_SDK,
    };
    let mut variables = match client {
        "codex" if machine.system != System::Windows => given(OF_CODEX),
        "copilot-cli" if machine.system != System::Windows => given(&["PATH"]),
        "gemini-cli" | "qwen-code" => {
            let is_kept = |name: &str| {
                let name = name.to_uppercase();
                KEPT_BACK.iter().any(|word| name.contains(word))
            };
            let own = machine.variables.iter().filter(|(name, _)| !is_kept(name));
            own.map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        }
        _ => given(fewest),
    };
    if machine.system == System::MacOs && !IN_A_TERMINAL.contains(&client) {
        variables.insert("PATH".to_owned(), PATH_OF_LAUNCHD.to_owned());
    }
    variables
}

/// An entry's own variables, with what they name of the environment put in: `${NAME}`, `${env:NAME}`, `{env:NAME}`.
pub fn expanded(entry: &BTreeMap<String, String>, machine: &Machine) -> BTreeMap<String, String> {
    let expand = |value: &String| {
        let (open, end) = match value {
            value if value.starts_with("${") => ("${", "}"),
            value if value.starts_with("{env:") => ("{", "}"),
            _ => return value.clone(),
        };
        let inner = value
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(end));
        let Some(inner) = inner else {
            return value.clone();
        };
        let name = inner.strip_prefix("env:").unwrap_or(inner);
        let (name, otherwise) = name.split_once(":-").unwrap_or((name, ""));
        machine.variable(name).unwrap_or(otherwise).to_owned()
    };
    entry
        .iter()
        .map(|(name, value)| (name.clone(), expand(value)))
        .collect()
}

/// The folder that a client starts a server in: a project's own, or that of programs which are started from the desktop.
pub fn folder_of_client(is_of_project: bool, machine: &Machine) -> PathBuf {
    if is_of_project {
        return machine.here.clone();
    }
    match machine.system {
        System::Windows => machine.home.clone(),
        System::Linux | System::MacOs => Path::new("/").to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(system: System) -> Machine {
        let variables = [
            ("HOME", "/home/me"),
            ("PATH", "/opt/bin"),
            ("Path", "C:\\bin"),
            ("LANG", "C"),
            ("CC_LINK_TOKEN", "t"),
            ("CC_LINK_PORT", "4"),
            ("MCP_BRIDGE_STATE_DIR", "/s"),
        ];
        Machine {
            system,
            home: "/home/me".into(),
            here: "/work".into(),
            program: "/opt/bin/mcp-bridge".into(),
            variables: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        }
    }

    #[test]
    fn each_client_passes_on_what_it_passes_on() {
        let names = |client: &str, system| -> Vec<String> {
            of_client(client, &machine(system)).into_keys().collect()
        };
        assert_eq!(names("cursor", System::Linux), ["HOME", "PATH"]);
        assert_eq!(names("codex", System::Linux), ["HOME", "LANG", "PATH"]);
        assert_eq!(names("copilot-cli", System::MacOs), ["PATH"]);
        assert_eq!(names("cursor", System::Windows), ["PATH", "Path"]);
        let gemini = names("gemini-cli", System::Linux);
        assert!(
            gemini.contains(&"CC_LINK_PORT".to_owned())
                && !gemini.contains(&"CC_LINK_TOKEN".to_owned())
        );
        assert_eq!(
            of_client("claude-desktop", &machine(System::MacOs))["PATH"],
            PATH_OF_LAUNCHD
        );
        assert_eq!(
            of_client("claude-code", &machine(System::MacOs))["PATH"],
            "/opt/bin"
        );
    }

    #[test]
    fn what_an_entry_names_of_the_environment_is_put_in() {
        let of = |value: &str| {
            let entry = [("A".to_owned(), value.to_owned())].into();
            expanded(&entry, &machine(System::Linux))["A"].clone()
        };
        for (value, expected) in [
            ("${CC_LINK_TOKEN}", "t"),
            ("${env:CC_LINK_PORT}", "4"),
            ("{env:CC_LINK_PORT}", "4"),
            ("${NONE:-else}", "else"),
            ("${NONE}", ""),
            ("3001", "3001"),
            ("${CC", "${CC"),
        ] {
            assert_eq!(of(value), expected, "{value}");
        }
    }
}
