//! Asking all computers whether they are there, as one operation.
//!
//! Each is sent its ping without waiting, over the link that it has, and the answers are counted. Only a computer for
//! which that does not do goes the way of any other request: one without room for it just now, or whose link ends.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::{
    task::yield_now,
    time::{Instant, sleep_until},
};

use super::{
    ask::Ask,
    asking::Waited,
    computer::{ACCEPT_TIME, Computer},
    ends::End,
    fleet::Fleet,
    job::{About, Job},
    link::Outbound,
    pings::{Ping, Pong, Roll},
};
use crate::wire::names::{Method, RequestId};

/// So many are asked before others have their turn: no more than a thread of the runtime queues for itself.
const AT_ONCE: usize = 128;

/// What is asked.
const PING: Ask<'static> = Ask {
    method: Method::Ping,
    params: None,
    about: About::unlisted(),
    gate: None,
};

impl Fleet {
    /// Asks each of these computers whether it is there, and waits for their words for so long at most. Dropping the
    /// future gives them up.
    pub async fn call_the_roll(&self, computers: &[Arc<Computer>], time: Duration) -> Vec<Pong> {
        let start = Instant::now();
        let (deadline, again) = (start + time, start + ACCEPT_TIME);
        let call = Call {
            roll: Roll::of(computers.len()),
            computers,
        };
        let roll = &call.roll;
        let ids = &self.registry.ids;
        // Those that are asked like anything else.
        let mut singly = FuturesUnordered::new();
        for (at, computer) in computers.iter().enumerate() {
            if at % AT_ONCE == AT_ONCE - 1 {
                yield_now().await;
            }
            let id = ids.next();
            if !computer.ping_now(&id, roll, at, deadline) {
                singly.push(ping(computer, id, roll, at, deadline));
            }
        }
        let mut may_be_lost = again < deadline;
        while !roll.is_over() {
            tokio::select! {
                () = roll.news() => for at in roll.take_missed() {
                    singly.push(ping(&computers[at], ids.next(), roll, at, deadline));
                },
                Some(()) = singly.next() => {}
                // The game drops events when a computer's queue is full.
                () = sleep_until(again), if may_be_lost => {
                    may_be_lost = false;
                    for (at, computer) in computers.iter().enumerate() {
                        if !roll.is_settled(at) && let Some(id) = computer.untaken(roll) {
                            singly.push(ping(computer, id, roll, at, deadline));
                        }
                    }
                }
                () = sleep_until(deadline) => break,
            }
        }
        roll.pongs()
    }
}

/// A roll call that goes on. Whatever ends it, no computer waits for it any longer.
struct Call<'a> {
    roll: Arc<Roll>,
    computers: &'a [Arc<Computer>],
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        for (at, computer) in self.computers.iter().enumerate() {
            if !self.roll.is_settled(at) {
                computer.pings.withdraw(&self.roll);
            }
        }
    }
}

impl Computer {
    /// Sends a ping of a roll call at once; tells whether that could be done.
    fn ping_now(&self, id: &RequestId, roll: &Arc<Roll>, at: usize, deadline: Instant) -> bool {
        let Some(link) = self.link().filter(|link| !link.has_ended()) else {
            return false;
        };
        let request = Self::request(&link, id, PING, deadline);
        let Ok(frame) = request.message(link.dialect().text_mode()) else {
            return false;
        };
        if frame.len() > link.terms.max_message || !link.place_now(&self.turn) {
            return false;
        }
        // Before it is sent, as its answer may come at once.
        self.pings.enter(Ping {
            id: id.clone(),
            link: link.clone(),
            roll: roll.clone(),
            at,
            is_taken: false,
        });
        let sent = link.request_now(Outbound {
            id,
            about: PING.about,
            attached: true,
            frame,
            deadline,
        });
        // A link that has ended by now may have ended before it knew of this ping.
        let may_be_answered = sent && !link.has_ended();
        may_be_answered || !self.pings.withdraw(roll)
    }

    /// The id of its ping of a roll call, if it is to be sent again.
    fn untaken(&self, roll: &Arc<Roll>) -> Option<RequestId> {
        self.link().filter(|link| link.dialect().is_v2())?;
        self.pings.untaken(roll)
    }
}

