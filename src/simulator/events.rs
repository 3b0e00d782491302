//! A computer's event queue with its timers: bounded, and dropping what comes after, as in the game.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::clock::{Clock, TICK_SECONDS};
use super::exchange::HttpResponse;
use super::socket::Socket;

/// How many events wait at most; the newest are dropped beyond it.
pub(super) const QUEUE_LIMIT: usize = 256;

/// How many actions of a turtle wait at most.
const TURTLE_LIMIT: usize = 16;

/// How many other things that the game is to do in a tick wait at most.
const TASK_LIMIT: usize = 5000;

/// A value carried by an event, as it is while it belongs to no Lua state.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(Vec<u8>),
    /// A table, by its place in the event's `tables`; so shared and cyclic tables stay so.
    Table(usize),
    /// A handle of an open socket.
    Socket(Arc<Socket>),
    /// The answer to an HTTP request.
    Response(Arc<HttpResponse>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text.into_bytes())
    }
}

/// One event: its name, its arguments, and the tables they hold.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) name: Vec<u8>,
    pub(super) args: Vec<Value>,
    pub(super) tables: Vec<Vec<(Value, Value)>>,
}

impl Event {
    pub(super) fn new(name: &str, args: Vec<Value>) -> Self {
        Event {
            name: name.as_bytes().to_vec(),
            args,
            tables: Vec::new(),
        }
    }
}

/// What the game does for a program in one of its ticks.
pub(super) struct Task(Box<dyn FnOnce() -> Outcome + Send>);

impl Task {
    /// What is to be done, without any lock held.
    pub(super) fn new(work: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Task(Box::new(work))
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Task")
    }
}

/// What came of a task.
pub(super) struct Outcome {
    /// How many ticks a turtle's next action has to wait.
    pub(super) ticks: u64,
    /// What the event that tells of it holds after the task's number. Its name doesn't count.
    pub(super) told: Event,
    /// What comes after that.
    pub(super) after: Vec<Event>,
}

/// What fires at a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Timer,
    Alarm,
    /// The first of a turtle's actions, which then is carried out.
    Turtle,
    /// Something else that the game does for the program.
    Task,
}

struct Inner {
    queue: VecDeque<Event>,
    /// By due tick, then by number.
    timers: BTreeMap<(u64, u64), Due>,
    next_timer: u64,
    /// What is to be done when its number fires.
    tasks: HashMap<u64, Task>,
    /// The turtle's actions that wait, by number; the first of them is among the timers.
    turtle: VecDeque<u64>,
    /// The tick at which the turtle's last animation ends.
    turtle_free: u64,
    clock: Clock,
    /// Set once the computer is to end; `next` then returns at once.
    interrupted: bool,
    /// Events lost to a full queue.
    dropped: u64,
}

impl Inner {
    /// Queues what has come due. Every operation begins with it, so that the queue is always in the order in
    /// which things happened, though no thread ticks. A task that is due is left to [`Events::next`], and what comes
    /// after it with it: it may tell other computers something, and so can't be done with this lock held.
    fn advance(&mut self) {
        let now = self.clock.tick();
        while let Some((&(due, number), &kind)) = self.timers.first_key_value() {
            if due > now || matches!(kind, Due::Turtle | Due::Task) {
                break;
            }
            self.timers.remove(&(due, number));
            let id = Value::Number(number as f64);
            let name = if kind == Due::Timer { "timer" } else { "alarm" };
            self.push(Event::new(name, vec![id]));
        }
    }

    /// The task that is due and first, with its number and what it is.
    fn take_task(&mut self) -> Option<(u64, Due, Task)> {
        let (&(due, number), &kind) = self.timers.first_key_value()?;
        if due > self.clock.tick() {
            return None;
        }
        let task = self.tasks.remove(&number)?;
        self.timers.remove(&(due, number));
        Some((number, kind, task))
    }

    /// Tells what came of a task, and has the turtle's next action follow.
    fn finish(&mut self, number: u64, kind: Due, outcome: Outcome) {
        let Outcome { ticks, told, after } = outcome;
        let mut event = told;
        let name: &str = if kind == Due::Turtle {
            "turtle_response"
        } else {
            "task_complete"
        };
        event.name = name.as_bytes().to_vec();
        event.args.insert(0, Value::Number(number as f64));
        self.push(event);
        for event in after {
            self.push(event);
        }
        if kind == Due::Turtle {
            self.turtle.pop_front();
            self.turtle_free = self.clock.tick() + ticks;
            if let Some(&next) = self.turtle.front() {
                let due = self.turtle_free.max(self.clock.tick() + 1);
                self.timers.insert((due, next), Due::Turtle);
            }
        }
    }

