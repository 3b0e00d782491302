//! The URIs of the bridge's own resources: what one names, and how one is written.

use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::{base::byte_text, computers::ComputerKey};

/// What all of them begin with. No resource from elsewhere has a URI that begins so.
pub const PREFIX: &str = "cc://computer";

/// All computers.
pub const COMPUTERS: &str = "cc://computers";

/// One computer.
pub const COMPUTER: &str = "cc://computer/{id}";

/// What its player sees.
pub const SCREEN: &str = "cc://computer/{id}/screen";

/// A file or folder of it.
pub const FILE: &str = "cc://computer/{id}/fs/{+path}";

/// What says from where on something is wanted: an entry of a list, or a byte of a file.
const OFFSET: &str = "?offset=";
const FROM: &str = "?from=";

/// What stands in a path as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// What a URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// All computers, but for so many.
    Computers {
        /// How many are passed over.
        offset: usize,
    },
    /// The computer that is called so, by its number or label.
    Computer(String),
    /// The screen of one.
    Screen(String),
    /// A file or folder.
    File {
        /// What its computer is called by.
        computer: String,
        /// Its path from the root on, byte by byte (see [`byte_text`]); none if it leads out of the disk.
        path: Option<String>,
        /// The first byte or entry that is wanted, from 1 on.
        from: u64,
    },
}

impl Address {
    /// What a URI names; none if it is none of ours.
    pub fn of(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(PREFIX)?;
        if let Some(rest) = rest.strip_prefix('s') {
            let (rest, offset) = cut(rest, OFFSET);
            let offset = offset.unwrap_or(0);
            return matches!(rest, "" | "/").then_some(Self::Computers { offset });
        }
        let rest = rest.strip_prefix('/')?;
        let (computer, part) = rest.split_once('/').unwrap_or((rest, ""));
        let computer = percent_decode_str(computer).decode_utf8().ok()?;
        let computer = computer.into_owned();
        if computer.trim().is_empty() {
            return None;
        }
        match part {
            "" => Some(Self::Computer(computer)),
            "screen" => Some(Self::Screen(computer)),
            part => {
                let path = part.strip_prefix("fs")?;
                let (path, from) = cut(path, FROM);
                if !path.is_empty() && !path.starts_with('/') {
                    return None;
                }
                Some(Self::File {
                    computer,
                    path: normal(&percent_decode_str(path).collect::<Vec<_>>()),
                    from: from.unwrap_or(1).max(1),
                })
            }
        }
    }
}

/// A URI without the number that its end asks for. What is no such end belongs to the path: files may be called anything.
fn cut<'a, N: FromStr>(uri: &'a str, word: &str) -> (&'a str, Option<N>) {
    match uri.rsplit_once(word) {
        Some((rest, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            match number.parse() {
                Ok(number) => (rest, Some(number)),
                Err(_) => (uri, None),
            }
        }
        _ => (uri, None),
    }
}

/// A path from the root on, without `.` and `..`; none if it leads above the root.
fn normal(path: &[u8]) -> Option<String> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| matches!(byte, b'/' | b'\\')) {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let mut whole = Vec::with_capacity(path.len() + 1);
    for part in parts {
        whole.push(b'/');
        whole.extend_from_slice(part);
    }
    if whole.is_empty() {
        whole.push(b'/');
    }
    Some(byte_text::from_bytes(whole))
}

/// The URI of the list of computers from there on.
pub fn of_computers(offset: u64) -> String {
    format!("{COMPUTERS}{OFFSET}{offset}")
}

/// The URI of a computer.
pub fn of_computer(computer: ComputerKey) -> String {
    format!("{PREFIX}/{computer}")
}

/// The URI of its screen.
pub fn of_screen(computer: ComputerKey) -> String {
    format!("{PREFIX}/{computer}/screen")
}

