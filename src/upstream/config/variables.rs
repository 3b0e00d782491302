//! Variables in the texts of an entry, as clients write them, so that secrets stay out of configuration files:
//!
//! - `${NAME}` and `${NAME:-default}`, where the default may hold variables itself; `${env:NAME}`;
//! - opencode's `{env:NAME}`, which is empty where it is not set;
//! - `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`, `${pathSeparator}` and `${/}`;
//! - Gemini CLI's `$NAME`, and on Windows `%NAME%`, in entries of its form ([`Style::Shell`]);
//! - `~/` at the beginning of a program, an argument, a folder or a file.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{MAIN_SEPARATOR_STR, Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use thiserror::Error;

use super::entry::{Address, Entry, Program, Reach, Style};
use crate::base::files;

/// Looks up a variable of the environment.
pub type Lookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// The largest file of variables that is read, in bytes.
const LARGEST_FILE: u64 = 64 * 1024;

/// Why a text can't be filled in, in words that follow the server's name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VariableError {
    /// A variable is not set and has no default.
    #[error(
        "needs the environment variable {0}, which is not set. MCP clients pass on few variables: set it in the client's \
         entry for mcp-bridge, or write `${{{0}:-default}}`"
    )]
    NotSet(String),
    /// It is something that only another program knows.
    #[error(
        "has `{0}` in its entry, which only the client that it was written for can fill in: write `${{NAME}}` instead, and \
         set that variable in the client's entry for mcp-bridge"
    )]
    NotAvailable(String),
    /// Its file of variables can't be used.
    #[error("has an `envFile` that can't be used: {} {why}", file.display())]
    EnvFile {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// What variables are filled in with.
pub struct Surroundings<'a> {
    /// How they are written.
    pub style: Style,
    /// The environment.
    pub variable: Lookup<'a>,
    /// The bridge's working folder.
    pub folder: &'a Path,
}

