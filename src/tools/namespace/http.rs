//! `http`: requests of handlers to the hosts that their manifest names, and to no others, whatever their names lead to.

use std::{
    borrow::Cow, collections::BTreeMap, error::Error, net::IpAddr, sync::OnceLock, time::Duration,
};

use reqwest::{
    Client, Method, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
    redirect,
};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use super::{
    public::{Lookup, NotPublic, PublicOnly, system},
    request::Request,
};
use crate::{
    base::{
        byte_text,
        http::client::{behind, builder, of_the_network},
    },
    tools::manifest::HostSpec,
};

/// How long a request may take, if its handler does not say.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// How many requests of all handlers are under way at most.
const AT_ONCE: usize = 16;

/// How often a server may say that it is elsewhere.
const MOST_MOVES: usize = 5;

/// The longest URL, in bytes.
const LONGEST_URL: usize = 8 * 1024;

/// The most headers, and their size in bytes.
const MOST_HEADERS: usize = 64;
const HEADERS_SIZE: usize = 16 * 1024;

/// The longest body that is sent, in bytes.
const LONGEST_SENT: usize = 1024 * 1024;

/// The longest body that is read, in bytes.
const LONGEST_READ: usize = 4 * 1024 * 1024;

/// The headers that are about the connection, which is not the handler's.
const NOT_ITS_OWN: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers that go with a request to another host; the others may show who asks.
const GO_ELSEWHERE: &[&str] = &["accept", "accept-language", "content-type", "user-agent"];

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum HttpError {
    /// What it asks for is none.
    #[error("{0}")]
    NoRequest(String),
    /// The manifest does not name the host.
    #[error("{host} is none of the hosts that the manifest names in `mcp.http`{named}")]
    NotNamed {
        /// The host.
        host: String,
        /// Those that it names, in words.
        named: String,
    },
    /// A name leads to a private address.
    #[error(
        "{host} leads to {address}, which is no address of the internet. If that is meant, the manifest has to say so: \
         `- host: {host}` with `private: true`"
    )]
    Private {
        /// The name.
        host: String,
        /// The address.
        address: IpAddr,
    },
    /// A server sent it in circles, or elsewhere without saying where.
    #[error("{0}")]
    Moved(String),
    /// There was no time left.
    #[error("timeout: {host} did not answer within {ms} ms")]
    TimedOut {
        /// The host.
        host: String,
        /// How long it had.
        ms: u128,
    },
    /// Too much came back.
    #[error(
        "the answer of {0} has more than {LONGEST_READ} bytes, which is as much as a handler may have"
    )]
    TooLarge(String),
    /// It failed on its way.
    #[error("{0}")]
    Failed(String),
}

/// What makes requests.
pub struct Requests {
    lookup: Lookup,
    /// For names that must lead to the internet, and for those that need not.
    public: OnceLock<Result<Client, String>>,
    any: OnceLock<Result<Client, String>>,
    room: Semaphore,
}

impl Default for Requests {
    fn default() -> Self {
        Self::with(system())
    }
}

impl Requests {
    fn with(lookup: Lookup) -> Self {
        Self {
            lookup,
            public: OnceLock::new(),
            any: OnceLock::new(),
            room: Semaphore::new(AT_ONCE),
        }
    }

    /// Makes a request to one of these hosts, and to where its server sends it among them; it has until then.
    pub async fn make(
        &self,
        request: Request,
        hosts: &[HostSpec],
        until: Instant,
    ) -> Result<Value, HttpError> {
        let now = Instant::now();
        let time = match request.timeout_ms {
            None => DEFAULT_TIME,
            Some(ms) if (1.0..=600_000.0).contains(&ms) => Duration::from_secs_f64(ms / 1000.0),
            Some(ms) => {
                return Err(HttpError::NoRequest(format!(
                    "timeoutMs must be a number from 1 to 600000, not {ms}"
                )));
            }
        };
        let until = until.min(now + time);
        let mut going = Going::of(request)?;
        let host = going.url.host_str().unwrap_or_default().to_owned();
        let made = async {
            // The semaphore is never closed.
            let _room = self.room.acquire().await;
            for _ in 0..=MOST_MOVES {
                let spec = named(&going.url, hosts)?;
                let client = self.client(spec.is_private)?;
                let response = going.request(client).send().await;
                let response = response.map_err(|error| failure(&error, &going.url))?;
                match moved(&response, &going.url)? {
                    Some(to) => going.move_on(to, response.status())?,
                    None => return answer(response, &going.url).await,
                }
            }
            Err(HttpError::Moved(format!(
                "{host} sent the request elsewhere more than {MOST_MOVES} times"
            )))
        };
        match timeout_at(until, made).await {
            Ok(answer) => answer,
            Err(_) => Err(HttpError::TimedOut {
                host: host.clone(),
                ms: until.saturating_duration_since(now).as_millis(),
            }),
        }
    }

