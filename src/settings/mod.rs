//! Settings: flags over environment over configuration file over defaults, in one typed struct.

mod sources;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

pub use sources::ConfigError;
use sources::{Given, Setting, Sources};

use crate::base::token::Token;

/// The link port's default TCP port, the one existing agents dial.
pub const DEFAULT_LINK_PORT: u16 = 3001;

/// The default TCP port of MCP over HTTP.
pub const DEFAULT_MCP_PORT: u16 = 3000;

/// The name of the configuration file inside the configuration folder.
pub const CONFIG_FILE: &str = "config.toml";

/// The name of the user's folder of tools inside the configuration folder.
pub const TOOLS_FOLDER: &str = "tools";

/// Everything a person can set, after all sources were read.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where computers link to.
    pub link: LinkConfig,
    /// How long `probe-computers` waits for a computer's answer.
    pub probe_timeout: Duration,
    /// Which tools there are.
    pub tools: ToolsConfig,
    /// Whether the MCP servers that are configured on this machine are managed and offered.
    pub upstream: bool,
}

/// Settings of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsConfig {
    /// The user's own folder of tools, which need not be there.
    pub own_folder: Option<PathBuf>,
    /// Further folders of tools, which have to be there.
    pub folders: Vec<PathBuf>,
    /// The only sets of tools there are to be, if any were chosen.
    pub sets: Option<BTreeSet<String>>,
    /// The only tools there are to be beside those sets, if any were chosen.
    pub names: Option<BTreeSet<String>>,
    /// Whether only tools that promise to change nothing may be called.
    pub read_only: bool,
}

/// Settings of the link port.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// The address or host name to listen on.
    pub host: String,
    /// The TCP port to listen on; 0 means any free one.
    pub port: u16,
    /// What every agent must show in its hello, if anything.
    pub token: Option<Token>,
    /// Names by which this machine is reached, accepted in a Host header beside IP addresses and `localhost`.
    pub names: Vec<String>,
}

/// Where MCP is served over HTTP. Only `mcp-bridge serve` reads it: these variables are other programs' too, and what
/// they mean by them must not keep a bridge on standard input from starting.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// The address or host name to listen on.
    pub host: String,
    /// The TCP port to listen on; 0 means any free one.
    pub port: u16,
    /// What every client must show, if anything.
    pub token: Option<Token>,
}

/// The folders the bridge reads from and writes to.
#[derive(Debug, Clone)]
pub struct Folders {
    /// Holds `config.toml`; none where the platform knows no home folder.
    pub config: Option<PathBuf>,
    /// Holds the logs.
    pub state: PathBuf,
    /// Holds what all bridges of a user share, however they were started.
    pub shared: PathBuf,
}

impl Folders {
    /// The platform's folders for this user, or those named by `MCP_BRIDGE_CONFIG_DIR` and `MCP_BRIDGE_STATE_DIR`.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let platform = directories::ProjectDirs::from("", "", "mcp-bridge");
        let named = |name| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let named_state = named("MCP_BRIDGE_STATE_DIR");
        let state = named_state
            .clone()
            .or_else(|| {
                // Only Linux has a folder for state of its own.
                platform.as_ref().map(|dirs| {
                    dirs.state_dir()
                        .unwrap_or(dirs.data_local_dir())
                        .to_path_buf()
                })
            })
            .unwrap_or_else(|| std::env::temp_dir().join("mcp-bridge"));
        // On Windows a packaged program, as Claude Desktop may be, sees an AppData of its own, and so does what it
        // starts; the rest of the profile is the same to all.
        let shared = named_state
            .or_else(|| {
                let home = directories::UserDirs::new().filter(|_| cfg!(windows))?;
                Some(home.home_dir().join(".mcp-bridge"))
            })
            .unwrap_or_else(|| state.clone());
        let config = named("MCP_BRIDGE_CONFIG_DIR").or_else(|| {
            platform
                .as_ref()
                .map(|dirs| dirs.config_dir().to_path_buf())
        });
        Self {
            config,
            state,
            shared,
        }
    }

    /// Where the configuration file is, if it exists.
    pub fn config_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join(CONFIG_FILE))
    }

    /// The configuration file and what it says, which is nothing if there is none.
    fn configuration(&self) -> Result<(PathBuf, String), ConfigError> {
        let Some(file) = self.config_file() else {
            return Ok((PathBuf::from(CONFIG_FILE), String::new()));
        };
        match std::fs::read_to_string(&file) {
            Ok(text) => Ok((file, text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((file, String::new())),
            Err(error) => Err(ConfigError::File {
                problem: format!("can't be read: {error}"),
                file,
            }),
        }
    }
}

/// What was given on the command line, as text; each wins over every other source.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--link-host`
    pub link_host: Option<String>,
    /// `--link-port`
    pub link_port: Option<String>,
    /// `--link-token`
    pub link_token: Option<String>,
    /// `--link-names`
    pub link_names: Option<String>,
    /// `--probe-timeout-ms`
    pub probe_timeout_ms: Option<String>,
    /// `--upstream`
    pub upstream: Option<String>,
    /// `--mcp-host`
    pub mcp_host: Option<String>,
    /// `--mcp-port`
    pub mcp_port: Option<String>,
    /// `--mcp-token`
    pub mcp_token: Option<String>,
    /// `--tools`, as often as it was given
    pub tools: Vec<String>,
    /// `--toolsets`
    pub toolsets: Option<String>,
    /// `--read-only`
    pub read_only: bool,
}

