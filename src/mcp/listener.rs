//! The client that waits for a call: it is told how the call goes, if it asked to be.

use std::{
    collections::VecDeque,
    future::ready,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
#[expect(deprecated, reason = "clients of today still read log messages")]
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::{
    RoleServer,
    model::{JsonObject, ProgressNotificationParam, RequestMetaObject},
    service::{Peer, RequestContext},
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::questions::Line;
use crate::{
    base::excerpt::shortened,
    tools::{
        Level, Listener, Step,
        hearer::{Logged, Severity},
    },
};

/// How often a client is told in a second how its call goes, at most: a client may show each.
const IN_A_SECOND: usize = 10;

/// How many of those come as soon as they are told; the others come at even intervals.
const AT_ONCE: usize = 4;

/// The interval.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// How long a message is that it is told, in characters, at most.
const LONGEST_MESSAGE: usize = 8_000;

/// How long a client may take to read what it is told last; then its answer waits no longer.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a client attaches to a request for this bridge, not for whoever it is passed on to.
const FOR_US: [&str; 5] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
];

/// What a client attached to a request for whoever answers it, if anything.
pub fn attached(meta: &RequestMetaObject) -> Option<JsonObject> {
    let given = meta.iter();
    let others = given.filter(|(key, _)| !FOR_US.contains(&key.as_str()));
    let attached: JsonObject = others
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!attached.is_empty()).then_some(attached)
}

/// A client that waits.
pub struct Waiting {
    peer: Peer<RoleServer>,
    line: Arc<Line>,
    /// Whether it follows how its call goes.
    listens: bool,
    /// The least level of log messages that it wants; none: it wants none.
    level: Option<Level>,
    /// See [`Listener::hears`].
    hears: Option<Severity>,
    /// See [`Listener::attached`].
    attached: Option<JsonObject>,
    start: Instant,
    state: Mutex<State>,
    /// There is something to tell it.
    news: Notify,
    /// Its call has ended.
    over: CancellationToken,
}

/// What it was told and is to be told.
struct State {
    /// The progress it was told last, which never goes back.
    told: f64,
    /// What it is told now.
    now: VecDeque<Step>,
    /// What it is told next, as soon as that is not too often: the latest, whatever there was before.
    next: Option<Step>,
    /// When it was told something in the last second, or is at this moment.
    times: VecDeque<Instant>,
    /// Whether it is being told something at this moment.
    is_telling: bool,
}

/// What there is to do.
enum Turn {
    Tell(Step),
    /// Until then it is told nothing.
    WaitUntil(Instant),
    Nothing,
}

impl State {
    fn new() -> Self {
        Self {
            told: f64::NEG_INFINITY,
            now: VecDeque::new(),
            next: None,
            times: VecDeque::new(),
            is_telling: false,
        }
    }

    /// When it may be told something more.
    fn not_before(&mut self, now: Instant) -> Instant {
        let second = Duration::from_secs(1);
        self.times.retain(|time| now.duration_since(*time) < second);
        let spaced = match self.times.back() {
            Some(last) if self.times.len() >= AT_ONCE => *last + TELL_EVERY,
            _ => now,
        };
        match self.times.front() {
            Some(first) if self.times.len() >= IN_A_SECOND => spaced.max(*first + second),
            _ => spaced,
        }
    }

    fn add(&mut self, step: Step, now: Instant) {
        if self.next.is_none() && self.not_before(now) <= now {
            self.times.push_back(now);
            self.now.push_back(step);
        } else {
            self.next = Some(step);
        }
    }

    /// What is to be done; `is_over`: the last is told at once.
    fn turn(&mut self, now: Instant, is_over: bool) -> Turn {
        self.is_telling = false;
        if let Some(step) = self.now.pop_front() {
            self.is_telling = true;
            return Turn::Tell(step);
        }
        let not_before = self.not_before(now);
        if self.next.is_some() && not_before > now && !is_over {
            return Turn::WaitUntil(not_before);
        }
        match self.next.take() {
            Some(step) => {
                self.times.push_back(now);
                self.is_telling = true;
                Turn::Tell(step)
            }
            None => Turn::Nothing,
        }
    }
}

impl Waiting {
    /// Whoever sent this request, is told by this `line`, and wants log messages from `level` on. Those of servers it wants
    /// from `hears` on, unless it hears of them beside its calls.
    pub fn new(
        context: &RequestContext<RoleServer>,
        line: Arc<Line>,
        level: Option<Level>,
        hears: Option<Severity>,
    ) -> Self {
        Self {
            peer: context.peer.clone(),
            listens: line.token().is_some(),
            line,
            level,
            hears,
            attached: attached(&context.meta),
            start: Instant::now(),
            state: Mutex::new(State::new()),
            news: Notify::new(),
            over: CancellationToken::new(),
        }
    }

