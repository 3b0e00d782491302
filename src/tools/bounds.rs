//! How long a text answer of our own tools is: what is beyond the bound is left out in the middle, and the answer says how
//! much that is and which call shows it. No I/O.

use serde::Deserialize;

use crate::{
    base::excerpt::{self, Gap, Line, excerpt},
    computers::RequestId,
};

/// How many characters an answer has at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct MaxChars(pub usize);

impl Default for MaxChars {
    /// About 10,000 tokens: several clients cut or refuse answers from there on, without a word about the rest.
    fn default() -> Self {
        Self(40_000)
    }
}

impl MaxChars {
    /// What is left of it beside so many characters of other text.
    pub fn beside(self, text: &str) -> Self {
        Self(self.0.saturating_sub(text.chars().count()))
    }
}

/// The call that shows a job's text, or that of an answer that is kept, from `cursor` on.
pub fn call_for(id: &RequestId, cursor: u64) -> String {
    let id = id.to_string();
    let id = excerpt::shortened(&id, 100);
    format!(r#"get-job {{"jobId": "{id}", "cursor": {cursor}}}"#)
}

/// What is said where characters are left out that a call with this id shows.
pub fn left_out(id: &RequestId, gap: &Gap) -> String {
    format!(
        "[{} of {} characters are left out here: {} shows them]",
        gap.left_out,
        gap.total,
        call_for(id, gap.from)
    )
}

/// A text whose parts stand elsewhere: `lead`, then `body`. Either may be cut, with the call for `id` that shows the rest.
pub fn within(
    MaxChars(most): MaxChars,
    lead: &[Line<'_>],
    body: &[Line<'_>],
    id: &RequestId,
) -> String {
    let note = |gap: &Gap| left_out(id, gap);
    let body_length = excerpt::length(body);
    // What is said first is worth as much as all that follows it.
    let lead = excerpt(lead, most.saturating_sub(body_length).max(most / 2), note);
    let room = MaxChars(most).beside(&lead).0;
    lead + &excerpt(body, room, note)
}

/// How many of these lines fit into an answer beside `room_for_more` characters of other text.
pub fn fitting<'a>(lines: impl IntoIterator<Item = &'a str>, room_for_more: usize) -> usize {
    let mut room = MaxChars::default().0.saturating_sub(room_for_more);
    let fit = |line: &&str| {
        let length = line.chars().count() + 1;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    lines.into_iter().take_while(fit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, from: u64) -> Vec<Line<'_>> {
        excerpt::lines(text, from).collect()
    }

    #[test]
    fn a_long_text_names_the_call_that_shows_what_is_left_out_of_it() {
        let id = RequestId::from("a-1");
        let body = "x".repeat(99).repeat(100);
        let told = within(MaxChars(500), &lines("Said.\n", 0), &lines(&body, 0), &id);
        let length = told.chars().count();
        assert!((490..=500).contains(&length), "{length}");
        let (head, rest) = told.split_once("\n[").unwrap();
        let shown = head.strip_prefix("Said.\n").unwrap().len();
        let (note, tail) = rest.split_once("]\n").unwrap();
        assert_eq!(
            note,
            format!(
                r#"{} of 9900 characters are left out here: get-job {{"jobId": "a-1", "cursor": {shown}}} shows them"#,
                9900 - shown - tail.len()
            )
        );
    }

    #[test]
    fn a_lead_and_a_body_that_are_both_too_long_share_the_room() {
        let id = RequestId::from("a-1");
        let (lead, body) = ("l".repeat(1000), "b".repeat(1000));
        let told = within(MaxChars(600), &lines(&lead, 70), &lines(&body, 0), &id);
        assert!(told.chars().count() <= 600, "{told}");
        assert_eq!(told.matches("are left out here").count(), 2, "{told}");
        let short = within(MaxChars(600), &lines("lead\n", 70), &lines("body", 0), &id);
        assert_eq!(short, "lead\nbody");
    }

    #[test]
    fn lines_are_listed_while_there_is_room_for_them() {
        let line = "é".repeat(99);
        let lines = vec![line.as_str(); 1000];
        assert_eq!(fitting(lines.clone(), 0), 400);
        assert_eq!(fitting(lines.clone(), 1_000), 390);
        assert_eq!(fitting(lines, 50_000), 0);
        assert_eq!(fitting(["one", "two"], 0), 2);
    }

    #[test]
    fn an_id_of_any_length_stays_short_in_a_note() {
        let id = RequestId::from("\n".repeat(10_000));
        assert!(call_for(&id, u64::MAX).chars().count() < 200);
    }
}
