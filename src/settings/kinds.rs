//! The kinds of values: how each is given and read, and what is said of a text that is none.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use crate::base::token::Token;

use super::setting::{Form, Given, Kind};

pub const HOST: Kind<String> = Kind {
    form: Form::Once("ADDRESS"),
    expected: "an IP address or a host name of this machine, such as 0.0.0.0 or 127.0.0.1",
    is_secret: false,
    read: |given| {
        let host = given.value.trim_matches(['[', ']']);
        let is_host = !host.is_empty() && !host.contains(char::is_whitespace);
        is_host.then(|| host.to_owned())
    },
};

pub const PORT: Kind<u16> = Kind {
    form: Form::Once("PORT"),
    expected: "a port number from 0 to 65535 (0 means any free one)",
    is_secret: false,
    read: Given::word,
};

pub const TOKEN: Kind<Option<Token>> = Kind {
    form: Form::Once("TOKEN"),
    expected: "a text of at least one character",
    // None is refused but the empty one, which an agent without a token would show, from anywhere.
    is_secret: false,
    read: |given| (!given.value.is_empty()).then(|| Some(Token::new(&given.value))),
};

/// A token that clients send after `Bearer `, where nothing else has a place (RFC 9110, section 11.2).
pub const BEARER_TOKEN: Kind<Option<Token>> = Kind {
    form: Form::Once("TOKEN"),
    expected: "a text of letters, digits and signs of ASCII, without spaces",
    is_secret: true,
    read: |given| {
        let token = &given.value;
        let is_sendable = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        is_sendable.then(|| Some(Token::new(token)))
    },
};

/// Host names, in lower case.
pub const NAMES: Kind<Vec<String>> = Kind {
    form: Form::Once("NAMES"),
    expected: "host names, with commas between",
    is_secret: false,
    read: |given| {
        let names = given.value.split(|c: char| c == ',' || c.is_whitespace());
        let names = names.filter(|name| !name.is_empty());
        Some(names.map(str::to_ascii_lowercase).collect())
    },
};

pub const MILLISECONDS: Kind<Duration> = Kind {
    form: Form::Once("MS"),
    expected: "a number of milliseconds from 1 to 600000",
    is_secret: false,
    read: |given| match given.word()? {
        milliseconds @ 1..=600_000 => Some(Duration::from_millis(milliseconds)),
        _ => None,
    },
};

pub const ON_OFF: Kind<bool> = Kind {
    form: Form::Once("ON_OFF"),
    expected: "on or off",
    is_secret: false,
    read: |given| match given.value.trim() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    },
};

pub const SWITCH: Kind<bool> = Kind {
    form: Form::Switch,
    expected: "true or false",
    is_secret: false,
    read: Given::word,
};

pub const SETS: Kind<Option<BTreeSet<String>>> = Kind {
    form: Form::Once("SETS"),
    expected: "names of sets, with commas between",
    is_secret: false,
    read: |given| Some(Some(given.list().collect())),
};

pub const LISTED: Kind<Option<BTreeSet<String>>> = Kind {
    form: Form::Once("SETS|NAMES"),
    expected: "names of sets and of tools, with commas between",
    is_secret: false,
    read: |given| Some(Some(given.list().collect())),
};

/// Folders, as absolute paths.
pub const FOLDERS: Kind<Vec<PathBuf>> = Kind {
    form: Form::Often("DIR"),
    expected: "folders, by their whole paths, with commas between",
    is_secret: false,
    read: |given| {
        let folders = given.list().map(|word| given.path(&word));
        // On the command line and in the environment a folder is meant where the bridge is started, which no user knows.
        let folders: Vec<_> = folders.collect();
        folders
            .iter()
            .all(|folder| folder.is_absolute())
            .then_some(folders)
    },
};

/// Folders of tools, and names of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChosenTools {
    /// Folders of tools beside the user's own, as absolute paths; they have to be there.
    pub folders: Vec<PathBuf>,
    /// The only tools there are to be beside chosen sets, if any were chosen.
    pub names: Option<BTreeSet<String>>,
}

pub const TOOLS: Kind<ChosenTools> = Kind {
    form: Form::Often("DIR|NAMES"),
    expected: "folders of tools (with a slash in them) and names of tools, with commas between",
    is_secret: false,
    read: |given| {
        let mut chosen = ChosenTools::default();
        for word in given.list() {
            let path = given.path(&word);
            // What has a slash in it, or is a folder that exists, is no name.
            if word.contains(['/', '\\']) || word.starts_with('.') || path.is_dir() {
                let path = std::path::absolute(&path).unwrap_or(path);
                chosen.folders.push(path);
            } else if word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            {
                chosen.names.get_or_insert_default().insert(word);
            } else {
                return None;
            }
        }
        Some(chosen)
    },
};
