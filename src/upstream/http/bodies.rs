//! What comes back over HTTP, read within bounds.

use std::{io, time::Duration};

use futures_util::{Stream, StreamExt, TryStreamExt};
use reqwest::Response;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use sse_stream::{Sse, SseStream};
use thiserror::Error;
use tokio::time::timeout;

/// How long the beginning of an answer is waited for that is only to be shown to a person.
const TO_SAY: Duration = Duration::from_secs(2);

/// What a stream of events is called.
pub const EVENTS: &str = "text/event-stream";

/// What a single message is called.
pub const JSON: &str = "application/json";

/// Why there is no answer.
pub type Failure = StreamableHttpError<reqwest::Error>;

/// Whether a content type is this one, whatever it says besides.
pub fn is_of_type(content_type: &str, wanted: &str) -> bool {
    let name = content_type.split(';').next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case(wanted)
}

/// That an event of a stream has more bytes than these.
#[derive(Debug, Error)]
#[error("an event of over {} MiB", .0 / 1024 / 1024)]
pub struct TooLarge(usize);

/// Whether a stream is read no further for that.
pub fn too_large(error: &sse_stream::Error) -> Option<&TooLarge> {
    match error {
        sse_stream::Error::Body(error) => {
            let error = error.downcast_ref::<io::Error>()?.get_ref()?;
            error.downcast_ref()
        }
        _ => None,
    }
}

/// The events of an answer, none of which may be larger than what can be passed on.
pub fn events(
    answer: Response,
    most: usize,
) -> impl Stream<Item = Result<Sse, sse_stream::Error>> + Send + 'static {
    let mut length = 0;
    let bytes = answer.bytes_stream().map_err(io::Error::other);
    let bounded = bytes.map(move |chunk| {
        let chunk = chunk?;
        let end = chunk
            .windows(2)
            .rposition(|two| two == b"\n\n" || two == b"\n\r");
        length = match end {
            Some(end) => chunk.len() - end,
            None => length + chunk.len(),
        };
        if length > most {
            return Err(io::Error::other(TooLarge(most)));
        }
        Ok(chunk)
    });
    SseStream::from_bytes_stream(bounded)
}

/// All of an answer.
///
/// # Errors
/// It has more than `most` bytes, or breaks off.
pub async fn whole(mut answer: Response, most: usize) -> Result<Vec<u8>, Failure> {
    let too_large = || StreamableHttpError::ResponseBodyTooLarge { max_size: most };
    if answer
        .content_length()
        .is_some_and(|length| length > most as u64)
    {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if chunk.len() > most - body.len() {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The beginning of an answer, to be shown to a person: so many bytes at most, and what comes within moments.
pub async fn beginning(mut answer: Response, most: usize) -> String {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < most
            && let Ok(Some(chunk)) = answer.chunk().await
        {
            body.extend_from_slice(&chunk[..chunk.len().min(most - body.len())]);
        }
    };
    let _ = timeout(TO_SAY, reading).await;
    String::from_utf8_lossy(&body).into_owned()
}
