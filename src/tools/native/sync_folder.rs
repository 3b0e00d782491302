//! `sync-folder`: keeps a folder that the user allowed and one of a computer alike.

use std::{
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::{sync::mpsc, time::timeout};

use super::typed::Native;
use crate::{
    computers::ComputerKey,
    sync::{self, Host, News, Order, Peer, Report, Way, game_folder},
    tools::{
        self, Context,
        choosing::{ChoiceError, choose},
        failure,
        syncing::{Errands, OnComputer, SyncPlace},
        text,
    },
};

/// The most computers of one call.
const MOST: usize = 64;

/// How much of what a watch has to tell is told, the last of them.
const REPORTS: usize = 20;

/// How many steps wait until a client is told of them.
const STEPS: usize = 16;

pub struct SyncFolder {
    pub place: Arc<SyncPlace>,
    pub errands: Errands,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    folder: String,
    path: String,
    computer_id: Option<ComputerKey>,
    computer_ids: Option<Vec<u64>>,
    way: Way,
    #[serde(default)]
    delete: bool,
    watch_seconds: Option<u64>,
}

#[derive(Debug, Error)]
pub enum SyncError {
    #[error(transparent)]
    NotChosen(#[from] ChoiceError),
    #[error("{0}")]
    Folder(String),
    #[error("Files come from one computer at a time: give one `computerId`, or push.")]
    Several,
    #[error("{0} computers are too many for one call, which takes {MOST}.")]
    TooMany(usize),
}

impl Native for SyncFolder {
    const NAME: &'static str = "sync-folder";
    type Arguments = Arguments;
    type Error = SyncError;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, SyncError> {
        let (host, state) = self.allowed(&arguments.folder, arguments.way)?;
        let path = game_folder(&arguments.path).map_err(SyncError::Folder)?;
        // A part of its name may have been enough.
        let shown = host.path().display();
        let folders = match arguments.way {
            Way::Push => format!("From {shown} of this machine to {path}."),
            Way::Pull => format!("From {path} to {shown} of this machine."),
            Way::Both => format!("{shown} of this machine and {path}."),
        };
        let mut wanted: Vec<_> = arguments.computer_ids.unwrap_or_default();
        wanted.sort_unstable();
        wanted.dedup();
        let mut wanted: Vec<_> = wanted.into_iter().map(key).map(Some).collect();
        if wanted.is_empty() || arguments.computer_id.is_some() {
            wanted.retain(|key| *key != arguments.computer_id);
            wanted.push(arguments.computer_id);
        }
        if wanted.len() > 1 && arguments.way.writes_here() {
            return Err(SyncError::Several);
        }
        if wanted.len() > MOST {
            return Err(SyncError::TooMany(wanted.len()));
        }
        let mut peers = Vec::new();
        for key in wanted {
            let computer = choose(key, context.fleet).await?;
            context.notes.about(&computer);
            peers.push(OnComputer {
                errands: &self.errands,
                context,
                computer,
            });
        }
        let order = Order {
            host,
            path,
            way: arguments.way,
            deletes: arguments.delete,
            state,
        };
        let orders: Vec<(Order, &dyn Peer)> = peers
            .iter()
            .map(|peer| (order.clone(), peer as &dyn Peer))
            .collect();
        let time = arguments.watch_seconds.map(Duration::from_secs);
        let news = with_steps(context, &orders, time).await;
        let words: Vec<_> = news.iter().map(News::words).collect();
        let words = format!("{folders}\n{}", words.join("\n\n"));
        let reports = || news.iter().filter_map(News::report);
        let is_cut = reports().any(Report::is_cut);
        let words = match is_cut {
            true => format!("{words}\n\nThe structured content has all names."),
            false => words,
        };
        let mut result = match news.iter().all(News::is_well) {
            true => text(words),
            false => failure(words),
        };
        if is_cut {
            let computers: Vec<_> = reports().map(Report::fields).collect();
            result.structured_content = Some(json!({"folders": folders, "computers": computers}));
        }
        Ok(result)
    }
}

fn key(number: u64) -> ComputerKey {
    ComputerKey::from(crate::wire::names::ComputerId(number))
}

/// Syncs once, or for a while, and tells the client each step.
async fn with_steps(
    context: Context<'_>,
    orders: &[(Order, &dyn Peer)],
    time: Option<Duration>,
) -> Vec<News> {
    let (sender, mut steps) = mpsc::channel(STEPS);
    let tell = |step: sync::Step<'_>| {
        // The next one tells of it too.
        let _ = sender.try_send(tools::Step {
            message: format!("{} {} on {}", step.what, step.path, step.name),
            done: Some(step.done as f64),
            total: Some(step.total as f64),
        });
    };
    let telling = async {
        while let Some(step) = steps.recv().await {
            if context.listener.listens() {
                context.listener.tell(step).await;
            }
        }
    };
    let once = async || -> Vec<News> {
        let reports = sync::sync_all(orders.iter(), &tell).await;
        reports.into_iter().map(News::from).collect()
    };
    let work = async {
        let Some(time) = time else {
            return once().await;
        };
        let news = Mutex::new(Vec::new());
        let hear = |told: News| {
            let mut news = news.lock().unwrap_or_else(PoisonError::into_inner);
            if news.len() == REPORTS {
                news.remove(0);
            }
            news.push(told);
        };
        let _ = timeout(time, sync::watch(orders, &tell, &hear)).await;
        let news = news.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Of a computer that has nothing to tell since, the end is how it is.
        match news.is_empty() {
            true => once().await,
            false => news,
        }
    };
    tokio::select! {
        news = work => news,
        () = telling => Vec::new(),
    }
}

impl SyncFolder {
    /// The folder that is meant, if it lies in one that the user allowed for this way; and where syncs are remembered.
    fn allowed(&self, folder: &str, way: Way) -> Result<(Host, PathBuf), SyncError> {
        let refused = |words: String| Err(SyncError::Folder(words));
        let (push, pull) = (&self.place.push, &self.place.pull);
        let Some(state) = &self.place.state else {
            return refused("Nothing is synced here: this is no bridge that serves.".to_owned());
        };
        if push.is_empty() && pull.is_empty() {
            return refused(format!(
                "No folder of this machine may be synced yet. Its user can allow one: {}",
                self.lines(folder)
            ));
        }
        let wanted = Path::new(folder);
        let roots: Vec<_> = match way {
            Way::Push => pull.iter().chain(push).collect(),
            Way::Pull | Way::Both => pull.iter().collect(),
        };
        let mut problem = None;
        let mut found: Vec<Host> = Vec::new();
        for root in &roots {
            match below(root, wanted) {
                Some(Ok(host)) if found.iter().any(|known| known.path() == host.path()) => {}
                Some(Ok(host)) => found.push(host),
                Some(Err(why)) => problem = Some(why),
                None => {}
            }
        }
        // One that can't be opened may be meant, too.
        let is_any = wanted.components().all(|part| part == Component::CurDir);
        match found.as_slice() {
            [] => {}
            _ if is_any && problem.is_some() => {}
            [host] => return Ok((host.clone(), state.clone())),
            // Which is meant decides what is overwritten, and deleted.
            several => {
                let several: Vec<_> = several
                    .iter()
                    .map(|host| host.path().display().to_string())
                    .collect();
                return refused(format!(
                    "\"{folder}\" may be any of several folders, so nothing was done: give one by its whole path: {}.",
                    several.join(", ")
                ));
            }
        }
        if way.writes_here()
            && push
                .iter()
                .any(|root| below(root, wanted).is_some_and(|host| host.is_ok()))
        {
            return refused(format!(
                "From {folder} files may only be pushed. Its user can let them be written there too: {}",
                self.lines(folder)
            ));
        }
        let shown: Vec<_> = roots
            .iter()
            .map(|root| root.display().to_string())
            .collect();
        refused(match problem {
            Some(why) if !roots.is_empty() => format!("{why}. Allowed: {}.", shown.join(", ")),
            _ => format!(
                "{folder} is in no folder that may be synced so{}. Its user can allow it: {}",
                match shown.is_empty() {
                    true => String::new(),
                    false => format!(" (these may: {})", shown.join(", ")),
                },
                self.lines(folder)
            ),
        })
    }

    /// What a user adds to the settings.
    fn lines(&self, folder: &str) -> String {
        let file = match &self.place.settings {
            Some(file) => file.display().to_string(),
            None => "config.toml".to_owned(),
        };
        // A string of JSON is one of TOML.
        let example = Value::String(match Path::new(folder).is_absolute() {
            true => folder.to_owned(),
            false => "/path/to/programs".to_owned(),
        });
        format!(
            "add to {file}\nsync_push = [{example}]\nto have its files sent to computers, or\nsync_pull = [{example}]\nto have \
             files written there too, and restart mcp-bridge. Without that, a person can enter `mcp-bridge sync DIR 12:/PATH`."
        )
    }
}

/// A folder below this root: none if it is in another, or why it can't be opened.
fn below(root: &Path, wanted: &Path) -> Option<Result<Host, String>> {
    let said = |error: sync::host::HostError| error.to_string();
    let opened = match Host::open(root) {
        Ok(opened) => opened,
        Err(error) => return Some(Err(said(error))),
    };
    let rest = if wanted.is_absolute() {
        let rest = wanted
            .strip_prefix(root)
            .or_else(|_| wanted.strip_prefix(opened.path()));
        rest.ok()?
    } else {
        wanted
    };
    Some(opened.below(rest).map_err(said))
}
