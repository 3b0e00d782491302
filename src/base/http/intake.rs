//! How much one connection may send until a message is whole, and what all of them may hold of such together.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::base::budget::{Budget, Share};

/// How many bytes of a message that is not whole a connection may hold however much the others do.
const ALWAYS_HELD: usize = 16 * 1024;

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
    /// Lets only so many bytes come until [`Intake::trust`], whole messages or not.
    pub fn limit(&self, most: usize) {
        self.lock().most = Some(most);
    }

    /// Lets any number come.
    pub fn trust(&self) {
        *self.lock() = Unfinished::default();
    }

    /// Lets no more come, beyond a little, than is left for all who share `budget`.
    pub fn share(&self, budget: &Arc<Budget>) {
        self.lock().share = Some(budget.share());
    }

    /// Notes that a message is whole.
    pub fn whole(&self) {
        let mut unfinished = self.lock();
        unfinished.bytes = 0;
        if let Some(share) = &mut unfinished.share {
            share.give_back(usize::MAX);
        }
    }

    /// Whether it holds some of what all may hold together.
    pub fn holds_of_all(&self) -> bool {
        let unfinished = self.lock();
        unfinished
            .share
            .as_ref()
            .is_some_and(|share| share.held() > 0)
    }

    /// Notes that so many bytes have come; tells whether they may.
    fn note(&self, bytes: usize) -> bool {
        let mut unfinished = self.lock();
        unfinished.bytes += bytes;
        let (bytes, most) = (unfinished.bytes, unfinished.most);
        let Some(share) = &mut unfinished.share else {
            return most.is_none_or(|most| bytes <= most);
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
    fn unfinished_messages_share_a_bound_and_whole_ones_give_back() {
        let budget = Budget::new(1_000);
        let (one, other) = (Intake::default(), Intake::default());
        one.share(&budget);
        other.share(&budget);
        assert!(one.note(ALWAYS_HELD) && !one.holds_of_all());
        assert!(one.note(1_000) && one.holds_of_all() && !one.note(1));
        assert!(other.note(ALWAYS_HELD) && !other.note(1));
        one.whole();
        assert!(other.note(1) && budget.left() == 998);
        drop(other);
        assert_eq!(budget.left(), 1_000);
    }

    #[test]
    fn a_limit_holds_until_the_other_side_is_trusted() {
        let intake = Intake::default();
        assert!(intake.note(usize::MAX / 2));
        intake.trust();
        intake.limit(10);
        assert!(intake.note(10) && !intake.note(1));
        intake.trust();
        assert!(intake.note(usize::MAX / 2));
    }
}
