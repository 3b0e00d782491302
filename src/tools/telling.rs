//! What whoever waits for a job is told until it ends: what it prints, how far its handler has come, and when its computer
//! is away.

use std::{
    pin::pin,
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, sleep_until, timeout};

use super::{
    Context, Level, Listener, Step,
    listener::Belongs,
    printing::Printing,
    teller::{TELL_TIME, Teller},
    wording::{ago, name_of},
};
use crate::{
    base::text::one_line,
    computers::{Computer, Job, Presence, Seen, Stage, Waited, computer::AWAY_TIME},
    wire::told::{LogLevel, Told},
};

/// How often a client is told of something new at most, and how often that the job still runs at least.
const TELL_EVERY: Duration = Duration::from_millis(250);
const TELL_WITHIN: Duration = Duration::from_secs(8);

/// Tells of one job.
pub struct Telling<'a> {
    listener: &'a dyn Listener,
    computer: &'a Computer,
    job: &'a Job,
    /// Hands on what the job's handler tells; none of a job that has no handler.
    teller: Option<Teller<'a>>,
    start: Instant,
    printing: Printing<'a>,
    /// When something was told last.
    last: Instant,
    /// That the computer is away, if that is to be told.
    away: Option<String>,
    /// What the handler does now, if that is to be told.
    doing: Option<String>,
    /// How much the handler said last is done. From then on nothing else counts, so that it goes on from there.
    done: Option<f64>,
    /// How much there is to do.
    total: Option<f64>,
}

impl<'a> Telling<'a> {
    /// Tells whoever waits of a job on a computer. What it prints `belongs` to the answer, if that is the client's;
    /// `handler` is what its handler is called, if it is a handler's.
    pub fn new(
        context: Context<'a>,
        computer: &'a Computer,
        job: &'a Job,
        belongs: Belongs,
        handler: Option<&'a str>,
    ) -> Self {
        let (now, listener) = (Instant::now(), context.listener);
        Self {
            listener,
            computer,
            job,
            teller: handler.map(|name| Teller::new(listener, name, Some(computer.key))),
            start: now,
            printing: Printing::new(context, computer, job, belongs, 0),
            last: now,
            away: None,
            doing: None,
            done: None,
            total: None,
        }
    }

    /// The same, of what was not handed on before: up to `printed` the output was.
    pub fn from(mut self, printed: u64) -> Self {
        self.printing.cursor = printed;
        self
    }

    /// How far, as a position in its output, what the job printed was handed on.
    pub fn printed(&self) -> u64 {
        self.printing.cursor
    }

    /// Waits for the job's end, and tells meanwhile.
    pub async fn during(&mut self, run: impl Future<Output = Waited>) -> Waited {
        let mut run = pin!(run);
        let tells = self.listener.listens() || self.listener.wants_output();
        if !tells && self.teller.is_none() {
            return run.await;
        }
        let mut seen = Seen::default();
        let mut next = self.start + TELL_EVERY;
        let waited = loop {
            tokio::select! {
                waited = &mut run => break waited,
                () = self.computer.comes_or_goes(seen) => {
                    self.away = away(self.computer, &self.computer.see(&mut seen));
                    if self.away.is_none() {
                        continue;
                    }
                }
                () = sleep_until(next) => next += TELL_EVERY,
            }
            let mut tell = pin!(self.tell());
            let ended = tokio::select! {
                waited = &mut run => Some(waited),
                () = &mut tell => None,
            };
            if let Some(waited) = ended {
                // A client that does not read must not hold up its own answer. What there is for the log still goes there.
                let _ = timeout(TELL_TIME * 2, tell).await;
                break waited;
            }
        };
        self.tell_last().await;
        waited
    }

    /// Tells what there is to tell now.
    async fn tell(&mut self) {
        self.take_told().await;
        if self.printing.go_on() {
            self.last = Instant::now();
        }
        // Nothing of the output is to be told in the place of what was printed before it.
        if !self.listener.listens() || self.listener.is_behind() {
            return;
        }
        if let Some(message) = self.news() {
            return self.say(message).await;
        }
        if Instant::now() >= self.last + TELL_WITHIN {
            let state = if self.job.stage() == Stage::Running {
                "still running"
            } else {
                "waiting for the computer"
            };
            let seconds = self.start.elapsed().as_secs();
            self.say(format!("{state} after {seconds} s")).await;
        }
    }

    /// Tells what a handler told and printed last, and hands on the rest of the output where that is wanted; else what
    /// other code printed is in the answer.
    pub async fn tell_last(&mut self) {
        self.printing.go_on();
        if self.teller.is_none() {
            return;
        }
        self.take_told().await;
        self.away = None;
        if !self.listener.listens() || self.listener.is_behind() && self.doing.is_none() {
            return;
        }
        if let Some(message) = self.news() {
            self.say(message).await;
        }
    }

    /// Takes what the handler told, and hands its log on.
    async fn take_told(&mut self) {
        let Some(teller) = &mut self.teller else {
            return;
        };
        for told in self.job.take_told() {
            match told {
                Told::Progress { text, done, total } => {
                    self.doing = Some(text);
                    self.done = done.or(self.done);
                    self.total = total.or(self.total);
                }
                Told::Log { level, text } => teller.log(level.into(), &text).await,
            }
        }
    }

    /// What was printed, and what the handler does now; none if there is nothing new.
    fn news(&mut self) -> Option<String> {
        let mut message = if self.listener.wants_output() {
            String::new()
        } else {
            self.printing.next().text
        };
        let away = self.away.take();
        let doing = self.doing.take();
        if message.is_empty() && away.is_none() && doing.is_none() {
            return None;
        }
        message.push_str(&away.unwrap_or_default());
        if let Some(doing) = doing {
            if !message.is_empty() && !message.ends_with('\n') {
                message.push('\n');
            }
            message.push_str(&doing);
        }
        Some(message)
    }

    async fn say(&mut self, message: String) {
        self.last = Instant::now();
        let step = Step {
            message,
            done: self.done,
            total: self.total,
        };
        match &mut self.teller {
            Some(teller) => teller.tell(step).await,
            None => self.listener.tell(step).await,
        }
    }
}

impl From<LogLevel> for Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Debug => Self::Debug,
            LogLevel::Info => Self::Info,
            LogLevel::Warning => Self::Warning,
            LogLevel::Error => Self::Error,
        }
    }
}

/// What there is to say while a computer is away that is waited for.
fn away(computer: &Computer, presence: &Presence) -> Option<String> {
    let Presence::Left { since, why } = presence else {
        return None;
    };
    Some(format!(
        "computer {} left {}: {}. Waiting for it to come back, for {} s at most",
        name_of(&computer.facts()),
        ago(*since, SystemTime::now()),
        one_line(why),
        AWAY_TIME.as_secs()
    ))
}
