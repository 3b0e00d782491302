//! The set-up that is looked at: where things are, and what several checks want to know, asked once.

use std::{
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use super::place;
use crate::{
    base::host_and_port::HostPort,
    bridges::one_machine::port_holder::{self, Health, Unknown},
    hands::{
        mailbox::{self, Round},
        message::Question,
    },
    settings::{Config, ConfigError, Flags, Folders},
    setup::{game::survey::Survey, machine::Machine},
};

/// How long bridges have to tell of their computers.
const TO_ANSWER: Duration = Duration::from_secs(4);

/// A person's set-up, as the process that looks at it finds it.
pub struct Patient {
    /// Where the bridge's own files are.
    pub folders: Folders,
    /// The machine, this program and the environment.
    pub machine: Machine,
    /// Now.
    pub now: SystemTime,
    /// The folder in which the game is, where it is not in a usual one.
    game: Option<PathBuf>,
    config: Result<Config, ConfigError>,
    games: OnceLock<Survey>,
    health: OnceLock<Result<Health, Unknown>>,
    bridges: OnceLock<io::Result<Round>>,
}

impl Patient {
    /// The folder in which the game is, where it is not in a usual one.
    pub fn game(&self) -> Option<&Path> {
        self.game.as_deref()
    }

    /// The set-up that these flags make on this machine, with the game in this folder or in the usual ones.
    pub fn new(flags: &Flags, machine: Machine, folders: &Folders, game: Option<PathBuf>) -> Self {
        let variable = |name: &str| machine.variables.get(name).cloned();
        let config = Config::load(flags, variable, folders);
        Self {
            folders: folders.clone(),
            machine,
            now: SystemTime::now(),
            game,
            config,
            games: OnceLock::new(),
            health: OnceLock::new(),
            bridges: OnceLock::new(),
        }
    }

    /// The settings that a bridge would have which is started like this process.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn config(&self) -> Result<&Config, &ConfigError> {
        self.config.as_ref()
    }

    /// Where the link port is to be; none if the settings can't be used.
    pub fn place(&self) -> Option<HostPort> {
        let link = &self.config().ok()?.link;
        Some(HostPort {
            host: link.host.clone(),
            port: link.port,
        })
    }

    /// What there is of the game.
    pub fn games(&self) -> &Survey {
        self.games.get_or_init(|| match &self.game {
            Some(folder) => Survey::of_folder(&self.machine.here.join(folder)),
            None => Survey::of(&self.machine),
        })
    }

    /// What the holder of the link port says of itself.
    pub fn health(&self, place: &HostPort) -> &Result<Health, Unknown> {
        self.health.get_or_init(|| {
            // Nobody else's machine is asked.
            place::can_bind(&place.host, 0).map_err(Unknown::Unreachable)?;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(Unknown::Unreachable)?;
            runtime.block_on(port_holder::health(place))
        })
    }

    /// What each bridge of this user that runs tells of the computers.
    pub fn bridges(&self) -> &io::Result<Round> {
        self.bridges
            .get_or_init(|| mailbox::ask(&self.folders.shared, &Question::Computers, TO_ANSWER))
    }
}
