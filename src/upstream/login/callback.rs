//! The page of this machine that a login server sends the browser back to.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    Router,
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use reqwest::Url;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;

/// The path of the page.
const PATH: &str = "/callback";

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The whole address that the browser was sent to, with a code.
    Granted(String),
    /// Why not, in the login server's words.
    Denied(String),
}

/// The page, before anybody came.
pub struct Callback {
    listener: TcpListener,
    address: SocketAddr,
}

impl Callback {
    /// Listens on this port of this machine, or on any that is free.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn listen(port: Option<u16>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Waits for the browser; there is no deadline. `state` is what only the login server could know.
    pub async fn answer(self, state: &str) -> Answer {
        let (tell, mut told) = mpsc::channel(1);
        let state: Arc<str> = state.into();
        let base = format!("http://{}", self.address);
        let page = move |uri: Uri| {
            let answer = read(&format!("{base}{uri}"), &state);
            let tell = tell.clone();
            async move {
                let Some(answer) = answer else {
                    let words = "This is not what mcp-bridge waits for.";
                    return shown(StatusCode::BAD_REQUEST, words);
                };
                let words = match &answer {
                    Answer::Granted(_) => {
                        "mcp-bridge goes on in its terminal. You can close this page."
                    }
                    Answer::Denied(_) => {
                        "The login was refused. The terminal of mcp-bridge says more. You can close this page."
                    }
                };
                // Only the first one counts.
                let _ = tell.try_send(answer);
                shown(StatusCode::OK, words)
            }
        };
        let router = Router::new().route(PATH, axum::routing::get(page));
        let done = CancellationToken::new();
        let serving = axum::serve(self.listener, router)
            .with_graceful_shutdown(done.clone().cancelled_owned());
        let serving = tokio::spawn(serving.into_future());
        let answer = told.recv().await;
        // The page is on its way to the browser.
        done.cancel();
        let _ = tokio::time::timeout(std::time::Duration::from_secs(1), serving).await;
        answer.unwrap_or_else(|| Answer::Denied("the page was closed".to_owned()))
    }
}

/// What the address that a browser was sent to says, if it is the one that is waited for.
pub fn read(address: &str, state: &str) -> Option<Answer> {
    let url = Url::parse(address.trim()).ok()?;
    if url.path() != PATH {
        return None;
    }
    let value = |name: &str| {
        let mut pairs = url.query_pairs();
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    if value("state")? != state {
        return None;
    }
    if let Some(error) = value("error") {
        let why = value("error_description").filter(|why| !why.trim().is_empty());
        return Some(Answer::Denied(why.unwrap_or(error)));
    }
    value("code").map(|_| Answer::Granted(url.to_string()))
}

fn shown(status: StatusCode, words: &str) -> Response {
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>mcp-bridge</title>\
         <body style=\"font-family: sans-serif; margin: 3em\"><p>{words}</p>"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'",
        ),
    ];
    (status, headers, page).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_this_login_is_taken() {
        let read = |query: &str| read(&format!("http://127.0.0.1:1{query}"), "s");
        let granted = "http://127.0.0.1:1/callback?code=c&state=s";
        assert_eq!(
            read("/callback?code=c&state=s"),
            Some(Answer::Granted(granted.to_owned()))
        );
        assert_eq!(
            read("/callback?error=access_denied&error_description=not%20you&state=s"),
            Some(Answer::Denied("not you".to_owned()))
        );
        assert_eq!(
            read("/callback?state=s&error=access_denied"),
            Some(Answer::Denied("access_denied".to_owned()))
        );
        for other in [
            "/callback?code=c&state=t",
            "/callback?code=c",
            "/callback?state=s",
            "/else?code=c&state=s",
            "/callback",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
