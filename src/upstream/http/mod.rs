//! Servers that run already, over HTTP.

#[cfg(feature = "upstream-http")]
mod bodies;
#[cfg(feature = "upstream-http")]
mod older;
#[cfg(feature = "upstream-http")]
mod posting;
#[cfg(feature = "upstream-http")]
pub mod session;
#[cfg(feature = "upstream-http")]
pub mod words;

use std::path::Path;

use rmcp::{RoleClient, transport::Transport};
use thiserror::Error;

use super::entry::Address;

#[cfg(feature = "upstream-http")]
pub use words::{ends_session, reason, takes_no_posts, was_not_sent};

/// Why an address can't be used, in words that follow the server's name.
#[cfg(feature = "upstream-http")]
#[derive(Debug, Error)]
pub enum AddressError {
    /// It is no URL.
    #[error("has a `url` that is none: {0}")]
    NotAUrl(#[from] http::uri::InvalidUri),
    /// It is a URL of another kind.
    #[error("has a `url` that does not begin with http:// or https:// and a host")]
    NotHttp,
    /// No header can have this name.
    #[error("has a header called `{0}`, which is no name of one")]
    HeaderName(String),
    /// The header of this name can't have such a value.
    #[error("has a header `{0}` whose value can't be sent")]
    HeaderValue(String),
    /// There is no HTTP on this machine.
    #[error("can't be reached: HTTP can't be set up here ({0})")]
    NoClient(reqwest::Error),
}

/// That no address can be used, in words that follow the server's name.
#[cfg(not(feature = "upstream-http"))]
#[derive(Debug, Error)]
#[error(
    "has a `url`, but this mcp-bridge was built without HTTP for servers (the feature `upstream-http`)"
)]
pub struct AddressError;

/// A server at an address, whose variables are filled in.
#[cfg(feature = "upstream-http")]
pub struct Target {
    url: String,
    headers: http::HeaderMap,
    /// The login there, unless its entry says by itself who asks.
    pass: Option<std::sync::Arc<super::login::pass::Pass>>,
}

#[cfg(feature = "upstream-http")]
impl Target {
    /// The server of this name, whose login is in this state folder.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn new(server: &str, address: &Address, state: &Path) -> Result<Self, AddressError> {
        use super::login::{kept::Place, pass::Pass};
        use http::{HeaderMap, HeaderName, HeaderValue, Uri, header::AUTHORIZATION};

        let uri: Uri = address.url.parse()?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(AddressError::NotHttp);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &address.headers {
            let name: HeaderName = name
                .parse()
                .map_err(|_| AddressError::HeaderName(name.clone()))?;
            let mut value: HeaderValue = value
                .parse()
                .map_err(|_| AddressError::HeaderValue(name.to_string()))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let place = Place::new(state, server, &address.url);
        let pass = (!headers.contains_key(AUTHORIZATION))
            .then(|| Pass::new(place, address.url.clone()).into());
        Ok(Self {
            url: address.url.clone(),
            headers,
            pass,
        })
    }

    /// What its entry sends with every request.
    pub fn headers(&self) -> &http::HeaderMap {
        &self.headers
    }

    /// The transport to it.
    ///
    /// # Errors
    /// HTTP can't be set up.
    pub fn transport(&self) -> Result<impl Transport<RoleClient> + 'static, AddressError> {
        use rmcp::transport::{
            StreamableHttpClientTransport,
            streamable_http_client::StreamableHttpClientTransportConfig,
        };

        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), value.clone()));
        let config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .custom_headers(headers.collect())
            .reinit_on_expired_session(true);
        let client = session::Client::new(self.pass.clone()).map_err(AddressError::NoClient)?;
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }

    /// The protocol's older transport to it; there is no deadline.
    ///
    /// # Errors
    /// It can't be reached so: why, in a person's words.
    pub async fn older_transport(&self) -> Result<impl Transport<RoleClient> + 'static, String> {
        let client = session::plain().map_err(|error| reason(&error))?;
        older::Older::connect(client, &self.url, self.headers.clone())
            .await
            .map_err(|error| reason(&error))
    }
}

/// A server that can't be reached.
#[cfg(not(feature = "upstream-http"))]
pub struct Target;

#[cfg(not(feature = "upstream-http"))]
impl Target {
    /// Says that this program can't.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: &str, _: &Address, _: &Path) -> Result<Self, AddressError> {
        Err(AddressError)
    }

    /// See [`Target::new`].
    ///
    /// # Errors
    /// Always.
    pub fn transport(&self) -> Result<impl Transport<RoleClient> + 'static, AddressError> {
        Err::<rmcp::transport::OneshotTransport<RoleClient>, _>(AddressError)
    }

    /// See [`Target::new`].
    ///
    /// # Errors
    /// Always.
    pub async fn older_transport(&self) -> Result<impl Transport<RoleClient> + 'static, String> {
        Err::<rmcp::transport::OneshotTransport<RoleClient>, _>(AddressError.to_string())
    }
}

/// The reason in `error`: where there is no HTTP, errors come of none.
#[cfg(not(feature = "upstream-http"))]
pub fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    error.to_string()
}

/// Whether a request that failed for this never reached the server.
#[cfg(not(feature = "upstream-http"))]
pub fn was_not_sent(_: &(dyn std::error::Error + 'static)) -> bool {
    false
}

/// Whether a session is over with a request that failed for this.
#[cfg(not(feature = "upstream-http"))]
pub fn ends_session(_: &(dyn std::error::Error + 'static)) -> bool {
    true
}

/// Whether it is that the server takes no posts: where they speak the older transport, servers don't.
#[cfg(not(feature = "upstream-http"))]
pub fn takes_no_posts(_: &(dyn std::error::Error + 'static)) -> bool {
    false
}
