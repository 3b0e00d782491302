//! `mcp-bridge sync`: keeps a folder of this machine and one of a computer alike, through a bridge that runs.

mod peer;
mod progress;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;

use super::{console, signals::LeaveSignals};
use crate::{
    base::text::one_line,
    settings::Folders,
    sync::{self, Host, News, Order, Peer, Report, Way, game_folder},
};
use peer::Known;
use progress::Progress;

/// Keep a folder of this machine and one of a computer in the game alike
///
/// Compared are contents. Files are sent that the computer has not or has otherwise; with --pull or --both they come from
/// there too, but none whose name begins with a dot, no programs of this machine, and nothing that tools run by themselves.
/// A .gitignore in the folder is honoured; symbolic links are not followed. Nothing is deleted but with --delete. Of files
/// that both sides have changed this machine's counts, and the computer's is kept beside it as NAME.conflict-12.lua. What
/// a computer loses by it lies in its /.trash for a while.
/// A file has 4 MiB at most, and a folder 2000 files, 32 MiB, and 16 folders in each other.
/// Exit code 0: all that was to be done is done; 1: not all.
#[derive(Debug, Args)]
pub struct Sync {
    /// The folder of this machine
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// A computer by its number or label, and its folder, such as 12:/programs; of several only with a push
    #[arg(value_name = "COMPUTER:PATH", required = true)]
    targets: Vec<String>,

    /// Bring the computer's files here, instead of sending this machine's
    #[arg(long, conflicts_with = "both")]
    pull: bool,

    /// Let whichever has changed go to the other
    #[arg(long)]
    both: bool,

    /// Delete where files go what is not where they come from: on this machine only what a sync has brought or sent and
    /// nobody has changed since, and it is kept in .before-sync
    #[arg(long)]
    delete: bool,

    /// Go on with what changes, until Ctrl+C
    #[arg(long)]
    watch: bool,
}

impl Sync {
    pub fn run(self, folders: &Folders) -> ExitCode {
        match self.work(folders) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                console::note(&format!("mcp-bridge: {error:#}"));
                ExitCode::FAILURE
            }
        }
    }

    /// Does it, and tells whether all went well.
    fn work(self, folders: &Folders) -> anyhow::Result<bool> {
        let way = match (self.pull, self.both) {
            (true, _) => Way::Pull,
            (_, true) => Way::Both,
            _ => Way::Push,
        };
        anyhow::ensure!(
            self.targets.len() == 1 || way == Way::Push,
            "Files come from one computer at a time: name one, or push."
        );
        let host = Host::open(&self.folder)?;
        let known = Known::ask(folders)?;
        let mut peers = Vec::new();
        for target in &self.targets {
            let (computer, path) = target
                .split_once(":/")
                .map_or((target.as_str(), None), |(computer, path)| {
                    (computer, Some(path))
                });
            let path = path.with_context(|| {
                format!("{target} names no folder of a computer: it takes COMPUTER:/PATH, such as 12:/programs.")
            })?;
            let path = game_folder(path).map_err(anyhow::Error::msg)?;
            peers.push((known.peer(computer)?, path));
        }
        let orders: Vec<(Order, &dyn Peer)> = peers
            .iter()
            .map(|(peer, path)| {
                let order = Order {
                    host: host.clone(),
                    path: path.clone(),
                    way,
                    deletes: self.delete,
                    state: folders.shared.clone(),
                };
                (order, peer as &dyn Peer)
            })
            .collect();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("the runtime can't be started")?;
        let is_well = runtime.block_on(go(&orders, self.watch));
        // A question to a bridge that is not answered is not waited for.
        runtime.shutdown_background();
        is_well
    }
}

/// Syncs once, or until a signal.
async fn go(orders: &[(Order, &dyn Peer)], watches: bool) -> anyhow::Result<bool> {
    let mut signals = LeaveSignals::listen().context("signals can't be listened to")?;
    let progress = Progress::new();
    let tell = |step: sync::Step<'_>| progress.show(step);
    let hear = |news: News| {
        progress.clear();
        for line in news.words_in_full().lines() {
            console::say(&one_line(line));
        }
    };
    if watches {
        console::note("It goes on with what changes. Ctrl+C ends it.");
        tokio::select! {
            () = sync::watch(orders, &tell, &hear) => {}
            _ = signals.next() => {}
        }
        progress.clear();
        return Ok(true);
    }
    tokio::select! {
        reports = sync::sync_all(orders.iter(), &tell) => {
            let is_well = reports.iter().all(Report::is_well);
            reports.into_iter().for_each(|report| hear(report.into()));
            Ok(is_well)
        }
        signal = signals.next() => {
            progress.clear();
            anyhow::bail!("{signal} ended it: what was written stands, and the next sync goes on from there.")
        }
    }
}
