//! A configured server that a person wants to log in to.

use http::HeaderMap;
use thiserror::Error;

use super::kept::Place;
use crate::upstream::{
    config::variables::{Surroundings, VariableError},
    configured::{Configured, those},
    entry::Reach,
    http::{AddressError, Target},
    settings::Settings,
};

/// A server at an address.
pub struct Guarded {
    /// Its address.
    pub url: String,
    /// What its entry sends with every request.
    pub headers: HeaderMap,
    /// Where the login to it is.
    pub place: Place,
}

/// Why nobody can log in to a server, in a sentence.
#[derive(Debug, Error)]
pub enum NotGuarded {
    /// There is none of this name.
    #[error("There is no server `{0}`. {others}", others = those(.1))]
    Unknown(String, Vec<String>),
    /// It is a program.
    #[error(
        "The server `{0}` is a program on this machine. Such a program asks for a login by itself, if it needs one: look at its \
         own papers."
    )]
    Program(String),
    /// Its entry uses a variable that is not set.
    #[error("The server `{0}` {1}.")]
    Variable(String, VariableError),
    /// Its address can't be used.
    #[error("The server `{0}` {1}.")]
    Address(String, AddressError),
}

impl Guarded {
    /// The server of this name, as a bridge with these settings knows it.
    ///
    /// # Errors
    /// See [`NotGuarded`].
    pub fn find(settings: &Settings, name: &str) -> Result<Self, NotGuarded> {
        let configured = Configured::read(settings);
        let servers = configured.servers();
        let Some(entry) = servers.iter().find(|entry| entry.name == name) else {
            let names = servers.iter().map(|entry| entry.name.clone()).collect();
            return Err(NotGuarded::Unknown(name.to_owned(), names));
        };
        let Reach::Address(address) = &entry.reach else {
            return Err(NotGuarded::Program(name.to_owned()));
        };
        let surroundings = Surroundings {
            style: entry.variables,
            variable: &|name| std::env::var(name).ok(),
            folder: &settings.folder,
        };
        let address = surroundings
            .in_address(address)
            .map_err(|error| NotGuarded::Variable(name.to_owned(), error))?;
        let target = Target::new(name, &address, &settings.state)
            .map_err(|error| NotGuarded::Address(name.to_owned(), error))?;
        Ok(Self {
            headers: target.headers().clone(),
            place: Place::new(&settings.state, name, &address.url),
            url: address.url,
        })
    }
}
