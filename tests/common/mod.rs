//! What the integration tests share: a real bridge process, and computers that link to it.

// Each test file uses its own part of this module.
#![allow(dead_code)]

pub mod bridge;
pub mod computer;
pub mod proxy;
pub mod servers;

use std::{future::Future, time::Duration};

/// The longest any test waits for one thing. It only counts when something is broken.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for `what`, and fails the test by that name when it does not come.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("it took over {PATIENCE:?}: {what}"),
    }
}
