//! What answers claim about a run of code, by their words. Words that stand nowhere here fail the test: whoever writes new
//! ones says here what they claim.

use serde_json::Value;

use super::oracle::well_ended;

/// What is claimed about one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// It ran to its end.
    Returned,
    /// It began, and failed in the game.
    Failed,
    /// It has not been run, and never will be.
    NotRun,
    /// It has begun.
    Begun,
    /// The computer has said that it begins. It may have gone down at that moment.
    SaidToBegin,
    /// It has begun, and has not ended.
    Runs,
    /// It was stopped, and so never comes to its end.
    Stopped,
    /// Whatever became of it, nothing more comes of it.
    Over,
    /// Nothing: it is not known, or left open.
    Nothing,
}

use Claim::{Begun, Failed, NotRun, Nothing, Over, Returned, Runs, SaidToBegin, Stopped};

/// Words of which all stand in an answer, and what they claim. The first line that fits counts.
type Words = (&'static [&'static str], Claim);

/// Of a call that runs code, when it did not come to the code's end; also at the end of what `get-job` shows.
const OF_A_RUN: &[Words] = &[
    (&["The code still runs on computer"], Runs),
    (
        &[
            "The code had not ended on computer",
            "when that left",
            "it is not known whether the code still runs there",
        ],
        SaidToBegin,
    ),
    (
        &["The code had not ended on computer", "and was stopped"],
        Stopped,
    ),
    (
        &["the code had not ended after", "and was stopped"],
        Stopped,
    ),
    (&["so it was not run"], NotRun),
    (&["The code was not run"], NotRun),
    (&["so the code was not run"], NotRun),
    (&["it never reached the computer"], NotRun),
    (&["expired error on computer"], NotRun),
    (&["refused error on computer"], NotRun),
    (
        &["The code was stopped before its end on computer"],
        Stopped,
    ),
    (&["runtime error on computer"], Failed),
    (&["timeout error on computer", "without yielding"], Failed),
    (
        &[
            "link-lost error on computer",
            "Whether the code ran to its end is not known",
        ],
        Nothing,
    ),
    (
        &[
            "result-gone error on computer",
            "its answer is no longer kept",
        ],
        Nothing,
    ),
    (
        &["timeout on computer", "the computer does not confirm it"],
        Nothing,
    ),
    (
        &["timeout on computer", "but the computer can't be told."],
        Nothing,
    ),
    (&["timeout on computer", "The code has begun there"], Begun),
    (
        &["offline error on computer", "had said that it begins"],
        SaidToBegin,
    ),
    (&["It is not known whether the code ran"], Nothing),
    (&["timeout on computer", "has not confirmed it"], Nothing),
    (&["Start `mcp-computer` on it in the game"], NotRun),
    (&["No computers connected."], NotRun),
    (&["No computer can be reached over the link port"], NotRun),
    (&["jobs that have not ended. Cancel some"], NotRun),
    (
        &[
            "timeout on computer",
            "no answer while the call that asks had time to wait for it; it was told to stop",
        ],
        Nothing,
    ),
    (
        &["timeout: all workers were busy", "so script was not run"],
        NotRun,
    ),
    (&["timeout: script did not end within"], Nothing),
    // A bridge that was started just now has not read its user's tools yet.
    (&["Unknown tool: counted-"], NotRun),
];

/// Of a job's state, in `list-jobs` and `get-job`.
const OF_A_STATE: &[Words] = &[
    (&["asked for "], Nothing),
    (&["not run "], NotRun),
    (&["running for "], Runs),
    (&["ended well"], Returned),
    (&["begun "], Begun),
    (&["stopped "], Stopped),
    (&["ended with a runtime error"], Failed),
    (&["ended with a refused error"], NotRun),
    (&["ended with a expired error"], NotRun),
    (&["ended with a timeout error"], Nothing),
    (&["ended with a link-lost error"], Nothing),
    (&["ended with a result-gone error"], Nothing),
    (&["lost "], Nothing),
];

/// Of `cancel-job`.
const OF_A_STOP: &[Words] = &[
    (&["was stopped."], Stopped),
    (&["had ended by itself."], Over),
    (&["had ended before."], Over),
    (&["was told to stop, but", "has not confirmed it"], Nothing),
    (
        &[
            "can't be stopped now",
            "it is not known whether the job runs",
        ],
        Nothing,
    ),
    (
        &["was not stopped: computer", "out of reach just then"],
        Nothing,
    ),
    (&["There is no job"], Nothing),
    (&["No computer can be reached over the link port"], Nothing),
];

/// Of an agent that can't be held to a deadline: the code may begin after the answer.
const YET_BEGINS: &str = "It may run there, or yet begin.";

/// Before what code printed, in an answer that tells of more than that.
const BEFORE_OUTPUT: [&str; 2] = ["\n\nOutput so far:", "\n\nOutput before "];

/// Before what came back to a script that did not come to its end.
const CAME_BACK: &str = "\n\nWhat came back from computers:\n";

