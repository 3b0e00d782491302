//! One request to a computer: from when it is made until nobody can want its answer any more.

use std::{sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};
use tokio::{sync::watch, time::Instant};

use super::{
    ends::{End, Loss},
    output::{Bound, Output, Page},
    untold::Untold,
};
use crate::{
    base::{byte_text, excerpt::Line},
    wire::{
        frame::{Answer, JobReport, OutputPiece},
        names::{Boot, RequestId},
        told::Told,
    },
};

/// How much of a job's code is shown in lists, in characters.
const SHOWN_CODE: usize = 120;

/// A request and what has come of it so far. Many tasks may watch it.
#[derive(Debug)]
pub struct Job {
    /// The request's id, unique across bridges and their restarts.
    pub id: RequestId,
    /// The beginning of its code, for lists.
    pub code: String,
    /// Whether it holds the turtle while it runs.
    pub exclusive: bool,
    /// Whether it is worth a place in lists: it runs code.
    pub listed: bool,
    /// Whether Lua beside the computers asked for it, not a client itself.
    pub of_script: bool,
    /// When it was asked for.
    pub started: SystemTime,
    /// Whether another bridge, or an earlier run of this one, asked for it. Its answer is not ours to acknowledge.
    pub adopted: bool,
    progress: watch::Sender<Progress>,
}

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// Its code, or the beginning of that.
    pub code: &'a str,
    /// Whether it holds the turtle while it runs.
    pub exclusive: bool,
    /// Whether it is worth a place in lists.
    pub listed: bool,
    /// Whether Lua beside the computers asks for it.
    pub of_script: bool,
}

impl<'a> About<'a> {
    /// A request that runs code; `exclusive` if it holds the turtle.
    pub fn listed(code: &'a str, exclusive: bool) -> Self {
        Self {
            code,
            exclusive,
            listed: true,
            of_script: false,
        }
    }

    /// The same, if Lua beside the computers asks for it.
    pub fn of_script(self, of_script: bool) -> Self {
        Self { of_script, ..self }
    }

    /// A request that is over in a moment, such as a ping.
    pub const fn unlisted() -> Self {
        Self {
            code: "",
            exclusive: false,
            listed: false,
            of_script: false,
        }
    }
}

/// How far a job has come.
#[derive(Debug)]
pub struct Progress {
    /// Where it stands.
    pub stage: Stage,
    /// Whether its computer's player is asked yet whether it may run. That counts as running.
    pub asking: bool,
    /// The start of the agent program that it was sent to. It runs on no other.
    pub boot: Option<Boot>,
    /// What of it may have reached the computer.
    pub sent: Sent,
    /// Nobody sends it any more, or waits for its end.
    pub given_up: bool,
    /// What it printed.
    output: Output,
    /// The number of the next piece of output.
    next_seq: u64,
    /// What its handler told beside that, until it is handed on.
    untold: Untold,
    /// What came of it, once it has ended.
    pub end: Option<Arc<End>>,
    /// When it ended.
    pub ended: Option<SystemTime>,
    /// Whether a call waits for it.
    attachment: Attachment,
    /// Until when that waits at most, if it is another bridge's.
    waited_for_until: Option<Instant>,
}

/// Whether a call waits for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// It is another bridge's, which did not say.
    Unknown,
    /// One does: the job stops when the call is given up.
    Attached,
    /// The call was answered, and the job goes on by itself. Its agent has not said yet that it knows.
    Detaching,
    /// So it is, and its agent knows, or has never stopped such a job.
    Detached,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// No word from the computer yet.
    Asked,
    /// The computer has it.
    Running,
    /// It has ended.
    Ended,
}

/// What of a request may have reached its computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Nothing: it has not been run.
    Nothing,
    /// All that was sent names the moment after which it does not begin, to an agent that keeps to that.
    Timed,
    /// It may begin at any time, as far as is known.
    Untimed,
}

impl Job {
    /// A request that is about to be sent.
    pub fn new(id: RequestId, about: About<'_>) -> Arc<Self> {
        let job = Self::at(id, about, None, SystemTime::now(), false);
        job.attach(None);
        Arc::new(job)
    }

    /// A job that an agent still knows from another bridge.
    pub fn adopt(report: &JobReport, boot: Option<Boot>) -> Arc<Self> {
        let age = std::time::Duration::from_millis(report.age_ms);
        let started = SystemTime::now()
            .checked_sub(age)
            .unwrap_or(SystemTime::UNIX_EPOCH);
        let job = Self::at(
            report.id.clone(),
            About::listed(&report.code, report.exclusive),
            boot,
            started,
            true,
        );
        job.progress.send_modify(|progress| {
            if !report.not_begun {
                progress.stage = Stage::Running;
                progress.asking = report.asking;
            }
            progress.output.lose(report.output_arrived);
        });
        Arc::new(job)
    }