    fn push(&mut self, event: Event) -> bool {
        let room = self.queue.len() < QUEUE_LIMIT && !self.interrupted;
        if room {
            self.queue.push_back(event);
        } else {
            self.dropped += 1;
        }
        room
    }

    fn schedule(&mut self, ticks: u64, kind: Due) -> u64 {
        self.advance();
        let number = self.next_timer;
        self.next_timer += 1;
        let due = self.clock.tick().saturating_add(ticks.max(1));
        self.timers.insert((due, number), kind);
        number
    }
}

/// The queue of one run of a computer, fed by the host, by sockets and by its timers.
pub(super) struct Events {
    inner: Mutex<Inner>,
    woken: Condvar,
}

impl Events {
    pub(super) fn new(clock: Clock) -> Self {
        Events {
            inner: Mutex::new(Inner {
                queue: VecDeque::new(),
                timers: BTreeMap::new(),
                next_timer: 0,
                tasks: HashMap::new(),
                turtle: VecDeque::new(),
                turtle_free: 0,
                clock,
                interrupted: false,
                dropped: 0,
            }),
            woken: Condvar::new(),
        }
    }

    /// A panic elsewhere can't leave the queue half changed, so a poisoned lock is still good.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event; false if the queue was full and it was dropped.
    pub(super) fn push(&self, event: Event) -> bool {
        let mut inner = self.lock();
        inner.advance();
        let queued = inner.push(event);
        drop(inner);
        self.woken.notify_all();
        queued
    }

