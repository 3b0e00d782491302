//! How much one connection may send until a message is whole, and what the messages of all of them may hold together.
//!
//! A WebSocket keeps the room of its longest message, for the next one. So what a message took stays taken as long as the
//! connection stands.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::base::budget::{Budget, Share};

/// How many bytes of a message a connection may hold however much the others do. The usual ones are shorter.
const ALWAYS_HELD: usize = 2 * 1024;

/// What a connection has sent since its last message was whole. Whoever reads the messages says when one was.
#[derive(Debug, Default)]
pub struct Intake(Mutex<Unfinished>);

#[derive(Debug, Default)]
struct Unfinished {
    /// Bytes since the last whole message.
    bytes: usize,
    /// The most of them; without it, any number.
    most: Option<usize>,
    /// What it has of what all may hold, if it is bound to that.
    share: Option<Share>,
}

impl Intake {
    /// Lets only so many bytes come until [`Intake::trust`] or [`Intake::end_limit`], less those of messages that were noted
    /// as whole.
    pub fn limit(&self, most: usize) {
        self.lock().most = Some(most);
    }

    /// Lets any number come that there is room for among those who share a budget.
    pub fn end_limit(&self) {
        self.lock().most = None;
    }

    /// Whether more has come than its limit.
    pub fn is_over_limit(&self) -> bool {
        let unfinished = self.lock();
        unfinished.most.is_some_and(|most| unfinished.bytes > most)
    }

    /// Lets any number come.
    pub fn trust(&self) {
        *self.lock() = Unfinished::default();
    }

    /// Lets no longer message come, beyond a little, than there is room for among all who share `budget`.
    pub fn share(&self, budget: &Arc<Budget>) {
        self.lock().share = Some(budget.share());
    }

    /// Notes that a message is whole.
    pub fn whole(&self) {
        self.lock().bytes = 0;
    }

    /// Notes that a frame of so many bytes was none of a message's.
    pub fn beside(&self, bytes: usize) {
        let mut unfinished = self.lock();
        unfinished.bytes = unfinished.bytes.saturating_sub(bytes);
    }

    /// Whether it holds more of a message that is not whole than it may hold in any case.
    pub fn is_unfinished(&self) -> bool {
        self.lock().bytes > ALWAYS_HELD
    }

    /// Whether it holds some of what all may hold, and little is left of that.
    pub fn is_in_the_way(&self) -> bool {
        let unfinished = self.lock();
        let share = unfinished.share.as_ref();
        share.is_some_and(|share| share.held() > 0 && share.is_tight())
    }

    /// Notes that so many bytes have come; tells whether they may.
    fn note(&self, bytes: usize) -> bool {
        let mut unfinished = self.lock();
        unfinished.bytes += bytes;
        let (bytes, most) = (unfinished.bytes, unfinished.most);
        if most.is_some_and(|most| bytes > most) {
            return false;
        }
        let Some(share) = &mut unfinished.share else {
            return true;
        };
        let needs = bytes.saturating_sub(ALWAYS_HELD);
        needs <= share.held() || share.take(needs - share.held())
    }

    fn lock(&self) -> MutexGuard<'_, Unfinished> {
        // It is never left half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose [`Intake`] is counted.
#[derive(Debug)]
pub struct Counted<S> {
    /// The connection.
    pub stream: S,
    /// What it has sent.
    pub intake: Arc<Intake>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        Poll::Ready(match self.intake.note(read) {
            true => Ok(()),
            false => Err(io::ErrorKind::QuotaExceeded.into()),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_share_a_bound_and_what_they_took_returns_with_the_connection() {
        let budget = Budget::new(1_000);
        let (one, other) = (Intake::default(), Intake::default());
        one.share(&budget);
        other.share(&budget);
        assert!(one.note(ALWAYS_HELD) && !one.is_unfinished());
        assert!(one.note(400) && one.is_unfinished() && !one.is_in_the_way());
        assert!(other.note(ALWAYS_HELD) && other.note(200) && !other.note(401));
        // Others are in the way too, once little is left.
        assert!(one.is_in_the_way() && other.is_in_the_way());
        one.whole();
        assert!(!one.is_unfinished() && one.is_in_the_way());
        // The next message as long needs no more.
        assert!(one.note(ALWAYS_HELD + 400) && budget.left() == 400);
        drop(one);
        assert!(!other.is_in_the_way());
        drop(other);
        assert_eq!(budget.left(), 1_000);
    }

    #[test]
    fn frames_beside_a_message_are_none_of_its() {
        let budget = Budget::new(1_000);
        let intake = Intake::default();
        intake.share(&budget);
        for _ in 0..1_000 {
            assert!(intake.note(100));
            intake.beside(100);
        }
        assert!(!intake.is_unfinished() && budget.left() == 1_000);
    }

    #[test]
    fn a_limit_holds_until_the_other_side_is_trusted() {
        let intake = Intake::default();
        assert!(intake.note(usize::MAX / 2));
        intake.trust();
        intake.limit(10);
        assert!(intake.note(10) && !intake.is_over_limit());
        assert!(!intake.note(1) && intake.is_over_limit());
        intake.trust();
        assert!(intake.note(usize::MAX / 2) && !intake.is_over_limit());
    }

    #[test]
    fn a_limit_holds_beside_what_is_shared_and_ends_without_it() {
        let budget = Budget::new(1_000);
        let intake = Intake::default();
        intake.share(&budget);
        intake.limit(ALWAYS_HELD + 100);
        assert!(intake.note(ALWAYS_HELD + 100) && budget.left() == 900);
        assert!(!intake.note(1) && budget.left() == 900);
        intake.whole();
        intake.end_limit();
        assert!(intake.note(ALWAYS_HELD + 1_000) && !intake.note(1));
    }
}