    fn at(
        id: RequestId,
        about: About<'_>,
        boot: Option<Boot>,
        started: SystemTime,
        adopted: bool,
    ) -> Self {
        let About {
            code,
            exclusive,
            listed,
            of_script,
        } = about;
        let progress = Progress {
            boot,
            ..Progress::new()
        };
        let code = code.chars().take(SHOWN_CODE).collect();
        Self {
            id,
            code,
            exclusive,
            listed,
            of_script,
            started,
            adopted,
            progress: watch::Sender::new(progress),
        }
    }

    /// A request that another bridge makes through this one.
    pub fn relayed(id: RequestId, about: About<'_>, boot: Option<Boot>) -> Arc<Self> {
        Arc::new(Self::at(id, about, boot, SystemTime::now(), true))
    }

    /// A job of another bridge, as that bridge told of it.
    pub fn restore(
        id: RequestId,
        about: About<'_>,
        started: SystemTime,
        progress: Progress,
    ) -> Arc<Self> {
        let mut job = Self::at(id, about, None, started, true);
        job.progress = watch::Sender::new(progress);
        Arc::new(job)
    }

    /// What it is about, with the beginning of its code.
    pub fn about(&self) -> About<'_> {
        About {
            code: &self.code,
            exclusive: self.exclusive,
            listed: self.listed,
            of_script: self.of_script,
        }
    }

    /// Looks at the job now.
    pub fn look<T>(&self, look: impl FnOnce(&Progress) -> T) -> T {
        look(&self.progress.borrow())
    }

    /// Follows the job: the receiver is told of every change.
    pub fn follow(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Where it stands.
    pub fn stage(&self) -> Stage {
        self.look(|progress| progress.stage)
    }

    /// Whether the computer has it, and it has not ended.
    pub fn is_running(&self) -> bool {
        self.stage() == Stage::Running
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.look(Progress::has_ended)
    }

    /// Whether it may run on this start of the agent program: it was sent to no other.
    pub fn fits(&self, boot: Option<&Boot>) -> bool {
        self.look(|progress| progress.boot.is_none() || progress.boot.as_ref() == boot)
    }

    /// Notes that it was sent to this start of the agent program; `timed` if it does not begin after its deadline.
    pub fn note_sent(&self, boot: Option<&Boot>, timed: bool) {
        self.progress.send_if_modified(|progress| {
            if progress.boot.is_none() {
                progress.boot = boot.cloned();
            }
            progress.sent = match progress.sent {
                Sent::Nothing | Sent::Timed if timed => Sent::Timed,
                _ => Sent::Untimed,
            };
            false
        });
    }

    /// Notes that nobody sends it any more, or waits for its end.
    pub fn give_up(&self) {
        self.progress.send_if_modified(|progress| {
            progress.given_up = true;
            false
        });
    }

    /// Notes that a call waits for it, `until` then at most if that is known, unless it was answered before.
    pub fn attach(&self, until: Option<Instant>) {
        self.progress.send_if_modified(|progress| {
            if progress.attachment == Attachment::Unknown {
                progress.attachment = Attachment::Attached;
                progress.waited_for_until = until;
            }
            false
        });
    }

    /// Notes that the call that waited for it was answered, though it goes on.
    pub fn detach(&self) {
        self.progress.send_if_modified(|progress| {
            let first = matches!(
                progress.attachment,
                Attachment::Unknown | Attachment::Attached
            );
            if first {
                progress.attachment = Attachment::Detaching;
            }
            first
        });
    }

    /// Notes that its agent knows that it goes on by itself.
    pub fn note_detached(&self) {
        self.progress.send_if_modified(|progress| {
            let first = progress.attachment == Attachment::Detaching;
            if first {
                progress.attachment = Attachment::Detached;
            }
            first
        });
    }

    /// Whether a call waits for it.
    pub fn is_attached(&self) -> bool {
        self.look(|progress| progress.attachment == Attachment::Attached)
    }

    /// Until when the call waits for it, if another bridge told so.
    pub fn waited_for_until(&self) -> Option<Instant> {
        self.look(|progress| progress.waited_for_until)
    }

    /// Notes that the computer has it, or asks its player yet whether it may run.
    pub fn accept(&self, asking: bool) {
        self.progress.send_if_modified(|progress| {
            let is_news = progress.is_asked() || progress.asking != asking;
            if progress.has_ended() || !is_news {
                return false;
            }
            progress.stage = Stage::Running;
            progress.asking = asking;
            true
        });
    }

    /// Whether its computer's player is asked yet whether it may run.
    pub fn is_asking(&self) -> bool {
        self.look(|progress| progress.asking)
    }

    /// Takes a piece of output; one that came before changes nothing.
    pub fn print(&self, piece: OutputPiece) {
        self.progress.send_if_modified(|progress| {
            // Pieces come in order. Those that arrived at another bridge, which is gone, are missing here.
            let fresh = piece.seq >= progress.next_seq;
            if fresh {
                progress.next_seq = piece.seq.saturating_add(1);
                let missing = |at: u64| at.saturating_sub(progress.output.end());
                progress
                    .output
                    .lose(piece.at.map_or(piece.dropped, missing));
                progress.output.push(piece.bytes);
                // What another bridge's job tells is for that bridge.
                if !self.adopted {
                    piece
                        .told
                        .into_iter()
                        .for_each(|told| progress.untold.note(told));
                }
            }
            fresh
        });
    }

    /// Takes what its handler told since this was last asked: it is to be handed on.
    pub fn take_told(&self) -> Vec<Told> {
        let mut told = Vec::new();
        self.progress.send_if_modified(|progress| {
            told = progress.untold.take();
            false
        });
        told
    }

    /// Binds what it holds to what all jobs may hold together.
    pub fn bind(&self, bound: Bound) {
        self.progress.send_if_modified(|progress| {
            progress.output.bind(bound);
            false
        });
    }

    /// Ends the job with the computer's answer; the first end counts, and tells so. `printed` is how many bytes it printed in all.
    pub fn answer(&self, mut answer: Answer, printed: Option<u64>) -> bool {
        self.end(|output| {
            // Version 1 sends the output with the answer.
            if let Some(result) = answer
                .result
                .as_mut()
                .and_then(|result| result.as_object_mut())
                && let Some(printed) = result.shift_remove("output")
            {
                let printed = byte_text::to_bytes(printed.as_str().unwrap_or_default());
                output.push(printed.into_owned());
            }
            // What another bridge took in, and what was acknowledged but is not here.
            output.lose(printed.unwrap_or(0).saturating_sub(output.end()));
            End::Answered(answer)
        })
    }

    /// Ends the job without an answer; the first end counts, and tells so.
    pub fn lose(&self, why: Loss) -> bool {
        self.end(|_| End::Lost(why))
    }

    fn end(&self, how: impl FnOnce(&mut Output) -> End) -> bool {
        self.progress.send_if_modified(|progress| {
            if progress.has_ended() {
                return false;
            }
            let end = how(&mut progress.output);
            let is_room = progress.output.settle(end.size());
            let end = if is_room { end } else { end.not_kept() };
            progress.end = Some(Arc::new(end));
            progress.stage = Stage::Ended;
            progress.asking = false;
            progress.ended = Some(SystemTime::now());
            true
        })
    }
}