    /// Waits for the next event; `None` once interrupted.
    pub(super) fn next(&self) -> Option<Event> {
        let mut inner = self.lock();
        loop {
            if inner.interrupted {
                return None;
            }
            inner.advance();
            if let Some((number, kind, task)) = inner.take_task() {
                drop(inner);
                let outcome = (task.0)();
                inner = self.lock();
                inner.finish(number, kind, outcome);
                continue;
            }
            if let Some(event) = inner.queue.pop_front() {
                return Some(event);
            }
            let due = inner.timers.first_key_value().map(|(&(due, _), _)| due);
            let wait = due.and_then(|due| inner.clock.until(due));
            inner = match wait {
                Some(wait) => {
                    let waited = self.woken.wait_timeout(inner, wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .woken
                    .wait(inner)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Makes `next` return `None` from now on, and lets go of all that is queued: a socket in an event that
    /// nobody will read has to close.
    pub(super) fn interrupt(&self) {
        let mut inner = self.lock();
        inner.interrupted = true;
        inner.queue.clear();
        inner.timers.clear();
        inner.tasks.clear();
        inner.turtle.clear();
        drop(inner);
        self.woken.notify_all();
    }

    /// Starts a timer of that many seconds, rounded to ticks and at least one of them; returns its number.
    pub(super) fn start_timer(&self, seconds: f64) -> u64 {
        let ticks = (seconds / TICK_SECONDS).round().clamp(0.0, 1e15) as u64;
        self.lock().schedule(ticks, Due::Timer)
    }

    /// Starts an alarm for that hour of the world.
    pub(super) fn set_alarm(&self, hour: f64) -> u64 {
        let mut inner = self.lock();
        let ticks = inner.clock.ticks_until_hour(hour);
        inner.schedule(ticks, Due::Alarm)
    }

    /// Queues a turtle's action. It is carried out, and `turtle_response` comes, once those before it are over and
    /// their animations too. `None` if too many wait already.
    pub(super) fn start_turtle_action(&self, action: Task) -> Option<u64> {
        let mut inner = self.lock();
        inner.advance();
        if inner.turtle.len() >= TURTLE_LIMIT || inner.interrupted {
            return None;
        }
        let number = inner.next_timer;
        inner.next_timer += 1;
        if inner.turtle.is_empty() {
            let due = inner.turtle_free.max(inner.clock.tick() + 1);
            inner.timers.insert((due, number), Due::Turtle);
        }
        inner.turtle.push_back(number);
        inner.tasks.insert(number, action);
        Some(number)
    }

    /// Has the game do something in its next tick; `task_complete` tells that it is done. `None` if too much waits.
    pub(super) fn start_task(&self, task: Task) -> Option<u64> {
        let mut inner = self.lock();
        if inner.tasks.len() >= TASK_LIMIT || inner.interrupted {
            return None;
        }
        let number = inner.schedule(1, Due::Task);
        inner.tasks.insert(number, task);
        Some(number)
    }

    /// Forgets a timer or an alarm that has not fired yet.
    pub(super) fn cancel(&self, number: u64) {
        let mut inner = self.lock();
        inner.advance();
        inner
            .timers
            .retain(|&(_, other), kind| other != number || matches!(kind, Due::Turtle | Due::Task));
    }

    /// Reads the clock.
    pub(super) fn clock<R>(&self, read: impl FnOnce(&Clock) -> R) -> R {
        read(&self.lock().clock)
    }

    /// Stops or restarts the world's clock.
    pub(super) fn set_paused(&self, paused: bool) {
        let mut inner = self.lock();
        inner.advance();
        if paused {
            inner.clock.pause();
        } else {
            inner.clock.resume();
        }
        drop(inner);
        self.woken.notify_all();
    }

    /// How many events were lost to a full queue.
    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(event: &Event) -> f64 {
        match event.args.first() {
            Some(Value::Number(number)) => *number,
            other => panic!("not a number: {other:?}"),
        }
    }

    /// README.md, "Events and time": the queue holds 256; the newest are dropped.
    #[test]
    fn the_257th_event_is_dropped() {
        let events = Events::new(Clock::new(1.0));
        for n in 0..300 {
            let queued = events.push(Event::new("e", vec![Value::Number(f64::from(n))]));
            assert_eq!(queued, n < 256);
        }
        assert_eq!(events.dropped(), 44);
        for n in 0..256 {
            assert_eq!(number(&events.next().expect("an event")), f64::from(n));
        }
    }

    /// README.md, "Events and time": timers are whole ticks.
    #[test]
    fn a_timer_fires_at_a_whole_tick() {
        let events = Events::new(Clock::new(100.0));
        let before = events.clock(Clock::tick);
        let id = events.start_timer(0.12);
        let fired = events.next().expect("the timer");
        assert_eq!(fired.name, b"timer");
        assert_eq!(number(&fired), id as f64);
        assert!(events.clock(Clock::tick) >= before + 2);
    }

    /// README.md, "Events and time": `sleep(0)` takes a tick.
    #[test]
    fn a_timer_of_no_time_fires_at_the_next_tick_and_not_at_once() {
        let events = Events::new(Clock::new(1.0));
        let before = events.clock(Clock::tick);
        events.start_timer(0.0);
        events.next().expect("the timer");
        assert!(events.clock(Clock::tick) > before);
    }

    #[test]
    fn a_timer_that_came_due_stands_before_an_event_that_came_later() {
        let events = Events::new(Clock::new(1000.0));
        events.start_timer(0.05);
        let due = events.clock(Clock::tick) + 2;
        while events.clock(Clock::tick) < due {
            std::thread::yield_now();
        }
        events.push(Event::new("later", vec![]));
        assert_eq!(events.next().expect("the timer").name, b"timer");
        assert_eq!(events.next().expect("the event").name, b"later");
    }

    /// README.md, "Events and time": a dropped `timer` is removed anyway, so that `sleep` hangs.
    #[test]
    fn a_full_queue_loses_a_timer_for_good() {
        let events = Events::new(Clock::new(1000.0));
        for _ in 0..QUEUE_LIMIT {
            events.push(Event::new("e", vec![]));
        }
        events.start_timer(0.05);
        let due = events.clock(Clock::tick) + 2;
        while events.clock(Clock::tick) < due {
            std::thread::yield_now();
        }
        for _ in 0..QUEUE_LIMIT {
            events.next().expect("an event");
            assert_eq!(events.dropped(), 1);
        }
        events.push(Event::new("last", vec![]));
        assert_eq!(events.next().expect("an event").name, b"last");
    }

    /// README.md, "Events and time": `sleep` halts while the world is paused, though websocket events still run.
    #[test]
    fn a_paused_world_fires_no_timer_and_still_delivers_events() {
        let events = Events::new(Clock::new(1000.0));
        events.set_paused(true);
        events.start_timer(0.05);
        events.push(Event::new("message", vec![]));
        assert_eq!(events.next().expect("the event").name, b"message");
        events.set_paused(false);
        assert_eq!(events.next().expect("the timer").name, b"timer");
    }

    #[test]
    fn a_cancelled_timer_does_not_fire() {
        let events = Events::new(Clock::new(1000.0));
        let id = events.start_timer(100.0);
        let second = events.start_timer(200.0);
        events.cancel(id);
        assert_eq!(number(&events.next().expect("a timer")), second as f64);
    }

    #[test]
    fn an_interrupted_queue_gives_nothing_more() {
        let events = Events::new(Clock::new(1.0));
        events.push(Event::new("e", vec![]));
        events.interrupt();
        assert!(events.next().is_none());
    }
}
