//! `mcp-bridge upstream add` and `remove`: servers in the user's own configuration, whose comments and order stay.

use std::{path::Path, process::ExitCode};

use clap::Args;
use serde_json::{Map, Value, json};

use super::{super::console, here};
use crate::{
    base::text::in_shell,
    settings::Folders,
    setup::{
        change::Change,
        edit::{Format, Made, Place},
        file::Found,
        refusal::Refusal,
    },
    upstream::{
        Home,
        configured::Configured,
        entry::Origin,
        names,
        sources::{self, ConfigPlace, Content},
    },
};

/// A server that is to be added.
#[derive(Debug, Args)]
pub struct Added {
    /// What it is to be called; the names of its tools begin with it
    name: String,

    /// The URL of a server that runs
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,

    /// A variable of the program's environment; in a value, ${NAME} stands for one of yours
    #[arg(short, long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,

    /// A header of every request to the URL; in a value, ${NAME} stands for a variable of yours
    #[arg(
        short = 'H',
        long = "header",
        value_name = "NAME: VALUE",
        conflicts_with = "command"
    )]
    headers: Vec<String>,

    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The user's own file, read so that it can be changed.
pub struct OwnFile {
    found: Found,
    /// The key that servers stand below.
    key: &'static str,
}

impl OwnFile {
    /// Reads it; it need not be there.
    ///
    /// # Errors
    /// There is no place for it, it can't be read, or holds its servers in a way that can't be edited here.
    pub fn open(folders: &Folders) -> Result<Self, Refusal> {
        let Some(folder) = &folders.config else {
            return Err(Refusal::new(
                "This user has no home folder, and so no configuration: set MCP_BRIDGE_CONFIG_DIR to a folder for it",
            ));
        };
        let path = folder.join(sources::USER_FILE);
        let found = Found::read(&path)?;
        let refused = |why: String| Refusal::new(why).of(&path);
        match sources::home(found.text()) {
            Ok(Home::Below(key)) => Ok(Self { found, key }),
            Ok(Home::Elsewhere(how)) => Err(refused(format!(
                "{how}, and so is left as it is. Put them below `mcpServers`, each with its name, and try again"
            ))),
            Err(problem) => Err(refused(format!("{problem}. Mend that, and try again"))),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.found.path
    }

    fn place<'a>(&self, name: &'a str) -> Place<'a> {
        Place {
            format: Format::Jsonc,
            container: self.key,
            name,
        }
    }

    /// Whether a server of this name stands in it.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn has(&self, name: &str) -> Result<bool, Refusal> {
        let entry = self.place(name).entry(self.found.text());
        Ok(entry.map_err(|refusal| refusal.of(self.path()))?.is_some())
    }

    /// The change that adds these servers, each with its name.
    ///
    /// # Errors
    /// The file is written in a way that can't be edited here.
    pub fn with<'a>(
        &self,
        servers: impl IntoIterator<Item = (&'a str, &'a Map<String, Value>)>,
    ) -> Result<Change, Refusal> {
        let mut text = self.found.text().to_owned();
        for (name, entry) in servers {
            let put = self.place(name).put(&text, entry);
            text = put.map_err(|refusal| refusal.of(self.path()))?;
        }
        Ok(self.change(text))
    }

    /// The change that takes a server out.
    ///
    /// # Errors
    /// As of [`Self::with`].
    pub fn without(&self, name: &str) -> Result<Change, Refusal> {
        let taken = self.place(name).take(self.found.text(), Made::default());
        let text = taken.map_err(|refusal| refusal.of(self.path()))?;
        Ok(self.change(text.unwrap_or_default()))
    }

    fn change(&self, text: String) -> Change {
        // It is our own file: no copy of what stood there is left beside it.
        let mut change = Change::taking_out(self.found.clone(), Some(text));
        // Entries hold tokens.
        change.is_private = true;
        change
    }
}

/// Adds a server.
pub fn add(added: &Added, folders: &Folders) -> ExitCode {
    told(added.entry().and_then(|entry| {
        let file = OwnFile::open(folders).map_err(sentence)?;
        let name = &added.name;
        if file.has(name).map_err(sentence)? {
            return Err(format!(
                "{} has a server `{name}` already, which is left as it is. `mcp-bridge upstream remove {}` takes it out.",
                file.path().display(),
                in_shell(name)
            ));
        }
        let change = file.with([(name.as_str(), &entry)]).map_err(sentence)?;
        let remarks = check(name, file.path(), change.after.as_deref().unwrap_or_default())?;
        console::show_painted(&format!("{}\n", change.diff()));
        change.apply().map_err(sentence)?;
        let mut said = vec![format!("The server `{name}` is added.")];
        said.extend(remarks);
        said.extend(shadow(name, folders));
        said.push(format!(
            "Its tools will be called {}__…; `mcp-bridge upstream tools {}` starts it and shows them. Bridges that run \
             take it up within seconds.",
            names::server_id(name),
            in_shell(name)
        ));
        Ok(said.join("\n"))
    }))
}