/// The variables of the environment that an entry reads, but for those in its `envFile`.
pub fn read_by(entry: &Entry, folder: &Path) -> BTreeSet<String> {
    let read = Mutex::new(BTreeSet::new());
    let variable = |name: &str| {
        let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
        read.insert(name.to_owned());
        Some(String::new())
    };
    let surroundings = Surroundings {
        style: entry.variables,
        variable: &variable,
        folder,
    };
    // What can't be filled in has been read as far as it goes.
    let _ = surroundings.tried(entry);
    read.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Surroundings<'_> {
    /// The program with its variables filled in, and those of its `envFile` among its own.
    ///
    /// # Errors
    /// See [`VariableError`].
    pub fn in_program(&self, program: &Program) -> Result<Program, VariableError> {
        let mut env = BTreeMap::new();
        if let Some(file) = &program.env_file {
            env = self.read_env_file(&self.in_path(file)?)?;
        }
        env.extend(self.in_map(&program.env)?);
        Ok(Program {
            command: self.with_home(self.fill_in(&program.command)?),
            args: program
                .args
                .iter()
                .map(|text| Ok(self.with_home(self.fill_in(text)?)))
                .collect::<Result<_, _>>()?,
            env,
            env_file: None,
            inherit_env: program.inherit_env,
            cwd: match &program.cwd {
                Some(path) => Some(self.in_path(path)?),
                None => None,
            },
        })
    }

    /// Whether an entry's variables can be filled in, but for those in its `envFile`.
    fn tried(&self, entry: &Entry) -> Result<(), VariableError> {
        match &entry.reach {
            Reach::Program(program) => {
                let without_file = Program {
                    env_file: None,
                    ..program.clone()
                };
                self.in_program(&without_file).map(|_| ())
            }
            Reach::Address(address) => self.in_address(address).map(|_| ()),
        }
    }

    /// The address with its variables filled in.
    ///
    /// # Errors
    /// See [`VariableError`].
    pub fn in_address(&self, address: &Address) -> Result<Address, VariableError> {
        Ok(Address {
            url: self.fill_in(&address.url)?,
            headers: self.in_map(&address.headers)?,
            is_older: address.is_older,
        })
    }

    fn in_map(
        &self,
        map: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, VariableError> {
        map.iter()
            .map(|(name, text)| Ok((name.clone(), self.fill_in(text)?)))
            .collect()
    }

    fn in_path(&self, path: &Path) -> Result<PathBuf, VariableError> {
        let path = self.fill_in(&path.to_string_lossy())?;
        Ok(self.with_home(path).into())
    }

    fn read_env_file(&self, file: &Path) -> Result<BTreeMap<String, String>, VariableError> {
        let file = self.folder.join(file);
        let wrong = |why: String| VariableError::EnvFile {
            file: file.clone(),
            why,
        };
        let text =
            files::read_text(&file, LARGEST_FILE).map_err(|error| wrong(error.to_string()))?;
        dotenvy::from_read_iter(text.trim_start_matches('\u{feff}').as_bytes())
            .collect::<Result<_, _>>()
            // What stands in the line may be a secret.
            .map_err(|_| wrong("has a line that is not `NAME=value`".to_owned()))
    }

    /// A text that begins in the user's home folder.
    fn with_home(&self, text: String) -> String {
        let rest = match text.strip_prefix('~') {
            Some(rest)
                if rest.is_empty()
                    || rest
                        .starts_with(['/', MAIN_SEPARATOR_STR.chars().next().unwrap_or('/')]) =>
            {
                rest
            }
            _ => return text,
        };
        match self.home() {
            Some(home) => home + rest,
            None => text,
        }
    }

    fn home(&self) -> Option<String> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.set(name)
    }

    fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// Fills the variables of one text in. What only looks like one stays as it is.
    fn fill_in(&self, text: &str) -> Result<String, VariableError> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{', '%']) {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let length = match self.variable_at(rest)? {
                Some((value, length)) => {
                    filled.push_str(&value);
                    length
                }
                None => {
                    filled.push_str(&rest[..1]);
                    1
                }
            };
            rest = &rest[length..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// The value of the variable that a text begins with, and how long that is in it; none if it begins with none.
    fn variable_at(&self, text: &str) -> Result<Option<(String, usize)>, VariableError> {
        if let Some(rest) = text.strip_prefix("${") {
            let Some(length) = to_closing(rest) else {
                return Ok(None);
            };
            let value = self.in_braces(&rest[..length])?;
            return Ok(value.map(|value| (value, length + 3)));
        }
        if let Some(rest) = text.strip_prefix("{env:") {
            let name = rest.find('}').map(|end| &rest[..end]);
            let Some(name) = name.filter(|name| is_name(name)) else {
                return Ok(None);
            };
            return Ok(Some((self.set(name).unwrap_or_default(), name.len() + 6)));
        }
        if text.starts_with("{file:")
            && let Some(end) = text.find('}')
        {
            return Err(VariableError::NotAvailable(text[..=end].to_owned()));
        }
        if self.style == Style::Shell {
            return self.in_shell(text);
        }
        Ok(None)
    }

    /// What stands between `${` and `}`; none if that is no variable.
    fn in_braces(&self, inside: &str) -> Result<Option<String>, VariableError> {
        let folder = || self.folder.to_string_lossy().into_owned();
        match inside {
            "workspaceFolder" => return Ok(Some(folder())),
            "workspaceFolderBasename" => {
                let name = self.folder.file_name();
                return Ok(Some(
                    name.unwrap_or_default().to_string_lossy().into_owned(),
                ));
            }
            "userHome" => return self.home().map(Some).ok_or(not_set("HOME")),
            "pathSeparator" | "/" => return Ok(Some(MAIN_SEPARATOR_STR.to_owned())),
            _ => {}
        }
        if ["input:", "command:", "config:", "file:"]
            .iter()
            .any(|kind| inside.starts_with(kind))
        {
            return Err(VariableError::NotAvailable(format!("${{{inside}}}")));
        }
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) {
            return Ok(None);
        }
        match (self.set(name), default) {
            (Some(value), _) => Ok(Some(value)),
            (None, Some(default)) => self.fill_in(default).map(Some),
            (None, None) => Err(not_set(name)),
        }
    }

    /// The value of a variable as in a shell. One between `%` that is not set is empty, as to Windows.
    fn in_shell(&self, text: &str) -> Result<Option<(String, usize)>, VariableError> {
        let Some((name, length)) = in_shell(text) else {
            return Ok(None);
        };
        match self.set(name) {
            Some(value) => Ok(Some((value, length))),
            None if text.starts_with('%') => Ok(Some((String::new(), length))),
            None => Err(not_set(name)),
        }
    }
}

/// The variable that a text begins with as in a shell, `$NAME` and on Windows `%NAME%`, and how long it is in the text.
pub(super) fn in_shell(text: &str) -> Option<(&str, usize)> {
    let named = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let end = end.unwrap_or(rest.len());
        let name = &rest[..end];
        (is_name(name) && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(end)
    };
    if let Some(rest) = text.strip_prefix('$') {
        return named(rest).map(|end| (&rest[..end], end + 1));
    }
    let rest = text.strip_prefix('%').filter(|_| cfg!(windows))?;
    let end = named(rest).filter(|end| rest[*end..].starts_with('%'))?;
    Some((&rest[..end], end + 2))
}

/// What of an entry only another program can fill in, such as `${input:key}`, if there is something.
pub fn not_available(entry: &Entry) -> Option<String> {
    let surroundings = Surroundings {
        style: entry.variables,
        variable: &|_| Some("x".to_owned()),
        folder: Path::new(""),
    };
    match surroundings.tried(entry) {
        Err(VariableError::NotAvailable(form)) => Some(form),
        _ => None,
    }
}