/// The URI of a file or folder of it, by a path from the root on.
pub fn of_file(computer: ComputerKey, path: &str) -> String {
    let path = byte_text::to_bytes(path);
    format!("{PREFIX}/{computer}/fs{}", percent_encode(&path, PLAIN))
}

/// The same from this byte or entry on.
pub fn of_rest(computer: ComputerKey, path: &str, from: u64) -> String {
    format!("{}{FROM}{from}", of_file(computer, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::names::ComputerId;

    fn file(uri: &str) -> (Option<String>, u64) {
        match Address::of(uri) {
            Some(Address::File { path, from, .. }) => (path, from),
            other => panic!("{uri}: {other:?}"),
        }
    }

    #[test]
    fn a_uri_names_one_thing() {
        let computer = |name: &str| Some(Address::Computer(name.to_owned()));
        for (uri, named) in [
            ("cc://computers", Some(Address::Computers { offset: 0 })),
            ("cc://computers/", Some(Address::Computers { offset: 0 })),
            (
                "cc://computers?offset=50",
                Some(Address::Computers { offset: 50 }),
            ),
            ("cc://computer/12", computer("12")),
            ("cc://computer/12/", computer("12")),
            ("cc://computer/my%20farm%2F2", computer("my farm/2")),
            (
                "cc://computer/12/screen",
                Some(Address::Screen("12".to_owned())),
            ),
            ("cc://computer", None),
            ("cc://computer/", None),
            ("cc://computer//screen", None),
            ("cc://computer/%20", None),
            ("cc://computer/%ff", None),
            ("cc://computers?offset=x", None),
            ("cc://computers/12", None),
            ("cc://computer/12/fsx", None),
            ("cc://computer/12/screens", None),
            ("ccs://computers", None),
        ] {
            assert_eq!(Address::of(uri), named, "{uri}");
        }
    }

    #[test]
    fn a_path_is_taken_byte_by_byte_and_stays_on_the_disk() {
        for (uri, path, from) in [
            ("cc://computer/1/fs", "/", 1),
            ("cc://computer/1/fs/", "/", 1),
            ("cc://computer/1/fs//a/./b/", "/a/b", 1),
            ("cc://computer/1/fs/a/../b", "/b", 1),
            ("cc://computer/1/fs/my%20file%25.txt", "/my file%.txt", 1),
            ("cc://computer/1/fs/my file 100%", "/my file 100%", 1),
            ("cc://computer/1/fs/caf%C3%A9", "/café", 1),
            ("cc://computer/1/fs/café", "/café", 1),
            ("cc://computer/1/fs/a?from=262145", "/a", 262_145),
            ("cc://computer/1/fs/?from=0", "/", 1),
            ("cc://computer/1/fs/what?", "/what?", 1),
            ("cc://computer/1/fs/what%3Ffrom=2", "/what?from=2", 1),
            ("cc://computer/1/fs/a?from=b", "/a?from=b", 1),
        ] {
            assert_eq!(file(uri), (Some(path.to_owned()), from), "{uri}");
        }
        for out in ["/..", "/a/../..", "/%2e%2e/b", "/a/..%2F..%2Fb", "/..%5C"] {
            assert_eq!(file(&format!("cc://computer/1/fs{out}")).0, None, "{out}");
        }
    }

    #[test]
    fn the_uri_that_is_written_for_a_file_names_it() {
        let computer = ComputerId(7).into();
        for name in [
            b"/a b/c%20.lua".to_vec(),
            "/é ü?from=3#x".into(),
            b"/\xe9\xff{}".to_vec(),
        ] {
            let path = byte_text::from_bytes(name);
            let uri = of_file(computer, &path);
            assert!(uri.is_ascii(), "{uri}");
            assert_eq!(file(&uri), (Some(path.clone()), 1), "{uri}");
            let rest = of_rest(computer, &path, 9);
            assert_eq!(file(&rest), (Some(path), 9), "{rest}");
        }
    }
}
