//! How a person logs in: the server is asked who its login server is, that one is shown this program, and the person's
//! browser goes there and comes back with a code, for which it gives tokens.

use std::{io, time::Duration};

use reqwest::{
    StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE},
};
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, CredentialStore,
    InMemoryCredentialStore, InMemoryStateStore, OAuthClientConfig, StateStore,
};
use thiserror::Error;
use tokio::time::timeout;

use super::{
    browser,
    callback::{self, Answer, Callback},
    guarded::Guarded,
    kept::{KeptError, Kind, Login, Place},
    words::{NO_ANSWER, words},
};
use crate::{
    base::excerpt,
    upstream::http::{session::plain, words::reason},
};

/// How long the servers may take until the browser can go to the login page, and after it came back.
const TO_PREPARE: Duration = Duration::from_secs(60);

/// How long a person may take to log in.
const TO_LOG_IN: Duration = Duration::from_secs(10 * 60);

/// How much of what a login server says is passed on, in characters.
const LONGEST: usize = 300;

/// The name by which login servers show this program to the person.
const NAME: &str = "mcp-bridge";

/// What asks a server for a login.
const QUESTION: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcp-bridge","version":"1"}}}"#;

/// How a person wants to log in.
#[derive(Debug, Default)]
pub struct Wanted {
    /// By what the login server knows this program, if somebody registered it there.
    pub client_id: Option<String>,
    /// The secret that goes with it.
    pub client_secret: Option<String>,
    /// The rights to ask for; those that the server names, if none are given.
    pub scopes: Vec<String>,
    /// The port that the browser is to come back to; any, if none is given.
    pub port: Option<u16>,
}

/// Why nobody is logged in now, in a sentence about the server without its end.
#[derive(Debug, Error)]
pub enum LoginError {
    /// The port for the browser is taken.
    #[error("the browser can't come back: port {0} of this machine can't be listened on ({1})")]
    Port(u16, io::Error),
    /// The server can't be asked.
    #[error("it can't be reached: {0}")]
    Unreachable(String),
    /// It wants none.
    #[error("it asks for no login: it answers {0} as it is")]
    NotAsked(String),
    /// It, or its login server, is not as the protocol has it.
    #[error("{0}")]
    Refused(String),
    /// There is no way to make this program known there.
    #[error(
        "its login server takes no program that it does not know. Register `mcp-bridge` there by hand, with the address \
         http://127.0.0.1:PORT/callback to come back to, and give what it gets: --client-id ID --callback-port PORT"
    )]
    NoRegistration,
    /// Its login page is not to be opened.
    #[error(
        "its login page is {0}, which others could read: a login page has to begin with https://"
    )]
    Unsafe(Url),
    /// The person said no, or could not say yes.
    #[error("the login was refused: {0}")]
    Denied(String),
    /// Nobody came.
    #[error("nobody logged in within {} minutes", TO_LOG_IN.as_secs() / 60)]
    Nobody,
    /// A server took too long.
    #[error("it or its login server took longer than {} s", TO_PREPARE.as_secs())]
    TooSlow,
    /// What came of it can't be kept.
    #[error("its tokens can't be kept: {0}")]
    Kept(#[from] KeptError),
}

impl From<AuthError> for LoginError {
    fn from(error: AuthError) -> Self {
        let words = words(&error);
        Self::Refused(excerpt::shortened(&words, LONGEST).into_owned())
    }
}

/// A login that waits for its person.
pub struct Waiting {
    manager: AuthorizationManager,
    begun: InMemoryStateStore,
    credentials: InMemoryCredentialStore,
    callback: Callback,
    secret: Option<String>,
    /// The page where they log in.
    pub page: Url,
    state: String,
}

impl Waiting {
    /// Finds the login page of a server.
    ///
    /// # Errors
    /// See [`LoginError`].
    pub async fn begin(server: &Guarded, wanted: &Wanted) -> Result<Self, LoginError> {
        match timeout(TO_PREPARE, Self::prepare(server, wanted)).await {
            Ok(waiting) => waiting,
            Err(_) => Err(LoginError::TooSlow),
        }
    }

