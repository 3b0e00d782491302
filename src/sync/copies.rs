//! What files are called that are kept: a computer's beside this machine's, since both had changed; and what is overwritten
//! that no sync has seen before.

use std::time::SystemTime;

use crate::base::text::timestamp;

/// The folder in which that is kept which is overwritten, on either side. It begins with a dot: so no sync takes it along, and
/// the game runs nothing of it.
const BEFORE: &str = ".before-sync";

/// Where a sync that begins now keeps what it overwrites, below the folder.
pub fn before() -> String {
    let stamp = timestamp(SystemTime::now());
    let stamp: String = stamp.chars().filter(char::is_ascii_digit).collect();
    format!("{BEFORE}/{stamp}")
}

/// How many of one file are kept.
pub const COPIES: u32 = 99;

/// `main.conflict-12.lua` for `main.lua` and computer 12; with a further number if there is one already.
pub fn copy_of(path: &str, computer: &str, number: u32) -> String {
    let mark = match number {
        1 => format!(".conflict-{computer}"),
        _ => format!(".conflict-{computer}-{number}"),
    };
    let (above, name) = path
        .rsplit_once('/')
        .map_or(("", path), |(above, name)| (above, name));
    let above = if above.is_empty() {
        String::new()
    } else {
        format!("{above}/")
    };
    match name.rsplit_once('.') {
        Some((stem, kind)) => format!("{above}{stem}{mark}.{kind}"),
        None => format!("{above}{name}{mark}.txt"),
    }
}

/// Why what is named so is not synced, as a sentence's end.
pub const LEFT_OUT: &str = "it is named as what a sync kept of a file that both sides had changed, and so left where it is: \
                            rename it to have it synced, or delete it once it is not needed";

/// Whether this is the name of such a copy.
pub fn is_copy(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let marked = name.split(".conflict-").nth(1);
    marked.is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_what_clashed_is_known_by_its_name() {
        assert_eq!(copy_of("lib/main.lua", "12", 1), "lib/main.conflict-12.lua");
        assert_eq!(copy_of("startup", "12", 3), "startup.conflict-12-3.txt");
        for path in ["main.lua", "a/b/startup"] {
            assert!(is_copy(&copy_of(path, "7", 2)) && !is_copy(path));
        }
    }
}
