//! The client that waits for a call: it is told how the call goes, if it asked to be.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use futures_util::{FutureExt, future::BoxFuture};
#[expect(deprecated, reason = "clients of today still read log messages")]
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::{Peer, RequestContext},
};

use crate::tools::{Level, Listener, Step};

/// A client that waits.
pub struct Waiting {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    /// The least level of log messages that it wants; none: it wants none.
    level: Option<Level>,
    start: Instant,
    /// The progress it was told last, which never goes back.
    told: Mutex<f64>,
}

impl Waiting {
    /// Whoever sent this request, and wants log messages from `level` on.
    pub fn new(context: &RequestContext<RoleServer>, level: Option<Level>) -> Self {
        Self {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            level,
            start: Instant::now(),
            told: Mutex::new(f64::NEG_INFINITY),
        }
    }

    /// The next progress: what the call counts, or the seconds since it began; more than the last in any case.
    fn next(&self, step: &Step) -> f64 {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let next = step.done.filter(|done| done.is_finite());
        let next = next.unwrap_or_else(|| self.start.elapsed().as_secs_f64());
        *told = if next > *told { next } else { *told + 0.001 };
        *told
    }
}

impl Listener for Waiting {
    fn listens(&self) -> bool {
        self.token.is_some()
    }

    fn tell(&self, step: Step) -> BoxFuture<'_, ()> {
        async move {
            let Some(token) = self.token.clone() else {
                return;
            };
            let mut progress = ProgressNotificationParam::new(token, self.next(&step));
            if !step.message.is_empty() {
                progress = progress.with_message(step.message);
            }
            if let Some(total) = step.total.filter(|total| total.is_finite()) {
                progress = progress.with_total(total);
            }
            if let Err(error) = self.peer.notify_progress(progress).await {
                tracing::debug!(%error, "a client can't be told of progress");
            }
        }
        .boxed()
    }

    fn log(&self, level: Level, logger: &str, text: String) -> BoxFuture<'_, ()> {
        let logger = logger.to_owned();
        async move {
            if self.level.is_none_or(|least| level < least) {
                return;
            }
            #[expect(deprecated, reason = "clients of today still read log messages")]
            let sent = {
                let message = LoggingMessageNotificationParam::new(level_of(level), text.into())
                    .with_logger(logger);
                self.peer.notify_logging_message(message).await
            };
            if let Err(error) = sent {
                tracing::debug!(%error, "a client can't be sent a log message");
            }
        }
        .boxed()
    }
}

#[expect(deprecated, reason = "clients of today still read log messages")]
fn level_of(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Warning => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
    }
}

/// The least level that is ours, of those from a client's level on.
#[expect(deprecated, reason = "clients of today still read log messages")]
pub fn level_from(level: LoggingLevel) -> Level {
    match level {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info => Level::Info,
        LoggingLevel::Notice | LoggingLevel::Warning => Level::Warning,
        _ => Level::Error,
    }
}
