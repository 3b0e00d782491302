//! Settings: flags over environment over configuration file over defaults, in one typed struct.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use subtle::ConstantTimeEq;
use thiserror::Error;

/// The link port's default TCP port, the one existing agents dial.
pub const DEFAULT_LINK_PORT: u16 = 3001;

/// The name of the configuration file inside the configuration folder.
pub const CONFIG_FILE: &str = "config.toml";

/// Everything a person can set, after all sources were read.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where computers link to.
    pub link: LinkConfig,
    /// How long `probe-computers` waits for a computer's answer.
    pub probe_timeout: Duration,
    /// Whether the MCP servers that are configured on this machine are managed and offered.
    pub upstream: bool,
}

/// Settings of the link port.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// The address or host name to listen on.
    pub host: String,
    /// The TCP port to listen on; 0 means any free one.
    pub port: u16,
    /// What every agent must show in its hello, if anything.
    pub token: Option<LinkToken>,
    /// Names by which this machine is reached, accepted in a Host header beside IP addresses and `localhost`.
    pub names: Vec<String>,
}

/// The shared secret between the bridge and its agents. Its `Debug` form hides it.
#[derive(Clone)]
pub struct LinkToken(String);

impl LinkToken {
    /// A token made of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether `given` is this token, in a time that does not depend on where the two differ.
    pub fn matches(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl fmt::Debug for LinkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkToken(…)")
    }
}

/// The folders the bridge reads from and writes to.
#[derive(Debug, Clone)]
pub struct Folders {
    /// Holds `config.toml`; none where the platform knows no home folder.
    pub config: Option<PathBuf>,
    /// Holds the logs.
    pub state: PathBuf,
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
        let state = named("MCP_BRIDGE_STATE_DIR")
            .or_else(|| {
                // Only Linux has a folder for state of its own.
                platform.as_ref().map(|dirs| {
                    dirs.state_dir()
                        .unwrap_or(dirs.data_local_dir())
                        .to_path_buf()
                })
            })
            .unwrap_or_else(|| std::env::temp_dir().join("mcp-bridge"));
        let config = named("MCP_BRIDGE_CONFIG_DIR").or_else(|| {
            platform
                .as_ref()
                .map(|dirs| dirs.config_dir().to_path_buf())
        });
        Self { config, state }
    }

    /// Where the configuration file is, if it exists.
    pub fn config_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join(CONFIG_FILE))
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
}