fn not_set(name: &str) -> VariableError {
    VariableError::NotSet(name.to_owned())
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// How far it is to the `}` that closes what was opened before, the braces in between left out.
fn to_closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' if text[..at].ends_with('$') => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        let value = match name {
            "A" => "1",
            "EMPTY" => "",
            "ODD" => "${A}",
            "HOME" | "USERPROFILE" => "/home/ann",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn surroundings(style: Style) -> Surroundings<'static> {
        Surroundings {
            style,
            variable: &environment,
            folder: Path::new("/srv/farm"),
        }
    }

    fn filled(text: &str) -> Result<String, VariableError> {
        surroundings(Style::Braces).fill_in(text)
    }

    #[test]
    fn variables_are_filled_in_where_they_stand() {
        for (text, expected) in [
            ("Bearer ${A}!", "Bearer 1!"),
            ("${A}${A}", "11"),
            ("${env:A}", "1"),
            ("{env:A}/{env:NONE}/", "1//"),
            ("${NONE:-x y}", "x y"),
            ("${env:NONE:-x}", "x"),
            ("${EMPTY:-x}", "x"),
            ("${A:-x}", "1"),
            ("${NONE:-${HOME}/d}:/root", "/home/ann/d:/root"),
            ("${NONE:-${ALSO:-${A}}}}", "1}"),
            ("${workspaceFolder}/x", "/srv/farm/x"),
            ("${workspaceFolderBasename}", "farm"),
            ("${userHome}/x", "/home/ann/x"),
            // A value is a value, whatever it looks like.
            ("${ODD}", "${A}"),
            (
                "$A ${} ${not a name} {A} 100% ${A",
                "$A ${} ${not a name} {A} 100% ${A",
            ),
            ("${ open {${A}}", "${ open {1}"),
            ("é${A}é", "é1é"),
        ] {
            assert_eq!(filled(text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_entry_of_geminis_form_has_the_variables_of_a_shell() {
        let filled = |text| surroundings(Style::Shell).fill_in(text);
        for (text, expected) in [
            ("$A/${A}", "1/1"),
            ("x$", "x$"),
            ("$5", "$5"),
            ("$A.b", "1.b"),
        ] {
            assert_eq!(filled(text), Ok(expected.to_owned()), "{text}");
        }
        assert_eq!(filled("$NONE"), Err(not_set("NONE")));
        #[cfg(windows)]
        assert_eq!(filled("%A%/%NONE%/100%"), Ok("1//100%".to_owned()));
    }

    #[test]
    fn what_can_not_be_filled_in_is_named() {
        let problem = filled("${TOKEN}").unwrap_err().to_string();
        assert!(problem.contains("TOKEN"), "{problem}");
        for form in ["${input:api-key}", "${command:x}", "{file:./secret}"] {
            let problem = filled(&format!("a {form}")).unwrap_err().to_string();
            assert!(problem.contains(form), "{problem}");
        }
    }

    #[test]
    fn a_program_has_its_home_its_folder_and_the_variables_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        std::fs::write(
            &file,
            "\u{feff}# mine\nTOKEN='a b'\nexport OTHER=2\r\nA=file\n",
        )
        .unwrap();
        let program = Program {
            command: "~/bin/server".to_owned(),
            args: ["~/notes", "a~/b", "~other", "~"].map(str::to_owned).into(),
            env: [("A".to_owned(), "entry".to_owned())].into(),
            env_file: Some(".env".into()),
            inherit_env: false,
            cwd: Some("~/farm".into()),
        };
        let mut surroundings = surroundings(Style::Braces);
        surroundings.folder = folder.path();
        let program = surroundings.in_program(&program).unwrap();
        assert_eq!(program.command, "/home/ann/bin/server");
        assert_eq!(
            program.args,
            ["/home/ann/notes", "a~/b", "~other", "/home/ann"]
        );
        assert_eq!(program.cwd, Some("/home/ann/farm".into()));
        let env: Vec<_> = program
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(env, ["A=entry", "OTHER=2", "TOKEN=a b"]);

        let wrong = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let program = Program {
                env_file: Some(".env".into()),
                ..program.clone()
            };
            surroundings.in_program(&program).unwrap_err().to_string()
        };
        let told = wrong("TOKEN secret\n");
        assert!(told.contains(".env") && !told.contains("secret"), "{told}");
        std::fs::remove_file(&file).unwrap();
        let program = Program {
            env_file: Some(".env".into()),
            ..program.clone()
        };
        let told = surroundings.in_program(&program).unwrap_err().to_string();
        assert!(told.contains(".env"), "{told}");
    }
}
