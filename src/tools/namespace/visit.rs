//! One call of a handler, as it asks for what its namespace has.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;

#[cfg(feature = "upstream-http")]
use super::http::HttpError;
#[cfg(not(feature = "upstream-http"))]
use super::no_http::HttpError;
use super::{
    grant,
    keeper::Keeper,
    module::Modules,
    modules::{self, ModuleError},
    request::Request,
    secrets::{self, SecretError},
    stand_in::{NotProvided, StandIn},
    store::{Store, StoreError},
};
use crate::{
    base::{hidden, store::hash},
    tools::manifest::Namespace,
};

/// How many requests one call may make.
const MOST_REQUESTS: u32 = 200;

/// The namespace of a handler, and where it stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The namespace.
    pub namespace: Arc<Namespace>,
    /// The handler's file.
    pub file: PathBuf,
    /// What it required when it was found to work. Only what it asks for beside these is looked for when it runs.
    pub modules: Modules,
}

impl Home {
    /// The folder of the handler's file.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(self.namespace.folder())
    }
}

/// What a handler asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "need", rename_all = "kebab-case")]
pub enum Need {
    /// A file of Lua.
    Module {
        /// Its name.
        name: String,
    },
    /// A value of the store.
    Get {
        /// Its key.
        key: String,
    },
    /// To put one there.
    Set {
        /// Its key.
        key: String,
        /// The value.
        value: Value,
    },
    /// To take one out.
    Delete {
        /// Its key.
        key: String,
    },
    /// The keys there are.
    List {
        /// What they begin with.
        prefix: String,
    },
    /// That a resource is another now.
    Changed {
        /// Its URI.
        uri: String,
    },
    /// A secret.
    Secret {
        /// Its name.
        name: String,
    },
    /// A request over HTTP.
    Http(Request),
}

/// Why a handler does not get what it asks for.
#[derive(Debug, Error)]
pub enum NeedError {
    /// It is in no manifest.
    #[error("only a handler of a manifest has this, not a script")]
    NoHome,
    /// Its manifest has no namespace.
    #[error("the manifest {0} has no `namespace`, which this would belong to")]
    NoNamespace(String),
    /// There is no folder to keep anything in.
    #[error("there is no state folder here")]
    NoState,
    /// Nothing may be changed.
    #[error("this bridge was started read-only (--read-only)")]
    ReadOnly,
    /// A person has paused it.
    #[error("{0}")]
    Paused(String),
    /// Nobody has allowed it, or something has changed since.
    #[error(
        "{what} is not allowed. A person allows it, until the manifest or its Lua changes, by `{command}`"
    )]
    NotGranted {
        /// What.
        what: String,
        /// How a person allows it.
        command: String,
    },
    /// The manifest does not ask for it.
    #[error(
        "the manifest does not name the secret {0}: add it to `mcp.secrets` in the manifest's `meta`"
    )]
    NoSuchSecret(String),
    /// The manifest names no hosts.
    #[error("the manifest names no hosts: add them to `mcp.http` in the manifest's `meta`")]
    NoHosts,
    /// A call makes requests without end.
    #[error("one call may make {MOST_REQUESTS} requests")]
    TooMany,
    /// There is no such file of Lua.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The request.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// In a test.
    #[error(transparent)]
    NotProvided(#[from] NotProvided),
    /// The task that works on it ended.
    #[error("it failed inside of mcp-bridge: {0}")]
    Inside(String),
}

/// What keeps a call from changing anything.
#[derive(Debug, Clone)]
pub enum Manner {
    /// Nothing does.
    Free,
    /// The bridge is read-only.
    ReadOnly,
    /// A person has paused it; the words that tell of it.
    Paused(String),
}

/// One call.
pub struct Visit<'a> {
    home: Option<&'a Home>,
    keeper: &'a Arc<Keeper>,
    /// What stands in for the user's own, in a test.
    stand_in: Option<&'a StandIn>,
    /// The handler's source.
    source: &'a str,
    /// The files of what runs, the handler and the modules that it has, with their hashes.
    running: Mutex<Vec<(PathBuf, String)>>,
    /// Whether it had something that a person has to allow: what it takes in later must be allowed too.
    is_trusted: AtomicBool,
    requests: AtomicU32,
}

impl<'a> Visit<'a> {
    /// A call of a handler of this home; none: it is a script.
    pub fn new(
        home: Option<&'a Home>,
        source: &'a str,
        keeper: &'a Arc<Keeper>,
        stand_in: Option<&'a StandIn>,
    ) -> Self {
        Self {
            home,
            keeper,
            stand_in,
            source,
            running: Mutex::default(),
            is_trusted: AtomicBool::new(false),
            requests: AtomicU32::new(0),
        }
    }

    /// Keeps the secrets that its namespace names out of all that is said from now on, whether or not it reads them: an
    /// earlier call may have kept one.
    pub fn keep_secrets(&self) {
        let namespace = self.home.map(|home| &home.namespace);
        for name in namespace
            .iter()
            .flat_map(|namespace| &namespace.spec.secrets)
        {
            if let Ok(value) = secrets::value(name, self.keeper.config.as_deref()) {
                hidden::secrets().note(name, &value);
            }
        }
    }

