//! HTTP requests of a simulated computer: plain, redirected up to a few times, answered by an event.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::{Body, Incoming};
use hyper::header::{HOST, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::address::{Address, Scheme};
use super::events::{Event, Events, Value};
use super::exchange::{HttpRequest, HttpResponse};
use super::options::{HttpRules, Version};

/// The game's `max_download`: 16 MiB.
const DOWNLOAD_LIMIT: usize = 16 << 20;

/// The game's `max_requests`: so many are under way at once.
const REQUEST_LIMIT: usize = 16;

/// How often a redirection is followed.
const REDIRECTS: usize = 16;

/// The requests of one run of a computer that are under way; the others wait for their turn.
#[derive(Debug, Clone)]
pub(super) struct Requests(Arc<Semaphore>);

impl Default for Requests {
    fn default() -> Self {
        Requests(Arc::new(Semaphore::new(REQUEST_LIMIT)))
    }
}

/// Makes a request in the background; `http_success` or `http_failure` tells how it went.
pub(super) fn request(
    runtime: &tokio::runtime::Handle,
    events: &Arc<Events>,
    requests: &Requests,
    rules: HttpRules,
    version: Version,
    request: HttpRequest,
) {
    let (events, turns) = (Arc::clone(events), Arc::clone(&requests.0));
    runtime.spawn(async move {
        let _turn = turns.acquire_owned().await;
        let answer = tokio::time::timeout(request.timeout, follow(&request, rules, &version)).await;
        let url = Value::from(request.url.as_str());
        events.push(
            match answer.unwrap_or_else(|_| Err("Timed out".to_owned())) {
                Ok(response) if (200..400).contains(&response.status) => Event::new(
                    "http_success",
                    vec![url, Value::Response(Arc::new(response))],
                ),
                Ok(response) => {
                    let reason = Value::from(response.reason.as_str());
                    Event::new(
                        "http_failure",
                        vec![url, reason, Value::Response(Arc::new(response))],
                    )
                }
                Err(problem) => Event::new("http_failure", vec![url, problem.into()]),
            },
        );
    });
}

/// Checks a URL in the background; `http_check` tells whether it may be asked for.
pub(super) fn check(
    runtime: &tokio::runtime::Handle,
    events: &Arc<Events>,
    rules: HttpRules,
    url: String,
) {
    let events = Arc::clone(events);
    runtime.spawn(async move {
        let checked = match Address::parse(&url, Scheme::Http) {
            Ok(address) => address.resolve(rules).await.map(drop),
            Err(problem) => Err(problem),
        };
        let mut args = vec![url.into(), Value::Boolean(checked.is_ok())];
        args.extend(checked.err().map(Value::from));
        events.push(Event::new("http_check", args));
    });
}

async fn follow(
    request: &HttpRequest,
    rules: HttpRules,
    version: &Version,
) -> Result<HttpResponse, String> {
    let mut address = Address::parse(&request.url, Scheme::Http)?;
    for _ in 0..=REDIRECTS {
        let response = ask(request, &address, rules, version).await?;
        let location = response
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(LOCATION.as_str()));
        match location {
            Some((_, location)) if request.redirect && (300..400).contains(&response.status) => {
                let next = if location.starts_with('/') {
                    format!("{}://{}{location}", address.scheme, address.host_header())
                } else {
                    location.clone()
                };
                address = Address::parse(&next, Scheme::Http)?;
            }
            _ => return Ok(response),
        }
    }
    Err("Too many redirects".to_owned())
}

async fn ask(
    request: &HttpRequest,
    address: &Address,
    rules: HttpRules,
    version: &Version,
) -> Result<HttpResponse, String> {
    const FAILED: &str = "Could not connect";
    let addresses = address.resolve(rules).await?;
    if address.is_secure() {
        return Err(FAILED.to_owned());
    }
    let method =
        Method::from_bytes(request.method.as_bytes()).map_err(|_| "Unsupported HTTP method")?;
    let stream = TcpStream::connect(&addresses[..])
        .await
        .map_err(|_| FAILED)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_| FAILED)?;
    let connection = tokio::spawn(connection);

    let body = request.body.clone().unwrap_or_default();
    let mut message = Request::builder().method(method).uri(address.path.as_str());
    if let Some(headers) = message.headers_mut() {
        let value = |text: &str| HeaderValue::from_str(text).map_err(|_| "Invalid header value");
        headers.insert(HOST, value(&address.host_header())?);
        headers.insert(USER_AGENT, value(&format!("computercraft/{version}"))?);
        for (name, text) in &request.headers {
            let name =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| "Invalid header name")?;
            headers.insert(name, value(text)?);
        }
    }
    let message = message.body(WholeBody::new(body)).map_err(|_| FAILED)?;
    let response = sender.send_request(message).await.map_err(|_| FAILED)?;
    let status = response.status();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (
                title_case(name.as_str()),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    let body = read_body(response.into_body()).await?;
    connection.abort();
    Ok(HttpResponse {
        status: status.as_u16(),
        reason: status.canonical_reason().unwrap_or("").to_owned(),
        headers,
        body,
    })
}

async fn read_body(mut body: Incoming) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| "Could not connect")?;
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(data);
        }
        if bytes.len() > DOWNLOAD_LIMIT {
            return Err("Response is too large".to_owned());
        }
    }
    Ok(bytes)
}

/// `content-type` as servers mostly write it, since that is how programs look it up.
fn title_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        })
    };
    name.split('-').map(capital).collect::<Vec<_>>().join("-")
}

/// A request's body, sent in one piece.
struct WholeBody(Option<hyper::body::Bytes>);

impl WholeBody {
    fn new(bytes: Vec<u8>) -> Self {
        WholeBody((!bytes.is_empty()).then(|| bytes.into()))
    }
}

impl Body for WholeBody {
    type Data = hyper::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Ready(
            self.0
                .take()
                .map(|bytes| Ok(hyper::body::Frame::data(bytes))),
        )
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
