//! What a tool is, where tools come from, and what a client may do with them.
//!
//! A tool is an entry of a manifest and a handler ([`manifest`]), the product's own ones too ([`builtin`]). The
//! [`catalogue`] puts all [`source`]s together under a [`policy`] and replaces what there is when a source changes; a
//! [`snapshot`] decides what there is for each [`client`].

pub(crate) mod arguments;
pub mod asked;
mod asking;
mod bounds;
pub mod builtin;
mod bundled;
pub mod calls;
pub mod catalogue;
pub mod changes;
mod choosing;
pub mod client;
pub mod coercion;
pub mod completion;
mod computer;
mod content;
mod couriers;
mod effort;
mod empties;
mod entry;
mod files;
pub mod folder;
mod handlers;
pub mod hearer;
mod hints;
mod hold;
pub mod host;
mod job_text;
pub mod kit;
pub(crate) mod legible;
pub mod lint;
mod listener;
pub mod look;
mod lua_code;
pub mod manifest;
pub mod namespace;
mod native;
mod notes;
mod outcome;
pub mod own_resources;
pub mod pause;
mod placeholders;
mod plain_chunk;
pub mod policy;
mod printing;
pub mod prompt;
mod refusal;
pub mod resource;
mod result;
mod screen;
pub mod search;
pub mod snapshot;
pub mod source;
pub mod syncing;
mod teller;
mod telling;
mod tool;
mod trials;
mod unanswered;
pub mod updates;
mod uri_template;
mod validation;
pub mod watch;
pub(crate) mod wording;

use std::{path::PathBuf, sync::Arc};

use crate::{
    computers::Fleet,
    settings::{Config, Folders},
};
pub use catalogue::{Beside, Catalogue, ClientCatalogue};
pub use client::Client;
use folder::Root;
pub use hearer::Hearer;
pub(crate) use hints::annotations;
pub use hold::{Hold, Pause};
pub use listener::{Belongs, Level, Listener, Printed, Step};
use namespace::Keeper;
pub use notes::Notes;
pub use pause::Paused;
use policy::Policy;
pub use refusal::Refusal;
pub(crate) use result::text;
pub use result::{ToolFailed, failure, text_of, without_secrets};
pub use snapshot::{Snapshot, View};
pub use source::{Offer, Source};
use syncing::SyncPlace;
pub use tool::{Context, Found, Others, TooDeep, Tool};
pub use watch::Reader;

/// All tools, prompts and resources of this bridge: its own; those of the user's own folder and of the folders that
/// `config` names, which it follows; and those of `others`. A person pauses it in the folder that all bridges share. To
/// be called in the runtime.
pub fn start(
    reader: Reader,
    config: &Config,
    folders: &Folders,
    fleet: &Arc<Fleet>,
    others: Vec<Box<dyn Source>>,
) -> Arc<Catalogue> {
    let roots = roots(folders.own_tools(), &config.tools.chosen.folders);
    let own = watch::sources(
        reader,
        roots,
        keeper(folders).following(fleet.changes()),
        config.probe_timeout,
        sync_place(config, folders),
    );
    let computers = own_resources::source(fleet);
    let sources = [computers].into_iter().chain(own).chain(others).collect();
    let catalogue = Catalogue::start(
        sources,
        Policy::of(&config.tools, Pause::of(&folders.shared)),
    );
    let (told, mut follow) = (catalogue.clone(), catalogue.follow());
    tokio::spawn(async move {
        if let Ok(snapshot) = follow.wait_for(|snapshot| snapshot.is_ready()).await {
            let view = snapshot.for_client(Client::Anyone);
            let tools = view.all().map(|(tool, _)| tool);
            for unmet in told.policy().unmet(tools, view.sets()) {
                tracing::warn!("{unmet}");
            }
        }
    });
    catalogue
}

/// What `sync-folder` may reach, by these settings.
fn sync_place(config: &Config, folders: &Folders) -> SyncPlace {
    SyncPlace {
        push: config.sync.push.clone(),
        pull: config.sync.pull.clone(),
        state: Some(folders.shared.clone()),
        settings: folders.config_file(),
    }
}

/// What keeps what namespaces have, in these folders.
pub fn keeper(folders: &Folders) -> Keeper {
    Keeper::new(folders.shared.clone(), folders.config.clone())
}

/// The folders of tools that there are to be: the user's own one, and those that were named.
pub fn roots(own: Option<PathBuf>, named: &[PathBuf]) -> Vec<Root> {
    let own = own.map(|path| (path, false));
    let named = named.iter().map(|path| (path.clone(), true));
    own.into_iter()
        .chain(named)
        .map(|(path, is_named)| Root { path, is_named })
        .collect()
}
