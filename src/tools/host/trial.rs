//! Loads handlers without calling them: which of them can't work is known before a client finds out.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{
    call::{Code, HostHandler},
    pool::{Worker, WorkerGone},
    protocol::{Answer, Done, End, FromWorker, Order, Question, ToWorker},
};
use crate::{
    base::text::one_line,
    tools::namespace::{Home, Need, Required},
};

/// How long one handler may take to load.
const EACH: Duration = Duration::from_secs(5);

/// How long all of them may take. What is not loaded by then is told when it is called.
const ALL: Duration = Duration::from_secs(15);

/// Why a handler can't work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// The line of its file, if it is about one.
    pub line: Option<usize>,
    /// What is wrong, in words that follow the file's name.
    pub reason: String,
}

/// What came of loading a handler.
pub struct Loaded {
    /// What is wrong with it, if that is known.
    pub verdict: Result<(), Unusable>,
    /// The files that it required, as they were.
    pub required: Required,
}

impl HostHandler {
    /// Loads handlers, one after the other; tells of each what is wrong with it, if that is known. Of one that asks
    /// for more than other files of Lua while it is loaded nothing is: that is done when it is called only.
    pub async fn load(&self, codes: &[Code]) -> Vec<Loaded> {
        let end = Instant::now() + ALL;
        let mut worker = None;
        let mut verdicts = Vec::with_capacity(codes.len());
        for code in codes {
            let ready = match worker.take() {
                Some(ready) => Some(ready),
                None => self.worker_by(end).await,
            };
            let Some(mut ready) = ready else {
                verdicts.push(Loaded {
                    verdict: Ok(()),
                    required: Required::default(),
                });
                continue;
            };
            let deadline = end.min(Instant::now() + EACH);
            let mut required = Required::default();
            let loading = loaded(&mut ready, code, &mut required);
            let loaded = timeout_at(deadline, loading).await;
            let verdict = match &loaded {
                Ok(Ok(Some(done))) => verdict(&done.end, &code.chunk),
                Ok(Ok(None)) => Ok(()),
                Ok(Err(gone)) => Err(Unusable {
                    line: None,
                    reason: format!("could not be loaded: {gone}"),
                }),
                Err(_) if deadline == end => Ok(()),
                Err(_) => Err(Unusable {
                    line: None,
                    reason: format!(
                        "did not end within {} seconds when it was loaded: only the function that it returns is to work",
                        EACH.as_secs()
                    ),
                }),
            };
            verdicts.push(Loaded { verdict, required });
            let goes_on = matches!(&loaded, Ok(Ok(Some(_)))) && ready.ready().await.is_ok();
            match goes_on {
                true => worker = Some(ready),
                false => ready.end().await,
            }
        }
        if let Some(worker) = worker {
            worker.end().await;
        }
        verdicts
    }

    /// A worker, if there is one by then.
    async fn worker_by(&self, end: Instant) -> Option<Worker> {
        match timeout_at(end, self.workers.start()).await {
            Ok(Ok(worker)) => Some(worker),
            Ok(Err(error)) => {
                tracing::warn!(%error, "handlers can't be tried");
                None
            }
            Err(_) => None,
        }
    }
}

/// Loads one, which is given the files of Lua that it requires; none if it asks for something else meanwhile, or for more
/// of them than are kept.
async fn loaded(
    worker: &mut Worker,
    code: &Code,
    required: &mut Required,
) -> Result<Option<Done>, WorkerGone> {
    let order = Order::of(code, serde_json::Value::Null);
    worker.send(&ToWorker::Load(order)).await?;
    loop {
        match worker.receive().await? {
            FromWorker::Done(done) => return Ok(Some(done)),
            FromWorker::Log { .. } | FromWorker::Progress { .. } | FromWorker::Printed { .. } => {}
            FromWorker::Ask {
                ask,
                what: Question::Own(Need::Module { name }),
            } => {
                let answer = match code.home.as_ref() {
                    Some(home) => match module(required, &name, home) {
                        Some(answer) => answer,
                        None => return Ok(None),
                    },
                    None => Answer::Error("it is in no folder of tools".to_owned()),
                };
                worker.send(&ToWorker::Answer { ask, answer }).await?;
            }
            FromWorker::Ask { .. } | FromWorker::Fault { .. } | FromWorker::Ready { .. } => {
                return Ok(None);
            }
        }
    }
}

/// A file of Lua that a handler of this home requires, for its worker.
fn module(required: &mut Required, name: &str, home: &Home) -> Option<Answer> {
    let found = required.find(name, home.folder(), &home.namespace)?;
    Some(match found {
        Ok(found) => Answer::Value(found.to_json()),
        Err(problem) => Answer::Error(problem),
    })
}

/// What the end of its loading says of a handler.
fn verdict(end: &End, chunk: &str) -> Result<(), Unusable> {
    let End::Failed(problem) = end else {
        return Ok(());
    };
    let problem = problem
        .split("\n\nstack traceback:")
        .next()
        .unwrap_or_default();
    let Some(rest) = problem
        .strip_prefix(chunk)
        .and_then(|rest| rest.strip_prefix(':'))
    else {
        return Err(Unusable {
            line: None,
            reason: format!("throws when it is loaded: {}", one_line(problem)),
        });
    };
    let at = rest
        .split_once(": ")
        .map(|(line, reason)| (line.parse(), reason));
    Err(match at {
        Some((Ok(line), reason)) => Unusable {
            line: Some(line),
            reason: format!("throws when it is loaded: {}", one_line(reason)),
        },
        _ => Unusable {
            line: None,
            reason: one_line(rest.trim_start()).into_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_handler_is_told_with_its_line() {
        for (problem, line, reason) in [
            (
                "h.lua:3: no\n\nstack traceback:\n\t[C]: in function 'error'",
                Some(3),
                "throws when it is loaded: no",
            ),
            ("thrown", None, "throws when it is loaded: thrown"),
            (
                "h.lua: it must return a table",
                None,
                "it must return a table",
            ),
        ] {
            let reason = reason.to_owned();
            let verdict = verdict(&End::Failed(problem.to_owned()), "h.lua");
            assert_eq!(verdict, Err(Unusable { line, reason }), "{problem}");
        }
        assert_eq!(verdict(&End::Values(Vec::new()), "h.lua"), Ok(()));
    }
}
