//! The task that keeps one server: starts it, watches it, stops it, and tries again what failed.

use std::{
    sync::{Arc, PoisonError},
    time::{Duration, SystemTime},
};

use thiserror::Error;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{LAST_WORDS, Order, Phase, Server};
use crate::{
    tools::asked::Asked,
    upstream::{
        connection::{AskError, ConnectError, Connection, Open, Prints},
        environment::{Environment, Withheld},
        listing::Listing,
        offers::{Offers, Remembered},
        trust,
    },
};

/// How long after a failure a server is started again; doubled with each failure in a row, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// See [`FIRST_PAUSE`].
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

/// How long a server must have run for its earlier failures to be forgotten.
const STABLE: Duration = Duration::from_secs(30);

/// How often it is looked whether a server that is being started printed what is no message.
const TO_TELL: Duration = Duration::from_millis(500);

/// How long after a server said that a list changed it is asked for it: changes come in bursts.
const SETTLING: Duration = Duration::from_millis(100);

/// How long what is under way may go on on a connection in whose place there is a new one.
const TO_FINISH: Duration = Duration::from_secs(30);

/// How often it is looked whether something is.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long a server that is stopped has to leave by itself, before it is asked more firmly.
const TO_STOP: Duration = Duration::from_millis(1_500);

/// The same, when the bridge itself leaves: a client waits for that.
const AT_EXIT: Duration = Duration::from_millis(250);

/// Why a call's connection is ended by a restart, in words after "since".
const RESTARTED: &str = "a person asked for it to be started anew (`mcp-bridge upstream restart`)";

/// The same, by a new login.
const RENEWED: &str = "its login is another now";

/// What the keeper does next.
enum Next {
    /// Wait for an order, or the time to try again.
    Rest,
    /// Start it.
    Start,
    /// Nothing any more.
    Leave,
}

/// Keeps one server until it is to leave.
pub async fn keep(server: Arc<Server>, mut orders: mpsc::Receiver<Order>) {
    let mut next = Next::Rest;
    loop {
        next = match next {
            Next::Rest => rest(&server, &mut orders).await,
            Next::Start => run(&server, &mut orders).await,
            Next::Leave => return,
        };
    }
}

/// The next order; none when the server is to leave.
async fn next_order(server: &Server, orders: &mut mpsc::Receiver<Order>) -> Option<Order> {
    tokio::select! {
        biased;
        () = server.leaving.cancelled() => None,
        order = orders.recv() => order,
    }
}

async fn rest(server: &Server, orders: &mut mpsc::Receiver<Order>) -> Next {
    let state = server.state();
    let again = async {
        match state.retry {
            Some(retry) => sleep_until(retry).await,
            None => std::future::pending().await,
        }
    };
    let order = tokio::select! {
        order = next_order(server, orders) => order,
        () = again => return Next::Start,
    };
    match order {
        None => Next::Leave,
        Some(_) if state.phase == Phase::Disabled => Next::Rest,
        // What failed is started again when its time has come.
        Some(Order::Start) if state.phase == Phase::Failed => Next::Rest,
        Some(Order::Start) => Next::Start,
        Some(Order::Restart | Order::Renew) => restart(server),
    }
}

fn restart(server: &Server) -> Next {
    server.change(|state| {
        state.failures = 0;
        state.restarts += 1;
    });
    Next::Start
}

