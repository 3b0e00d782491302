//! Variables in the texts of an entry: `${NAME}` and `${NAME:-default}`, as most clients write them, and opencode's
//! `{env:NAME}`. So secrets stay out of configuration files.

use std::collections::BTreeMap;

use thiserror::Error;

use super::entry::{Address, Program};

/// Looks up a variable of the environment.
pub type Lookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// A variable that is not set and has no default, in words that follow the server's name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the environment variable {0}, which its entry uses, is not set. MCP clients pass on few variables: set it in the \
     client's entry for mcp-bridge, or write `${{{0}:-default}}`"
)]
pub struct NotSet(pub String);

/// The program with its variables filled in.
///
/// # Errors
/// See [`NotSet`].
pub fn in_program(program: &Program, variable: Lookup) -> Result<Program, NotSet> {
    Ok(Program {
        command: fill_in(&program.command, variable)?,
        args: program
            .args
            .iter()
            .map(|text| fill_in(text, variable))
            .collect::<Result<_, _>>()?,
        env: in_map(&program.env, variable)?,
        cwd: match &program.cwd {
            Some(path) => Some(fill_in(&path.to_string_lossy(), variable)?.into()),
            None => None,
        },
    })
}

/// The address with its variables filled in.
///
/// # Errors
/// See [`NotSet`].
pub fn in_address(address: &Address, variable: Lookup) -> Result<Address, NotSet> {
    Ok(Address {
        url: fill_in(&address.url, variable)?,
        headers: in_map(&address.headers, variable)?,
    })
}

fn in_map(
    map: &BTreeMap<String, String>,
    variable: Lookup,
) -> Result<BTreeMap<String, String>, NotSet> {
    map.iter()
        .map(|(name, text)| Ok((name.clone(), fill_in(text, variable)?)))
        .collect()
}

/// Fills the variables of one text in. What only looks like one stays as it is.
fn fill_in(text: &str, variable: Lookup) -> Result<String, NotSet> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, form, inside, after)) = next_variable(rest) {
        filled.push_str(before);
        let (name, default) = match form {
            Form::Shell => match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            },
            Form::Opencode => (inside, Some("")),
        };
        match (variable(name).filter(|value| !value.is_empty()), default) {
            (Some(value), _) => filled.push_str(&value),
            (None, Some(default)) => filled.push_str(default),
            (None, None) => return Err(NotSet(name.to_owned())),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

enum Form {
    Shell,
    Opencode,
}

/// The first variable in a text: what stands before it, its form, what is between its braces, and the rest.
fn next_variable(text: &str) -> Option<(&str, Form, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find(['$', '{']).map(|at| from + at) {
        let (form, start) = match &text[at..] {
            rest if rest.starts_with("${") => (Form::Shell, at + 2),
            rest if rest.starts_with("{env:") => (Form::Opencode, at + 5),
            _ => {
                from = at + 1;
                continue;
            }
        };
        if let Some(length) = text[start..].find('}') {
            let inside = &text[start..start + length];
            let name = inside.split(":-").next().unwrap_or(inside);
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if is_name {
                return Some((&text[..at], form, inside, &text[start + length + 1..]));
            }
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, NotSet> {
        fill_in(text, &|name| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            "ODD" => Some("${A}".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn variables_are_filled_in_where_they_stand() {
        for (text, expected) in [
            ("Bearer ${A}!", "Bearer 1!"),
            ("${A}${A}", "11"),
            ("{env:A}/{env:NONE}/", "1//"),
            ("${NONE:-x y}", "x y"),
            ("${EMPTY:-x}", "x"),
            ("${A:-x}", "1"),
            // A value is a value, whatever it looks like.
            ("${ODD}", "${A}"),
            (
                "$A ${} ${not a name} {A} ${A",
                "$A ${} ${not a name} {A} ${A",
            ),
            ("${ open {${A}}", "${ open {1}"),
            ("é${A}é", "é1é"),
        ] {
            assert_eq!(filled(text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let problem = filled("${TOKEN}").unwrap_err().to_string();
        assert!(problem.contains("TOKEN"), "{problem}");
    }
}
