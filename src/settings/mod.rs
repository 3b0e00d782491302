//! Settings: flags over environment over configuration file over defaults, in typed structs made from one table.

mod arguments;
mod error;
mod folders;
mod groups;
mod kinds;
mod setting;
mod sources;
mod table;

pub(crate) use arguments::FlagsOf;
pub use error::ConfigError;
pub use folders::{Folders, TOOLS_FOLDER};
pub use kinds::ChosenTools;
pub use sources::Flags;
pub use table::{Config, LinkConfig, McpConfig, SyncConfig, ToolsConfig};

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use super::*;

    fn resolve(
        flags: Flags,
        variables: &[(&str, &str)],
        file: &str,
    ) -> Result<Config, ConfigError> {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        };
        Config::resolve(&flags, variable, Path::new("config.toml"), file)
    }

    #[test]
    fn without_any_source_the_defaults_hold() {
        let config = resolve(Flags::default(), &[], "").unwrap();
        assert_eq!(
            (config.link.host.as_str(), config.link.port),
            ("0.0.0.0", 3001)
        );
        assert_eq!(config.probe_timeout, Duration::from_secs(2));
        assert!(config.link.token.is_none() && config.link.names.is_empty());
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_file() {
        let file = "link_port = 1\nlink_host = \"10.0.0.1\"\nprobe_timeout_ms = 50";
        let flags = Flags::default().with("--link-port", "3");
        let config = resolve(
            flags,
            &[("CC_LINK_PORT", "2"), ("CC_LINK_HOST", "10.0.0.2")],
            file,
        )
        .unwrap();
        assert_eq!(
            (config.link.host.as_str(), config.link.port),
            ("10.0.0.2", 3)
        );
        assert_eq!(config.probe_timeout, Duration::from_millis(50));
    }

    #[test]
    fn tools_are_folders_and_names() {
        let file = "tools = [\"./more\", \"greet\", \"echo\"]\ntoolsets = \"core, files\"\nlist = [\"core\", \"my notes\"]\nread_only = true";
        let tools = resolve(Flags::default(), &[], file).unwrap().tools;
        assert!(tools.chosen.folders[0].is_absolute() && tools.chosen.folders[0].ends_with("more"));
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(tools.chosen.names, words(&["echo", "greet"]));
        assert_eq!(tools.sets, words(&["core", "files"]));
        assert_eq!(tools.listed, words(&["core", "my notes"]));
        assert!(tools.read_only);

        let flags = Flags::default().with("--tools", "a/b,greet");
        let tools = resolve(flags, &[("MCP_BRIDGE_READ_ONLY", "false")], file)
            .unwrap()
            .tools;
        assert_eq!(
            (tools.chosen.folders.len(), tools.chosen.names),
            (1, words(&["greet"]))
        );
        assert!(!tools.read_only);
        for (file, key) in [
            ("tools = \"what?\"", "tools"),
            ("read_only = \"perhaps\"", "read_only"),
        ] {
            let error = resolve(Flags::default(), &[], file)
                .unwrap_err()
                .to_string();
            assert!(error.contains(&format!("`{key}` (line 1")), "{error}");
        }
    }

    fn resolve_mcp(flags: Flags, file: &str) -> Result<McpConfig, ConfigError> {
        McpConfig::resolve(&flags, |_| None, Path::new("config.toml"), file)
    }

    #[test]
    fn mcp_over_http_is_for_this_machine_unless_told_otherwise() {
        let config = resolve_mcp(Flags::default(), "").unwrap();
        assert_eq!((config.host.as_str(), config.port), ("127.0.0.1", 3000));
        assert!(config.token.is_none());
        let file = "mcp_host = \"::\"\nmcp_port = 0\nmcp_token = \"t0k/en+=\"";
        let flags = Flags::default().with("--mcp-host", "[::1]");
        let config = resolve_mcp(flags, file).unwrap();
        assert_eq!((config.host.as_str(), config.port), ("::1", 0));
        assert!(config.token.unwrap().matches("t0k/en+="));
    }

    #[test]
    fn a_token_that_no_client_could_send_is_refused() {
        for token in ["", "two words", "schlüssel"] {
            let problem = resolve_mcp(Flags::default(), &format!("mcp_token = \"{token}\""))
                .unwrap_err()
                .to_string();
            assert!(problem.contains("`mcp_token` (line 1"), "{problem}");
            assert!(token.is_empty() || !problem.contains(token), "{problem}");
        }
    }

    #[test]
    fn what_others_mean_by_a_variable_of_mcp_keeps_no_client_from_its_bridge() {
        let variables = [("MCP_PORT", "auto"), ("MCP_TOKEN", "two words")];
        resolve(Flags::default(), &variables, "").unwrap();
    }

    #[test]
    fn the_servers_of_others_are_on_or_off() {
        let of = |file| resolve(Flags::default(), &[], file);
        assert!(of("").unwrap().upstream && of("upstream = \"on\"").unwrap().upstream);
        assert!(!of("upstream = \"off\"").unwrap().upstream);
        let error = of("upstream = \"yes\"").unwrap_err().to_string();
        assert!(error.contains("must be on or off"), "{error}");
    }

    #[test]
    fn an_empty_variable_counts_as_not_set() {
        let config = resolve(
            Flags::default(),
            &[("CC_LINK_TOKEN", ""), ("CC_LINK_PORT", "")],
            "",
        )
        .unwrap();
        assert!(config.link.token.is_none());
        assert_eq!(config.link.port, 3001);
    }

    #[test]
    fn a_wrong_value_is_an_error_that_names_its_source() {
        let from_environment = resolve(Flags::default(), &[("CC_LINK_PORT", "abc")], "")
            .unwrap_err()
            .to_string();
        assert!(
            from_environment.contains("the environment variable CC_LINK_PORT is `abc`"),
            "{from_environment}"
        );
        let flags = Flags::default().with("--probe-timeout-ms", "0");
        let from_flag = resolve(flags, &[], "").unwrap_err().to_string();
        assert!(
            from_flag.contains("the flag --probe-timeout-ms is `0`"),
            "{from_flag}"
        );
        let from_file = resolve(Flags::default(), &[], "\n\nlink_port = 70000")
            .unwrap_err()
            .to_string();
        assert!(
            from_file.contains("`link_port` (line 3 of config.toml) is `70000`"),
            "{from_file}"
        );
    }

    #[test]
    fn a_token_that_nobody_has_to_show_and_a_host_that_is_none_are_refused() {
        for (file, key) in [
            ("link_token = \"\"", "link_token"),
            ("link_token = []", "link_token"),
            ("link_host = \"[]\"", "link_host"),
            ("link_host = \" \"", "link_host"),
        ] {
            let error = resolve(Flags::default(), &[], file)
                .unwrap_err()
                .to_string();
            assert!(error.contains(&format!("`{key}` (line 1")), "{error}");
        }
    }

    #[test]
    fn a_broken_or_unknown_line_of_the_file_is_named() {
        let broken = resolve(Flags::default(), &[], "link_port = 1\nx")
            .unwrap_err()
            .to_string();
        assert!(
            broken.contains("config.toml") && broken.contains("line 2"),
            "{broken}"
        );
        // The line itself may hold a token.
        let open = resolve(Flags::default(), &[], "link_token = \"x1y2z3")
            .unwrap_err()
            .to_string();
        assert!(
            open.contains("line 1") && !open.contains("x1y2z3"),
            "{open}"
        );
        let unknown = resolve(Flags::default(), &[], "# ports\nport = 1")
            .unwrap_err()
            .to_string();
        assert!(
            unknown.contains("line 2: there is no setting `port`"),
            "{unknown}"
        );
        let wrong_type = resolve(Flags::default(), &[], "link_port = true")
            .unwrap_err()
            .to_string();
        assert!(
            wrong_type.contains("`link_port` is a boolean"),
            "{wrong_type}"
        );
    }
}