/// Starts the server, and sees to it until it stops.
async fn run(server: &Arc<Server>, orders: &mut mpsc::Receiver<Order>) -> Next {
    server.tail.clear();
    let prints = Prints {
        tail: server.tail.clone(),
        rubbish: Arc::default(),
    };
    server.enter(Phase::Starting, |state| {
        state.starts += 1;
        state.rubbish = prints.rubbish.clone();
    });
    let environment = server.environment();
    let started = {
        let start = start(server, &environment, &prints);
        tokio::pin!(start);
        let mut told = 0;
        loop {
            tokio::select! {
                started = &mut start => break started,
                () = sleep(TO_TELL) => {
                    let lines = prints.rubbish.lines();
                    // The more there were, the more may come before it is told again.
                    if lines > told * 2 {
                        told = lines;
                        server.news.notify_one();
                    }
                }
                order = next_order(server, orders) => match order {
                    None => return Next::Leave,
                    Some(Order::Restart | Order::Renew) => return restart(server),
                    Some(Order::Start) => {}
                },
            }
        }
    };
    let (open, offers) = match started {
        Ok(started) => started,
        Err(error) => {
            let withheld = match error.is_a_death() {
                true => environment.withheld,
                false => Withheld::default(),
            };
            return failed(server, error.to_string(), withheld);
        }
    };
    let connection = open.connection.clone();
    let since = Instant::now();
    take_offers(server, offers).await;
    server.enter(Phase::Connected, |state| {
        state.connection = Some(connection.clone());
        state.error = None;
        state.last_words.clear();
        state.lacked = Withheld::default();
    });
    // What was asked meanwhile of none that is there.
    server.heed().await;
    *server
        .last_used
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Instant::now();
    let next = attend(server, &connection, orders).await;
    let was_stable = since.elapsed() >= STABLE;
    if was_stable {
        server.change(|state| state.failures = 0);
    }
    match next {
        Attended::Ended => {
            let unused = server.idle_from().is_some();
            let how = connection.how_it_ended().await;
            close(open);
            if unused && was_stable {
                // Some servers end by themselves when they are not used. It is started when it is.
                server.enter(Phase::Stopped, |state| state.error = Some(how));
                return Next::Rest;
            }
            failed(server, how, Withheld::default())
        }
        Attended::Idle => {
            close(open);
            server.enter(Phase::Stopped, |_| {});
            Next::Rest
        }
        Attended::Restart => {
            connection.let_go(RESTARTED);
            close(open);
            restart(server)
        }
        Attended::Renew => {
            close_unused(open);
            restart(server)
        }
        Attended::Leave => {
            connection.let_go(server.why_leaving());
            open.close(AT_EXIT).await;
            server.enter(Phase::Stopped, |_| {});
            Next::Leave
        }
    }
}

/// Closes a connection, while other things go on, once nothing is under way on it.
fn close_unused(open: Open) {
    tokio::spawn(async move {
        let end = Instant::now() + TO_FINISH;
        // Whoever waits for an answer holds it.
        while Arc::strong_count(&open.connection) > 1 && Instant::now() < end {
            sleep(LOOK_AGAIN).await;
        }
        open.connection.let_go(RENEWED);
        open.close(TO_STOP).await;
    });
}

/// Closes a connection while other things go on.
fn close(open: Open) {
    tokio::spawn(open.close(TO_STOP));
}

fn failed(server: &Server, error: String, withheld: Withheld) -> Next {
    tracing::warn!(
        server = server.entry.name,
        "the server `{}` {error}",
        server.entry.name
    );
    let last_words = server.tail.last(LAST_WORDS);
    let lacked = withheld.missed(
        |name| server.gives(name),
        last_words.iter().map(String::as_str),
    );
    server.enter(Phase::Failed, |state| {
        let pause = FIRST_PAUSE
            .saturating_mul(1 << state.failures.min(16))
            .min(LONGEST_PAUSE);
        state.failures += 1;
        state.retry = Some(Instant::now() + pause);
        state.error = Some(error);
        state.last_words = last_words;
        state.lacked = lacked;
    });
    Next::Rest
}

/// Why a server did not come up, in words that follow its name.
#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    NotConnected(#[from] ConnectError),
    /// It went; how.
    #[error("{0} before it said what it offers")]
    Gone(String),
    #[error("did not say what it offers: {0}")]
    NotListed(AskError),
    #[error(
        "did not answer `initialize` or list its tools within {} s (its entry can set `startTimeoutMs`)",
        .0.as_secs_f64()
    )]
    TooSlow(Duration),
}

impl Failure {
    /// Whether it ended by itself, perhaps for want of something.
    fn is_a_death(&self) -> bool {
        matches!(
            self,
            Self::Gone(_) | Self::NotConnected(ConnectError::Ended(_) | ConnectError::Closed)
        )
    }
}

