//! The protocol's older HTTP transport, which servers of 2024 speak: the client opens a stream of events, the first of
//! which says where to post messages, and all that the server says comes by the stream.

use std::future::Future;

use futures_util::StreamExt;
use http::{
    HeaderMap, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use reqwest::{Response, Url};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{Transport, streamable_http_client::StreamableHttpError},
};
use sse_stream::Sse;
use tokio::{sync::mpsc, task::JoinHandle};

use super::bodies::{EVENTS, Failure, events, is_of_type};
use crate::upstream::{lines::MAX_LINE, reading::read_beside};

/// How many messages of the server wait to be read; then it waits.
const INBOX: usize = 64;

/// A connection of that kind.
pub struct Older {
    client: reqwest::Client,
    /// Where messages are posted.
    endpoint: Url,
    headers: HeaderMap,
    inbox: mpsc::Receiver<ServerJsonRpcMessage>,
    reader: JoinHandle<()>,
}

impl Older {
    /// Opens the stream, and waits until the server has said where to post.
    ///
    /// # Errors
    /// The server can't be reached, or speaks something else.
    pub async fn connect(
        client: reqwest::Client,
        url: &str,
        headers: HeaderMap,
    ) -> Result<Self, Failure> {
        let answer = client
            .get(url)
            .headers(headers.clone())
            .header(ACCEPT, EVENTS)
            .send()
            .await?;
        let answer = successful(answer).await?;
        let kind = answer.headers().get(CONTENT_TYPE);
        let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
        if !kind.as_deref().is_some_and(|kind| is_of_type(kind, EVENTS)) {
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let base = answer.url().clone();
        let mut events = Box::pin(events(answer, MAX_LINE));
        let endpoint = loop {
            match events.next().await {
                Some(Ok(Sse {
                    event: Some(event),
                    data: Some(data),
                    ..
                })) if event == "endpoint" => break endpoint(&base, data.trim())?,
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(StreamableHttpError::Sse(error)),
                None => return Err(StreamableHttpError::UnexpectedEndOfStream),
            }
        };
        let (sender, inbox) = mpsc::channel(INBOX);
        let reader = tokio::spawn(async move {
            while let Some(Ok(event)) = events.next().await {
                let Some(data) = event.data.filter(|data| !data.trim().is_empty()) else {
                    continue;
                };
                let read = read_beside(data).await;
                if read.is_err() {
                    tracing::warn!(%base, "a server sends what is no message, or is too large for one");
                }
                if let Some(message) = read.map_or_else(|instead| instead.map(|one| *one), Some)
                    && sender.send(message).await.is_err()
                {
                    return;
                }
            }
        });
        Ok(Self {
            client,
            endpoint,
            headers,
            inbox,
            reader,
        })
    }
}

impl Drop for Older {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Transport<RoleClient> for Older {
    type Error = Failure;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        let post = self
            .client
            .post(self.endpoint.clone())
            .headers(self.headers.clone())
            .json(&message);
        async move { successful(post.send().await?).await.map(|_| ()) }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.inbox.recv().await
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.reader.abort();
        Ok(())
    }
}

/// The answer, if it is that all is well.
async fn successful(mut answer: Response) -> Result<Response, Failure> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    if status == StatusCode::UNAUTHORIZED {
        return Err(StreamableHttpError::UnexpectedServerResponse(
            "HTTP 401 Unauthorized".into(),
        ));
    }
    // As much of it as comes at once is more than is shown.
    let body = answer.chunk().await.ok().flatten().unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    Err(StreamableHttpError::UnexpectedServerResponse(
        format!("HTTP {status}: {body}").into(),
    ))
}

/// Where to post, as the server says it: only on itself, since the entry's headers go there.
fn endpoint(base: &Url, said: &str) -> Result<Url, Failure> {
    let endpoint = base.join(said).ok();
    endpoint
        .filter(|endpoint| endpoint.origin() == base.origin())
        .ok_or_else(|| {
            let said = format!("it says to post to `{said}`, which is not on itself");
            StreamableHttpError::UnexpectedServerResponse(said.into())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_posted_to_the_server_itself_and_nowhere_else() {
        let base = Url::parse("http://farm.example:8000/sse").unwrap();
        let endpoint = |said| endpoint(&base, said).map(|url| url.to_string()).ok();
        assert_eq!(
            endpoint("/messages?session=1").as_deref(),
            Some("http://farm.example:8000/messages?session=1")
        );
        assert_eq!(
            endpoint("http://farm.example:8000/m").as_deref(),
            Some("http://farm.example:8000/m")
        );
        for other in [
            "http://other.example/m",
            "//other.example/m",
            "https://farm.example:8000/m",
        ] {
            assert_eq!(endpoint(other), None, "{other}");
        }
    }
}
