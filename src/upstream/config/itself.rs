//! Whether a configured server is this very bridge, which would then call itself without end.
//!
//! What can be told from the words of an entry is told here, before anything is started. What hides behind other words
//! is stopped later: a bridge that was started by a bridge offers no servers of others (see `process`), and a server
//! that says it is an mcp-bridge is let go (see `connection`).

use super::entry::{Address, Program, Reach};

/// This product's name: of its program, and what its servers call themselves.
pub const NAME: &str = env!("CARGO_PKG_NAME");

/// Programs that run the program named after them.
const LAUNCHERS: [&str; 14] = [
    "bash",
    "cmd",
    "dash",
    "env",
    "exec",
    "fish",
    "nice",
    "nohup",
    "powershell",
    "pwsh",
    "sh",
    "start",
    "wsl",
    "zsh",
];

/// Whether this is the way to this bridge. `port` is where it serves MCP over HTTP, if it does.
pub fn is_this_bridge(reach: &Reach, port: Option<u16>) -> bool {
    match reach {
        Reach::Program(program) => runs_bridge(program),
        Reach::Address(address) => port.is_some_and(|port| leads_to(address, port)),
    }
}

fn runs_bridge(program: &Program) -> bool {
    let first = program.command.as_str();
    if stem(first) == NAME {
        return true;
    }
    if !is_launcher(first) {
        return false;
    }
    let words = program
        .args
        .iter()
        .flat_map(|argument| argument.split([' ', '\t', '\n', ';', '&', '|', '"', '\'']))
        .filter(|word| !word.is_empty());
    // The first word that is not about the launcher is the program.
    for word in words {
        let about_the_launcher = word.starts_with('-')
            || word.starts_with("/c")
            || word.starts_with("/C")
            || word.contains('=');
        if stem(word) == NAME {
            return true;
        }
        if !about_the_launcher && !is_launcher(word) {
            return false;
        }
    }
    false
}

fn is_launcher(word: &str) -> bool {
    LAUNCHERS.contains(&stem(word).to_ascii_lowercase().as_str())
}

/// A program's name without its folders, of either kind of system, and without `.exe`.
fn stem(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    match name.rsplit_once('.') {
        Some((stem, ending)) if ending.eq_ignore_ascii_case("exe") => stem,
        _ => name,
    }
}

fn leads_to(address: &Address, port: u16) -> bool {
    let Some((_, rest)) = address.url.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let Some(name) = host.strip_suffix(&format!(":{port}")) else {
        return false;
    };
    name.eq_ignore_ascii_case("localhost")
        || name == "[::1]"
        || name == "0.0.0.0"
        || name.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(words: &[&str]) -> Reach {
        Reach::Program(Program {
            command: words[0].to_owned(),
            args: words[1..].iter().map(|&word| word.to_owned()).collect(),
            ..Program::default()
        })
    }

    #[test]
    fn this_bridge_is_recognised_by_whatever_words_it_is_started() {
        for words in [
            &["mcp-bridge"][..],
            &["/home/me/.local/bin/mcp-bridge", "--link-port", "3002"],
            &["C:\\Users\\me\\.cargo\\bin\\mcp-bridge.EXE"],
            &["bash.exe", "-c", "exec ~/.local/bin/mcp-bridge"],
            &[
                "C:\\Windows\\System32\\bash.exe",
                "-c",
                "CC_LINK_PORT=3002 exec ~/.local/bin/mcp-bridge",
            ],
            &["cmd", "/c", "mcp-bridge.exe"],
            &["wsl.exe", "--", "mcp-bridge"],
            &["env", "A=1", "nohup", "mcp-bridge"],
        ] {
            assert!(is_this_bridge(&program(words), None), "{words:?}");
        }
    }

    #[test]
    fn another_program_is_not_taken_for_this_bridge() {
        for words in [
            &[
                "npx",
                "-y",
                "@modelcontextprotocol/server-filesystem",
                "/home/me/mcp-bridge",
            ][..],
            &["bash", "-c", "cat /home/me/mcp-bridge"],
            &["mcp-bridge-other"],
            &["node", "mcp-bridge"],
            &["sh", "-c", ""],
        ] {
            assert!(!is_this_bridge(&program(words), Some(3000)), "{words:?}");
        }
    }

    #[test]
    fn this_bridges_own_address_is_recognised() {
        let url = |url: &str| {
            Reach::Address(Address {
                url: url.to_owned(),
                headers: Default::default(),
                is_older: false,
            })
        };
        for own in [
            "http://127.0.0.1:3000/mcp",
            "http://LOCALHOST:3000/mcp",
            "http://[::1]:3000/mcp?x",
        ] {
            assert!(is_this_bridge(&url(own), Some(3000)), "{own}");
            assert!(!is_this_bridge(&url(own), None), "{own}");
        }
        for other in [
            "http://127.0.0.1:3001/mcp",
            "https://example.org:3000/mcp",
            "localhost:3000",
            "http://localhost/mcp",
        ] {
            assert!(!is_this_bridge(&url(other), Some(3000)), "{other}");
        }
    }
}
