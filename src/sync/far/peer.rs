//! A computer that a sync can ask, and what it is asked with.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::lua::own;

/// The Lua that looks, whose function is `read`.
pub static READING: LazyLock<String> =
    LazyLock::new(|| own::handler("sync/reading.lua").unwrap_or_default());

/// The Lua that writes, whose function is `write`.
pub static WRITING: LazyLock<String> =
    LazyLock::new(|| own::handler("sync/writing.lua").unwrap_or_default());

/// How much goes into a question and into an answer, where what is no plain sign counts for six: the smallest message that
/// the game takes has 131,072 bytes, and the Lua goes along where an agent keeps none.
pub(super) const ROOM: usize = 90_000;

/// How many files are asked for at once, at most.
pub(super) const AT_ONCE: usize = 100;

/// Something that is asked of a computer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Errand {
    /// Whether it may change something: then it is for [`WRITING`].
    pub changes: bool,
    /// What the function gets.
    pub request: Value,
}

/// A computer that can be asked.
pub trait Peer: Send + Sync {
    /// What it is called in the state folder.
    fn key(&self) -> String;

    /// What a person is told.
    fn name(&self) -> String;

    /// Asks it, and gives the value that came back, whose strings are bytes (see [`byte_text`](crate::base::byte_text)).
    ///
    /// # Errors
    /// Why there is none, in whole sentences.
    fn ask(&self, errand: Errand) -> BoxFuture<'_, Result<Value, String>>;
}

/// What came of one thing that was asked for, by its path; what went wrong is a sentence's end.
pub type Told<T> = (String, Result<T, String>);

/// Asks what changes nothing.
pub(super) async fn read<T: for<'de> Deserialize<'de>>(
    peer: &dyn Peer,
    request: Value,
) -> Result<T, String> {
    let errand = Errand {
        changes: false,
        request,
    };
    let answer = peer.ask(errand).await?;
    serde_json::from_value(answer).map_err(|_| no_answer(peer))
}

/// A list in an answer: an empty table of Lua may be written as an object.
pub(super) fn list<T: for<'de> Deserialize<'de>>(
    peer: &dyn Peer,
    value: Value,
) -> Result<Vec<T>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Object(fields) if fields.is_empty() => Ok(Vec::new()),
        value => serde_json::from_value(value).map_err(|_| no_answer(peer)),
    }
}

/// What is said of an answer that is none.
pub(super) fn no_answer(peer: &dyn Peer) -> String {
    format!(
        "Computer {} answered something that is no answer to a sync.",
        peer.name()
    )
}
