//! What a login gave, kept for all bridges of this user: in the system's keyring, or, where none answers, in a file that
//! only they can read. A file says in either case that there is a login.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::{base::store, upstream::kept};

/// How long the system's keyring may take for an answer. Some ask a person first, and some are not there at all.
const TO_ANSWER: Duration = Duration::from_secs(2);

/// How long another bridge may hold a login's lock: while it asks the login server, which has half a minute.
const LONGEST_LOCK: Duration = Duration::from_secs(40);

/// How often it is tried to have that lock.
const PAUSE: Duration = Duration::from_millis(50);

/// By what the keyring knows our entries.
const SERVICE: &str = "mcp-bridge";

/// What a login gave. It can't be shown: it has secrets.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    /// Where the login server sent the browser.
    pub redirect: String,
    /// The secret that the login server gave this program, if it did.
    pub secret: Option<String>,
    /// Its tokens, and whose they are.
    pub credentials: StoredCredentials,
}

/// The file of a login.
#[derive(Serialize, Deserialize)]
struct Note {
    /// For whoever looks at the file.
    server: String,
    url: String,
    /// The login; none if the keyring has it.
    login: Option<Login>,
}

/// Where a login is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In the system's keyring.
    Keyring,
    /// In a file of the state folder.
    File,
}

/// Why a login can't be read or kept.
#[derive(Debug, Error)]
pub enum KeptError {
    /// The keyring should have it, and says nothing.
    #[error("the system's keyring, which has its tokens, can't be read ({0})")]
    Keyring(String),
    /// The file can't be written or locked.
    #[error("{}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Another bridge renews it, and doesn't come to an end.
    #[error("another bridge has been renewing its tokens for over {} s", LONGEST_LOCK.as_secs())]
    Locked,
}

/// The place of the login for one server at one address: tokens of one address are never sent to another.
#[derive(Debug, Clone)]
pub struct Place {
    server: String,
    url: String,
    file: PathBuf,
}

impl Place {
    /// The place for this server in this state folder.
    pub fn new(state: &Path, server: &str, url: &str) -> Self {
        let name = store::hash(format!("{server}\n{url}").as_bytes());
        Self {
            server: server.to_owned(),
            url: url.to_owned(),
            file: kept::folder(state)
                .join("logins")
                .join(format!("{}.json", &name[..32])),
        }
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The login; none if there is none.
    ///
    /// # Errors
    /// It is in the keyring, which can't be read.
    pub async fn load(&self) -> Result<Option<Login>, KeptError> {
        let place = self.clone();
        blocking(move || {
            let Some(note) = store::read::<Note>(&place.file) else {
                return Ok(None);
            };
            match note.login {
                Some(login) => Ok(Some(login)),
                None => place.in_keyring(),
            }
        })
        .await
    }

    /// Keeps a login: in the keyring if it is to be there and one answers.
    ///
    /// # Errors
    /// The file can't be written.
    pub async fn save(&self, login: Login, wanted: Kind) -> Result<Kind, KeptError> {
        let place = self.clone();
        blocking(move || {
            let is_in_keyring = wanted == Kind::Keyring && place.put_in_keyring(&login);
            let note = Note {
                server: place.server.clone(),
                url: place.url.clone(),
                login: (!is_in_keyring).then_some(login),
            };
            store::write(&place.file, &note).map_err(|error| place.failed(error))?;
            Ok(match is_in_keyring {
                true => Kind::Keyring,
                false => Kind::File,
            })
        })
        .await
    }

    /// Keeps a renewed login where the old one was.
    ///
    /// # Errors
    /// The file can't be written.
    pub async fn renew(&self, login: Login) -> Result<(), KeptError> {
        let note = store::read::<Note>(&self.file);
        let wanted = match note.is_some_and(|note| note.login.is_none()) {
            true => Kind::Keyring,
            false => Kind::File,
        };
        self.save(login, wanted).await.map(|_| ())
    }

    /// Forgets the login. Tells whether there was one.
    ///
    /// # Errors
    /// The file can't be deleted.
    pub async fn forget(&self) -> Result<bool, KeptError> {
        let place = self.clone();
        blocking(move || {
            if let Some(Note { login: None, .. }) = store::read(&place.file) {
                let account = place.account();
                // One that is gone already is as good.
                let _ =
                    in_time(move || keyring::Entry::new(SERVICE, &account)?.delete_credential());
            }
            match fs::remove_file(&place.file) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(place.failed(error)),
            }
        })
        .await
    }

