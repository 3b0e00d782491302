//! Puts together what brings computers: the link port of the game's side, the bridges that share it, and the registry
//! that both feed.

use std::{path::Path, sync::Arc};

use futures_util::FutureExt;
use tokio::sync::{Notify, watch};

use crate::{
    base::{host_and_port::HostPort, token::LONG_ENOUGH},
    bridges::{
        guests::Guests,
        one_machine::{self, Enter, OneMachine, ServePort},
        role::Role,
    },
    computers::{Fleet, LinkPort, fleet, reach::Reach, registry::Registry},
    link::{
        admission::LinkAdmission,
        agent,
        http::{self, Door, Routes},
        port,
        session::Shared,
    },
    settings::LinkConfig,
};

/// The computers that are reached with this configuration, in the background for as long as the runtime lives. `state`
/// is the folder where the bridges of a user keep what they share; without one, this bridge shares its link port with
/// no other.
pub fn start(config: &LinkConfig, state: Option<&Path>) -> Fleet {
    let guests = Arc::new(Guests::default());
    let registry = Arc::new(Registry::followed_by(vec![guests.clone()]));
    let (reach, follow) = watch::channel(Reach::Unknown);
    let wanted = Arc::new(Notify::new());
    let carrier = OneMachine {
        place: place(config),
        state: state.map(Path::to_owned),
        serve: link_port(config, registry.clone(), follow.clone()),
    };
    let role = Role {
        carrier: Box::new(carrier),
        state: state.map(Path::to_owned),
        // A port that is another each time is no place to come back to.
        remembered: state
            .filter(|_| config.port != 0)
            .map(|state| state.join(format!("computers-of-port-{}.json", config.port))),
        registry: registry.clone(),
        guests,
        reach: Arc::new(reach),
    };
    tokio::spawn(role.play(wanted.clone()));
    Fleet::new(registry, follow, wanted).with_agent(agent::program_for)
}

/// Where the link port of this configuration is.
pub fn place(config: &LinkConfig) -> HostPort {
    HostPort {
        host: config.host.clone(),
        port: config.port,
    }
}

/// What the link port does with its connections.
pub(crate) fn link_port(
    config: &LinkConfig,
    registry: Arc<Registry>,
    reach: watch::Receiver<Reach>,
) -> ServePort {
    let config = config.clone();
    Arc::new(move |listener, enter| {
        let routes = routes(&config, registry.clone(), reach.clone(), enter);
        async move { match port::accept(listener, routes).await {} }.boxed()
    })
}

/// What the link port answers: links of computers become computers of `registry`, guests are served by `enter`, and
/// `/health` tells what `reach` knows.
pub fn routes(
    config: &LinkConfig,
    registry: Arc<Registry>,
    reach: watch::Receiver<Reach>,
    enter: Option<Enter>,
) -> Routes {
    let token = config.token.as_ref();
    if token.is_some_and(|token| !token.is_long_enough()) {
        tracing::warn!(
            "the link token has fewer than {LONG_ENOUGH} characters, so that it could be guessed: computers link from \
             private addresses only"
        );
    }
    let admission = LinkAdmission::new(token, config.names.clone());
    let shared = Arc::new(Shared::new(registry.clone(), config.token.clone()));
    let door = Door {
        subprotocol: one_machine::SUBPROTOCOL,
        max_message: one_machine::MAX_GUEST_MESSAGE,
        enter: enter.ok_or(one_machine::NOT_SHARED),
    };
    let seen = reach.clone();
    let port = move || Some(LinkPort::of(&seen.borrow()).owner?.address.port());
    let health = move || fleet::health(&registry, &LinkPort::of(&reach.borrow()));
    http::routes(admission, shared, health, port, door)
}
