//! What a request to a server shows of the login there, renewed when its time is over or the server has had enough of it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, OAuthClientConfig, StoredCredentials,
};
use serde::Deserialize;
use thiserror::Error;

use super::{
    kept::{KeptError, Login, Place},
    words::words,
};
use crate::base::text::in_shell;

/// How long before its end a token is renewed, unless its whole life is that short.
const BEFORE_ITS_END: Duration = Duration::from_secs(30);

/// Why a request has nothing to show though somebody logged in, in words that follow the server's name.
#[derive(Debug, Error)]
pub enum PassError {
    /// What is kept can't be had.
    #[error(transparent)]
    Kept(#[from] KeptError),
    /// The login server could not be asked.
    #[error("its tokens can't be renewed now: {0}")]
    NotRenewed(String),
}

/// The login at one server, as one connection uses it.
pub struct Pass {
    place: Place,
    url: String,
    known: Mutex<Option<Token>>,
    /// Held while it is renewed.
    renewing: tokio::sync::Mutex<()>,
}

/// An access token.
#[derive(Clone)]
struct Token {
    text: String,
    /// When it should be another.
    until: Option<SystemTime>,
    can_be_renewed: bool,
    /// The rights that it gives, as far as that is known.
    scopes: Vec<String>,
}

impl Token {
    /// What a login has of it.
    fn of(login: &Login) -> Option<Self> {
        #[derive(Deserialize)]
        struct Response {
            access_token: String,
            refresh_token: Option<String>,
            expires_in: Option<u64>,
        }
        let response = serde_json::to_value(login.credentials.token_response.as_ref()?).ok()?;
        let response: Response = serde_json::from_value(response).ok()?;
        let received = login.credentials.token_received_at;
        let until = response.expires_in.zip(received).map(|(life, received)| {
            let life = Duration::from_secs(life);
            UNIX_EPOCH + Duration::from_secs(received) + life - BEFORE_ITS_END.min(life / 2)
        });
        Some(Self {
            text: response.access_token,
            until,
            can_be_renewed: response.refresh_token.is_some(),
            scopes: login.credentials.granted_scopes.clone(),
        })
    }

    fn is_fresh(&self) -> bool {
        self.until.is_none_or(|until| SystemTime::now() < until)
    }
}

impl Pass {
    /// The login that is kept in this place for the server at this address.
    pub fn new(place: Place, url: String) -> Self {
        Self {
            place,
            url,
            known: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
        }
    }

    /// The token to show now; none if nobody is logged in.
    ///
    /// # Errors
    /// See [`PassError`].
    pub async fn token(&self) -> Result<Option<String>, PassError> {
        let known = self.known();
        if let Some(token) = known.filter(Token::is_fresh) {
            return Ok(Some(token.text));
        }
        let Some(login) = self.place.load().await? else {
            return Ok(None);
        };
        let Some(token) = self.learn(&login) else {
            return Ok(None);
        };
        match token.is_fresh() {
            true => Ok(Some(token.text)),
            false => self.renewed(&token.text).await,
        }
    }

    /// Another token than this one, which the server refused or whose time is over; none if only a person can get one. Of
    /// all bridges that want it one asks the login server, and the others wait for what it gets.
    ///
    /// # Errors
    /// See [`PassError`].
    pub async fn renewed(&self, old: &str) -> Result<Option<String>, PassError> {
        let _here = self.renewing.lock().await;
        let _everywhere = self.place.lock().await?;
        let Some(login) = self.place.load().await? else {
            return Ok(None);
        };
        let Some(token) = self.learn(&login) else {
            return Ok(None);
        };
        if token.text != old && token.is_fresh() {
            return Ok(Some(token.text));
        }
        if !token.can_be_renewed {
            return Ok(None);
        }
        let renewing = async {
            let manager = manager(&self.url, &login, self.place.clone()).await?;
            match &manager {
                Some(manager) => manager.refresh_token().await.map(|_| true),
                None => Ok(false),
            }
        };
        match renewing.await {
            Ok(true) => {}
            Ok(false)
            | Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
                return Ok(None);
            }
            Err(error) => return Err(PassError::NotRenewed(words(&error))),
        }
        let login = self.place.load().await?;
        Ok(login
            .and_then(|login| self.learn(&login))
            .map(|token| token.text))
    }

