//! Lua text as the words and signs it is made of (Lua 5.2 manual, section 3.1).

/// The text is not Lua, as far as its scopes go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(in crate::link) struct Malformed {
    pub(super) line: usize,
    pub(super) problem: &'static str,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The name of a variable, a field or a label.
    Name,
    /// A word of the language.
    Keyword,
    Number,
    /// A string of any form, as it is written.
    String,
    /// An operator, a bracket, a comma.
    Symbol,
}

/// A word or a sign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    /// As it is written.
    pub(super) text: &'a str,
    /// How many lines end between the token before it and this one.
    pub(super) line_breaks: usize,
    /// The line it begins on, from 1.
    pub(super) line: usize,
}

/// The words of the language, those that only one of Lua 5.1 and 5.2 has among them.
pub(super) const KEYWORDS: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Signs of more than one character; of two that fit the longer counts.
const LONG_SYMBOLS: [&str; 7] = ["...", "..", "==", "~=", "<=", ">=", "::"];

/// All tokens of a text.
pub(super) fn read(source: &str) -> Result<Vec<Token<'_>>, Malformed> {
    let mut tokens = Vec::new();
    let (mut rest, mut line, mut line_breaks) = (source, 1, 0);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = if first.is_ascii_whitespace() {
            (None, 1)
        } else if let Some(comment) = rest.strip_prefix("--") {
            let length = match long_bracket(comment) {
                Some(length) => length.ok_or(Malformed {
                    line,
                    problem: "a comment has no end",
                })?,
                None => comment.find('\n').unwrap_or(comment.len()),
            };
            (None, 2 + length)
        } else {
            let (kind, length) = token(rest).map_err(|problem| Malformed { line, problem })?;
            (Some(kind), length)
        };
        let (text, after) = rest.split_at(length);
        rest = after;
        let ends = text.matches('\n').count();
        match kind {
            Some(kind) => {
                tokens.push(Token {
                    kind,
                    text,
                    line_breaks,
                    line,
                });
                line_breaks = 0;
            }
            None => line_breaks += ends,
        }
        line += ends;
    }
    Ok(tokens)
}

/// What stands at the beginning of a text, and its length in bytes.
fn token(text: &str) -> Result<(Kind, usize), &'static str> {
    let first = text.chars().next().unwrap_or_default();
    if first == '"' || first == '\'' {
        return Ok((Kind::String, quoted(text, first)?));
    }
    if let Some(length) = long_bracket(text) {
        return Ok((Kind::String, length.ok_or("a string has no end")?));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let word = text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .map_or(text, |end| &text[..end]);
        let kind = if KEYWORDS.contains(&word) {
            Kind::Keyword
        } else {
            Kind::Name
        };
        return Ok((kind, word.len()));
    }
    let second = text.chars().nth(1).unwrap_or_default();
    if first.is_ascii_digit() || first == '.' && second.is_ascii_digit() {
        return Ok((Kind::Number, number(text)));
    }
    if let Some(symbol) = LONG_SYMBOLS
        .iter()
        .find(|symbol| text.starts_with(**symbol))
    {
        return Ok((Kind::Symbol, symbol.len()));
    }
    if "+-*/%^#<>=(){}[];:,.".contains(first) {
        return Ok((Kind::Symbol, 1));
    }
    Err("this is no Lua")
}

/// The length of the string in quotes that a text begins with.
fn quoted(text: &str, quote: char) -> Result<usize, &'static str> {
    let mut is_escaped = true; // the quote at its beginning is not its end
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => return Err("a string has no end"),
            c if c == quote => return Ok(at + 1),
            _ => {}
        }
    }
    Err("a string has no end")
}

/// The length of the `[[text]]`, `[=[text]=]`, … that a text begins with: `None` if it begins with none, `Some(None)`
/// if that has no end.
fn long_bracket(text: &str) -> Option<Option<usize>> {
    let inside = text.strip_prefix('[')?;
    let level = inside.len() - inside.trim_start_matches('=').len();
    inside[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    Some(text.find(&close).map(|at| at + close.len()))
}

/// The length of the number that a text begins with: read as far as Lua reads, right or not.
fn number(text: &str) -> usize {
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let mut before = '\0';
    for (at, c) in text.char_indices() {
        let has_exponent = matches!((is_hex, before), (false, 'e' | 'E') | (true, 'p' | 'P'));
        let goes_on = c.is_ascii_alphanumeric()
            || c == '_'
            || c == '.'
            || has_exponent && (c == '+' || c == '-');
        if !goes_on {
            return at;
        }
        before = c;
    }
    text.len()
}
