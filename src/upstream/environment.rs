//! What a server's process is given of this process's environment: what programs need to run at all. A client passes on
//! its user's secrets, and each server is to have its own alone.

use std::{collections::BTreeSet, ffi::OsString, fmt};

/// Variables that every program may see, whatever the system.
const USUAL: [&str; 30] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "USERNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "SSH_AUTH_SOCK",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
];

/// Beginnings of such variables.
const USUAL_BEGINNINGS: [&str; 2] = ["LC_", "XDG_"];

/// Those that Windows itself sets, without which many programs don't start there.
const OF_WINDOWS: [&str; 31] = [
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMMONPROGRAMW6432",
    "COMPUTERNAME",
    "COMSPEC",
    "DRIVERDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "LOGONSERVER",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROCESSOR_IDENTIFIER",
    "PROCESSOR_LEVEL",
    "PROCESSOR_REVISION",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PSMODULEPATH",
    "PUBLIC",
    "SESSIONNAME",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERDOMAIN",
    "USERPROFILE",
    "WINDIR",
];

/// The beginnings of variables that are the bridge's own affair, its secrets among them. No server is given them.
const OWN: [&str; 7] = [
    "CC_LINK_",
    "CC_PROBE_",
    "MCP_BRIDGE_",
    "MCP_HOST",
    "MCP_PORT",
    "MCP_TOKEN",
    "MCP_UPSTREAM",
];

/// What nobody misses: the shell's own account of itself.
const OF_THE_SHELL: [&str; 6] = ["_", "PWD", "OLDPWD", "SHLVL", "PS1", "LS_COLORS"];

/// How many variables are named that a server was not given.
const MOST_NAMED: usize = 12;

/// Which variables a server is given.
#[derive(Debug, Clone, Copy)]
pub enum Inherit<'a> {
    /// Those that every program may see.
    Usual,
    /// All but these, which are other servers'.
    AllBut(&'a BTreeSet<String>),
}

/// The environment of a server's process, beside what its entry says.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Environment {
    /// What it is given.
    pub given: Vec<(OsString, OsString)>,
    /// The names of what it is not, but for what nobody misses.
    pub withheld: Withheld,
}

/// Names of variables that a server was not given, in order, told as a sentence.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Withheld(pub Vec<String>);

impl Environment {
    /// What of these variables a server is given.
    pub fn of(variables: impl Iterator<Item = (OsString, OsString)>, inherit: Inherit<'_>) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            let text = name.to_string_lossy();
            // The same name in other letters is the same variable on Windows, and proxies are named in both.
            let upper = text.to_ascii_uppercase();
            if OWN.iter().any(|start| upper.starts_with(start)) {
                continue;
            }
            let is_given = match inherit {
                Inherit::Usual => is_usual(&upper),
                Inherit::AllBut(others) => is_usual(&upper) || !others.contains(text.as_ref()),
            };
            if is_given {
                environment.given.push((name, value));
            } else if !OF_THE_SHELL.contains(&upper.as_str()) {
                environment.withheld.0.push(text.into_owned());
            }
        }
        environment.withheld.0.sort();
        environment
    }
}

impl Withheld {
    /// What is told of these to whoever wonders why a server did not start: those that it speaks of in its last words, if
    /// there are any, and not those that its entry gives it.
    pub fn missed<'a>(
        &self,
        own: impl Fn(&str) -> bool,
        last_words: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let left = self.0.iter().filter(|name| !own(name));
        let spoken: Vec<_> = left
            .clone()
            .filter(|name| {
                let mut words = last_words.clone();
                words.any(|line| speaks_of(line, name))
            })
            .cloned()
            .collect();
        if spoken.is_empty() {
            Self(left.cloned().collect())
        } else {
            Self(spoken)
        }
    }
}

/// Whether a line has this name in it as a word.
fn speaks_of(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        !line[..at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part)
    })
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else {
            return Ok(());
        };
        write!(f, "Of mcp-bridge's environment it was not given ")?;
        f.write_str(&self.0[..self.0.len().min(MOST_NAMED)].join(", "))?;
        if let more @ 1.. = self.0.len().saturating_sub(MOST_NAMED) {
            write!(f, " and {more} more")?;
        }
        write!(
            f,
            ". If it needs one, its entry gives it: `\"env\": {{\"{first}\": \"${{{first}}}\"}}`"
        )
    }
}

fn is_usual(upper: &str) -> bool {
    USUAL.contains(&upper)
        || USUAL_BEGINNINGS
            .iter()
            .any(|start| upper.starts_with(start))
        || (cfg!(windows) && OF_WINDOWS.contains(&upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(names: &[&str], inherit: Inherit<'_>) -> (Vec<String>, Vec<String>) {
        let variables = names.iter().map(|name| (name.into(), "x".into()));
        let environment = Environment::of(variables, inherit);
        let given = environment.given.into_iter();
        let given = given.map(|(name, _)| name.into_string().unwrap());
        (given.collect(), environment.withheld.0)
    }

    const NAMES: [&str; 10] = [
        "PATH",
        "https_proxy",
        "LC_ALL",
        "XDG_RUNTIME_DIR",
        "GITHUB_TOKEN",
        "AWS_PROFILE",
        "CC_LINK_TOKEN",
        "MCP_BRIDGE_LOG",
        "PWD",
        "PATHS",
    ];

    #[test]
    fn a_server_is_given_what_programs_need_to_run() {
        let (given, withheld) = environment(&NAMES, Inherit::Usual);
        assert_eq!(given, ["PATH", "https_proxy", "LC_ALL", "XDG_RUNTIME_DIR"]);
        assert_eq!(withheld, ["AWS_PROFILE", "GITHUB_TOKEN", "PATHS"]);
    }

    #[test]
    fn one_that_inherits_is_given_all_but_the_bridges_and_other_servers() {
        let others = ["GITHUB_TOKEN", "PATH"].map(str::to_owned).into();
        let (given, withheld) = environment(&NAMES, Inherit::AllBut(&others));
        assert_eq!(
            given,
            [
                "PATH",
                "https_proxy",
                "LC_ALL",
                "XDG_RUNTIME_DIR",
                "AWS_PROFILE",
                "PWD",
                "PATHS"
            ]
        );
        assert_eq!(withheld, ["GITHUB_TOKEN"]);
    }

    #[test]
    fn what_a_server_speaks_of_is_named_alone() {
        let withheld = Withheld(["A", "API_KEY", "OTHER"].map(str::to_owned).to_vec());
        let missed = |words: &[&'static str]| {
            let words = words.iter().copied();
            withheld.missed(|name| name == "OTHER", words).0
        };
        assert_eq!(missed(&["Error: API_KEY is not set"]), ["API_KEY"]);
        assert_eq!(missed(&["MY_API_KEY is not set"]), ["A", "API_KEY"]);
        assert_eq!(missed(&[]), ["A", "API_KEY"]);
    }

    #[test]
    fn many_are_counted() {
        let names = (10..30).map(|number| format!("V{number}")).collect();
        assert_eq!(
            Withheld(names).to_string(),
            "Of mcp-bridge's environment it was not given V10, V11, V12, V13, V14, V15, V16, V17, V18, V19, V20, V21 \
             and 8 more. If it needs one, its entry gives it: `\"env\": {\"V10\": \"${V10}\"}`"
        );
        assert_eq!(Withheld::default().to_string(), "");
    }
}
