//! The secret that a user's bridges share, and the proofs of knowing it. The secret itself never crosses the wire.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use crate::base::{
    files::{self, FileError},
    private,
};

/// The secret's length, and that of a nonce, in bytes.
const LENGTH: usize = 32;

/// The name of its file in the state folder.
const FILE: &str = "bridges.secret";

/// What is larger, in bytes, is no secret: one is 44 characters long.
const LARGEST_FILE: u64 = 1_024;

/// How often, and how far apart, a file is read again that another bridge has just begun to write.
const READS: u32 = 20;
const BETWEEN_READS: Duration = Duration::from_millis(25);

/// A random text that all bridges of a user know, and nobody else.
#[derive(Clone)]
pub struct Secret([u8; LENGTH]);

/// Why the secret can't be had.
#[derive(Debug, Error)]
pub enum SecretError {
    /// Its file can't be read or made.
    #[error("{} can't be used: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// Its file holds something else.
    #[error("{} holds no secret. Delete it; the next bridge makes a new one", .0.display())]
    Damaged(PathBuf),
    /// There is no folder for it.
    #[error("it has no state folder")]
    NoFolder,
    /// It was not read to its end; why.
    #[error("{0}")]
    NotRead(String),
}

/// Who proves to know the secret. A proof of one side is none of the other.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    /// The bridge that holds the port.
    Owner,
    /// The bridge that links to it.
    Guest,
}

/// The two random texts of a handshake, one from each side: so no proof is good for a second one.
#[derive(Debug, Clone, Copy)]
pub struct Nonces<'a> {
    /// The guest's.
    pub guest: &'a str,
    /// The owner's.
    pub owner: &'a str,
}

impl Secret {
    /// Reads the secret from the state folder, and makes it if there is none yet. Only its user may read the file.
    ///
    /// Blocks for moments only: the file is tiny.
    ///
    /// # Errors
    /// The file can't be used.
    pub fn load(state: &Path) -> Result<Self, SecretError> {
        let file = state.join(FILE);
        let failed = |reason| SecretError::File {
            file: file.clone(),
            reason,
        };
        match create_private(&file) {
            Ok(mut new) => {
                let mut bytes = [0; LENGTH];
                getrandom::fill(&mut bytes).map_err(|error| failed(io::Error::other(error)))?;
                let text = format!("{}\n", BASE64.encode(bytes));
                let written = new.write_all(text.as_bytes()).and_then(|()| new.sync_all());
                if let Err(error) = written {
                    // On a disk that is full: what would be left keeps the next bridge from making it.
                    let _ = std::fs::remove_file(&file);
                    return Err(failed(error));
                }
                Ok(Self(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let _ = private::close(&file);
                for _ in 0..READS {
                    if let Some(secret) = Self::read(&file).map_err(failed)? {
                        return Ok(secret);
                    }
                    // Another bridge has made the file a moment ago and not written it yet.
                    std::thread::sleep(BETWEEN_READS);
                }
                Err(SecretError::Damaged(file))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// None if the file holds no secret, perhaps not yet.
    fn read(file: &Path) -> io::Result<Option<Self>> {
        let text = match files::read_text(file, LARGEST_FILE) {
            Ok(text) => text,
            Err(FileError::TooLarge(_) | FileError::NoText) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let bytes = BASE64.decode(text.trim_end()).unwrap_or_default();
        Ok(bytes.try_into().ok().map(Self))
    }

    /// The proof that this side knows the secret.
    pub fn prove(&self, side: Side, nonces: Nonces<'_>) -> String {
        BASE64.encode(self.mac(side, nonces).finalize().into_bytes())
    }

    /// Whether `proof` is the one of this side, in a time that does not depend on where the two differ.
    pub fn verify(&self, side: Side, nonces: Nonces<'_>, proof: &str) -> bool {
        BASE64
            .decode(proof)
            .is_ok_and(|proof| self.mac(side, nonces).verify_slice(&proof).is_ok())
    }

    fn mac(&self, side: Side, nonces: Nonces<'_>) -> Hmac<Sha256> {
        // An HMAC takes a key of any length, so this never fails (RFC 2104, section 2).
        #[expect(clippy::unwrap_used)]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).unwrap();
        let side = match side {
            Side::Owner => "owner",
            Side::Guest => "guest",
        };
        // Lengths first: no two different pairs of nonces make the same text.
        for part in [side, nonces.guest, nonces.owner] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A random text that was never used before.
///
/// # Errors
/// The system has no random numbers.
pub fn nonce() -> io::Result<String> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(BASE64.encode(bytes))
}

/// Makes a file that only its user may read; fails if there is one. On Windows the folder, which lies in the user's
/// profile, keeps others out.
fn create_private(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        private::make_folder(folder)?;
    }
    private::file_options()
        .write(true)
        .create_new(true)
        .open(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCES: Nonces<'_> = Nonces {
        guest: "g",
        owner: "o",
    };

    #[test]
    fn the_secret_is_made_once_and_only_its_user_may_read_it() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("new");
        let made = Secret::load(&folder).unwrap();
        assert_eq!(Secret::load(&folder).unwrap().0, made.0);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(folder.join(FILE)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
        }
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Secret::load(other.path()).unwrap().0, made.0);
    }

    #[test]
    fn bridges_that_start_at_the_same_instant_have_the_same_secret() {
        let state = tempfile::tempdir().unwrap();
        let secrets = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| Secret::load(state.path()).unwrap().0))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert!(secrets.iter().all(|secret| *secret == secrets[0]));
    }

    #[test]
    fn a_damaged_file_is_named() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join(FILE), "not a secret").unwrap();
        let error = Secret::load(state.path()).unwrap_err().to_string();
        assert!(
            error.contains(FILE) && error.contains("Delete it"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join(FILE);
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        let error = Secret::load(state.path()).unwrap_err().to_string();
        assert!(
            error.ends_with("bridges.secret can't be used: it is a named pipe, not a file"),
            "{error}"
        );
    }

    #[test]
    fn a_proof_is_good_for_one_side_of_one_handshake_by_one_secret() {
        let secret = Secret([7; LENGTH]);
        let proof = secret.prove(Side::Guest, NONCES);
        assert!(secret.verify(Side::Guest, NONCES, &proof));
        assert!(!secret.verify(Side::Owner, NONCES, &proof));
        assert!(!Secret([8; LENGTH]).verify(Side::Guest, NONCES, &proof));
        for other in [
            Nonces {
                guest: "h",
                ..NONCES
            },
            Nonces {
                owner: "p",
                ..NONCES
            },
            Nonces {
                guest: "go",
                owner: "",
            },
        ] {
            assert!(!secret.verify(Side::Guest, other, &proof));
        }
        assert!(!secret.verify(Side::Guest, NONCES, "!"));
    }
}
