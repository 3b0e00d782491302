//! What asks an agent for signs of life, and ends the link of one that gives none.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    patience::{PING_SECONDS, Patience},
    state::Session,
};
use crate::wire::{ending::Ending, outgoing};

/// How often a link in doubt is asked for a sign of life at most, however many doubt it.
const ASK_EVERY: Duration = Duration::from_secs(1);

impl Session {
    /// Does what is due.
    pub(super) fn tick_if_due(&mut self) -> Result<(), Ending> {
        if Instant::now() < self.due() {
            return Ok(());
        }
        // WebSocket pings prove nothing, since the game's Java answers them, and version 1 has no others.
        match self.link.dialect().is_v2() {
            true => self.tick(),
            false => self.look_at_unfinished(),
        }
    }

    /// Ends the link if a message began so long ago that it never gets whole.
    fn look_at_unfinished(&mut self) -> Result<(), Ending> {
        let now = Instant::now();
        self.ping_at = now + Duration::from_secs(self.patience.dead);
        match self.intake.is_unfinished()
            && now >= self.heard + Duration::from_secs(self.patience.dead)
        {
            true => Err(Ending::Silent(self.patience.dead)),
            false => Ok(()),
        }
    }

    /// Asks for a sign of life, since another computer of this number has come.
    pub(super) fn ask_for_a_sign(&mut self) {
        // An agent of version 1 has no word for it: it is there while its connection stands.
        if !self.link.dialect().is_v2() {
            return;
        }
        let now = Instant::now();
        if let Some(asked) = self.asked.filter(|asked| now < *asked + ASK_EVERY) {
            if self.heard >= asked {
                self.link.doubt.settle();
            }
            return;
        }
        self.asked = Some(now);
        if self.doubted_until.is_none() {
            let until = now + Duration::from_secs(self.patience.doubted);
            self.doubted_until = Some(until);
            self.link.doubt.lasts_until(until);
        }
        self.ping(now);
    }

    /// Notes that it lives.
    pub(super) fn gave_a_sign(&mut self) {
        if self.doubted_until.take().is_some() {
            self.link.doubt.settle();
        }
    }

    /// When there is something to do though nothing comes.
    pub(super) fn due(&self) -> Instant {
        if !self.link.dialect().is_v2() {
            return self.ping_at;
        }
        let dead = self.heard + Duration::from_secs(self.patience.dead);
        let again = self.parts_out.front().and_then(|(frame, _)| frame.due());
        let unclaimed = self.unclaimed.due();
        let soonest = dead.min(self.ping_at);
        [again, unclaimed, self.doubted_until]
            .into_iter()
            .flatten()
            .fold(soonest, Instant::min)
    }

    fn tick(&mut self) -> Result<(), Ending> {
        let now = Instant::now();
        let Patience { dead, doubted } = self.patience;
        if self.doubted_until.is_some_and(|until| now >= until) {
            return Err(Ending::Silent(doubted));
        }
        if now >= self.heard + Duration::from_secs(dead) {
            return Err(Ending::Silent(dead));
        }
        if now >= self.ping_at {
            self.ping(now);
        }
        if self.unclaimed.due().is_some_and(|due| now >= due) {
            self.release_unclaimed();
        }
        Ok(())
    }

    fn ping(&mut self, now: Instant) {
        self.pings += 1;
        self.ping_at = now + Duration::from_secs(PING_SECONDS);
        self.to_say.push_back(outgoing::ping(self.pings));
    }
}
