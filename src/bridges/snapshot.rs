//! A job as another bridge is told of it. No I/O.

use std::{sync::Arc, time::SystemTime};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Serialize};

use crate::{
    computers::{About, ComputerKey, End, Job, Progress, Stage, reach::JobElsewhere},
    wire::names::RequestId,
};

/// A job at one moment.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSnapshot {
    /// The computer it runs on.
    pub computer_id: ComputerKey,
    /// Its id.
    pub id: RequestId,
    /// The beginning of its code.
    pub code: String,
    /// Whether it holds the turtle.
    pub exclusive: bool,
    /// Whether Lua beside the computers asked for it. Bridges up to 1.0.0 don't tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_script: bool,
    /// When it was asked for.
    pub started: SystemTime,
    /// Where it stands.
    pub stage: Stage,
    /// Whether its computer's player is asked yet whether it may run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asking: bool,
    /// How many bytes it has printed.
    pub printed: u64,
    /// From where on the output is told.
    pub from: u64,
    /// The output from there on, in base64. Without it, none is told.
    pub output: Option<String>,
    /// How it ended.
    pub end: Option<End>,
    /// When.
    pub ended: Option<SystemTime>,
}

impl JobSnapshot {
    /// The job now, without its output and its result: enough for a list.
    pub fn outline(computer: ComputerKey, job: &Job) -> Self {
        Self::of(computer, job, None)
    }

    /// The job now, with its output from `cursor` on.
    pub fn whole(computer: ComputerKey, job: &Job, cursor: u64) -> Self {
        Self::of(computer, job, Some(cursor))
    }

    fn of(computer: ComputerKey, job: &Job, cursor: Option<u64>) -> Self {
        job.look(|progress| {
            let (from, bytes) = cursor
                .map(|cursor| progress.bytes_from(cursor))
                .unwrap_or((progress.printed(), Vec::new()));
            let end = progress.end.as_deref().map(|end| match cursor {
                Some(_) => end.as_read(),
                None => end.outline(),
            });
            Self {
                computer_id: computer,
                id: job.id.clone(),
                code: job.code.clone(),
                exclusive: job.exclusive,
                of_script: job.of_script,
                started: job.started,
                stage: progress.stage,
                asking: progress.asking,
                printed: progress.printed(),
                from,
                output: cursor.map(|_| BASE64.encode(bytes)),
                end,
                ended: progress.ended,
            }
        })
    }

    /// The same with its computer, for whoever asked.
    pub fn into_told(self) -> JobElsewhere {
        JobElsewhere {
            computer: self.computer_id,
            job: self.into_job(),
        }
    }

    /// The job, as far as it was told.
    fn into_job(self) -> Arc<Job> {
        let mut progress = Progress::new();
        let bytes = BASE64
            .decode(self.output.unwrap_or_default())
            .unwrap_or_default();
        progress.restore_output(self.from, bytes, self.printed);
        progress.stage = self.stage;
        progress.asking = self.asking;
        progress.end = self.end.map(Arc::new);
        progress.ended = self.ended;
        let about = About::listed(&self.code, self.exclusive).of_script(self.of_script);
        Job::restore(self.id, about, self.started, progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{
        frame::{Answer, OutputPiece},
        names::ComputerId,
    };

    #[test]
    fn a_job_is_told_whole_or_in_outline() {
        let about = About::listed("print('hi')", true).of_script(true);
        let job = Job::new("b7-1".into(), about);
        job.print(OutputPiece {
            id: "b7-1".into(),
            seq: 1,
            at: Some(0),
            bytes: b"hello\n".to_vec(),
            dropped: 0,
            told: Vec::new(),
        });
        let result = serde_json::json!({"returns": [{"type": "number", "value": 2}]});
        job.answer(
            Answer {
                result: Some(result.clone()),
                error: None,
            },
            None,
        );
        let key = ComputerId(3).into();
        let through = |snapshot: &JobSnapshot| {
            serde_json::from_str::<JobSnapshot>(&serde_json::to_string(snapshot).unwrap())
                .unwrap()
                .into_job()
        };
        let whole = through(&JobSnapshot::whole(key, &job, 2));
        assert!(whole.adopted && whole.exclusive && whole.of_script);
        assert_eq!(whole.code, "print('hi')");
        whole.look(|progress| {
            assert_eq!(progress.read(2, 100).text, "llo\n");
            assert_eq!(progress.printed(), 6);
            match progress.end.as_deref() {
                Some(End::Answered(answer)) => assert_eq!(answer.result.as_ref(), Some(&result)),
                other => panic!("{other:?}"),
            }
        });
        let outline = through(&JobSnapshot::outline(key, &job));
        outline.look(|progress| {
            assert_eq!((progress.printed(), progress.stage), (6, Stage::Ended));
            assert!(
                matches!(progress.end.as_deref(), Some(End::Answered(answer)) if answer.result.is_none())
            );
        });
    }

    #[test]
    fn a_job_that_no_computer_has_taken_is_not_told_as_one_that_runs() {
        let job = Job::new("b7-1".into(), About::listed("print('hi')", false));
        let told = || JobSnapshot::outline(ComputerId(3).into(), &job).into_job();
        assert_eq!(told().stage(), Stage::Asked);
        job.accept(false);
        assert_eq!(told().stage(), Stage::Running);
    }
}