/// Takes a server out.
pub fn remove(name: &str, folders: &Folders) -> ExitCode {
    told((|| {
        let file = OwnFile::open(folders).map_err(sentence)?;
        if !file.has(name).map_err(sentence)? {
            return Err(nowhere(name, file.path(), folders));
        }
        let change = file.without(name).map_err(sentence)?;
        console::show_painted(&format!("{}\n", change.diff()));
        change.apply().map_err(sentence)?;
        Ok(format!(
            "The server `{name}` is taken out of {}. Bridges that run stop it within seconds.",
            file.path().display()
        ))
    })())
}

/// Why a server can't be taken out of the user's file: it stands in none, or in the project's.
fn nowhere(name: &str, path: &Path, folders: &Folders) -> String {
    let configured = Configured::read(&here::settings(folders));
    let servers = configured.servers();
    let own = servers.iter().filter(|entry| entry.origin == Origin::User);
    let own: Vec<_> = own.map(|entry| entry.name.as_str()).collect();
    if let Some(entry) = servers
        .iter()
        .find(|entry| entry.name == name && entry.origin != Origin::User)
    {
        return format!(
            "The server `{name}` is configured by the project, in {}, which is not changed from here. Take it out there, or \
             switch it off there with `\"enabled\": false`.",
            entry.file.display()
        );
    }
    let those = match own.as_slice() {
        [] => "There is none in it".to_owned(),
        names => format!("There are {}", names.join(", ")),
    };
    format!("{} has no server `{name}`. {those}.", path.display())
}

/// Reads the file as a bridge would, and says what it would say of this server.
fn check(name: &str, path: &Path, text: &str) -> Result<Vec<String>, String> {
    let place = ConfigPlace {
        origin: Origin::User,
        path: path.to_path_buf(),
        content: Content::Text(text.to_owned()),
        trouble: None,
    };
    let found = sources::resolve(&[place], None);
    if found.itself.iter().any(|itself| itself == name) {
        return Err(format!(
            "This would be mcp-bridge itself, which is not to call itself, so `{name}` is not added."
        ));
    }
    let about = format!("the server `{name}`");
    let said = found
        .problems
        .iter()
        .filter(|problem| problem.text.starts_with(&about));
    let said: Vec<_> = said
        .map(|problem| format!("Note: {}", problem.text))
        .collect();
    match found.servers.iter().any(|entry| entry.name == name) {
        true => Ok(said),
        false => Err(format!("It is not added: {}.", said.join(" "))),
    }
}

/// That another server of this name counts in this folder, if so.
fn shadow(name: &str, folders: &Folders) -> Option<String> {
    let configured = Configured::read(&here::settings(folders));
    let servers = configured.servers();
    let other = servers
        .iter()
        .find(|entry| entry.name == name && entry.origin != Origin::User)?;
    Some(format!(
        "Note: in this folder the server of that name in {} counts instead.",
        other.file.display()
    ))
}

impl Added {
    /// Its entry.
    fn entry(&self) -> Result<Map<String, Value>, String> {
        if self.name.trim().is_empty() || self.name.chars().any(char::is_control) {
            return Err("A server's name is a text of at least one character.".to_owned());
        }
        let mut entry = Map::new();
        let Some(url) = &self.url else {
            entry.insert("command".to_owned(), json!(self.command.first()));
            if self.command.len() > 1 {
                entry.insert("args".to_owned(), json!(self.command[1..]));
            }
            if !self.env.is_empty() {
                let pairs = self
                    .env
                    .iter()
                    .map(|given| pair(given, '=', "--env", "NAME=VALUE"));
                let env: Map<_, _> = pairs.collect::<Result<_, _>>()?;
                entry.insert("env".to_owned(), Value::Object(env));
            }
            return Ok(entry);
        };
        if !["http://", "https://", "${"]
            .iter()
            .any(|start| url.starts_with(start))
        {
            return Err(format!(
                "`{url}` is no URL: one begins with http:// or https://. A program is given after `--`: mcp-bridge upstream \
                 add {} -- {url}",
                self.name
            ));
        }
        entry.insert("url".to_owned(), json!(url));
        if !self.headers.is_empty() {
            let pairs = self
                .headers
                .iter()
                .map(|given| pair(given, ':', "--header", "'NAME: VALUE'"));
            let headers: Map<_, _> = pairs
                .map(|pair| pair.map(|(name, value)| (name, json!(value.as_str().map(str::trim)))))
                .collect::<Result<_, _>>()?;
            entry.insert("headers".to_owned(), Value::Object(headers));
        }
        Ok(entry)
    }
}

/// A name and a value, as given after `flag`. What is wrong is said without the value, which may be secret.
fn pair(given: &str, between: char, flag: &str, form: &str) -> Result<(String, Value), String> {
    match given.split_once(between) {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), json!(value)))
        }
        _ => Err(format!("{flag} must be {form}.")),
    }
}

fn sentence(refusal: Refusal) -> String {
    format!("{refusal}.")
}

/// Says how it went.
fn told(outcome: Result<String, String>) -> ExitCode {
    match outcome {
        Ok(said) => {
            console::say(&said);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            console::note(&problem);
            ExitCode::FAILURE
        }
    }
}