/// What an answer to a call that runs the code of `key` claims; none if nobody knows.
pub fn of_a_run(text: &str, is_error: bool, key: &str) -> Option<Vec<Claim>> {
    let ends = [well_ended(key), key.to_owned()];
    if !is_error && ends.iter().any(|end| end == text) {
        return Some(vec![Returned]);
    }
    of_a_failure(text)
}

/// What a script's answer says of its code on one computer, and what that claims. The script prints a line of JSON for
/// each; where it does not get that far, what came back stands below its error, a line for each.
pub fn of_a_script<'a>(text: &'a str, computer: u64, key: &str) -> (&'a str, Option<Vec<Claim>>) {
    for line in text.lines() {
        let outcome: Value = serde_json::from_str(line).unwrap_or_default();
        if outcome["id"] == computer {
            let claims = match outcome["error"].as_str() {
                Some(error) => of_a_failure(error),
                None => (outcome["returns"][0] == key).then(|| vec![Returned]),
            };
            return (line, claims);
        }
    }
    let came_back = text.split_once(CAME_BACK).map_or("", |(_, lines)| lines);
    for line in came_back.lines() {
        if let Some(said) = line.strip_prefix(&format!("{computer}: ")) {
            let claims = match said.strip_prefix(&format!("\"{key}\"")) {
                Some("") => Some(vec![Returned]),
                Some(printed) if printed.starts_with(" (it printed ") => Some(vec![Returned]),
                _ => of_a_failure(said),
            };
            return (line, claims);
        }
    }
    (text, of_a_failure(text))
}

/// What is claimed where code did not come to its end.
fn of_a_failure(text: &str) -> Option<Vec<Claim>> {
    let said = BEFORE_OUTPUT
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    let said = &text[..said.unwrap_or(text.len())];
    find(OF_A_RUN, said).map(|claim| vec![claim])
}

/// Whether an answer leaves open that its code begins after it.
pub fn may_yet_begin(text: &str) -> bool {
    text.contains(YET_BEGINS)
}

/// What `get-job` claims about the job it shows.
pub fn of_a_job(text: &str) -> Option<Vec<Claim>> {
    if text.starts_with("There is no job") || text.starts_with("No computer can be reached") {
        return Some(vec![Nothing]);
    }
    let (state, rest) = text.split_once("\n").unwrap_or((text, ""));
    // `Job ID on computer 1 (Label: computer): running for 3 s, …`
    let mut claims = of_a_state(state.split_once("): ")?.1)?;
    let failure = rest
        .lines()
        .position(|line| line.contains(" error on computer "));
    if let Some(at) = failure {
        let failure: Vec<_> = rest.lines().skip(at).collect();
        claims.extend(of_a_failure(&failure.join("\n"))?);
    }
    Some(claims)
}

/// What a job's state claims.
fn of_a_state(state: &str) -> Option<Vec<Claim>> {
    let words = OF_A_STATE
        .iter()
        .find(|(words, _)| state.starts_with(words[0]));
    words.map(|(_, claim)| vec![*claim])
}

/// What `cancel-job` claims.
pub fn of_a_stop(text: &str) -> Option<Vec<Claim>> {
    find(OF_A_STOP, text).map(|claim| vec![claim])
}

/// A job that `list-jobs` names.
pub struct Listed<'a> {
    /// The key of its code, if it is shown.
    pub key: Option<&'a str>,
    pub computer: u64,
    pub claims: Option<Vec<Claim>>,
    pub line: &'a str,
}

/// What `list-jobs` says. An answer that lists none claims nothing.
pub fn of_a_list(text: &str) -> Vec<Listed<'_>> {
    if text == "No jobs." || text.starts_with("No computer can be reached") {
        return Vec::new();
    }
    let listed = |line| {
        // `ID on 1 (Label: computer): running for 3 s, 9 bytes printed: local key = 'c17' …`
        let line: &str = line;
        let (_, rest) = line.split_once(" on ")?;
        let computer = rest.split(' ').next()?.parse().ok()?;
        let (_, state) = rest.split_once("): ")?;
        Some(Listed {
            key: state
                .split_once(": local key = '")
                .and_then(|(_, code)| code.split('\'').next()),
            computer,
            claims: of_a_state(state),
            line,
        })
    };
    text.lines()
        // `[12 more of 32 jobs: …]`
        .filter(|line| !line.starts_with('['))
        .map(|line| listed(line).unwrap_or_else(|| panic!("no line of list-jobs: {line}")))
        .collect()
}

/// The job that an answer names.
pub fn job_named(text: &str) -> Option<&str> {
    let (_, after) = ["as job ", "Job "]
        .iter()
        .find_map(|words| text.split_once(words))?;
    after.split([' ', '.', ',']).next()
}

fn find(all: &[Words], text: &str) -> Option<Claim> {
    let fits = |(words, _): &&Words| words.iter().all(|words| text.contains(words));
    all.iter().find(fits).map(|(_, claim)| *claim)
}