    /// Gives the handler what it asks for, by then.
    ///
    /// # Errors
    /// Why it does not get it.
    pub async fn meet(
        &self,
        need: Need,
        manner: Manner,
        until: Instant,
    ) -> Result<Value, NeedError> {
        let home = self.home.ok_or(NeedError::NoHome)?;
        match need {
            Need::Module { name } => self.module(home, name).await,
            Need::Get { key } => {
                let value = self.store(home, move |store| store.get(&key)).await?;
                Ok(json!({ "value": value }))
            }
            Need::List { prefix } => Ok(json!(
                self.store(home, move |store| store.list(&prefix)).await?
            )),
            Need::Set { key, value } => {
                manner.allows_change()?;
                self.store(home, move |store| store.set(&key, value))
                    .await?;
                Ok(Value::Null)
            }
            Need::Delete { key } => {
                manner.allows_change()?;
                Ok(json!(
                    self.store(home, move |store| store.delete(&key)).await?
                ))
            }
            Need::Changed { uri } => {
                self.keeper.live.changed(&uri);
                Ok(Value::Null)
            }
            Need::Secret { name } => {
                if !home.namespace.spec.secrets.contains(&name) {
                    return Err(NeedError::NoSuchSecret(name.chars().take(64).collect()));
                }
                let value = match self.stand_in {
                    Some(stand_in) => stand_in.secret(&name)?,
                    None => {
                        self.granted(home, &format!("the secret {name}"))?;
                        secrets::value(&name, self.keeper.config.as_deref())?
                    }
                };
                hidden::secrets().note(&name, &value);
                Ok(Value::String(value))
            }
            Need::Http(request) => {
                let hosts = &home.namespace.spec.hosts;
                if hosts.is_empty() {
                    return Err(NeedError::NoHosts);
                }
                let method = request.method.as_deref().unwrap_or("GET");
                if !["GET", "HEAD"]
                    .iter()
                    .any(|safe| method.eq_ignore_ascii_case(safe))
                {
                    manner.allows_change()?;
                }
                if self.stand_in.is_none() {
                    self.granted(home, "what it asks for over HTTP")?;
                }
                if self.requests.fetch_add(1, Ordering::Relaxed) >= MOST_REQUESTS {
                    return Err(NeedError::TooMany);
                }
                match self.stand_in {
                    Some(stand_in) => Ok(stand_in.answer(&request)?),
                    None => Ok(self.keeper.requests.make(request, hosts, until).await?),
                }
            }
        }
    }

    async fn module(&self, home: &Home, name: String) -> Result<Value, NeedError> {
        let found = match home.modules.get(&name) {
            Some(found) => found.clone(),
            None => {
                let (of, wanted) = (home.clone(), name.clone());
                let look = move || modules::find(&wanted, of.folder(), &of.namespace);
                aside(look).await??.into()
            }
        };
        self.runs(found.file.clone(), hash(found.source.as_bytes()));
        // What it was given before would be in the hands of this Lua too.
        if self.is_trusted.load(Ordering::Relaxed) {
            self.granted(home, &format!("the module '{name}'"))?;
        }
        Ok(found.to_json())
    }

    /// Does something with the namespace's store.
    async fn store<T: Send + 'static>(
        &self,
        home: &Home,
        work: impl FnOnce(Store<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, NeedError> {
        let namespace = home.namespace.clone();
        if namespace.spec.name.is_none() {
            let manifest = namespace.manifest.display().to_string();
            return Err(NeedError::NoNamespace(manifest));
        }
        let state = match self.stand_in {
            Some(stand_in) => stand_in.state().to_owned(),
            None => self.keeper.state.clone().ok_or(NeedError::NoState)?,
        };
        Ok(aside(move || work(Store::of(namespace.name(), &state))).await??)
    }

    /// Notes that this Lua runs.
    fn runs(&self, file: PathBuf, hash: String) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (file, hash);
        if !running.contains(&now) {
            running.push(now);
        }
    }

    /// Whether a person has allowed what the manifest names to all that runs.
    fn granted(&self, home: &Home, what: &str) -> Result<(), NeedError> {
        let state = self.keeper.state.as_deref().ok_or(NeedError::NoState)?;
        self.runs(home.file.clone(), hash(self.source.as_bytes()));
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let files = running.iter().map(|(file, hash)| (file, hash));
        match grant::is_granted(state, &home.namespace, files) {
            true => {
                self.is_trusted.store(true, Ordering::Relaxed);
                Ok(())
            }
            false => Err(NeedError::NotGranted {
                what: what.to_owned(),
                command: self.keeper.trusting(&home.namespace),
            }),
        }
    }
}

impl Manner {
    fn allows_change(self) -> Result<(), NeedError> {
        match self {
            Self::Free => Ok(()),
            Self::ReadOnly => Err(NeedError::ReadOnly),
            Self::Paused(told) => Err(NeedError::Paused(told)),
        }
    }
}

/// Does what waits for a disk where nobody else waits for it.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NeedError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| NeedError::Inside(error.to_string()))
}