    /// Another token than this one, if somebody has logged in since.
    ///
    /// # Errors
    /// See [`PassError`].
    pub async fn newer(&self, old: &str) -> Result<Option<String>, PassError> {
        let login = self.place.load().await?;
        let token = login.and_then(|login| self.learn(&login));
        let newer = token.filter(|token| token.text != old && token.is_fresh());
        Ok(newer.map(|token| token.text))
    }

    /// What to do about a server that refuses what it is shown, or wants to be shown something.
    pub fn what_to_do(&self) -> String {
        let was_shown = self.known().is_some();
        format!(
            "it {} (HTTP 401): {}",
            match was_shown {
                true => "does not take the login any more",
                false => "asks who you are",
            },
            self.how_to_log_in()
        )
    }

    /// What to do about a server that wants these rights besides, in its own words.
    pub fn what_lacks(&self, scopes: &str) -> String {
        let lacking = scopes.split_whitespace().map(str::to_owned);
        // Those that there are by now would be gone with another login.
        let mut all = self.known().map(|token| token.scopes).unwrap_or_default();
        let lacking: Vec<_> = lacking.filter(|scope| !all.contains(scope)).collect();
        if !lacking.is_empty() {
            all.extend(lacking);
        } else {
            all.clear();
        }
        let asked: String = all
            .iter()
            .map(|scope| format!(" --scope {}", in_shell(scope)))
            .collect();
        format!(
            "it asks for more rights than this login has (HTTP 403): run `mcp-bridge upstream login {}{asked}`",
            in_shell(self.place.server())
        )
    }

    /// What a person can do to be let in.
    fn how_to_log_in(&self) -> String {
        format!(
            "run `mcp-bridge upstream login {}`, or have its entry send a token, as `\"headers\": {{\"Authorization\": \
             \"Bearer ${{NAME}}\"}}`",
            in_shell(self.place.server())
        )
    }

    fn known(&self) -> Option<Token> {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn learn(&self, login: &Login) -> Option<Token> {
        let token = Token::of(login);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone_from(&token);
        token
    }
}

/// What can renew a login; none if the server has another login server now, which must not see what the old one gave.
async fn manager(
    url: &str,
    login: &Login,
    place: Place,
) -> Result<Option<AuthorizationManager>, AuthError> {
    let mut manager = AuthorizationManager::new(url).await?;
    let found = manager.resolve_metadata().await?.metadata;
    if login.credentials.issuer.is_some() && found.issuer != login.credentials.issuer {
        return Ok(None);
    }
    manager.set_metadata(found);
    let client = OAuthClientConfig::new(&login.credentials.client_id, &login.redirect);
    manager.configure_client(match &login.secret {
        Some(secret) => client.with_client_secret(secret),
        None => client,
    })?;
    manager.set_credential_store(Store {
        place,
        login: login.clone(),
    });
    Ok(Some(manager))
}

/// The place of a login as rmcp sees it, whose lock is held already.
struct Store {
    place: Place,
    login: Login,
}

#[async_trait::async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(Some(self.login.credentials.clone()))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let login = Login {
            credentials,
            ..self.login.clone()
        };
        let saved = self.place.renew(login).await;
        saved.map_err(|error| AuthError::CredentialStoreError(error.to_string()))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_before_its_end_and_not_all_the_time() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let is_fresh = |life: Option<u64>, age: u64| {
            let response = serde_json::json!({
                "access_token": "t", "token_type": "bearer", "expires_in": life,
            });
            let credentials = StoredCredentials::new(
                "client".to_owned(),
                serde_json::from_value(response).unwrap(),
                Vec::new(),
                Some(now.as_secs() - age),
            );
            let login = Login {
                redirect: String::new(),
                secret: None,
                credentials,
            };
            Token::of(&login).unwrap().is_fresh()
        };
        assert!(is_fresh(None, 1_000_000));
        assert!(is_fresh(Some(3_600), 3_500));
        assert!(!is_fresh(Some(3_600), 3_580));
        assert!(is_fresh(Some(20), 5));
        assert!(!is_fresh(Some(20), 11));
        assert!(!is_fresh(Some(0), 0));
    }
}