impl Progress {
    /// The progress of a request that the computer has not taken yet.
    pub(crate) fn new() -> Self {
        Self {
            stage: Stage::Asked,
            asking: false,
            boot: None,
            sent: Sent::Nothing,
            given_up: false,
            output: Output::default(),
            next_seq: 1,
            untold: Untold::default(),
            end: None,
            ended: None,
            attachment: Attachment::Unknown,
            waited_for_until: None,
        }
    }

    /// The bytes that were printed from `cursor` on and are still kept, and where they begin.
    pub fn bytes_from(&self, cursor: u64) -> (u64, Vec<u8>) {
        self.output.bytes_from(cursor)
    }

    /// Takes over output that another bridge kept: the bytes that begin at `from`, of `printed` in all.
    pub fn restore_output(&mut self, from: u64, bytes: Vec<u8>, printed: u64) {
        self.output = Output::restore(from, bytes, printed);
    }

    /// Whether there is no word from the computer yet.
    pub fn is_asked(&self) -> bool {
        self.stage == Stage::Asked
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// Whether it was not run since its agent lacks the handler's source.
    pub fn wants_source(&self) -> bool {
        self.end.as_deref().is_some_and(End::wants_source)
    }

    /// Whether its agent has to be told that it goes on by itself.
    pub fn is_detaching(&self) -> bool {
        self.attachment == Attachment::Detaching && !self.has_ended()
    }

    /// Whether there is something to tell one who knows what was printed up to `cursor`.
    pub fn has_news(&self, cursor: u64) -> bool {
        self.has_ended() || self.printed() > cursor
    }

    /// The number of the last piece of output that came.
    pub fn last_seq(&self) -> u64 {
        self.next_seq - 1
    }

    /// What was printed from `cursor` on, at most `most` bytes of it.
    pub fn read(&self, cursor: u64, most: usize) -> Page {
        self.output.read(cursor, most)
    }

    /// The lines of what was printed from `cursor` on.
    pub fn lines(&self, cursor: u64) -> Vec<Line<'static>> {
        self.output.lines(cursor, self.has_ended())
    }

