//! The configuration file, and the values of flags and environment variables.

use std::{path::Path, time::Duration};

use mcp_bridge::settings::{Config, ConfigError, Flags, McpConfig};

/// Any text as a configuration file, and after NUL characters as flags and an environment variable, is refused with a
/// reason that names the source, or gives settings within their bounds.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut parts = text.split('\0');
    let file = parts.next().unwrap_or_default();
    let mut given = || {
        parts
            .next()
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
    };
    let mut flags = Flags::default();
    let mut give = |flag, value: Option<String>| {
        if let Some(value) = value {
            flags = std::mem::take(&mut flags).with(flag, value);
        }
    };
    for flag in [
        "--link-host",
        "--link-port",
        "--link-token",
        "--link-names",
        "--probe-timeout-ms",
    ] {
        give(flag, given());
    }
    let in_environment = given();
    for flag in [
        "--mcp-host",
        "--mcp-port",
        "--mcp-token",
        "--tools",
        "--toolsets",
        "--list",
    ] {
        give(flag, given());
    }
    give("--read-only", given().map(|_| "true".to_owned()));
    give("--upstream", given());
    let variable = |_: &str| in_environment.clone();
    match Config::resolve(&flags, variable, Path::new("config.toml"), file) {
        Ok(config) => check_bounds(&config),
        Err(error) => check_error(&error),
    }
    match McpConfig::resolve(&flags, variable, Path::new("config.toml"), file) {
        Ok(config) => check_mcp_bounds(&config),
        Err(error) => check_error(&error),
    }
}

/// Whether every setting is one that the rest of the program can work with.
pub fn check_bounds(config: &Config) {
    let host = &config.link.host;
    assert!(
        !host.is_empty() && !host.contains(char::is_whitespace),
        "{host:?}"
    );
    for name in &config.link.names {
        assert!(!name.is_empty(), "an empty name");
        assert!(
            !name.contains(|c: char| c.is_whitespace() || c == ','),
            "{name:?}"
        );
        assert_eq!(*name, name.to_ascii_lowercase());
    }
    let probe = config.probe_timeout;
    assert!(
        (Duration::from_millis(1)..=Duration::from_secs(600)).contains(&probe),
        "{probe:?}"
    );
    for folder in &config.tools.chosen.folders {
        assert!(folder.is_absolute(), "{folder:?}");
    }
    for word in [&config.tools.sets, &config.tools.chosen.names]
        .into_iter()
        .flatten()
        .flatten()
    {
        assert!(
            !word.is_empty() && !word.contains(',') && word.trim() == word,
            "{word:?}"
        );
    }
    // A token that nobody has to show would open the port to the internet.
    if let Some(token) = &config.link.token {
        assert!(!token.matches(""), "an empty token");
    }
}

fn check_mcp_bounds(config: &McpConfig) {
    let host = &config.host;
    assert!(
        !host.is_empty() && !host.contains(char::is_whitespace),
        "{host:?}"
    );
    if let Some(token) = &config.token {
        assert!(!token.matches(""), "an empty token");
    }
}

fn check_error(error: &ConfigError) {
    let said = error.to_string();
    let sources = [
        "the flag --",
        "the environment variable CC_",
        "the environment variable MCP_",
        "config.toml",
    ];
    assert!(sources.iter().any(|source| said.contains(source)), "{said}");
}
