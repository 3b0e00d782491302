//! Reads the body of a request: one message, of bounded size, from a client that keeps sending.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, HeaderName, header},
};
use futures_util::{Stream, StreamExt};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::mcp::{id_scanner::IdScanner, lines::MAX_LINE};

/// What says that an answer is a message.
pub const JSON: [(HeaderName, &str); 1] = [(header::CONTENT_TYPE, "application/json")];

/// The largest message that is taken, in bytes: as on standard input.
pub const MAX_BODY: usize = MAX_LINE;

/// How many bytes of a message that is too large are read all the same, and dropped: a client that is still sending
/// would not see the answer.
const MAX_DROPPED: usize = 8 * MAX_BODY;

/// How long a client may pause while it sends.
const PAUSE: Duration = Duration::from_secs(30);

/// How long all of a message may take. One that comes byte by byte would hold its place for ever.
const WHOLE: Duration = Duration::from_secs(120);

/// How long a message that nobody wants may take to come.
const UNWANTED_TIME: Duration = Duration::from_secs(5);

/// From how many bytes on a message is large.
pub const LARGE: usize = 256 * 1024;

/// How many large messages are read at once; others wait.
const LARGE_AT_ONCE: usize = 4;

/// Places for large messages.
#[derive(Debug, Clone)]
pub struct LargePlaces(Arc<Semaphore>);

impl Default for LargePlaces {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LARGE_AT_ONCE)))
    }
}

/// A message's bytes, and its place if it is large.
#[derive(Debug)]
pub struct Message {
    /// All of it.
    pub bytes: Bytes,
    _place: Option<OwnedSemaphorePermit>,
}

impl Message {
    /// The bytes, with the place given up.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

/// Why there is no message.
#[derive(Debug)]
pub enum Unread {
    /// It is over [`MAX_BODY`]; with its `id` as JSON, if that was found.
    TooLarge(Option<String>),
    /// The client stopped sending.
    Stopped,
}

/// Reads a body that nobody wants, and drops it, so that its connection can take the next request. Tells whether that was
/// all of it; if not, the connection has to end.
pub async fn discard(body: Body, headers: &HeaderMap) -> bool {
    if body.is_end_stream() {
        return true;
    }
    if headers.contains_key(header::EXPECT) {
        // To read it would be to ask for it.
        return false;
    }
    let mut chunks = pin!(body.into_data_stream());
    let all = async {
        let mut read = 0;
        while let Some(Ok(chunk)) = chunks.next().await {
            read += chunk.len();
            if read > MAX_BODY {
                return false;
            }
        }
        true
    };
    timeout(UNWANTED_TIME, all).await.unwrap_or(false)
}

/// Reads a body whose length was `declared`, if it was.
pub async fn read(
    body: Body,
    declared: Option<u64>,
    places: &LargePlaces,
) -> Result<Message, Unread> {
    if declared.is_some_and(|length| length > MAX_DROPPED as u64) {
        return Err(Unread::TooLarge(None));
    }
    let reading = read_chunks(body, places);
    timeout(WHOLE, reading)
        .await
        .unwrap_or(Err(Unread::Stopped))
}

async fn read_chunks(body: Body, places: &LargePlaces) -> Result<Message, Unread> {
    let mut chunks = pin!(body.into_data_stream());
    let mut bytes = Vec::new();
    let mut place = None;
    while let Some(chunk) = next(&mut chunks).await? {
        if bytes.len() + chunk.len() > MAX_BODY {
            let mut scanner = IdScanner::default();
            scanner.feed(&bytes);
            scanner.feed(&chunk);
            let read = bytes.len() + chunk.len();
            drop(bytes);
            return Err(Unread::TooLarge(
                drop_rest(&mut chunks, read, scanner).await?,
            ));
        }
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LARGE && place.is_none() {
            // The semaphore is never closed.
            place = places.0.clone().acquire_owned().await.ok();
        }
    }
    Ok(Message {
        bytes: bytes.into(),
        _place: place,
    })
}

type Chunk = Result<Bytes, axum::Error>;

async fn next(chunks: &mut (impl Stream<Item = Chunk> + Unpin)) -> Result<Option<Bytes>, Unread> {
    match timeout(PAUSE, chunks.next()).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(chunk))) => Ok(Some(chunk)),
        Ok(Some(Err(_))) | Err(_) => Err(Unread::Stopped),
    }
}

/// Reads what is left, but not without end, and picks the id out of it.
async fn drop_rest(
    chunks: &mut (impl Stream<Item = Chunk> + Unpin),
    mut read: usize,
    mut scanner: IdScanner,
) -> Result<Option<String>, Unread> {
    while read <= MAX_DROPPED {
        match next(chunks).await? {
            Some(chunk) => {
                scanner.feed(&chunk);
                read += chunk.len();
            }
            None => return Ok(scanner.id()),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_message_that_comes_byte_by_byte_ends_in_time() {
        let begun = Instant::now();
        let dribble = stream::unfold((), |()| async {
            sleep(PAUSE / 2).await;
            Some((Ok::<_, axum::Error>(Bytes::from_static(b"{")), ()))
        });
        let read = read(Body::from_stream(dribble), None, &LargePlaces::default()).await;
        assert!(matches!(read, Err(Unread::Stopped)));
        assert_eq!(begun.elapsed(), WHOLE);
    }
}
