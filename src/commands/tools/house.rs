//! What the commands about tools begin with: the settings, the folders of tools, the catalogue, the computers.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;

use crate::{
    commands::{computers, console::note, startup, upstream::here},
    computers::Fleet,
    doctor::chosen,
    settings::{Config, Flags, Folders},
    tools::{
        self, Catalogue, Context, Listener, Notes, Offer, Others, Pause, Source, builtin,
        folder::{self, Root},
        kit::Kit,
        look::Look,
        own_resources,
        policy::Policy,
        source::fixed,
    },
    upstream::{Upstream, by_name::ByName, configured::Configured, names, status_tool::SET},
};

/// All that there is for somebody who uses a tool, a prompt or a resource by hand.
pub struct House {
    /// The computers.
    pub fleet: Fleet,
    /// What is built in, what is in the folders, and the tools of MCP servers.
    pub catalogue: Arc<Catalogue>,
    /// The MCP servers that are configured; each is started when a tool of it is called.
    servers: Option<Upstream>,
}

impl House {
    /// Does something in it, in a runtime of its own, and closes it.
    pub fn used<T>(
        flags: &Flags,
        folders: &Folders,
        work: impl AsyncFnOnce(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        in_runtime(async {
            let house = Self::open(flags, folders)?;
            let done = work(&house).await;
            if let Some(servers) = &house.servers {
                servers.leave().await;
            }
            done
        })
    }

    /// Opens it, and tells what is wrong with the folders. To be called in the runtime.
    fn open(flags: &Flags, folders: &Folders) -> anyhow::Result<Self> {
        let config = load(flags, folders)?;
        let (mut own, built_in) = own(&config, folders);
        // What is wrong with a handler is told when it is called.
        let look = own.look();
        let servers = match config.upstream {
            true => Upstream::new(here::settings(folders)),
            false => None,
        };
        let others: Box<dyn Source> = match servers.clone() {
            Some(servers) => Box::new(ByName::new(servers, sets_of_servers(folders))),
            None => fixed(Offer::default()),
        };
        let (catalogue, problems) = with_others(&config, folders, built_in, look, others);
        let here = std::env::current_dir().unwrap_or_default();
        for problem in problems
            .iter()
            .chain(&chosen::unmet(&config, folders, &here))
        {
            note(problem);
        }
        let fleet = computers::start(&config.link, Some(&folders.shared));
        fleet.want();
        Ok(Self {
            fleet,
            catalogue,
            servers,
        })
    }

    /// What a call of this person's has at hand.
    pub fn context<'a>(
        &'a self,
        others: &'a dyn Others,
        listener: &'a dyn Listener,
        notes: &'a Notes,
    ) -> Context<'a> {
        Context {
            fleet: &self.fleet,
            others,
            listener,
            notes,
            call: None,
            stand_in: None,
            depth: 0,
        }
    }
}

/// The settings.
pub fn load(flags: &Flags, folders: &Folders) -> anyhow::Result<Config> {
    Ok(Config::load(flags, startup::variable, folders)?)
}

/// The one folder that a command names, or all that are set.
pub fn roots(named: Option<PathBuf>, config: &Config, folders: &Folders) -> Vec<Root> {
    match named {
        Some(folder) => tools::roots(None, &[folder]),
        None => tools::roots(folders.own_tools(), &config.tools.chosen.folders),
    }
}

/// The folders of tools that are set, and what is built in.
pub fn own(config: &Config, folders: &Folders) -> (folder::Folders, Offer) {
    let kit = Kit::keeping(tools::keeper(folders));
    let built_in = builtin::offer(&kit, config.probe_timeout);
    let roots = roots(None, config, folders);
    (folder::Folders::new(roots, kit, &built_in), built_in)
}

/// All tools there are but for those of MCP servers, and what is wrong with those that were looked at.
pub fn put_together(
    config: &Config,
    folders: &Folders,
    built_in: Offer,
    look: Look,
) -> (Arc<Catalogue>, Vec<String>) {
    let servers = Offer {
        sets: match config.upstream {
            true => sets_of_servers(folders),
            false => Vec::new(),
        },
        ..Offer::default()
    };
    with_others(config, folders, built_in, look, fixed(servers))
}

fn with_others(
    config: &Config,
    folders: &Folders,
    built_in: Offer,
    look: Look,
    others: Box<dyn Source>,
) -> (Arc<Catalogue>, Vec<String>) {
    let problems = look.problems.iter().map(ToString::to_string).collect();
    let sources = vec![
        own_resources::unlisted(),
        fixed(built_in),
        fixed(look.offer),
        others,
    ];
    let policy = Policy::of(&config.tools, Pause::of(&folders.shared));
    (Catalogue::start(sources, policy), problems)
}

/// The sets of the MCP servers that are configured, none of which is started here.
fn sets_of_servers(folders: &Folders) -> Vec<String> {
    let configured = Configured::read(&here::settings(folders));
    let servers = configured.servers();
    let of_each = servers.iter().flat_map(|server| names::sets(&server.name));
    of_each.chain([SET.to_owned()]).collect()
}

/// Does it in a runtime of its own.
pub fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("the runtime can't be started")?
        .block_on(work)
}

/// So many of them, in words.
pub fn count(number: usize, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        number => format!("{number} {word}s"),
    }
}

/// What was found in folders of tools, in one sentence.
pub fn found(look: &Look) -> String {
    let Offer {
        tools,
        prompts,
        resources,
        ..
    } = &look.offer;
    format!(
        "{} and {} and {} can be used; {}.",
        count(tools.len(), "tool"),
        count(prompts.len(), "prompt"),
        count(resources.len(), "resource"),
        match look.problems.len() {
            0 => "nothing is wrong".to_owned(),
            problems => count(problems, "problem"),
        }
    )
}
