//! Hides what is secret in lines that are shown: tokens of ours, and what other programs' files call a key or a password.

use crate::base::text::one_line;

/// What stands in the place of a secret.
const HIDDEN: &str = "…";

/// The most characters of a line that are shown: a minified file is one line.
const LONGEST: usize = 400;

/// Names of values that are secret have one of these in them, as Gemini CLI judges variables.
const WORDS: [&str; 6] = ["token", "key", "secret", "auth", "passw", "credential"];

/// A line as a person may see it: without secrets, on one line, and not endless.
pub fn shown(line: &str, secrets: &[String]) -> String {
    let mut line = line.trim_end_matches(['\r', '\n']).to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        line = line.replace(secret.as_str(), HIDDEN);
    }
    let line = without_values(&line);
    let tabbed: Vec<_> = line.split('\t').map(one_line).collect();
    let line = tabbed.join("\t");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let head: String = line.chars().take(LONGEST).collect();
    format!("{head}… (a line of {} characters)", line.chars().count())
}

/// The words of a command as a person may see them: without what follows a flag for a secret.
pub fn command_shown<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut shown_words = Vec::new();
    let mut is_secret = false;
    for word in words {
        shown_words.push(match is_secret {
            true => HIDDEN.to_owned(),
            false => shown(word, &[]),
        });
        let lower = word.to_ascii_lowercase();
        is_secret = word.starts_with('-')
            && !word.contains('=')
            && WORDS.iter().any(|secret| lower.contains(secret));
    }
    let line = shown_words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The line without the values of names that have one of [`WORDS`] in them, in JSON, TOML, YAML and lists of arguments.
fn without_values(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    while let Some((start, end)) = value_of_secret(&lower, at) {
        out.push_str(&line[at..start]);
        out.push_str(HIDDEN);
        at = end;
    }
    out.push_str(&line[at..]);
    out
}

/// Where the next value of such a name stands, from `at` on. The line is in lower case, of ASCII letters at least, so that
/// it has the same offsets as the line itself.
fn value_of_secret(line: &str, at: usize) -> Option<(usize, usize)> {
    let mut from = at;
    loop {
        let rest = line.get(from..)?;
        let found = WORDS
            .iter()
            .filter_map(|word| Some(rest.find(word)? + word.len()));
        let name = from + found.min()?;
        // The name's rest, its quote, and what stands between it and the value.
        let after = |at: usize, wanted: &dyn Fn(char) -> bool| {
            line[at..]
                .find(|c| !wanted(c))
                .map_or(line.len(), |length| at + length)
        };
        let end = after(name, &|c| {
            c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
        });
        let start = after(end, &|c| matches!(c, '"' | '\'' | ' ' | '\t'));
        let separator = line[start..].chars().next();
        if !separator.is_some_and(|c| matches!(c, ':' | '=' | ',')) {
            from = end;
            continue;
        }
        let start = after(start + 1, &|c| matches!(c, ' ' | '\t'));
        let value = &line[start..];
        let length = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(value, quote),
            // An object or a list: its own names are looked at.
            Some('{' | '[') | None => 0,
            _ => value.find([',', '}', ']']).unwrap_or(value.len()),
        };
        if length == 0 {
            from = start;
            continue;
        }
        return Some((start, start + length));
    }
}

/// How long a value in quotes is, with them.
fn quoted(value: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in value.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_names_are_hidden_in_every_form() {
        for (line, expected) in [
            (
                r#"  "GITHUB_TOKEN": "ghp_1\"2", "a": 1"#,
                r#"  "GITHUB_TOKEN": …, "a": 1"#,
            ),
            (
                r#"{"headers":{"Authorization":"Bearer x"}}"#,
                r#"{"headers":{"Authorization":…}}"#,
            ),
            ("api_key = 'x' # note", "api_key = … # note"),
            ("    API_KEY: plain words", "    API_KEY: …"),
            (r#"["--token", "x"]"#, r#"["--token", …]"#),
            (r#""tokens": {"a": "b"}"#, r#""tokens": {"a": "b"}"#),
            ("no secret: here", "no secret: …"),
            ("monkey business", "monkey business"),
            ("a plain line", "a plain line"),
            ("token", "token"),
        ] {
            assert_eq!(shown(line, &[]), expected);
        }
    }

    #[test]
    fn what_follows_a_flag_for_a_secret_is_hidden() {
        for (words, expected) in [
            (&["npx", "--api-key", "x", "y"][..], "npx --api-key … y"),
            (&["npx", "--api-key=x", "y"], "npx --api-key=… y"),
            (&["npx", "monkey", "y"], "npx monkey y"),
        ] {
            assert_eq!(command_shown(words.iter().copied()), expected);
        }
    }

    #[test]
    fn our_own_secrets_are_hidden_wherever_they_stand() {
        let secrets = ["s3cret".to_owned(), String::new()];
        assert_eq!(shown("x s3cret y", &secrets), "x … y");
    }

    #[test]
    fn nothing_moves_the_cursor_and_no_line_is_endless() {
        assert_eq!(shown("\ta\u{1b}[2J\r\n", &[]), "\ta\\u{1b}[2J");
        let line = shown(&"é".repeat(500), &[]);
        assert!(line.ends_with("… (a line of 500 characters)"), "{line}");
    }
}
