//! The loop of a session: what comes, what is to be said, and what is due.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

use axum::extract::ws::Utf8Bytes;
use tokio::{
    task::yield_now,
    time::{Sleep, sleep_until},
};

use super::{
    super::outlet::{Frames, InParts, Outgoing},
    socket::{next_text, say},
    state::Session,
};
use crate::wire::{ending::Ending, outgoing, parts};

/// What a session goes on with.
enum Next {
    /// What came; none for a control frame.
    Message(Result<Option<Utf8Bytes>, Ending>),
    /// Somebody in this process has called it.
    Call,
    /// Something may be due.
    Due,
}

impl Session {
    /// Serves the computer until the link is to end.
    pub(super) async fn serve(&mut self, frames: &Frames) -> Ending {
        // Most frames put off what is due next. So the timer is left as it is until that is sooner, or it has run out:
        // to set it costs more than to look at a frame.
        let mut timer = pin!(sleep_until(self.due()));
        let mut socket_first = false;
        let mut has_heard = false;
        loop {
            if has_heard && !self.to_say.is_empty() {
                // Who waited for what has come gets it before the computer is told that it has come.
                yield_now().await;
            }
            if let Err(ending) = self.say_all().await {
                return ending;
            }
            if self.intake.is_in_the_way() && !self.computer.is_asked() {
                return Ending::InTheWay;
            }
            let due = self.due();
            if due < timer.deadline() {
                timer.as_mut().reset(due);
            }
            // In turn, so that neither those who send much nor those who are sent much keep the other waiting.
            socket_first = !socket_first;
            let next = self.next(frames, timer.as_mut(), socket_first).await;
            has_heard = matches!(next, Next::Message(_));
            let step = match next {
                Next::Message(Err(ending)) => return ending,
                next => self.act_on(next, frames, timer.as_mut()),
            };
            let step = match (step, self.whole.take()) {
                // It is rare, and takes room that no other session is to have.
                (Ok(()), Some(whole)) => Box::pin(self.take_whole(whole)).await,
                (step, _) => step,
            };
            if let Err(ending) = step {
                // What was to be said before that is said, as far as it can be.
                let said = self.say_all().await;
                return match (ending, said) {
                    (Ending::Leaving, Err(failed)) => failed,
                    (ending, _) => ending,
                };
            }
        }
    }

    fn act_on(
        &mut self,
        next: Next,
        frames: &Frames,
        timer: Pin<&mut Sleep>,
    ) -> Result<(), Ending> {
        match next {
            Next::Message(Ok(Some(text))) => self.receive(&text),
            Next::Message(Ok(None)) => self.unasked.take(),
            Next::Message(Err(ending)) => Err(ending),
            Next::Call if self.shared.registry.departure.has_begun() => {
                self.prepare_farewell(frames);
                Err(Ending::Leaving)
            }
            Next::Call => self.answer_call(frames),
            Next::Due => {
                let step = self.tick_if_due();
                timer.reset(self.due());
                step
            }
        }
    }

    /// Waits for what comes next.
    async fn next(
        &mut self,
        frames: &Frames,
        mut timer: Pin<&mut Sleep>,
        socket_first: bool,
    ) -> Next {
        let mut message = pin!(next_text(&mut self.socket, &self.intake));
        poll_fn(|context| {
            if socket_first && let Poll::Ready(message) = message.as_mut().poll(context) {
                return Poll::Ready(Next::Message(message));
            }
            if frames.poll_called(context).is_ready() {
                return Poll::Ready(Next::Call);
            }
            if !socket_first && let Poll::Ready(message) = message.as_mut().poll(context) {
                return Poll::Ready(Next::Message(message));
            }
            timer.as_mut().poll(context).map(|()| Next::Due)
        })
        .await
    }

    /// Does what somebody in this process has called it for.
    fn answer_call(&mut self, frames: &Frames) -> Result<(), Ending> {
        if let Some(ending) = self.link.told_to_end() {
            return Err(ending.clone());
        }
        if self.link.doubt.is_raised() {
            self.ask_for_a_sign();
        }
        match frames.take() {
            Some(Outgoing::Message(message)) => self.to_say.push_back(message),
            Some(Outgoing::Parts(parts)) => {
                let InParts { of, frame, arrived } = *parts;
                let frame = parts::Outgoing::new(of, frame);
                self.parts_out.push_back((frame, arrived));
            }
            None => {}
        }
        Ok(())
    }

    /// Tells the agent what to stop, now that nobody will wait for it any more.
    fn prepare_farewell(&mut self, frames: &Frames) {
        // What would be asked from now on is not.
        frames.close();
        self.parts_out.clear();
        if !self.link.dialect().is_v2() {
            return;
        }
        // Before the requests that wait here: those then don't even begin.
        for job in self.computer.attached_jobs() {
            self.to_say.push_back(outgoing::cancel(&job.id));
        }
        while let Some(frame) = frames.take() {
            if let Outgoing::Message(message) = frame {
                self.to_say.push_back(message);
            }
        }
    }

    /// Sends what is to be said, and the parts that may be sent now.
    async fn say_all(&mut self) -> Result<(), Ending> {
        while let Some(message) = self.to_say.pop_front().or_else(|| self.next_part()) {
            say(&mut self.socket, message).await?;
        }
        Ok(())
    }
}