    fn client(&self, is_private: bool) -> Result<&Client, HttpError> {
        let made = match is_private {
            true => self.any.get_or_init(|| client(None)),
            false => self
                .public
                .get_or_init(|| client(Some(self.lookup.clone()))),
        };
        made.as_ref()
            .map_err(|error| HttpError::Failed(format!("HTTP can't be set up here ({error})")))
    }
}

/// A client that goes where it is sent and nowhere else: what a server says of another place is looked at first, and a
/// proxy would find the addresses of names by itself.
fn client(public_by: Option<Lookup>) -> Result<Client, String> {
    let mut builder = builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        // A connection that its server may close at any moment would cost a request that nobody can send again.
        .pool_max_idle_per_host(0);
    if let Some(lookup) = public_by {
        builder = builder.dns_resolver(PublicOnly(lookup));
    }
    builder.build().map_err(|error| error.to_string())
}

/// A request on its way.
struct Going {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Going {
    fn of(request: Request) -> Result<Self, HttpError> {
        let no = |why: String| HttpError::NoRequest(why);
        if request.url.len() > LONGEST_URL {
            return Err(no(format!("the URL has more than {LONGEST_URL} bytes")));
        }
        let url = Url::parse(&as_ascii(&request.url))
            .map_err(|error| no(format!("{} is no URL: {error}", request.url)))?;
        let method = request
            .method
            .as_deref()
            .unwrap_or("GET")
            .to_ascii_uppercase();
        let method = match method.as_str() {
            "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" => method.parse().ok(),
            _ => None,
        }
        .ok_or_else(|| {
            no(format!(
                "the method {method} can't be used; there are GET, HEAD, POST, PUT, PATCH and DELETE"
            ))
        })?;
        let body = request
            .body
            .map(|body| byte_text::to_bytes(&body).into_owned());
        if body.as_ref().is_some_and(|body| body.len() > LONGEST_SENT) {
            return Err(no(format!("the body has more than {LONGEST_SENT} bytes")));
        }
        let size = |(name, value): (&String, &String)| name.len() + value.len();
        let all = &request.headers;
        if all.len() > MOST_HEADERS || all.iter().map(size).sum::<usize>() > HEADERS_SIZE {
            return Err(no(format!(
                "the headers are more than {MOST_HEADERS}, or have more than {HEADERS_SIZE} bytes"
            )));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            let name: HeaderName = name
                .parse()
                .map_err(|_| no(format!("`{name}` is no name of a header")))?;
            if NOT_ITS_OWN.contains(&name.as_str()) {
                return Err(no(format!("the header `{name}` can't be set")));
            }
            let value = HeaderValue::from_bytes(&byte_text::to_bytes(value)).map_err(|_| {
                no(format!(
                    "the header `{name}` has a value that can't be sent"
                ))
            })?;
            headers.insert(name, value);
        }
        headers
            .entry("user-agent")
            .or_insert(HeaderValue::from_static(concat!(
                "mcp-bridge/",
                env!("CARGO_PKG_VERSION")
            )));
        Ok(Self {
            url,
            method,
            headers,
            body,
        })
    }

    fn request(&self, client: &Client) -> reqwest::RequestBuilder {
        let request = client
            .request(self.method.clone(), self.url.clone())
            .headers(self.headers.clone());
        match &self.body {
            Some(body) => request.body(body.clone()),
            None => request,
        }
    }

