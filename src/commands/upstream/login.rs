//! `mcp-bridge upstream login` and `logout`: who the user is to a server that wants to know.

use std::{
    env,
    io::{self, IsTerminal},
    process::ExitCode,
    thread,
};

use anyhow::bail;
use clap::Args;
use tokio::sync::oneshot;

use super::{super::console, asking::in_runtime, here};
use crate::{
    base::text::in_shell,
    settings::Folders,
    upstream::{
        login::{
            browser,
            flow::{Waiting, Wanted},
            guarded::Guarded,
            kept::Kind,
        },
        requests::{self, Request},
    },
};

/// Who is to be logged in where, and how.
#[derive(Debug, Args)]
pub struct Login {
    /// The server's name
    name: String,

    /// Show the login page's address, and open no browser
    #[arg(long)]
    no_browser: bool,

    /// Keep the tokens in a file that only you can read, not in the system's keyring
    #[arg(long)]
    in_file: bool,

    /// By what the login server knows mcp-bridge, if you registered it there
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,

    /// The environment variable with the secret that goes with it, if there is one
    #[arg(long, value_name = "NAME", requires = "client_id")]
    client_secret_variable: Option<String>,

    /// A right to ask for, instead of those that the server names; may be given more than once
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,

    /// The port of this machine that the browser comes back to, if it must be a certain one
    #[arg(long, value_name = "PORT")]
    callback_port: Option<u16>,
}

/// Logs the user in, in their browser.
pub fn log_in(login: &Login, folders: &Folders) -> ExitCode {
    in_runtime(async {
        let name = &login.name;
        let server = Guarded::find(&here::settings(folders), name)?;
        let client_secret = match &login.client_secret_variable {
            Some(variable) => match env::var(variable) {
                Ok(secret) if !secret.is_empty() => Some(secret),
                _ => bail!("The environment variable {variable} is not set."),
            },
            None => None,
        };
        let wanted = Wanted {
            client_id: login.client_id.clone(),
            client_secret,
            scopes: login.scope.clone(),
            port: login.callback_port,
        };
        let waiting = match Waiting::begin(&server, &wanted).await {
            Ok(waiting) => waiting,
            Err(error) => bail!("You are not logged in to `{name}`: {error}."),
        };
        console::say(&format!(
            "Log in to `{name}` on this page:\n\n  {}\n",
            waiting.page
        ));
        if !login.no_browser && !browser::open(&waiting.page) {
            console::say("No browser could be started here. Open the page yourself.");
        }
        let by_hand = io::stdin().is_terminal();
        if by_hand {
            console::say(
                "If your browser is on another machine, it ends at a page that can't be shown: paste its address here.",
            );
        }
        let kind = match login.in_file {
            true => Kind::File,
            false => Kind::Keyring,
        };
        let kind = match waiting.finish(typed(by_hand), &server.place, kind).await {
            Ok(kind) => kind,
            Err(error) => bail!("You are not logged in to `{name}`: {error}."),
        };
        let place = match kind {
            Kind::Keyring => "in the system's keyring".to_owned(),
            Kind::File => format!(
                "in {}, which only you can read",
                server.place.file().display()
            ),
        };
        console::say(&format!(
            "✓ Logged in to `{name}`. What shows that is {place}."
        ));
        restart(folders, name);
        Ok(true)
    })
}

/// Forgets the user's login.
pub fn log_out(name: &str, folders: &Folders) -> ExitCode {
    in_runtime(async {
        let server = Guarded::find(&here::settings(folders), name)?;
        if !server.place.forget().await? {
            console::say(&format!("Nobody was logged in to `{name}`."));
            return Ok(true);
        }
        console::say(&format!(
            "✓ Logged out of `{name}`: its tokens are deleted here. The server itself may know them until their time is over."
        ));
        restart(folders, name);
        Ok(true)
    })
}

/// Has running bridges begin anew with what there is now.
fn restart(folders: &Folders, name: &str) {
    let request = Request::Renew {
        server: name.to_owned(),
    };
    if let Err(error) = requests::leave(&folders.shared, &request) {
        console::note(&format!(
            "Running bridges could not be told ({error}): restart them, or run `mcp-bridge upstream restart {}`.",
            in_shell(name)
        ));
    }
}

/// The line that a person types; never, if there is none.
async fn typed(by_hand: bool) -> String {
    let (tell, told) = oneshot::channel();
    if by_hand {
        // A thread of its own, which ends with the process: the runtime would wait for what is never typed.
        thread::spawn(move || {
            let line = io::stdin().lines().find_map(|line| {
                let line = line.ok()?;
                (!line.trim().is_empty()).then_some(line)
            });
            if let Some(line) = line {
                let _ = tell.send(line);
            }
        });
        if let Ok(line) = told.await {
            return line;
        }
    }
    std::future::pending().await
}
