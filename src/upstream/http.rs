//! Servers that run already, over streamable HTTP.

use rmcp::{RoleClient, transport::Transport};
use thiserror::Error;

use super::entry::Address;

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
}

/// That no address can be used, in words that follow the server's name.
#[cfg(not(feature = "upstream-http"))]
#[derive(Debug, Error)]
#[error(
    "has a `url`, but this mcp-bridge was built without HTTP for servers (the feature `upstream-http`)"
)]
pub struct AddressError;

/// The transport to a server at this address, whose variables are filled in.
///
/// # Errors
/// See [`AddressError`].
#[cfg(feature = "upstream-http")]
pub fn transport(address: &Address) -> Result<impl Transport<RoleClient> + 'static, AddressError> {
    use std::collections::HashMap;

    use http::{HeaderName, HeaderValue, Uri};
    use rmcp::transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    };

    let uri: Uri = address.url.parse()?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
        return Err(AddressError::NotHttp);
    }
    let mut headers = HashMap::new();
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
    // It may be there already, which is as good: whose cryptography TLS uses is said once for the whole process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
        .custom_headers(headers)
        .reinit_on_expired_session(true);
    Ok(StreamableHttpClientTransport::from_config(config))
}

/// Says that this program can't.
///
/// # Errors
/// Always.
#[cfg(not(feature = "upstream-http"))]
pub fn transport(_: &Address) -> Result<impl Transport<RoleClient> + 'static, AddressError> {
    Err::<rmcp::transport::OneshotTransport<RoleClient>, _>(AddressError)
}
