//! The link port: hands each connection to HTTP, which makes a link of it or answers.

use std::{convert::Infallible, time::Duration};

use tokio::net::TcpListener;

use super::http::Routes;
use crate::base::http::listener::{Bounds, Connections};

/// How much the port takes.
pub const BOUNDS: Bounds = Bounds {
    connections: 16_384,
    // A computer that waits links in the end; one that is refused has to dial again.
    full: None,
    head_time: Duration::from_secs(10),
    head: 16 * 1024,
};

/// Accepts connections for ever, and hands each to HTTP, which answers or makes a link of it.
pub async fn accept(listener: TcpListener, routes: Routes) -> Infallible {
    Connections::new(BOUNDS).accept(&listener, &routes).await
}