    async fn prepare(server: &Guarded, wanted: &Wanted) -> Result<Self, LoginError> {
        let callback = Callback::listen(wanted.port)
            .await
            .map_err(|error| LoginError::Port(wanted.port.unwrap_or(0), error))?;
        let redirect = callback.url();
        let challenge = challenge(server).await?;
        let mut manager = AuthorizationManager::new(server.url.as_str()).await?;
        let found = manager.resolve_metadata_from_challenge(challenge.as_deref());
        let found = found.await?.metadata;
        let takes_all = found.registration_endpoint.is_some();
        manager.set_metadata(found);
        let credentials = InMemoryCredentialStore::new();
        manager.set_credential_store(credentials.clone());
        let begun = InMemoryStateStore::new();
        manager.set_state_store(begun.clone());
        let scopes = match wanted.scopes.as_slice() {
            [] => manager.select_initial_scopes(&[]).await,
            wanted => wanted.to_vec(),
        };
        let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
        let secret = match &wanted.client_id {
            Some(id) => {
                let client = OAuthClientConfig::new(id, redirect);
                manager.configure_client(match &wanted.client_secret {
                    Some(secret) => client.with_client_secret(secret),
                    None => client,
                })?;
                wanted.client_secret.clone()
            }
            None if takes_all => {
                let registered = manager.register_client(NAME, &redirect, &scopes).await?;
                registered.client_secret
            }
            None => return Err(LoginError::NoRegistration),
        };
        let page = manager.get_authorization_url(&scopes).await?;
        let odd = || LoginError::Refused("its login server has an address that is none".to_owned());
        let page: Url = page.parse().map_err(|_| odd())?;
        if !browser::may_open(&page) {
            let mut page = page;
            page.set_query(None);
            return Err(LoginError::Unsafe(page));
        }
        let state = page.query_pairs().find(|(name, _)| name == "state");
        let state = state.ok_or_else(odd)?.1.into_owned();
        Ok(Self {
            manager,
            begun,
            credentials,
            callback,
            secret,
            page,
            state,
        })
    }

    /// Waits for the person, and keeps what the login server gives them. `typed` is the address that a browser on another
    /// machine ended at, if the person has it.
    ///
    /// # Errors
    /// See [`LoginError`].
    pub async fn finish(
        self,
        typed: impl Future<Output = String>,
        place: &Place,
        kind: Kind,
    ) -> Result<Kind, LoginError> {
        let redirect = self.callback.url();
        let (callback, state) = (self.callback, self.state);
        let answer = async {
            tokio::select! {
                answer = callback.answer(&state) => answer,
                typed = typed => callback::read(&typed, &state).unwrap_or_else(|| {
                    Answer::Denied("that is not the address that this login ends at".to_owned())
                }),
            }
        };
        let address = match timeout(TO_LOG_IN, answer).await {
            Ok(Answer::Granted(address)) => address,
            Ok(Answer::Denied(why)) => {
                let why = excerpt::shortened(&why, LONGEST).into_owned();
                return Err(LoginError::Denied(why));
            }
            Err(_) => return Err(LoginError::Nobody),
        };
        let given = AuthorizationCallback::from_redirect_url(&address)?;
        timeout(TO_PREPARE, exchanged(&self.manager, &self.begun, &given))
            .await
            .map_err(|_| LoginError::TooSlow)??;
        let nothing = || LoginError::Refused("its login server gave no token".to_owned());
        let credentials = self.credentials.load().await?.ok_or_else(nothing)?;
        let login = Login {
            redirect,
            secret: self.secret,
            credentials,
        };
        let _lock = place.lock().await?;
        Ok(place.save(login, kind).await?)
    }
}

/// Has the login server give tokens for a code.
///
/// It may have closed the connection from before while the person was on its page, which shows only when it is used. Then
/// the code is sent again, over a new one: if the login server took it after all, it says so.
async fn exchanged(
    manager: &AuthorizationManager,
    begun: &InMemoryStateStore,
    given: &AuthorizationCallback,
) -> Result<(), AuthError> {
    let exchange = || {
        manager.exchange_code_for_token_with_issuer(
            &given.code,
            &given.csrf_token,
            given.issuer.as_deref(),
        )
    };
    // The first try uses it up.
    let kept = begun.load(&given.csrf_token).await?;
    match (exchange().await, kept) {
        (Err(AuthError::TokenExchangeFailed(why)), Some(kept)) if why == NO_ANSWER => {
            begun.save(&given.csrf_token, kept).await?;
            exchange().await.map(drop)
        }
        (answer, _) => answer.map(drop),
    }
}

/// What the server says to one who has not logged in: where its login server is, if it tells.
async fn challenge(server: &Guarded) -> Result<Option<String>, LoginError> {
    let unreachable = |error: reqwest::Error| LoginError::Unreachable(reason(&error));
    let answer = plain()
        .map_err(unreachable)?
        .post(&server.url)
        .headers(server.headers.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(QUESTION)
        .send()
        .await
        .map_err(unreachable)?;
    if answer.status() != StatusCode::UNAUTHORIZED {
        return Err(LoginError::NotAsked(format!("HTTP {}", answer.status())));
    }
    let said = answer.headers().get(WWW_AUTHENTICATE);
    Ok(said.and_then(|said| said.to_str().ok()).map(str::to_owned))
}
