//! What a frame of the agent does.

use tokio::time::Instant;

use super::state::Session;
use crate::{
    computers::agent_clock::Reading,
    wire::{
        ending::Ending,
        frame::{self, AgentFrame, Response},
        names::RequestId,
        outgoing,
    },
};

impl Session {
    /// Acts on what came.
    pub(super) fn receive(&mut self, text: &str) -> Result<(), Ending> {
        self.heard = Instant::now();
        self.facts.seen_now();
        self.gave_a_sign();
        match frame::read(text, self.link.dialect().text_mode()) {
            Ok(AgentFrame::Part(part)) if self.link.dialect().is_v2() => self.receive_part(&part),
            Ok(frame) => self.take(frame, text),
            Err(error) => {
                tracing::warn!(computer = %self.computer.key, %error, "passed over a frame");
                self.unasked.take()
            }
        }
    }

    /// Acts on a whole frame; `text` is what it was read from.
    pub(super) fn take(&mut self, frame: AgentFrame, text: &str) -> Result<(), Ending> {
        let new_protocol = self.link.dialect().is_v2();
        match frame {
            AgentFrame::Response(response) => return self.take_response(response, text),
            AgentFrame::Accepted {
                id,
                detached,
                asking,
            } if new_protocol => {
                let guest = self.pass_on(&id, text);
                if !self.computer.accepted(&id, detached, asking) && !guest {
                    self.unasked.take()?;
                }
            }
            AgentFrame::Output(piece) if new_protocol => {
                self.release_unclaimed();
                let (id, seq) = (piece.id.clone(), piece.seq);
                let held = self.unclaimed.holds(&id);
                let guest = !held && self.pass_on(&id, text);
                let job = self.computer.printed(piece);
                if job.is_none() && !guest {
                    self.unasked.take()?;
                }
                let others = job.is_some_and(|job| job.adopted);
                let now = Instant::now();
                // A guest says itself what has arrived, so that nothing is lost on the way to it.
                let waits = held || !guest && others && self.unclaimed.waits(now);
                let holds = waits && self.unclaimed.hold(&id, seq, text, now);
                if !holds && !guest {
                    self.to_say.push_back(outgoing::output_ack(&id, seq));
                }
            }
            AgentFrame::Job(report) if new_protocol => {
                self.unasked.take()?;
                self.computer.reported(&report);
            }
            AgentFrame::Label(label) if new_protocol => {
                self.unasked.take()?;
                let registry = &self.shared.registry;
                if let Some(facts) = registry.relabel(&self.computer, &self.link, label) {
                    tracing::info!(computer = %self.computer.key, label = ?facts.label, "has another label");
                    self.facts = facts;
                }
            }
            AgentFrame::Paused(paused) if new_protocol => {
                self.unasked.take()?;
                let registry = &self.shared.registry;
                if let Some(facts) = registry.pause(&self.computer, &self.link, paused) {
                    tracing::info!(computer = %self.computer.key, paused, "is paused by its player, or no more");
                    self.facts = facts;
                }
            }
            AgentFrame::PartAck { of, n, error } if new_protocol => {
                self.take_part_ack(&of, n, error)?;
            }
            AgentFrame::Ping(n) => {
                self.unasked.take()?;
                if new_protocol {
                    self.to_say.push_back(outgoing::pong(n));
                }
            }
            AgentFrame::Pong { at } => {
                self.unasked.take()?;
                if let (Some(at), Some(clock)) = (at, &self.link.terms.clock) {
                    clock.read(Reading {
                        at,
                        came: self.heard,
                    });
                }
            }
            AgentFrame::Unknown(kind) => {
                tracing::debug!(computer = %self.computer.key, kind, "passed over a frame of unknown type");
                self.unasked.take()?;
            }
            // A hello is only said once, and version 1 has none of the others.
            _ => self.unasked.take()?,
        }
        Ok(())
    }

    fn take_response(&mut self, response: Response, text: &str) -> Result<(), Ending> {
        let (id, halts) = (response.id.clone(), response.halts);
        let guest = self.pass_on(&id, text);
        if halts {
            // Before its caller learns of it, and asks on: nothing more is to go to this start of the computer.
            let registry = &self.shared.registry;
            registry.end(&self.computer, &self.link, Ending::Halted);
        }
        if !self.computer.answered(response) && !guest {
            tracing::debug!(computer = %self.computer.key, request = %id, "nobody waits for this answer");
            self.unasked.take()?;
        }
        if halts {
            return Err(Ending::Halted);
        }
        // Only the bridge that asked may say that the answer is no longer needed.
        if self.shared.registry.ids.made(&id) && self.link.dialect().is_v2() {
            self.to_say.push_back(outgoing::ack(&id));
        }
        Ok(())
    }

    /// Passes output on to guests that have come meanwhile, and acknowledges what no guest came for.
    pub(super) fn release_unclaimed(&mut self) {
        let registry = &self.shared.registry;
        let released = self
            .unclaimed
            .release(Instant::now(), |job| registry.has_asker(job));
        for piece in released {
            if !self.pass_on(&piece.job, &piece.text) {
                self.to_say
                    .push_back(outgoing::output_ack(&piece.job, piece.seq));
            }
        }
    }

    /// Passes a frame on to the bridge that made the request, if another one did.
    pub(super) fn pass_on(&self, request: &RequestId, text: &str) -> bool {
        let registry = &self.shared.registry;
        registry.hand_on(self.computer.key, &self.link, request, text)
    }
}
