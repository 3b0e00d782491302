//! How computers and times are put into words.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    base::text::one_line,
    computers::{Computer, ComputerKey, Facts, Presence, RequestId, holder::ChangeOfHands},
};

/// `12 (Label: base-turtle)`, or `12 (Label: nil)` without a label.
pub fn name(id: ComputerKey, label: Option<&str>) -> String {
    format!("{id} (Label: {})", one_line(label.unwrap_or("nil")))
}

/// [`name`] by what the computer told of itself.
pub fn name_of(facts: &Facts) -> String {
    name(facts.key, facts.label.as_deref())
}

/// The names of the linked ones among `computers`, with commas between; at most 20, and how many more.
pub fn linked_names(computers: &[Arc<Computer>]) -> String {
    const MOST: usize = 20;
    let linked: Vec<_> = computers
        .iter()
        .filter(|computer| computer.link().is_some())
        .collect();
    let mut names: Vec<_> = linked
        .iter()
        .take(MOST)
        .map(|computer| name_of(&computer.facts()))
        .collect();
    if linked.len() > MOST {
        names.push(format!("and {} more", linked.len() - MOST));
    }
    names.join(", ")
}

/// Why a computer that is not linked can't be asked.
pub fn why_gone(computer: &Computer, now: SystemTime) -> String {
    match &computer.presence() {
        Presence::Linked(_) => format!("Computer {} is linked.", name_of(&computer.facts())),
        Presence::Left { since, why } => {
            format!(
                "Computer {} left {}: {}.",
                name_of(&computer.facts()),
                ago(*since, now),
                one_line(why)
            )
        }
    }
}

/// For how long a computer has been out of reach: `out of reach for 3 min`; none if it is linked.
pub fn out_of_reach(computer: &Computer, now: SystemTime) -> Option<String> {
    match &computer.presence() {
        Presence::Linked(_) => None,
        Presence::Left { since, .. } => {
            Some(format!("out of reach for {}", time_between(*since, now)))
        }
    }
}

/// The same with why: `out of reach for 3 min, since its agent closed the link`.
pub fn why_out_of_reach(computer: &Computer, now: SystemTime) -> Option<String> {
    let away = out_of_reach(computer, now)?;
    match &computer.presence() {
        Presence::Linked(_) => None,
        Presence::Left { why, .. } => Some(format!("{away}, since {}", one_line(why))),
    }
}

/// What is known of code that a computer has taken and that has not ended, as a sentence.
pub fn whether_it_runs(computer: &Computer, now: SystemTime) -> String {
    match why_out_of_reach(computer, now) {
        None => "The code may still be running there.".to_owned(),
        Some(away) => format!(
            "The computer has been {away}, and it is not known whether the code runs there."
        ),
    }
}

/// That code waits for a player, when its call's time is up.
pub fn waits_for_player(facts: &Facts, job: &RequestId) -> String {
    format!(
        "Nothing of it has run yet: computer {} asks its player first (--policy ask), and waits for the answer, as job {job}. \
         A yes within 60 s of the question starts it; otherwise it ends as refused. get-job {job} shows which, cancel-job \
         takes it back.",
        name_of(facts)
    )
}

/// That a computer's number changed hands, for whoever got an answer from it.
pub fn changed_hands(facts: &Facts, change: &ChangeOfHands, now: SystemTime) -> String {
    format!(
        "Note: computer {} changed hands {}: since then it shows another key than before, so it may be another computer \
         under the same number, linked from {}; the former one was linked from {}. Before you rely on it, ask the person who runs the game.",
        name_of(facts),
        ago(change.since, now),
        facts.address,
        change.former
    )
}

/// How long ago `moment` was, in its largest unit: `3 min ago`.
pub fn ago(moment: SystemTime, now: SystemTime) -> String {
    format!("{} ago", time_between(moment, now))
}

/// The time from one moment to another, in its largest unit: `3 min`.
pub fn time_between(from: SystemTime, to: SystemTime) -> String {
    let seconds = to.duration_since(from).unwrap_or(Duration::ZERO).as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::names::ComputerId;

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(
            name(ComputerId(12).into(), Some("base-turtle")),
            "12 (Label: base-turtle)"
        );
        assert_eq!(name(ComputerId(12).into(), None), "12 (Label: nil)");
        assert_eq!(
            name(ComputerId(12).into(), Some("a)\npong from 13 (Label: b")),
            "12 (Label: a)\\npong from 13 (Label: b)"
        );
    }

    #[test]
    fn a_moment_is_told_in_its_largest_unit() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        for (seconds, words) in [
            (0, "0 s ago"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (7_200, "2 h ago"),
            (200_000, "2 days ago"),
        ] {
            assert_eq!(ago(now - Duration::from_secs(seconds), now), words);
        }
    }
}
