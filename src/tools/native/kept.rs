//! Answers that were too long to be shown whole, kept so that `get-job` can show the rest of them. What a job printed and
//! came to is not here: it is kept with the job.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::computers::RequestId;

/// How many answers are kept, for how long, and how many bytes they may take together; the newest stays, however large.
const ANSWERS: usize = 64;
const TIME: Duration = Duration::from_secs(3_600);
const BYTES: usize = 16 * 1024 * 1024;

/// The answers, the oldest first.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    all: VecDeque<Answer>,
    /// The bytes of all their texts.
    bytes: usize,
    /// How many there have been.
    count: u64,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What it is called by.
    pub id: RequestId,
    /// The tool that gave it.
    pub tool: &'static str,
    /// All of it.
    pub text: Arc<str>,
    at: Instant,
}

impl Kept {
    /// Keeps an answer of this tool.
    pub fn keep(&self, tool: &'static str, text: &str) -> RequestId {
        let mut answers = self.lock();
        answers.count += 1;
        let id = RequestId::from(format!("answer-{}", answers.count));
        answers.bytes += text.len();
        answers.all.push_back(Answer {
            id: id.clone(),
            tool,
            text: text.into(),
            at: Instant::now(),
        });
        answers.forget_old();
        id
    }

    /// The answer of this id, if it is still kept.
    pub fn get(&self, id: &RequestId) -> Option<Answer> {
        let mut answers = self.lock();
        answers.forget_old();
        answers.all.iter().find(|answer| answer.id == *id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        // Nothing that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    fn forget_old(&mut self) {
        while let Some(oldest) = self.all.front() {
            let too_many = self.all.len() > ANSWERS || self.bytes > BYTES && self.all.len() > 1;
            if oldest.at.elapsed() <= TIME && !too_many {
                return;
            }
            self.bytes -= oldest.text.len();
            self.all.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_are_kept_for_an_hour_and_within_bounds() {
        let kept = Kept::default();
        let first = kept.keep("run-script", "first");
        assert_eq!(&*kept.get(&first).unwrap().text, "first");
        tokio::time::advance(TIME + Duration::from_secs(1)).await;
        assert!(kept.get(&first).is_none());

        let ids: Vec<_> = (0..=ANSWERS)
            .map(|_| kept.keep("run-script", "x"))
            .collect();
        assert!(kept.get(&ids[0]).is_none() && kept.get(&ids[1]).is_some());

        let half = "x".repeat(BYTES / 2);
        let large: Vec<_> = (0..3).map(|_| kept.keep("run-script", &half)).collect();
        assert!(kept.get(&ids[ANSWERS]).is_none() && kept.get(&large[0]).is_none());
        assert_eq!(kept.lock().bytes, BYTES);
        let larger = kept.keep("run-script", &"x".repeat(2 * BYTES));
        assert!(kept.get(&larger).is_some() && kept.get(&large[2]).is_none());
    }
}