/// Pings one computer as it is asked anything else.
async fn ping(
    computer: &Arc<Computer>,
    id: RequestId,
    roll: &Arc<Roll>,
    at: usize,
    deadline: Instant,
) {
    let job = match computer.begin(id, PING.about) {
        Ok(job) => job,
        Err(problem) => return roll.settle(at, Pong::Error(problem.to_string())),
    };
    let job = Given { computer, job };
    // From here on an answer to the first one is the job's.
    computer.pings.withdraw(roll);
    if roll.is_settled(at) {
        return;
    }
    let pong = match computer.run(&job.job, PING, deadline).await {
        Waited::Ended => job.job.look(|progress| match progress.end.as_deref() {
            Some(End::Answered(answer)) => Pong::of(answer),
            Some(End::Lost(_)) | None => Pong::None,
        }),
        Waited::Running | Waited::NotTaken | Waited::Away(_) | Waited::Held => Pong::None,
        Waited::TooLarge { size, limit } => Pong::Error(format!(
            "a ping of {size} bytes is over its limit of {limit}"
        )),
    };
    roll.settle(at, pong);
}

/// A job that nobody waits for once this is dropped.
struct Given<'a> {
    computer: &'a Computer,
    job: Arc<Job>,
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.computer.give_up(&self.job);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::{FutureExt, future::BoxFuture};
    use serde_json::{Value, json};
    use tokio::sync::watch;

    use super::*;
    use crate::{
        computers::{
            facts::Facts,
            link::{Link, Outlet, Terms, WINDOW},
            reach::Reach,
            registry::Registry,
        },
        wire::{
            ending::{Ending, LinkEnded},
            frame::{self, AgentFrame, Response},
            text::TextMode,
        },
    };

    /// Keeps the ids that it is sent.
    #[derive(Debug, Clone, Default)]
    struct Sent(Arc<Mutex<Vec<String>>>);

    impl Sent {
        fn last(&self) -> String {
            self.0.lock().unwrap().last().unwrap().clone()
        }

        fn count(&self) -> usize {
            self.0.lock().unwrap().len()
        }

        fn keep(&self, request: &Outbound<'_>) {
            let frame: Value = serde_json::from_str(&request.frame).unwrap();
            assert_eq!(frame["id"], request.id.as_str());
            assert_eq!(frame["method"], "ping");
            self.0.lock().unwrap().push(request.id.as_str().to_owned());
        }
    }

    impl Outlet for Sent {
        fn request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
            self.keep(&request);
            async { Ok(()) }.boxed()
        }

        fn request_now(&self, request: Outbound<'_>) -> bool {
            self.keep(&request);
            true
        }

        fn long_request<'a>(&'a self, _: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
            async { Err(LinkEnded) }.boxed()
        }

        fn note(&self, _: String) -> BoxFuture<'_, Result<(), LinkEnded>> {
            async { Ok(()) }.boxed()
        }

        fn call(&self) {}
    }

    struct World {
        fleet: Fleet,
        computers: Vec<Arc<Computer>>,
        sent: Vec<Sent>,
    }

    impl World {
        /// Computers 1 to `count`, whose agents speak this version.
        fn of(count: u64, protocol: u32) -> Self {
            let registry = Arc::new(Registry::default());
            let (_, reach) = watch::channel(Reach::Unknown);
            let mut world = Self {
                fleet: Fleet::new(registry, reach, Arc::default()),
                computers: Vec::new(),
                sent: Vec::new(),
            };
            for id in 1..=count {
                let (computer, sent) = world.link(id, protocol);
                world.computers.push(computer);
                world.sent.push(sent);
            }
            world
        }

        fn link(&self, id: u64, protocol: u32) -> (Arc<Computer>, Sent) {
            let hello =
                json!({"type": "hello", "computerId": id, "protocol": protocol, "boot": "a"});
            let hello = frame::read(&hello.to_string(), TextMode::Plain).unwrap();
            let AgentFrame::Hello(hello) = hello else {
                panic!("no hello");
            };
            let facts = Facts::new(&hello, "127.0.0.1:1".parse().unwrap());
            let terms = Terms {
                serial: id,
                dialect: hello.dialect(),
                max_message: 1_000,
                knows_detach: false,
                clock: None,
            };
            let sent = Sent::default();
            let link = Link::new(terms, Box::new(sent.clone()));
            let (computer, _) = self.fleet.registry.register(facts, Vec::new(), link);
            (computer, sent)
        }

        fn unlink(&self, at: usize) {
            let computer = &self.computers[at];
            let ending = Ending::ClosedByAgent(None);
            let link = computer.link().unwrap();
            self.fleet.registry.end(computer, &link, ending);
        }

        fn call(&self, seconds: u64) -> impl Future<Output = Vec<Pong>> + '_ {
            let time = Duration::from_secs(seconds);
            self.fleet.call_the_roll(&self.computers, time)
        }

        /// Whether the computer at this place was asked what it answers with this word.
        fn answer(&self, at: usize, word: &str) -> bool {
            answered(&self.computers[at], &self.sent[at], word)
        }

        /// Nothing is left of any call.
        fn is_clear(&self) -> bool {
            self.computers.iter().all(|computer| {
                let link = computer.link();
                let places = link.is_none_or(|link| {
                    (0..WINDOW).all(|_| link.place_now(&computer.turn)) && {
                        (0..WINDOW).for_each(|_| link.free_place());
                        true
                    }
                });
                places && !computer.is_asked()
            })
        }
    }

    fn answered(computer: &Computer, sent: &Sent, word: &str) -> bool {
        computer.answered(Response {
            id: sent.last().into(),
            answer: crate::wire::frame::Answer {
                result: Some(word.into()),
                error: None,
            },
            output_bytes: None,
            halts: false,
        })
    }

    fn text(word: &str) -> Pong {
        Pong::Text(word.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn each_word_stands_at_its_computer_and_the_last_one_ends_the_call() {
        let world = World::of(300, 1);
        let mut call = Box::pin(world.call(2));
        // Twice it lets others have their turn.
        for _ in 0..3 {
            assert!((&mut call).now_or_never().is_none());
        }
        for at in (0..300).rev() {
            assert!(world.answer(at, &at.to_string()));
            assert!(!world.answer(at, "again"));
        }
        let pongs = call.now_or_never().unwrap();
        let expected: Vec<_> = (0..300).map(|at| text(&at.to_string())).collect();
        assert_eq!(pongs, expected);
        assert!(world.is_clear());
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_in_time_is_waited_for_no_longer() {
        for protocol in [1, 2] {
            let world = World::of(2, protocol);
            let mut call = Box::pin(world.call(1));
            assert!((&mut call).now_or_never().is_none());
            assert!(world.answer(1, "here"));
            assert_eq!(call.await, [Pong::None, text("here")]);
            assert!(world.is_clear() && !world.answer(0, "late"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_dropped_leaves_nothing() {
        let world = World::of(2, 2);
        // One that has no place goes its way singly.
        let link = world.computers[1].link().unwrap();
        let places: Vec<_> = (0..WINDOW)
            .map(|_| link.place_now(&world.computers[1].turn))
            .collect();
        let mut call = Box::pin(world.call(2));
        assert!((&mut call).now_or_never().is_none());
        assert!(world.computers.iter().all(|computer| computer.is_asked()));
        drop(call);
        places.iter().for_each(|_| link.free_place());
        assert!(world.is_clear());
        assert_eq!(world.sent[1].count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_no_place_now_is_asked_once_there_is_one() {
        let world = World::of(1, 2);
        let link = world.computers[0].link().unwrap();
        assert!((0..WINDOW).all(|_| link.place_now(&world.computers[0].turn)));
        let mut call = Box::pin(world.call(2));
        assert!((&mut call).now_or_never().is_none());
        assert_eq!(world.sent[0].count(), 0);
        (0..WINDOW).for_each(|_| link.free_place());
        assert!((&mut call).now_or_never().is_none());
        assert!(world.answer(0, "here"));
        assert_eq!(call.await, [text("here")]);
        assert!(world.is_clear());
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_that_ends_is_the_last_word_of_version_1_and_others_are_asked_over_the_next() {
        let world = World::of(1, 1);
        let mut call = Box::pin(world.call(60));
        assert!((&mut call).now_or_never().is_none());
        world.unlink(0);
        assert_eq!(call.now_or_never(), Some(vec![Pong::None]));

        let world = World::of(1, 2);
        let mut call = Box::pin(world.call(60));
        assert!((&mut call).now_or_never().is_none());
        world.unlink(0);
        assert!((&mut call).now_or_never().is_none());
        let (computer, sent) = world.link(1, 2);
        assert!((&mut call).now_or_never().is_none());
        assert!(answered(&computer, &sent, "back"));
        assert_eq!(call.await, [text("back")]);
        assert!(world.is_clear());
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_game_may_have_dropped_is_sent_again_and_either_answer_counts() {
        let world = World::of(2, 2);
        let mut call = Box::pin(world.call(5));
        assert!((&mut call).now_or_never().is_none());
        // This one has it, and only takes its time.
        let slow = world.sent[1].last();
        assert!(world.computers[1].accepted(&slow.as_str().into(), false, false));
        tokio::time::advance(ACCEPT_TIME).await;
        assert!((&mut call).now_or_never().is_none());
        assert_eq!((world.sent[0].count(), world.sent[1].count()), (2, 1));
        let ids = world.sent[0].0.lock().unwrap().clone();
        assert_eq!(ids[0], ids[1]);
        assert!(world.answer(0, "here") && world.answer(1, "here too"));
        assert_eq!(call.await, [text("here"), text("here too")]);
        assert!(world.is_clear());
    }
}