/// Starts it and asks what it offers, within its time.
async fn start(
    server: &Server,
    environment: &Environment,
    prints: &Prints,
) -> Result<(Open, Offers), Failure> {
    let time = server.entry.start_timeout;
    let variable = |name: &str| std::env::var(name).ok();
    let start = async {
        let open = Open::connect(
            &server.entry,
            &server.folders.working,
            &server.folders.state,
            &variable,
            &environment.given,
            prints,
            &server.hears(),
        )
        .await?;
        match open.connection.offers(time).await {
            Ok(offers) => {
                server.resume(&open.connection).await;
                Ok((open, offers))
            }
            Err(AskError::Gone(_)) => Err(Failure::Gone(open.connection.how_it_ended().await)),
            Err(error) => Err(Failure::NotListed(error)),
        }
    };
    match timeout(time, start).await {
        Ok(started) => started,
        Err(_) => Err(Failure::TooSlow(time)),
    }
}

/// Takes over what a server says it offers: judged, remembered, and shown.
async fn take_offers(server: &Arc<Server>, offers: Offers) {
    {
        let state = server.state.borrow();
        if state.is_listed && state.offers.as_deref() == Some(&offers) {
            return;
        }
    }
    let offers = Arc::new(offers);
    let (keeper, judged) = (server.clone(), offers.clone());
    let written = tokio::task::spawn_blocking(move || {
        let remembered = Remembered {
            server: keeper.entry.name.clone(),
            file: keeper.entry.file.clone(),
            listed: SystemTime::now(),
            offers: (*judged).clone(),
        };
        let capabilities = keeper.asked.as_deref().map(Asked::capabilities);
        remembered.save(&keeper.folders.state, &keeper.fingerprint, capabilities);
        // What takes time is done here, where nobody waits for it, and not when the tools are listed first.
        judged.checked_tools();
        trust::changed_tools(
            &keeper.folders.state,
            &keeper.fingerprint,
            &keeper.entry.name,
            &judged,
        )
    });
    // Without an answer, what was not judged is not shown.
    let changed = written.await.unwrap_or_else(|_| {
        offers
            .tools
            .iter()
            .map(|tool| tool.name.to_string())
            .collect()
    });
    server.change(|state| {
        state.offers = Some(offers);
        state.is_listed = true;
        state.changed = Arc::new(changed);
    });
    let view = server.view();
    let name = &server.entry.name;
    for (tool, reason) in Listing::of(std::slice::from_ref(&view)).withheld(&server.id) {
        tracing::warn!(server = name, tool, "a tool is withheld: {reason}");
    }
    for remark in &view.offers.remarks {
        tracing::warn!(server = name, "the server `{name}` {remark}");
    }
}

/// Why a running server is no longer attended to.
enum Attended {
    Ended,
    Idle,
    Restart,
    Renew,
    Leave,
}

/// Sees to a running server.
async fn attend(
    server: &Arc<Server>,
    connection: &Arc<Connection>,
    orders: &mut mpsc::Receiver<Order>,
) -> Attended {
    let lists = follow_lists(server, connection);
    tokio::pin!(lists);
    loop {
        // A call that runs moves it.
        let idle_from = server
            .idle_from()
            .unwrap_or_else(|| Instant::now() + server.entry.idle_timeout);
        tokio::select! {
            () = connection.ended() => return Attended::Ended,
            () = sleep_until(idle_from) => {
                if server.idle_from().is_some_and(|from| from <= Instant::now()) {
                    return Attended::Idle;
                }
            }
            () = &mut lists => {}
            order = next_order(server, orders) => match order {
                None => return Attended::Leave,
                Some(Order::Restart) => return Attended::Restart,
                Some(Order::Renew) => return Attended::Renew,
                Some(Order::Start) => {}
            },
        }
    }
}

/// Asks for a server's lists anew each time that it says they changed.
async fn follow_lists(server: &Arc<Server>, connection: &Arc<Connection>) {
    let mut pause = FIRST_PAUSE;
    loop {
        connection.changed.notified().await;
        sleep(SETTLING).await;
        let offers = connection.offers(server.entry.start_timeout).await;
        if let Err(error) = &offers {
            tracing::warn!(server = server.entry.name, %error, "a server's changed lists can't be had");
        }
        match offers {
            Ok(offers) => {
                pause = FIRST_PAUSE;
                take_offers(server, offers).await;
            }
            // It goes on, and what it has now is not known.
            Err(AskError::Unanswered(_)) => {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                connection.changed.notify_one();
            }
            Err(_) => {}
        }
    }
}
