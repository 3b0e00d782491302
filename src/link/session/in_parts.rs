//! Frames that are too long for one message, in parts both ways.

use tokio::{task::spawn_blocking, time::Instant};

use super::state::Session;
use crate::wire::{
    ending::Ending,
    error::{AgentError, ErrorKind},
    frame::{self, AgentFrame, Answer, Response},
    names::RequestId,
    outgoing, parts,
};

/// The largest frame in parts of a computer of which nobody waits for anything, in bytes.
const LARGEST_UNASKED: usize = 512 * 1024;

/// From how many bytes on a frame is long.
const LONG: usize = 256 * 1024;

impl Session {
    /// Takes a part that came. If it was the last one, the frame is [whole](Session::whole).
    pub(super) fn receive_part(&mut self, part: &parts::Part) -> Result<(), Ending> {
        let (of, n, now) = (&*part.of, part.n, Instant::now());
        let parts = &self.shared.parts;
        let room = if self.computer.is_asked() {
            parts::Room {
                budget: &parts.asked,
                largest: parts::MAX_FRAME,
            }
        } else {
            let may_be_asked = self.unclaimed.waits(now);
            parts::Room {
                budget: &parts.unasked,
                largest: if may_be_asked {
                    parts::MAX_FRAME
                } else {
                    LARGEST_UNASKED
                },
            }
        };
        match self.parts_in.take(part, room, now) {
            // It comes again.
            parts::Taken::NoRoom => self.unasked.take(),
            parts::Taken::Kept => {
                self.to_say.push_back(outgoing::part_ack(of, n, None));
                Ok(())
            }
            parts::Taken::Whole(frame) => {
                self.to_say.push_back(outgoing::part_ack(of, n, None));
                self.whole = Some(frame);
                Ok(())
            }
            parts::Taken::Refused(why) => {
                self.unasked.take()?;
                self.to_say.push_back(outgoing::part_ack(of, n, Some(why)));
                Ok(())
            }
        }
    }

    /// Acts on a frame that came in parts. A long one is read beside: it takes up to a tenth of a second.
    pub(super) async fn take_whole(&mut self, whole: Vec<u8>) -> Result<(), Ending> {
        let mode = self.link.dialect().text_mode();
        let is_long = whole.len() > LONG;
        let read = move || {
            let text = parts::text_of(whole);
            (frame::read(&text, mode), text)
        };
        let (frame, text) = if is_long {
            // Nothing of it is known where all ends.
            match spawn_blocking(read).await {
                Ok(read) => read,
                Err(_) => return Ok(()),
            }
        } else {
            read()
        };
        match frame {
            Ok(AgentFrame::Part(_)) => self.unasked.take(),
            Ok(frame) => self.take(frame, &text),
            Err(error) => {
                tracing::warn!(computer = %self.computer.key, %error, "passed over a frame that came in parts");
                self.unasked.take()
            }
        }
    }

    /// Goes on with a frame of which a part arrived, or was refused.
    pub(super) fn take_part_ack(
        &mut self,
        of: &str,
        n: usize,
        error: Option<String>,
    ) -> Result<(), Ending> {
        let Some((frame, _)) = self
            .parts_out
            .front_mut()
            .filter(|(frame, _)| frame.name() == of)
        else {
            return self.unasked.take();
        };
        if let Some(error) = error {
            self.parts_out.pop_front();
            let refused = refused_in_parts(RequestId::from(of), error);
            self.pass_on(&refused.id, &outgoing::response(&refused));
            self.computer.answered(refused);
        } else if frame.acknowledge(n)
            && let Some((_, arrived)) = self.parts_out.pop_front()
        {
            // Whoever sent it may have given up.
            let _ = arrived.send(());
        }
        Ok(())
    }

    /// The part that may be sent now.
    pub(super) fn next_part(&mut self) -> Option<String> {
        // Once its sender gave up, at its deadline, a request must not arrive any more.
        while self.parts_out.front()?.1.is_closed() {
            self.parts_out.pop_front();
        }
        let (frame, _) = self.parts_out.front_mut()?;
        Some(outgoing::part(&frame.take(Instant::now())?))
    }
}

/// The answer to a request whose frame the agent refused to take.
fn refused_in_parts(id: RequestId, error: String) -> Response {
    let error = AgentError::new(
        ErrorKind::from(error),
        "the computer refused to take a request of this size",
    );
    Response {
        id,
        answer: Answer {
            result: None,
            error: Some(error),
        },
        output_bytes: None,
        halts: false,
    }
}
