//! What is to be changed is shown, and done only after a yes.

use std::io::{BufRead, Write};

use super::{change::Change, refusal::Refusal};
use crate::base::colour;

/// How far a person lets it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Show each change, and ask.
    Ask,
    /// Show each change, and do it.
    Yes,
    /// Show each change, and leave it.
    DryRun,
    /// Show only what a person would paste, and where.
    Print,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is to be done, or is done.
    Yes,
    /// The person said no.
    No,
    /// It was only shown: as was asked, or since nobody could be asked.
    Shown,
}

/// The conversation with whoever runs the command.
pub struct Asking<'a> {
    /// How far they let it go.
    pub how: How,
    /// Whether somebody is there to be asked.
    pub is_terminal: bool,
    /// Where answers come from.
    pub input: &'a mut dyn BufRead,
    /// Where everything is shown.
    pub output: &'a mut dyn Write,
    /// Whether marks and diffs are in colours.
    pub is_coloured: bool,
    /// Whether something would have been asked, and nobody was there.
    pub nobody_answered: bool,
    /// Whether something was refused or failed.
    pub failed: bool,
}

impl<'a> Asking<'a> {
    /// A conversation in which nothing was said yet.
    pub fn new(
        how: How,
        is_terminal: bool,
        input: &'a mut dyn BufRead,
        output: &'a mut dyn Write,
    ) -> Self {
        Self {
            how,
            is_terminal,
            input,
            output,
            is_coloured: false,
            nobody_answered: false,
            failed: false,
        }
    }

    /// The same, with marks and diffs in colours: `output` drops those that nobody wants.
    #[must_use]
    pub fn in_colours(self) -> Self {
        Self {
            is_coloured: true,
            ..self
        }
    }

    /// Says one line or several. A reader that left is no failure.
    pub fn say(&mut self, text: &str) {
        let painted = self.is_coloured.then(|| colour::painted(text));
        let text = painted.as_deref().unwrap_or(text);
        let _ = writeln!(self.output, "{text}").and_then(|()| self.output.flush());
    }

    /// Says what could not be done, and why: the command then ends with 1.
    pub fn refuse(&mut self, problem: &str) {
        self.failed = true;
        self.say(problem);
    }

    /// Asks whether to go on, unless that is settled.
    pub fn agrees(&mut self, question: &str) -> Verdict {
        match self.how {
            How::Yes => return Verdict::Yes,
            How::DryRun | How::Print => return Verdict::Shown,
            How::Ask if !self.is_terminal => {
                self.nobody_answered = true;
                return Verdict::Shown;
            }
            How::Ask => {}
        }
        match self.answer(&format!("{question} [y/N]")) {
            Some(answer) if matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes") => {
                Verdict::Yes
            }
            _ => Verdict::No,
        }
    }

    /// Asks for a line, if somebody is there to answer.
    pub fn answer(&mut self, question: &str) -> Option<String> {
        if !self.is_terminal {
            self.nobody_answered = true;
            return None;
        }
        let _ = write!(self.output, "{question} ").and_then(|()| self.output.flush());
        let mut answer = String::new();
        match self.input.read_line(&mut answer) {
            Ok(1..) => Some(answer.trim().to_owned()),
            _ => None,
        }
    }

    /// Shows the changes that belong together as diffs, asks once, and writes them all.
    ///
    /// # Errors
    /// One can't be written. Those before it are written, and those after it are not.
    pub fn change(&mut self, changes: &[Change], question: &str) -> Result<Verdict, Refusal> {
        for change in changes.iter().filter(|change| !change.is_nothing()) {
            self.say(&change.diff());
        }
        let verdict = self.agrees(question);
        if verdict == Verdict::Yes {
            for change in changes {
                change.apply()?;
            }
        }
        Ok(verdict)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::setup::file::Found;

    /// What became of a change of a file, what is in the file then, and what was said.
    fn told(how: How, is_terminal: bool, answer: &str) -> (Verdict, String, String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one\n").unwrap();
        let change = Change::new(Found::read(&path).unwrap(), Some("two\n".to_owned()));
        let (mut input, mut output) = (answer.as_bytes(), Vec::new());
        let mut asking = Asking::new(how, is_terminal, &mut input, &mut output);
        let verdict = asking.change(&[change], "Write this?").unwrap();
        let nobody_answered = asking.nobody_answered;
        let said = String::from_utf8(output).unwrap();
        (
            verdict,
            fs::read_to_string(&path).unwrap(),
            said,
            nobody_answered,
        )
    }

    #[test]
    fn nothing_is_written_without_a_yes() {
        for (how, is_terminal, answer, verdict, unanswered) in [
            (How::Ask, true, "y\n", Verdict::Yes, false),
            (How::Ask, true, "YES\n", Verdict::Yes, false),
            (How::Ask, true, "\n", Verdict::No, false),
            (How::Ask, true, "", Verdict::No, false),
            (How::Ask, false, "y\n", Verdict::Shown, true),
            (How::Yes, false, "", Verdict::Yes, false),
            (How::DryRun, true, "y\n", Verdict::Shown, false),
        ] {
            let (is, file, said, nobody) = told(how, is_terminal, answer);
            assert_eq!((is, nobody), (verdict, unanswered), "{how:?} {answer:?}");
            let expected = if is == Verdict::Yes { "two\n" } else { "one\n" };
            assert_eq!(file, expected, "{how:?} {answer:?}");
            assert!(said.contains("-one\n+two\n"), "{said}");
            assert_eq!(
                said.contains("Write this? [y/N]"),
                how == How::Ask && is_terminal
            );
        }
    }
}
