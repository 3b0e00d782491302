//! Lua text as the words and signs it is made of (Lua 5.2 manual, section 3.1).

/// The text is not Lua, as far as its scopes go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct Malformed {
    /// The line where it goes wrong, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: &'static str,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name of a variable, a field or a label.
    Name,
    /// A word of the language.
    Keyword,
    /// A number, as it is written.
    Number,
    /// A string of any form, as it is written.
    String,
    /// An operator, a bracket, a comma.
    Symbol,
}

/// A word or a sign.
#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// As it is written.
    pub text: &'a str,
    /// How many lines end between the token before it and this one.
    pub line_breaks: usize,
    /// The line it begins on, from 1.
    pub line: usize,
}

/// The words of the language, those that only one of Lua 5.1 and 5.2 has among them.
pub const KEYWORDS: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Signs of more than one character; of two that fit the longer counts.
const LONG_SYMBOLS: [&str; 7] = ["...", "..", "==", "~=", "<=", ">=", "::"];

/// All tokens of a text.
///
/// # Errors
/// What is no token is told with its line.
pub fn read(source: &str) -> Result<Vec<Token<'_>>, Malformed> {
    Tokens::of(source).collect()
}

/// The tokens of a text, one after the other, up to what is none.
#[derive(Debug, Clone)]
pub struct Tokens<'a> {
    /// What was not read yet.
    rest: &'a str,
    /// The line where that begins.
    line: usize,
}

impl<'a> Tokens<'a> {
    /// Those of a text.
    pub fn of(source: &'a str) -> Self {
        Self {
            rest: source,
            line: 1,
        }
    }

    /// The next token, if the text has not ended.
    fn read(&mut self) -> Result<Option<Token<'a>>, Malformed> {
        let (mut line, mut line_breaks) = (self.line, 0);
        while let Some(first) = self.rest.chars().next() {
            let (kind, length) = if first.is_ascii_whitespace() {
                (None, 1)
            } else if let Some(comment) = self.rest.strip_prefix("--") {
                let length = match long_bracket(comment) {
                    Some(length) => length.ok_or(Malformed {
                        line,
                        problem: "a comment has no end",
                    })?,
                    None => comment.find('\n').unwrap_or(comment.len()),
                };
                (None, 2 + length)
            } else {
                let (kind, length) =
                    token(self.rest).map_err(|problem| Malformed { line, problem })?;
                (Some(kind), length)
            };
            let (text, after) = self.rest.split_at(length);
            let ends = text.matches('\n').count();
            self.rest = after;
            self.line += ends;
            if let Some(kind) = kind {
                return Ok(Some(Token {
                    kind,
                    text,
                    line_breaks,
                    line,
                }));
            }
            line_breaks += ends;
            line = self.line;
        }
        Ok(None)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Result<Token<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.rest = "";
        }
        read.transpose()
    }
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