    /// Waits until no other bridge changes the login. Nobody else does while what is returned lives.
    ///
    /// # Errors
    /// One takes too long, or files can't be locked here.
    pub async fn lock(&self) -> Result<File, KeptError> {
        let file = self.file.with_extension("lock");
        let until = Instant::now() + LONGEST_LOCK;
        loop {
            let locked = store::try_lock(&file);
            if let Some(lock) = locked.map_err(|error| KeptError::File {
                file: file.clone(),
                error,
            })? {
                return Ok(lock);
            }
            if Instant::now() > until {
                return Err(KeptError::Locked);
            }
            sleep(PAUSE).await;
        }
    }

    /// By what the keyring knows it; a person may look at that.
    fn account(&self) -> String {
        format!("{} {}", self.server, self.url)
    }

    fn in_keyring(&self) -> Result<Option<Login>, KeptError> {
        let account = self.account();
        let text = match in_time(move || keyring::Entry::new(SERVICE, &account)?.get_password()) {
            Some(Ok(text)) => text,
            // Somebody deleted it there.
            Some(Err(keyring::Error::NoEntry)) => return Ok(None),
            Some(Err(error)) => return Err(KeptError::Keyring(error.to_string())),
            None => {
                let silence = format!("no answer within {} s", TO_ANSWER.as_secs());
                return Err(KeptError::Keyring(silence));
            }
        };
        Ok(serde_json::from_str(&text).ok())
    }

    /// Whether the keyring took it.
    fn put_in_keyring(&self, login: &Login) -> bool {
        let Ok(text) = serde_json::to_string(login) else {
            return false;
        };
        let account = self.account();
        let kept = in_time(move || keyring::Entry::new(SERVICE, &account)?.set_password(&text));
        match kept {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                tracing::info!(%error, "the system's keyring takes no tokens");
                false
            }
            None => false,
        }
    }

    fn failed(&self, error: io::Error) -> KeptError {
        KeptError::File {
            file: self.file.clone(),
            error,
        }
    }
}

/// Does something that may take a while, where it holds nobody up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KeptError> + Send + 'static,
) -> Result<T, KeptError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(KeptError::Keyring(error.to_string())),
    }
}

/// What the keyring answers, if it does within [`TO_ANSWER`]. One that did not is not asked again.
fn in_time<T: Send + 'static>(
    ask: impl FnOnce() -> keyring::Result<T> + Send + 'static,
) -> Option<keyring::Result<T>> {
    static IS_SILENT: AtomicBool = AtomicBool::new(false);
    if IS_SILENT.load(Ordering::Relaxed) {
        return None;
    }
    let (tell, told) = mpsc::channel();
    // It can't be ended: it stays until the keyring answers or the bridge leaves, and there is one at most.
    thread::Builder::new()
        .name("keyring".to_owned())
        .spawn(move || {
            let _ = tell.send(ask());
        })
        .ok()?;
    let answer = told.recv_timeout(TO_ANSWER).ok();
    if answer.is_none() {
        IS_SILENT.store(true, Ordering::Relaxed);
        tracing::warn!("the system's keyring does not answer");
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(token: &str) -> Login {
        let response = serde_json::json!({"access_token": token, "token_type": "bearer"});
        Login {
            redirect: "http://127.0.0.1:1/callback".to_owned(),
            secret: None,
            credentials: StoredCredentials::new(
                "client".to_owned(),
                serde_json::from_value(response).unwrap(),
                Vec::new(),
                None,
            ),
        }
    }

    fn token(login: Option<Login>) -> serde_json::Value {
        serde_json::to_value(login.unwrap().credentials.token_response).unwrap()["access_token"]
            .clone()
    }

    #[tokio::test]
    async fn a_login_is_kept_for_one_server_at_one_address() {
        let state = tempfile::tempdir().unwrap();
        let place = Place::new(state.path(), "s", "https://a/mcp");
        assert!(place.load().await.unwrap().is_none());
        assert!(!place.forget().await.unwrap());
        let kind = place.save(login("first"), Kind::File).await.unwrap();
        assert_eq!(kind, Kind::File);
        place.renew(login("second")).await.unwrap();
        assert_eq!(token(place.load().await.unwrap()), "second");
        for other in [
            Place::new(state.path(), "s", "https://b/mcp"),
            Place::new(state.path(), "t", "https://a/mcp"),
        ] {
            assert!(other.load().await.unwrap().is_none());
        }
        assert!(place.forget().await.unwrap());
        assert!(place.load().await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn one_at_a_time_changes_a_login() {
        let state = tempfile::tempdir().unwrap();
        let place = Place::new(state.path(), "s", "https://a/mcp");
        let held = place.lock().await.unwrap();
        assert!(matches!(place.lock().await, Err(KeptError::Locked)));
        drop(held);
        place.lock().await.unwrap();
    }
}