    /// Goes where the server sent it.
    fn move_on(&mut self, to: Url, status: StatusCode) -> Result<(), HttpError> {
        if self.url.scheme() == "https" && to.scheme() != "https" {
            return Err(HttpError::Moved(format!(
                "{} sent the request to an address without TLS",
                self.url.host_str().unwrap_or_default()
            )));
        }
        if to.origin() != self.url.origin() {
            let headers = std::mem::take(&mut self.headers);
            let goes = |name: &HeaderName| GO_ELSEWHERE.contains(&name.as_str());
            self.headers = headers
                .iter()
                .filter(|(name, _)| goes(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
        }
        let keeps_method = matches!(
            status,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        ) || matches!(self.method, Method::GET | Method::HEAD);
        if !keeps_method {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove(CONTENT_TYPE);
        }
        self.url = to;
        Ok(())
    }
}

/// A URL whose bytes that are no text are written with percent signs.
fn as_ascii(url: &str) -> Cow<'_, str> {
    if !byte_text::holds_bytes(url) {
        return Cow::Borrowed(url);
    }
    let bytes = byte_text::to_bytes(url);
    let shown = bytes.iter().map(|byte| match byte.is_ascii() {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    Cow::Owned(shown.collect())
}

/// Where a server sends a request, if it does.
fn moved(response: &reqwest::Response, from: &Url) -> Result<Option<Url>, HttpError> {
    let is_moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(to) = response.headers().get(LOCATION).filter(|_| is_moved) else {
        return Ok(None);
    };
    let to = to.to_str().ok().and_then(|to| from.join(to).ok());
    match to {
        Some(to) => Ok(Some(to)),
        None => Err(HttpError::Moved(format!(
            "{} sent the request to what is no URL",
            from.host_str().unwrap_or_default()
        ))),
    }
}

/// The entry of the manifest that names a URL's host.
fn named<'a>(url: &Url, hosts: &'a [HostSpec]) -> Result<&'a HostSpec, HttpError> {
    let no = |why: &str| HttpError::NoRequest(why.to_owned());
    if !matches!(url.scheme(), "http" | "https") {
        return Err(no("a URL begins with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(no(
            "a URL must have no name and password in it; send them in a header",
        ));
    }
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_suffix('.').unwrap_or(host);
    let found = hosts
        .iter()
        .filter(|spec| spec.is(host, url.port()) || spec.is(host, url.port_or_known_default()));
    // One that says more wins.
    found.max_by_key(|spec| spec.is_private).ok_or_else(|| {
        let names: Vec<_> = hosts.iter().map(ToString::to_string).collect();
        HttpError::NotNamed {
            host: match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
            named: match names.is_empty() {
                true => String::new(),
                false => format!(": {}", names.join(", ")),
            },
        }
    })
}

fn failure(error: &reqwest::Error, url: &Url) -> HttpError {
    let private = behind(error).find_map(|error: &(dyn Error + 'static)| error.downcast_ref());
    match private {
        Some(NotPublic(address)) => HttpError::Private {
            host: url.host_str().unwrap_or_default().to_owned(),
            address: *address,
        },
        None => HttpError::Failed(of_the_network(error)),
    }
}

async fn answer(mut response: reqwest::Response, url: &Url) -> Result<Value, HttpError> {
    let host = url.host_str().unwrap_or_default();
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in response.headers() {
        let value = byte_text::of(value.as_bytes());
        headers
            .entry(name.as_str().to_owned())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert_with(|| value.to_string());
    }
    let status = response.status().as_u16();
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > LONGEST_READ => {
                return Err(HttpError::TooLarge(host.to_owned()));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) => return Err(failure(&error, url)),
        }
    }
    Ok(json!({
        "status": status,
        "headers": headers,
        "body": byte_text::from_bytes(body),
        "url": url.as_str(),
    }))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{SocketAddr, TcpListener},
        sync::Arc,
    };

    use super::*;