    /// Runs its call, and tells it meanwhile how that goes. What there is to tell last is on its way before this returns,
    /// unless the client does not read.
    pub async fn during<T>(&self, call: impl Future<Output = T>) -> T {
        if !self.listens {
            return call.await;
        }
        let (mut call, mut telling) = (pin!(call), pin!(self.telling()));
        let result = tokio::select! {
            result = &mut call => result,
            // It ends only after the call.
            () = &mut telling => return call.await,
        };
        self.over.cancel();
        if timeout(LAST_WORDS, telling).await.is_err() {
            tracing::debug!("a client does not read how its call went");
        }
        result
    }

    /// Tells it whatever there is to tell, not too often, until its call is over and all is told.
    async fn telling(&self) {
        loop {
            let is_over = self.over.is_cancelled();
            let turn = self.lock().turn(Instant::now(), is_over);
            match turn {
                Turn::Tell(step) => self.send(step).await,
                Turn::WaitUntil(time) => tokio::select! {
                    () = sleep_until(time) => {}
                    () = self.over.cancelled() => {}
                },
                Turn::Nothing if is_over => return,
                Turn::Nothing => tokio::select! {
                    () = self.news.notified() => {}
                    () = self.over.cancelled() => {}
                },
            }
        }
    }

    async fn send(&self, step: Step) {
        let Some(token) = self.line.token() else {
            return;
        };
        let mut progress = ProgressNotificationParam::new(token, self.next(&step));
        if !step.message.is_empty() {
            progress = progress.with_message(shortened(&step.message, LONGEST_MESSAGE));
        }
        if let Some(total) = step.total.filter(|total| total.is_finite()) {
            progress = progress.with_total(total);
        }
        if let Err(error) = self.peer.notify_progress(progress).await {
            tracing::debug!(%error, "a client can't be told of progress");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next progress: what the call counts, or the seconds since it began; more than the last in any case.
    fn next(&self, step: &Step) -> f64 {
        let told = &mut self.lock().told;
        let next = step.done.filter(|done| done.is_finite());
        let next = next.unwrap_or_else(|| self.start.elapsed().as_secs_f64());
        *told = if next > *told { next } else { *told + 0.001 };
        *told
    }
}

impl Listener for Waiting {
    fn listens(&self) -> bool {
        self.listens
    }

    fn is_behind(&self) -> bool {
        let state = self.lock();
        state.next.is_some() || !state.now.is_empty() || state.is_telling
    }

    fn tell(&self, step: Step) -> BoxFuture<'_, ()> {
        if self.listens() {
            self.lock().add(step, Instant::now());
            self.news.notify_one();
        }
        ready(()).boxed()
    }

    fn log(&self, level: Level, logger: &str, text: String) -> BoxFuture<'_, ()> {
        let logger = logger.to_owned();
        async move {
            if self.level.is_none_or(|least| level < least) || !self.line.is_there() {
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

    fn hears(&self) -> Option<Severity> {
        self.hears
    }

    fn hear(&self, logged: Logged) -> BoxFuture<'_, ()> {
        async move {
            if !self.line.is_there() {
                return;
            }
            #[expect(deprecated, reason = "clients of today still read log messages")]
            let sent = self.peer.notify_logging_message(logged).await;
            if let Err(error) = sent {
                tracing::debug!(%error, "a client can't be told what a server logs");
            }
        }
        .boxed()
    }

    fn attached(&self) -> Option<&JsonObject> {
        self.attached.as_ref()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: usize) -> Step {
        Step {
            message: number.to_string(),
            ..Step::default()
        }
    }

    #[test]
    fn a_few_are_told_at_once_and_of_many_ten_in_any_second_the_latest() {
        let (mut state, start) = (State::new(), Instant::now());
        let (mut told, mut number) = (Vec::new(), 0);
        for millisecond in 0..3_000 {
            let now = start + Duration::from_millis(millisecond);
            for _ in 0..20 {
                number += 1;
                state.add(step(number), now);
            }
            while let Turn::Tell(step) = state.turn(now, false) {
                told.push((millisecond, step.message.parse::<usize>().unwrap()));
            }
        }
        let first: Vec<_> = told[..AT_ONCE].iter().map(|(_, number)| *number).collect();
        assert_eq!(first, [1, 2, 3, 4]);
        assert!((25..=31).contains(&told.len()), "{told:?}");
        for (from, _) in &told {
            let in_a_second = told
                .iter()
                .filter(|(at, _)| (*from..from + 1_000).contains(at));
            assert!(in_a_second.count() <= IN_A_SECOND, "{told:?}");
        }
        assert!(told.is_sorted_by_key(|(_, number)| *number));
        assert!(matches!(
            state.turn(start + Duration::from_secs(3), true),
            Turn::Tell(last) if last.message == number.to_string()
        ));
    }
}
