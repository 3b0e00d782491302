//! Lua text without what only its readers need: comments, blanks and indentation go, and local names become short.
//!
//! What is compiled from it is the same but for the names of locals, and each line keeps its number, so an error still
//! names the line of the source. A library that does this well (`darklua`) is a program with 54 crates that are not ours
//! already, one of them in C; what it would save here is in these three files, and a test compares the two texts'
//! bytecode.

mod scopes;
mod tokens;

use tokens::{Kind, Malformed, Token};

/// Makes Lua text short.
///
/// # Errors
///
/// What can't be read is told with its line.
pub(super) fn compact(source: &str) -> Result<String, Malformed> {
    let tokens = tokens::read(source)?;
    let texts = scopes::short_texts(&tokens)?;
    let mut short = String::with_capacity(source.len() / 2);
    for (n, (token, text)) in tokens.iter().zip(&texts).enumerate() {
        for _ in 0..token.line_breaks {
            short.push('\n');
        }
        let before = n.checked_sub(1).and_then(|n| tokens.get(n));
        if token.line_breaks == 0 && before.is_some_and(|before| run_together(before, token)) {
            short.push(' ');
        }
        short.push_str(text);
    }
    Ok(short)
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
