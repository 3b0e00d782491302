//! Servers that run already, over streamable HTTP.

use rmcp::{RoleClient, transport::Transport};

use super::entry::Address;

/// The transport to a server at this address, whose variables are filled in.
///
/// # Errors
/// The address can't be used.
#[cfg(feature = "upstream-http")]
pub fn transport(address: &Address) -> Result<impl Transport<RoleClient> + 'static, String> {
    use std::collections::HashMap;

    use http::{HeaderName, HeaderValue, Uri};
    use rmcp::transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    };

    let uri: Uri = address
        .url
        .parse()
        .map_err(|error| format!("has a `url` that is none: {error}"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
        return Err(
            "has a `url` that does not begin with http:// or https:// and a host".to_owned(),
        );
    }
    let mut headers = HashMap::new();
    for (name, value) in &address.headers {
        let name: HeaderName = name
            .parse()
            .map_err(|_| format!("has a header called `{name}`, which is no name of one"))?;
        let mut value: HeaderValue = value
            .parse()
            .map_err(|_| format!("has a header `{name}` whose value can't be sent"))?;
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
pub fn transport(_: &Address) -> Result<impl Transport<RoleClient> + 'static, String> {
    Err::<rmcp::transport::OneshotTransport<RoleClient>, _>(
        "has a `url`, but this mcp-bridge was built without HTTP for servers (the feature `upstream-http`)".to_owned(),
    )
}