/// One setting under its three names.
struct Setting {
    flag: &'static str,
    variable: &'static str,
    key: &'static str,
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

const SETTINGS: [&Setting; 6] = [
    &LINK_HOST,
    &LINK_PORT,
    &LINK_TOKEN,
    &LINK_NAMES,
    &PROBE_TIMEOUT,
    &UPSTREAM,
];

/// Why the settings can't be used. Each message names the source of the value.
#[derive(Debug, Error, PartialEq)]
pub enum ConfigError {
    /// A value that does not fit its setting.
    #[error(
        "{source_name} is `{value}`, but must be {expected}. Correct it there, or take it out to use the default."
    )]
    Value {
        /// Where the value stands, in the user's words.
        source_name: String,
        /// The value as given.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// The configuration file is no TOML, or says something that no setting is called.
    #[error("the configuration file {}: {problem}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong, with the line.
        problem: String,
    },
}

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
        let file = folders.config_file();
        let text = match &file {
            Some(path) => match std::fs::read_to_string(path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                Err(error) => {
                    return Err(ConfigError::File {
                        file: path.clone(),
                        problem: format!("can't be read: {error}"),
                    });
                }
            },
            None => String::new(),
        };
        let file = file.unwrap_or_else(|| PathBuf::from(CONFIG_FILE));
        Self::resolve(flags, variable, &file, &text)
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
        let keys = read_file(file, text)?;
        let pick = |setting: &Setting, flag: &Option<String>| -> Option<Given> {
            if let Some(value) = flag {
                return Some(Given {
                    value: value.clone(),
                    source: format!("the flag {}", setting.flag),
                });
            }
            // A client's configuration form leaves an empty variable for what was not filled in.
            if let Some(value) = variable(setting.variable).filter(|value| !value.is_empty()) {
                return Some(Given {
                    value,
                    source: format!("the environment variable {}", setting.variable),
                });
            }
            keys.get(setting.key).map(|(value, line)| Given {
                value: value.clone(),
                source: format!("`{}` (line {line} of {})", setting.key, file.display()),
            })
        };

        let host = match pick(&LINK_HOST, &flags.link_host) {
            Some(given) => match given.value.trim_matches(['[', ']']) {
                host if host.is_empty() || host.contains(char::is_whitespace) => {
                    return Err(given.refused(
                        "an IP address or a host name of this machine, such as 0.0.0.0 or 127.0.0.1",
                    ));
                }
                host => host.to_owned(),
            },
            None => "0.0.0.0".to_owned(),
        };
        let port = match pick(&LINK_PORT, &flags.link_port) {
            Some(given) => given.parse("a port number from 0 to 65535 (0 means any free one)")?,
            None => DEFAULT_LINK_PORT,
        };
        let token = match pick(&LINK_TOKEN, &flags.link_token) {
            // An agent without a token would show this one, from anywhere.
            Some(given) if given.value.is_empty() => {
                return Err(given.refused("a text of at least one character"));
            }
            given => given.map(|given| LinkToken(given.value)),
        };
        let names = pick(&LINK_NAMES, &flags.link_names)
            .map(|given| {
                given
                    .value
                    .split(|c: char| c == ',' || c.is_whitespace())
                    .filter(|name| !name.is_empty())
                    .map(str::to_ascii_lowercase)
                    .collect()
            })
            .unwrap_or_default();
        let probe_timeout = match pick(&PROBE_TIMEOUT, &flags.probe_timeout_ms) {
            Some(given) => {
                const EXPECTED: &str = "a number of milliseconds from 1 to 600000";
                match given.parse::<u64>(EXPECTED)? {
                    milliseconds @ 1..=600_000 => Duration::from_millis(milliseconds),
                    _ => return Err(given.refused(EXPECTED)),
                }
            }
            None => Duration::from_secs(2),
        };
        let upstream = match pick(&UPSTREAM, &flags.upstream) {
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
            upstream,
        })
    }
}

/// A value and where it came from.
struct Given {
    value: String,
    source: String,
}

impl Given {
    fn parse<T: std::str::FromStr>(&self, expected: &str) -> Result<T, ConfigError> {
        self.value
            .trim()
            .parse()
            .map_err(|_| self.refused(expected))
    }

    fn refused(&self, expected: &str) -> ConfigError {
        ConfigError::Value {
            source_name: self.source.clone(),
            value: self.value.clone(),
            expected: expected.to_owned(),
        }
    }
}

/// The file's settings as text, each with its line.
fn read_file(file: &Path, text: &str) -> Result<BTreeMap<String, (String, usize)>, ConfigError> {
    type Table = BTreeMap<toml::Spanned<String>, toml::Spanned<toml::Value>>;
    let refused = |problem: String| ConfigError::File {
        file: file.to_path_buf(),
        problem,
    };
    let line_at = |offset: usize| text.get(..offset).unwrap_or(text).matches('\n').count() + 1;

    let table: Table = toml::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        refused(format!(
            "is not valid TOML. {}",
            error.to_string().trim_end()
        ))
    })?;
    let mut keys = BTreeMap::new();
    for (key, value) in table {
        let line = line_at(key.span().start);
        let key = key.into_inner();
        if !SETTINGS.iter().any(|setting| setting.key == key) {
            let known: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
            return Err(refused(format!(
                "line {line}: there is no setting `{key}`; there are {}",
                known.join(", ")
            )));
        }
        let value = match value.into_inner() {
            toml::Value::String(value) => value,
            toml::Value::Integer(value) => value.to_string(),
            toml::Value::Array(values) if values.iter().all(toml::Value::is_str) => values
                .iter()
                .filter_map(toml::Value::as_str)
                .collect::<Vec<_>>()
                .join(","),
            other => {
                return Err(refused(format!(
                    "line {line}: `{key}` is a {}, but must be a text or a whole number",
                    other.type_str()
                )));
            }
        };
        keys.insert(key, (value, line));
    }
    Ok(keys)
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

    #[test]
    fn a_token_matches_itself_only_and_hides_in_debug_output() {
        let token = LinkToken::new("s3cret");
        assert!(token.matches("s3cret"));
        assert!(!token.matches("s3cres") && !token.matches("s3cret ") && !token.matches(""));
        assert!(!format!("{token:?}").contains("s3cret"));
    }
}