    /// What was printed and is still kept, each byte as it was printed (see [`crate::base::byte_text`]).
    pub fn exact_output(&self) -> String {
        self.output.exact()
    }

    /// How many bytes were printed so far.
    pub fn printed(&self) -> u64 {
        self.output.end()
    }

    /// About how many bytes this job takes in memory.
    pub fn size(&self) -> usize {
        self.output.size() + self.end.as_deref().map_or(0, End::size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(seq: u64, text: &str, dropped: u64) -> OutputPiece {
        OutputPiece {
            id: "j".into(),
            seq,
            at: None,
            bytes: text.as_bytes().to_vec(),
            dropped,
            told: Vec::new(),
        }
    }

    fn printed(job: &Job) -> String {
        job.look(|progress| progress.read(0, usize::MAX).text)
    }

    #[test]
    fn a_piece_that_comes_twice_is_taken_once() {
        let job = Job::new("j".into(), About::unlisted());
        for piece in [
            piece(1, "a", 0),
            piece(2, "b", 0),
            piece(1, "a", 0),
            piece(2, "b", 0),
            piece(3, "c", 5),
        ] {
            job.print(piece);
        }
        assert_eq!(printed(&job), "ab\n[5 bytes of output were lost here]\nc");
    }

    #[test]
    fn what_is_missing_is_told_where_it_was_printed() {
        let report = serde_json::from_str(r#"{"id":"j","outputBytes":12,"outputArrived":4}"#);
        let job = Job::adopt(&report.unwrap(), None);
        assert_eq!(printed(&job), "[4 bytes of output were lost here]\n");
        for (seq, at, text) in [(3, 4, "a\n"), (7, 10, "b\n")] {
            job.print(OutputPiece {
                at: Some(at),
                ..piece(seq, text, 1)
            });
        }
        job.answer(
            Answer {
                result: None,
                error: None,
            },
            Some(12),
        );
        assert_eq!(
            printed(&job),
            "[4 bytes of output were lost here]\na\n[4 bytes of output were lost here]\nb\n"
        );
    }

    #[test]
    fn the_first_end_counts() {
        let job = Job::new("j".into(), About::unlisted());
        job.lose(Loss::LinkEnded("first".into()));
        job.lose(Loss::Restarted);
        job.answer(
            Answer {
                result: None,
                error: None,
            },
            None,
        );
        assert!(
            matches!(job.look(|p| p.end.clone()).as_deref(), Some(End::Lost(Loss::LinkEnded(why))) if why == "first")
        );
    }

    #[test]
    fn output_that_never_came_is_counted_at_the_end() {
        let job = Job::new("j".into(), About::unlisted());
        job.print(piece(1, "abc", 0));
        job.answer(
            Answer {
                result: None,
                error: None,
            },
            Some(10),
        );
        assert_eq!(job.look(Progress::printed), 10);
        assert_eq!(printed(&job), "abc\n[7 bytes of output were lost here]\n");
    }

    #[test]
    fn a_job_runs_on_the_boot_it_was_sent_to_and_no_other() {
        let (a, b) = (Boot::from("a"), Boot::from("b"));
        let job = Job::new("j".into(), About::unlisted());
        assert!(job.fits(Some(&a)) && job.fits(Some(&b)) && job.fits(None));
        job.note_sent(Some(&a), true);
        assert!(job.fits(Some(&a)) && !job.fits(Some(&b)) && !job.fits(None));
    }

    #[test]
    fn what_was_sent_once_without_a_time_may_begin_at_any_time() {
        let job = Job::new("j".into(), About::unlisted());
        let sent = |job: &Job| job.look(|progress| progress.sent);
        assert_eq!(sent(&job), Sent::Nothing);
        for (timed, then) in [
            (true, Sent::Timed),
            (false, Sent::Untimed),
            (true, Sent::Untimed),
        ] {
            job.note_sent(None, timed);
            assert_eq!(sent(&job), then);
        }
    }
}
