//! What stands in for the user's own where a tool is tested: a store of its own, and the secrets and answers that the example
//! provides. No host is asked, no secret of the user's is read, and nothing that they keep is touched.

use std::{io, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;
use thiserror::Error;

use super::{
    request::Request,
    store::{Store, StoreError},
};
use crate::tools::manifest::Provided;

/// See the module.
pub struct StandIn {
    /// In the place of the folder that all bridges of a user share.
    state: TempDir,
    provided: Provided,
}

/// Why there is none.
#[derive(Debug, Error)]
pub enum StandInError {
    /// Its folder.
    #[error("there is no room for a store: {0}")]
    Folder(#[from] io::Error),
    /// What the store is to hold.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a handler asks for and no example provides.
#[derive(Debug, Error)]
pub enum NotProvided {
    /// A secret.
    #[error("this is a test, and the example provides no secret {0}: add it to its `secrets`")]
    Secret(String),
    /// A request.
    #[error("this is a test, and the example answers no {method} {url}: add it to its `requests`")]
    Request {
        /// How.
        method: String,
        /// Where to.
        url: String,
    },
}

impl StandIn {
    /// One that has what an example provides; its store is that of this namespace, if there is one.
    ///
    /// # Errors
    /// The store can't be written.
    pub fn new(namespace: Option<&str>, provided: Provided) -> Result<Self, StandInError> {
        let state = tempfile::Builder::new()
            .prefix("mcp-bridge-test-")
            .tempdir()?;
        if let Some(namespace) = namespace {
            let store = Store::of(namespace, state.path());
            for (key, value) in &provided.store {
                store.set(key, value.clone())?;
            }
        }
        Ok(Self { state, provided })
    }

    /// The folder of its stores.
    pub(super) fn state(&self) -> &Path {
        self.state.path()
    }

    /// A secret.
    ///
    /// # Errors
    /// The example does not provide it.
    pub(super) fn secret(&self, name: &str) -> Result<String, NotProvided> {
        let secret = self.provided.secrets.get(name);
        secret
            .cloned()
            .ok_or_else(|| NotProvided::Secret(name.to_owned()))
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// The example does not provide it.
    pub(super) fn answer(&self, request: &Request) -> Result<Value, NotProvided> {
        let method = request.method.as_deref().unwrap_or("GET");
        let all = self.provided.requests.iter();
        let answer = all
            .filter(|answered| answered.url == request.url)
            .find(|answered| answered.method.eq_ignore_ascii_case(method));
        match answer {
            Some(answer) => Ok(json!({
                "status": answer.status,
                "headers": answer.headers,
                "body": answer.body,
                "url": answer.url,
            })),
            None => Err(NotProvided::Request {
                method: method.to_owned(),
                url: request.url.clone(),
            }),
        }
    }
}
