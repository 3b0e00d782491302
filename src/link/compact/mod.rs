//! Lua text without what only its readers need: comments, blanks and indentation go, and local names become short.
//!
//! What is compiled from it is the same but for the names of locals, and each line keeps its number, so an error still
//! names the line of the source. A library that does this well (`darklua`) is a program with 54 crates that are not ours
//! already, one of them in C; what it would save here is in these two files and in `base/lua/tokens.rs`, and a test compares the two texts'
//! bytecode.

mod scopes;

use std::borrow::Cow;

use crate::base::lua::tokens::{self, Kind, Malformed, Token};

/// Makes Lua text short.
///
/// # Errors
///
/// What can't be read is told with its line.
pub(super) fn compact(source: &str) -> Result<String, Malformed> {
    let tokens = tokens::read(source)?;
    let texts = scopes::short_texts(&tokens)?;
    let needless = needless(&tokens);
    let mut short = String::with_capacity(source.len() / 2);
    let (mut before, mut line_breaks): (Option<&Token<'_>>, usize) = (None, 0);
    for ((token, text), is_needless) in tokens.iter().zip(&texts).zip(needless) {
        line_breaks += token.line_breaks;
        if is_needless {
            continue;
        }
        if line_breaks == 0 && before.is_some_and(|before| run_together(before, token)) {
            short.push(' ');
        }
        short.extend(std::iter::repeat_n('\n', line_breaks));
        short.push_str(&without_escapes(token, text));
        (before, line_breaks) = (Some(token), 0);
    }
    Ok(short)
}

/// Which tokens mean nothing where they are: brackets around the one argument of a call that is a string or a table, and
/// the comma before a table's end.
fn needless(tokens: &[Token<'_>]) -> Vec<bool> {
    let is = |n: usize, sign: &str| {
        let token = tokens.get(n);
        token.is_some_and(|token| token.kind == Kind::Symbol && token.text == sign)
    };
    let is_called = |n: usize| tokens[n].kind == Kind::Name || is(n, ")") || is(n, "]");
    let mut needless = vec![false; tokens.len()];
    // The opening brackets of tables, each with the one around it, if that is one.
    let mut tables: Vec<(usize, bool)> = Vec::new();
    for (n, token) in tokens.iter().enumerate() {
        if is(n, ",") && is(n + 1, "}") {
            needless[n] = true;
        }
        let is_argument = n >= 2 && is(n - 1, "(") && is_called(n - 2);
        let end = if is(n, "{") {
            tables.push((n, is_argument));
            None
        } else if is(n, "}") {
            tables.pop().filter(|(_, is_argument)| *is_argument)
        } else {
            let is_string = token.kind == Kind::String;
            (is_string && is_argument).then_some((n, true))
        };
        if let Some((first, _)) = end
            && is(n + 1, ")")
        {
            (needless[first - 1], needless[n + 1]) = (true, true);
        }
    }
    needless
}

/// A string in the quotes that it has no need to escape.
fn without_escapes<'a>(token: &Token<'_>, text: &'a str) -> Cow<'a, str> {
    let is_shorter = token.kind == Kind::String
        && text.starts_with('"')
        && text.contains("\\\"")
        && !text.contains('\'')
        && !text.contains("\\\\");
    if !is_shorter {
        return Cow::Borrowed(text);
    }
    let inside = &text[1..text.len() - 1];
    Cow::Owned(format!("'{}'", inside.replace("\\\"", "\"")))
}

/// Whether two tokens without anything between them would be read as others.
fn run_together(before: &Token<'_>, token: &Token<'_>) -> bool {
    let (Some(last), Some(first)) = (before.text.chars().last(), token.text.chars().next()) else {
        return false;
    };
    let is_word = |token: &Token<'_>| token.kind != Kind::String && token.kind != Kind::Symbol;
    match (is_word(before), is_word(token)) {
        (true, true) => true,
        // `1 ..` is a concatenation, `1..` no number.
        (true, false) => before.kind == Kind::Number && first == '.',
        (false, _) => {
            token.kind != Kind::Name
                && matches!(
                    (last, first),
                    ('-', '-') | ('.', '.') | ('[', '[') | ('.', '0'..='9')
                )
        }
    }
}

#[cfg(test)]
mod bytecode;
#[cfg(test)]
mod tests;