const LINK_HOST: Setting = Setting {
    flag: "--link-host",
    variable: "CC_LINK_HOST",
    key: "link_host",
};
const LINK_PORT: Setting = Setting {
    flag: "--link-port",
    variable: "CC_LINK_PORT",
    key: "link_port",
};
const LINK_TOKEN: Setting = Setting {
    flag: "--link-token",
    variable: "CC_LINK_TOKEN",
    key: "link_token",
};
const LINK_NAMES: Setting = Setting {
    flag: "--link-names",
    variable: "CC_LINK_NAMES",
    key: "link_names",
};
const PROBE_TIMEOUT: Setting = Setting {
    flag: "--probe-timeout-ms",
    variable: "CC_PROBE_TIMEOUT_MS",
    key: "probe_timeout_ms",
};

const UPSTREAM: Setting = Setting {
    flag: "--upstream",
    variable: "MCP_UPSTREAM",
    key: "upstream",
};
const MCP_HOST: Setting = Setting {
    flag: "--mcp-host",
    variable: "MCP_HOST",
    key: "mcp_host",
};
const MCP_PORT: Setting = Setting {
    flag: "--mcp-port",
    variable: "MCP_PORT",
    key: "mcp_port",
};
const MCP_TOKEN: Setting = Setting {
    flag: "--mcp-token",
    variable: "MCP_TOKEN",
    key: "mcp_token",
};
const TOOLS: Setting = Setting {
    flag: "--tools",
    variable: "MCP_BRIDGE_TOOLS",
    key: "tools",
};
const TOOLSETS: Setting = Setting {
    flag: "--toolsets",
    variable: "MCP_BRIDGE_TOOLSETS",
    key: "toolsets",
};
const READ_ONLY: Setting = Setting {
    flag: "--read-only",
    variable: "MCP_BRIDGE_READ_ONLY",
    key: "read_only",
};

const SETTINGS: [&Setting; 12] = [
    &LINK_HOST,
    &LINK_PORT,
    &LINK_TOKEN,
    &LINK_NAMES,
    &PROBE_TIMEOUT,
    &UPSTREAM,
    &TOOLS,
    &TOOLSETS,
    &READ_ONLY,
    &MCP_HOST,
    &MCP_PORT,
    &MCP_TOKEN,
];

impl Config {
    /// Reads all sources: `flags`, the environment through `variable`, and the configuration file if there is one.
    ///
    /// # Errors
    /// A value that does not fit, or a configuration file that can't be read.
    pub fn load(
        flags: &Flags,
        variable: impl Fn(&str) -> Option<String>,
        folders: &Folders,
    ) -> Result<Self, ConfigError> {
        let (file, text) = folders.configuration()?;
        let mut config = Self::resolve(flags, variable, &file, &text)?;
        config.tools.own_folder = folders
            .config
            .as_ref()
            .map(|folder| folder.join(TOOLS_FOLDER));
        Ok(config)
    }

    /// As [`Config::load`], with the configuration file's text at hand.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn resolve(
        flags: &Flags,
        variable: impl Fn(&str) -> Option<String>,
        file: &Path,
        text: &str,
    ) -> Result<Self, ConfigError> {
        let sources = Sources::read(&variable, file, text, &SETTINGS)?;
        let host = host(sources.pick(&LINK_HOST, &flags.link_host), "0.0.0.0")?;
        let port = port(
            sources.pick(&LINK_PORT, &flags.link_port),
            DEFAULT_LINK_PORT,
        )?;
        let token = match sources.pick(&LINK_TOKEN, &flags.link_token) {
            // An agent without a token would show this one, from anywhere.
            Some(given) if given.value.is_empty() => {
                return Err(given.refused("a text of at least one character"));
            }
            given => given.map(|given| Token::new(given.value)),
        };
        let names = sources
            .pick(&LINK_NAMES, &flags.link_names)
            .map(|given| {
                given
                    .value
                    .split(|c: char| c == ',' || c.is_whitespace())
                    .filter(|name| !name.is_empty())
                    .map(str::to_ascii_lowercase)
                    .collect()
            })
            .unwrap_or_default();
        let probe_timeout = match sources.pick(&PROBE_TIMEOUT, &flags.probe_timeout_ms) {
            Some(given) => {
                const EXPECTED: &str = "a number of milliseconds from 1 to 600000";
                match given.parse::<u64>(EXPECTED)? {
                    milliseconds @ 1..=600_000 => Duration::from_millis(milliseconds),
                    _ => return Err(given.refused(EXPECTED)),
                }
            }
            None => Duration::from_secs(2),
        };
        let tools = tools(&sources, flags)?;
        let upstream = match sources.pick(&UPSTREAM, &flags.upstream) {
            Some(given) => match given.value.trim() {
                "on" => true,
                "off" => false,
                _ => return Err(given.refused("on or off")),
            },
            None => true,
        };
        Ok(Self {
            link: LinkConfig {
                host,
                port,
                token,
                names,
            },
            probe_timeout,
            tools,
            upstream,
        })
    }
}

