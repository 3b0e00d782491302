//! Which computers a person means by a word: by their numbers, or by their labels.

use std::{io, path::Path, time::Duration};

use crate::{
    base::text::one_line,
    computers::ComputerKey,
    hands::{
        mailbox,
        message::{Answer, ComputerRow, Question},
    },
    wire::names::ComputerId,
};

/// How long bridges have to tell which computers there are.
const TO_ANSWER: Duration = Duration::from_secs(5);

/// How many computers are named to somebody who named none of them.
const NAMED: usize = 20;

/// The computers that the bridges know which run here; none if none runs.
///
/// # Errors
/// The bridges can't be asked.
pub fn known(shared: &Path) -> io::Result<Option<Vec<ComputerRow>>> {
    let round = mailbox::ask(shared, &Question::Computers, TO_ANSWER)?;
    let told = round
        .told
        .into_values()
        .filter_map(|told| match told.answer {
            Answer::Computers { computers, .. } => Some(computers),
            _ => None,
        });
    // Those that share a link port know the same.
    Ok(told.max_by_key(Vec::len))
}

/// The number that a word is.
pub fn number(word: &str) -> Option<ComputerKey> {
    Some(ComputerKey::from(ComputerId(word.parse().ok()?)))
}

/// The one computer of these that is meant.
///
/// # Errors
/// It is none, or several, in a sentence.
pub fn one(rows: &[ComputerRow], word: &str) -> Result<ComputerKey, String> {
    let meant: Vec<_> = rows.iter().filter(|row| is_called(row, word)).collect();
    match meant[..] {
        [one] => Ok(one.computer),
        [] => Err(format!(
            "No computer {} is known.{}",
            one_line(word),
            names(rows)
        )),
        _ => Err(format!(
            "Several computers are called {}: {}. Name one by its number.",
            one_line(word),
            listed(&meant)
        )),
    }
}

fn names(rows: &[ComputerRow]) -> String {
    let named: Vec<_> = rows.iter().take(NAMED).collect();
    match rows.len() {
        0 => String::new(),
        count if count > NAMED => format!(" {count} are, among them {}.", listed(&named)),
        _ => format!(" There are: {}.", listed(&named)),
    }
}

/// Their names, on one line.
pub fn listed(rows: &[&ComputerRow]) -> String {
    let names: Vec<_> = rows.iter().map(|row| one_line(&row.name)).collect();
    names.join(", ")
}

/// Whether a person means this computer by a word: its number, or else its label, as its name shows it.
pub fn is_called(row: &ComputerRow, word: &str) -> bool {
    match number(word) {
        Some(number) => row.computer == number,
        None => row.name.ends_with(&format!(" (Label: {word})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u64, name: &str) -> ComputerRow {
        ComputerRow {
            computer: ComputerKey::from(ComputerId(number)),
            name: name.to_owned(),
            agent: None,
            since: std::time::SystemTime::now(),
            left: None,
        }
    }

    #[test]
    fn a_computer_is_named_by_its_number_or_its_label() {
        let row = row(12, "12 (Label: old storage)");
        for (word, is_meant) in [
            ("12", true),
            ("old storage", true),
            ("storage", false),
            ("1", false),
            ("", false),
        ] {
            assert_eq!(is_called(&row, word), is_meant, "{word}");
        }
    }

    #[test]
    fn who_means_none_or_several_is_told_which_there_are() {
        let rows = [
            row(1, "1 (Label: a)"),
            row(2, "2 (Label: b)"),
            row(3, "3 (Label: b)"),
        ];
        assert_eq!(one(&rows, "a"), Ok(rows[0].computer));
        assert_eq!(
            one(&rows, "9").unwrap_err(),
            "No computer 9 is known. There are: 1 (Label: a), 2 (Label: b), 3 (Label: b)."
        );
        assert_eq!(
            one(&rows, "b").unwrap_err(),
            "Several computers are called b: 2 (Label: b), 3 (Label: b). Name one by its number."
        );
        assert_eq!(one(&[], "b").unwrap_err(), "No computer b is known.");
    }
}
