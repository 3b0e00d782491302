//! The world of one example: simulated computers that run the real agent, and a link port in this process that only they
//! know.

use std::{net::Ipv4Addr, process, sync::Arc, time::Duration, time::SystemTime};

use anyhow::{Context as _, bail};
use tokio::{
    net::TcpListener,
    runtime::Handle,
    sync::{Notify, watch},
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    commands::computers::routes,
    computers::{
        Computer as Linked, ComputerKey, Fleet, Owner, follower::Follower, link::Link,
        reach::Reach, registry::Registry,
    },
    link::{agent, port},
    settings::LinkConfig,
    simulator::{Computer, ComputerOptions},
    tools::{
        manifest::{Fuel, Provided, Simulated},
        namespace::StandIn,
    },
    wire::names::RequestId,
};

/// How many times faster than the game its clock runs, so that an example that sleeps or moves costs little time. The
/// agent's own patience with its link shrinks with it: a machine that is busy with all else must not come near it.
const CLOCK_SPEED: f64 = 10.0;

/// How long all computers may take to link. It only counts when something is broken.
const LINK_TIME: Duration = Duration::from_secs(30);

/// A world.
pub struct World {
    /// Its computers, as tools see them.
    pub fleet: Fleet,
    /// What stands in for the user's own.
    pub stand_in: StandIn,
    simulated: Vec<Computer>,
    /// The link port; it closes with this.
    _port: Option<AbortOnDropHandle<()>>,
    /// How they are reached, which never changes.
    _reach: watch::Sender<Reach>,
}

impl World {
    /// A world with these computers in it, all of which have linked, for a handler of this namespace.
    ///
    /// # Errors
    /// There is no such computer, or it did not link.
    pub async fn of(
        computers: &[Simulated],
        provided: &Provided,
        namespace: Option<&str>,
        config: &LinkConfig,
    ) -> anyhow::Result<Self> {
        let stand_in = StandIn::new(namespace, provided.clone())?;
        let arrivals = Arc::new(Arrivals::default());
        let registry = Arc::new(Registry::followed_by(vec![arrivals.clone()]));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("no port can be opened for simulated computers")?;
        let address = listener.local_addr()?;
        let here = Reach::Here {
            owner: Owner {
                pid: process::id(),
                since: SystemTime::now(),
                address,
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            bridges: 1,
        };
        let (reach, follow) = watch::channel(here);
        let mut world = Self {
            fleet: Fleet::new(registry.clone(), follow.clone(), Arc::new(Notify::new())),
            stand_in,
            simulated: Vec::new(),
            _port: None,
            _reach: reach,
        };
        if computers.is_empty() {
            return Ok(world);
        }
        let routes = routes(config, registry.clone(), follow, None);
        let serving = async move { match port::accept(listener, routes).await {} };
        world._port = Some(AbortOnDropHandle::new(tokio::spawn(serving)));
        let program = format!("mcp-computer ws://{address}/");
        for simulated in computers {
            let id = simulated.id;
            let started = options(simulated)
                .and_then(|options| Ok(Computer::start(options, &program, &Handle::current())?));
            let started = started.with_context(|| format!("computer {id} can't be started"))?;
            world.simulated.push(started);
        }
        let all = computers.len() as u64;
        if timeout(LINK_TIME, arrivals.until(|| registry.linked() == all))
            .await
            .is_err()
        {
            bail!("{}", world.screens());
        }
        Ok(world)
    }

    /// Ends it, without holding up the runtime.
    pub fn end(self) {
        if !self.simulated.is_empty() {
            tokio::task::spawn_blocking(move || drop(self.simulated));
        }
    }

    /// That they did not link, and what stands on their screens.
    fn screens(&self) -> String {
        let mut told = format!(
            "the simulated computers did not link within {} s",
            LINK_TIME.as_secs()
        );
        for computer in &self.simulated {
            let screen = computer.screen().join("\n");
            told.push_str(&format!("\n{}: {}", computer.id(), screen.trim_end()));
        }
        told
    }
}

/// What makes one of them.
fn options(simulated: &Simulated) -> anyhow::Result<ComputerOptions> {
    let mut options =
        ComputerOptions::new(simulated.id).with_file("mcp-computer.lua", agent::program());
    for (path, content) in &simulated.files {
        options = options.with_file(path, content.as_bytes());
    }
    options.kind = simulated.kind.parse()?;
    options.label.clone_from(&simulated.label);
    options.advanced = simulated.is_advanced;
    options.clock_speed = CLOCK_SPEED;
    if let Some(version) = &simulated.version {
        options.version = version.parse()?;
    }
    match simulated.fuel {
        None => {}
        Some(Fuel::Level(level)) => options.fuel = Some(u32::try_from(level)?),
        Some(Fuel::Unlimited) => options.fuel = None,
    }
    Ok(options)
}

/// Tells when computers come.
#[derive(Debug, Default)]
struct Arrivals(Notify);

impl Arrivals {
    /// Waits until something is true that computers change that come.
    async fn until(&self, is_so: impl Fn() -> bool) {
        loop {
            let come = self.0.notified();
            if is_so() {
                return;
            }
            come.await;
        }
    }
}

impl Follower for Arrivals {
    fn linked(&self, _: &Linked, _: &Link) {
        // Whoever waits looks again after it was entered, or finds it then.
        self.0.notify_one();
    }

    fn relabelled(&self, _: ComputerKey, _: Option<&str>) {}

    fn paused(&self, _: ComputerKey, _: bool) {}

    fn left(&self, _: ComputerKey, _: SystemTime, _: &str) {}

    fn has_asked(&self, _: &RequestId) -> bool {
        false
    }

    fn hand(&self, _: ComputerKey, _: u64, _: &RequestId, _: &str) -> bool {
        false
    }
}