    fn host(name: &str, is_private: bool) -> HostSpec {
        let (name, port) = match name.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()),
            None => (name, None),
        };
        HostSpec {
            name: name.to_owned(),
            port,
            is_private,
        }
    }

    /// A lookup by which every name leads to this address.
    fn leads_to(address: SocketAddr) -> Lookup {
        Arc::new(move |_| Box::pin(async move { Ok(vec![address]) }))
    }

    /// A server that gives each connection the next of these answers, and what it was sent.
    fn server(answers: Vec<String>) -> (u16, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let mut sent = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut buffer = [0; 4096];
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    let read = stream.read(&mut buffer).unwrap();
                    request.extend_from_slice(&buffer[..read]);
                }
                let _ = stream.write_all(answer.as_bytes());
                sent.push(String::from_utf8_lossy(&request).into_owned());
            }
            sent
        });
        (port, thread)
    }

    fn ok(body: &str) -> String {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\nX-A: 1\r\nX-A: 2\r\n\r\n{body}",
            body.len()
        )
    }

    fn to(location: &str, status: u16) -> String {
        format!(
            "HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    }

    fn get(url: String) -> Request {
        Request {
            url,
            ..Request::default()
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[tokio::test]
    async fn a_host_that_is_named_is_asked_and_no_other() {
        let (port, thread) = server(vec![ok("hi")]);
        let requests = Requests::default();
        let hosts = [host(&format!("127.0.0.1:{port}"), true)];
        let answer = requests
            .make(get(format!("http://127.0.0.1:{port}/a?b")), &hosts, soon())
            .await
            .unwrap();
        assert_eq!(
            (answer["status"].clone(), answer["body"].clone()),
            (json!(200), json!("hi"))
        );
        assert_eq!(answer["headers"]["x-a"], "1, 2");
        assert!(thread.join().unwrap()[0].starts_with("GET /a?b HTTP/1.1\r\n"));
        for (url, said) in [
            (
                format!("http://127.0.0.1:{}/", port ^ 1),
                "is none of the hosts",
            ),
            ("http://127.0.0.1/".to_owned(), "is none of the hosts"),
            (
                "http://2130706433/".to_owned(),
                "127.0.0.1 is none of the hosts",
            ),
            ("http://localhost/".to_owned(), "is none of the hosts"),
            (
                "http://[::ffff:127.0.0.1]/".to_owned(),
                "is none of the hosts",
            ),
            (
                "http://x@127.0.0.1/".to_owned(),
                "must have no name and password",
            ),
            ("file:///etc/passwd".to_owned(), "begins with http"),
            ("x".to_owned(), "is no URL"),
        ] {
            let told = requests.make(get(url.clone()), &hosts, soon()).await;
            let told = told.unwrap_err().to_string();
            assert!(told.contains(said), "{url}: {told}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_not_followed_unless_that_is_meant() {
        let (port, thread) = server(vec![ok("mine")]);
        let here = SocketAddr::from(([127, 0, 0, 1], port));
        let requests = Requests::with(leads_to(here));
        let url = format!("http://api.example.com:{port}/");
        let named = host(&format!("api.example.com:{port}"), false);
        let told = requests.make(get(url), &[named], soon()).await.unwrap_err();
        assert!(
            told.to_string()
                .contains("leads to 127.0.0.1, which is no address of the internet"),
            "{told}"
        );
        let meant = [host(&format!("localhost:{port}"), true)];
        let answer = requests
            .make(get(format!("http://localhost:{port}/")), &meant, soon())
            .await
            .unwrap();
        assert_eq!(answer["body"], "mine");
        thread.join().unwrap();
    }

    #[tokio::test]
    async fn a_server_sends_a_request_to_named_hosts_only_and_without_what_shows_who_asks() {
        let (other_port, other) = server(vec![ok("there")]);
        let (port, thread) = server(vec![
            to(&format!("http://localhost:{other_port}/x"), 302),
            to("http://10.0.0.1/", 302),
            to("http://169.254.169.254/latest/meta-data", 307),
            to("file:///etc/passwd", 302),
            to("/loop", 302),
        ]);
        let requests = Requests::default();
        let hosts = [
            host(&format!("127.0.0.1:{port}"), true),
            host(&format!("localhost:{other_port}"), true),
        ];
        let request = || Request {
            method: Some("post".to_owned()),
            body: Some("secret".to_owned()),
            headers: [
                ("Authorization", "Bearer x"),
                ("Accept", "a/b"),
                ("X-Key", "y"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            ..get(format!("http://127.0.0.1:{port}/"))
        };
        let answer = requests.make(request(), &hosts, soon()).await.unwrap();
        assert_eq!(answer["body"], "there");
        assert!(answer["url"].as_str().unwrap().ends_with("/x"));
        let sent = other.join().unwrap().remove(0).to_lowercase();
        assert!(
            sent.starts_with("get /x") && sent.contains("accept: a/b"),
            "{sent}"
        );
        assert!(
            !sent.contains("bearer") && !sent.contains("x-key"),
            "{sent}"
        );
        for said in [
            "10.0.0.1 is none of the hosts",
            "169.254.169.254 is none of the hosts",
            "begins with http",
        ] {
            let told = requests.make(request(), &hosts, soon()).await.unwrap_err();
            assert!(told.to_string().contains(said), "{told}");
        }
        // It sends it on, and is gone.
        assert!(requests.make(request(), &hosts, soon()).await.is_err());
        thread.join().unwrap();
    }

    #[tokio::test]
    async fn what_is_too_long_or_too_slow_is_given_up() {
        let long = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}",
            "x".repeat(LONGEST_READ + 1)
        );
        let (port, thread) = server(vec![long]);
        let requests = Requests::default();
        let hosts = [host(&format!("127.0.0.1:{port}"), true)];
        let url = format!("http://127.0.0.1:{port}/");
        let told = requests.make(get(url), &hosts, soon()).await.unwrap_err();
        assert!(told.to_string().contains("has more than"), "{told}");
        thread.join().unwrap();
        // It takes connections and says nothing.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let hosts = [host(&format!("127.0.0.1:{port}"), true)];
        let request = Request {
            timeout_ms: Some(100.0),
            ..get(format!("http://127.0.0.1:{port}/"))
        };
        let told = requests.make(request, &hosts, soon()).await.unwrap_err();
        assert!(
            told.to_string()
                .starts_with("timeout: 127.0.0.1 did not answer"),
            "{told}"
        );
        for (headers, said) in [
            (("Host", "x"), "the header `host` can't be set"),
            (("a b", "x"), "is no name of a header"),
            (("X", "a\r\nB: c"), "a value that can't be sent"),
        ] {
            let request = Request {
                headers: [(headers.0.to_owned(), headers.1.to_owned())].into(),
                ..get(format!("http://127.0.0.1:{port}/"))
            };
            let told = requests.make(request, &hosts, soon()).await.unwrap_err();
            assert!(told.to_string().contains(said), "{told}");
        }
    }
}