impl McpConfig {
    /// Reads all sources, as [`Config::load`].
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn load(
        flags: &Flags,
        variable: impl Fn(&str) -> Option<String>,
        folders: &Folders,
    ) -> Result<Self, ConfigError> {
        let (file, text) = folders.configuration()?;
        Self::resolve(flags, variable, &file, &text)
    }

    /// As [`McpConfig::load`], with the configuration file's text at hand.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn resolve(
        flags: &Flags,
        variable: impl Fn(&str) -> Option<String>,
        file: &Path,
        text: &str,
    ) -> Result<Self, ConfigError> {
        let sources = Sources::read(&variable, file, text, &SETTINGS)?;
        let token = match sources.pick(&MCP_TOKEN, &flags.mcp_token) {
            // RFC 9110, section 11.2: what else there is has no place after `Bearer `.
            Some(given) if !is_sendable(&given.value) => {
                const EXPECTED: &str =
                    "a text of letters, digits and signs of ASCII, without spaces";
                return Err(given.concealed().refused(EXPECTED));
            }
            given => given.map(|given| Token::new(given.value)),
        };
        Ok(Self {
            host: host(sources.pick(&MCP_HOST, &flags.mcp_host), "127.0.0.1")?,
            port: port(sources.pick(&MCP_PORT, &flags.mcp_port), DEFAULT_MCP_PORT)?,
            token,
        })
    }
}

/// Whether a client can send this as a bearer token.
fn is_sendable(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

fn host(given: Option<Given>, default: &str) -> Result<String, ConfigError> {
    let Some(given) = given else {
        return Ok(default.to_owned());
    };
    match given.value.trim_matches(['[', ']']) {
        host if host.is_empty() || host.contains(char::is_whitespace) => Err(given
            .refused("an IP address or a host name of this machine, such as 0.0.0.0 or 127.0.0.1")),
        host => Ok(host.to_owned()),
    }
}

fn tools(sources: &Sources<'_>, flags: &Flags) -> Result<ToolsConfig, ConfigError> {
    let mut tools = ToolsConfig::default();
    let given = (!flags.tools.is_empty()).then(|| flags.tools.join(","));
    if let Some(given) = sources.pick(&TOOLS, &given) {
        for word in given.list() {
            let path = given.path(&word);
            // What has a slash in it, or is a folder that exists, is no name.
            if word.contains(['/', '\\']) || word.starts_with('.') || path.is_dir() {
                let path = std::path::absolute(&path).unwrap_or(path);
                tools.folders.push(path);
            } else if word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            {
                tools.names.get_or_insert_default().insert(word);
            } else {
                return Err(given.refused(
                    "folders of tools (with a slash in them) and names of tools, with commas between",
                ));
            }
        }
    }
    tools.sets = sources
        .pick(&TOOLSETS, &flags.toolsets)
        .map(|given| given.list().collect());
    let read_only = flags.read_only.then(|| "true".to_owned());
    if let Some(given) = sources.pick(&READ_ONLY, &read_only) {
        tools.read_only = given.parse("true or false")?;
    }
    Ok(tools)
}

fn port(given: Option<Given>, default: u16) -> Result<u16, ConfigError> {
    given.map_or(Ok(default), |given| {
        given.parse("a port number from 0 to 65535 (0 means any free one)")
    })
}

#[cfg(test)]
mod tests {
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
        let flags = Flags {
            link_port: Some("3".into()),
            ..Flags::default()
        };
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
        let file = "tools = [\"./more\", \"greet\", \"echo\"]\ntoolsets = \"core, files\"\nread_only = true";
        let tools = resolve(Flags::default(), &[], file).unwrap().tools;
        assert!(tools.folders[0].is_absolute() && tools.folders[0].ends_with("more"));
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(tools.names, words(&["echo", "greet"]));
        assert_eq!(tools.sets, words(&["core", "files"]));
        assert!(tools.read_only);

        let flags = Flags {
            tools: vec!["a/b".into(), "greet".into()],
            ..Flags::default()
        };
        let tools = resolve(flags, &[("MCP_BRIDGE_READ_ONLY", "false")], file)
            .unwrap()
            .tools;
        assert_eq!((tools.folders.len(), tools.names), (1, words(&["greet"])));
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
        let flags = Flags {
            mcp_host: Some("[::1]".into()),
            ..Flags::default()
        };
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
        let flags = Flags {
            probe_timeout_ms: Some("0".into()),
            ..Flags::default()
        };
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
