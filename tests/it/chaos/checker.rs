//! Compares what was said about runs with what the oracle counted of them.

use std::fmt;

use super::{
    oracle::{Count, Knowledge, Moment, Run},
    words::Claim,
};

/// How far the clocks of the test and of the game may be apart, in milliseconds.
const SAME_MOMENT: u64 = 50;

/// How long it may be said that code runs when it does no more, in milliseconds: its end may be on its way, or whoever
/// would tell of it suspended.
const KNOWN_AFTER: u64 = 10_000;

/// What was said about one run.
#[derive(Debug)]
pub struct Told {
    pub run: Run,
    /// Who was told, and of what kind the call was.
    pub call: String,
    /// When it was called.
    pub asked: Moment,
    /// When it was said.
    pub at: Moment,
    pub words: String,
    /// What it claims; none if nobody knows.
    pub claims: Option<Vec<Claim>>,
    /// Whether it is the answer of the call that made the run, after which that may not begin any more.
    pub begins_no_more: bool,
}

/// What was said, and is not so.
pub struct Lie<'a> {
    pub told: &'a Told,
    why: String,
}

impl fmt::Display for Lie<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { told, why } = self;
        let Told {
            run: Run { computer, key },
            call,
            asked,
            at,
            words,
            ..
        } = told;
        let ms = at - asked;
        write!(
            f,
            "{key} on computer {computer}: {why}\n  said after {ms} ms: {words:?}\n  to {call}"
        )
    }
}

/// All that was said and is not so.
pub fn lies<'a>(told: &'a [Told], known: &Knowledge) -> Vec<Lie<'a>> {
    let none = Count::default();
    let mut lies = Vec::new();
    for told in told {
        let count = known.counts.get(&told.run).unwrap_or(&none);
        let starts = known.starts.get(&told.run.computer);
        let starts = starts.map_or(&[][..], Vec::as_slice);
        let over = over(count, starts);
        let went_down = starts.iter().any(|start| *start > told.asked);
        let mut lie = |why: String| lies.push(Lie { told, why });
        let Some(claims) = &told.claims else {
            lie("nobody knows what these words claim: see words.rs".to_owned());
            continue;
        };
        for claim in claims {
            let holds = match claim {
                Claim::SaidToBegin if count.began.is_empty() => went_down,
                claim => holds(*claim, count, over, told.at),
            };
            if !holds {
                lie(format!(
                    "it is claimed {claim:?}, but {}",
                    shown(count, told)
                ));
            }
        }
        if told.begins_no_more
            && count
                .began
                .iter()
                .any(|began| *began > told.at + SAME_MOMENT)
        {
            lie(format!("it began after its answer: {}", shown(count, told)));
        }
    }
    lies
}

/// Runs that began, or ended, more than once.
pub fn repeated(known: &Knowledge) -> Vec<(&Run, &Count)> {
    let mut repeated: Vec<_> = known
        .counts
        .iter()
        .filter(|(_, count)| count.began.len() > 1 || count.ended.len() > 1)
        .collect();
    repeated.sort_by_key(|(run, _)| *run);
    repeated
}

/// When a run was over, as far as it is known: it ended, or its computer had started anew.
fn over(count: &Count, starts: &[Moment]) -> Option<Moment> {
    let began = count.began.first()?;
    let mut later = starts.iter().filter(|start| *start > began);
    count.ended.first().or_else(|| later.next()).copied()
}

/// Whether a claim that was made at this moment is so, by all that is known when everything is over.
fn holds(claim: Claim, count: &Count, over: Option<Moment>, at: Moment) -> bool {
    let before = |moment: &Moment| *moment <= at + SAME_MOMENT;
    match claim {
        Claim::Returned => count.ended.len() == 1 && count.ended.iter().all(before),
        Claim::Failed => count.began.len() == 1 && count.ended.is_empty(),
        Claim::NotRun => count.began.is_empty(),
        Claim::Begun | Claim::SaidToBegin => count.began.first().is_some_and(before),
        Claim::Runs => {
            count.began.first().is_some_and(before)
                && over.is_none_or(|over| at <= over + KNOWN_AFTER)
        }
        Claim::Stopped => count.ended.is_empty(),
        Claim::Over => count.began.iter().chain(&count.ended).all(before),
        Claim::Nothing => true,
    }
}

/// What was counted, by the time of what was said.
fn shown(count: &Count, told: &Told) -> String {
    let relative = |moments: &[Moment]| {
        let moments = moments.iter().map(|moment| {
            let ms = i128::from(*moment) - i128::from(told.at);
            format!("{ms:+} ms")
        });
        moments.collect::<Vec<_>>().join(", ")
    };
    match (&count.began[..], &count.ended[..]) {
        ([], _) => "it never began".to_owned(),
        (began, []) => format!("it began at {} and never ended", relative(began)),
        (began, ended) => format!(
            "it began at {} and ended at {}",
            relative(began),
            relative(ended)
        ),
    }
}
