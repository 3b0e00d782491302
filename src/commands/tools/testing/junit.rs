//! What came of examples as JUnit's XML, which programs read that build and test (GitLab, Jenkins, GitHub's actions).

use std::{fmt::Write as _, time::Duration};

use super::{
    report,
    test::{Outcome, Test},
};
use crate::{base::text::timestamp, tools::manifest::Problem};

/// The suite of what is wrong with manifests.
const MANIFESTS: &str = "manifests";

/// A report that is being written.
pub struct Report {
    /// The suites that are closed, each a manifest's.
    suites: Vec<Suite>,
    began: std::time::SystemTime,
}

#[derive(Default)]
struct Suite {
    name: String,
    cases: String,
    tests: usize,
    failures: usize,
    errors: usize,
    took: Duration,
}

impl Report {
    /// One that begins now.
    pub fn begin() -> Self {
        Self {
            suites: Vec::new(),
            began: std::time::SystemTime::now(),
        }
    }

    /// Adds what came of an example. Those of one manifest come one after the other.
    pub fn add(&mut self, test: &Test, outcome: &Outcome) {
        let file = test.file.display().to_string();
        let suite = self.suite(&file);
        suite.tests += 1;
        suite.took += outcome.took;
        let case = format!(
            "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\" time=\"{}\"",
            escaped(&test.of),
            escaped(&test.example.name),
            escaped(&file),
            test.example.line,
            seconds(outcome.took)
        );
        suite.cases.push_str(&case);
        if outcome.has_passed() {
            suite.cases.push_str("/>\n");
            return;
        }
        suite.failures += 1;
        let message: Vec<_> = outcome
            .misses
            .iter()
            .map(|miss| format!("expected {}", miss.expected))
            .collect();
        suite.cases.push_str(&format!(
            ">\n      <failure type=\"expectation\" message=\"{}\">{}</failure>\n    </testcase>\n",
            escaped(&message.join("; ")),
            escaped(&format!(
                "{file}:{}\n{}",
                test.example.line,
                report::why(outcome)
            ))
        ));
    }

    /// Adds what keeps a part of a manifest from being tried.
    pub fn add_problem(&mut self, problem: &Problem) {
        let suite = self.suite(MANIFESTS);
        suite.tests += 1;
        suite.errors += 1;
        let file = problem.file.display().to_string();
        let line = problem.line.unwrap_or(1);
        suite.cases.push_str(&format!(
            "    <testcase classname=\"{MANIFESTS}\" name=\"{file}:{line}\" file=\"{file}\" line=\"{line}\" time=\"0.000\">\n      \
             <error type=\"manifest\" message=\"{}\"/>\n    </testcase>\n",
            escaped(&problem.reason),
            file = escaped(&file),
        ));
    }

    /// All of it.
    pub fn end(self) -> String {
        let sum = |of: fn(&Suite) -> usize| self.suites.iter().map(of).sum::<usize>();
        let took = self.suites.iter().map(|suite| suite.took).sum();
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mcp-bridge tools test\" tests=\"{}\" \
             failures=\"{}\" errors=\"{}\" time=\"{}\">\n",
            sum(|suite| suite.tests),
            sum(|suite| suite.failures),
            sum(|suite| suite.errors),
            seconds(took)
        );
        for suite in &self.suites {
            // Writing to a String can't fail.
            let _ = write!(
                xml,
                "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" time=\"{}\" \
                 timestamp=\"{}\">\n{}  </testsuite>\n",
                escaped(&suite.name),
                suite.tests,
                suite.failures,
                suite.errors,
                seconds(suite.took),
                timestamp(self.began).trim_end_matches('Z'),
                suite.cases
            );
        }
        xml.push_str("</testsuites>\n");
        xml
    }

    /// The suite of this name: the last one, or a new one.
    fn suite(&mut self, name: &str) -> &mut Suite {
        if self.suites.last().is_none_or(|last| last.name != name) {
            self.suites.push(Suite {
                name: name.to_owned(),
                ..Suite::default()
            });
        }
        let last = self.suites.len() - 1;
        &mut self.suites[last]
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// A text as it stands in XML: what XML can't hold at all is left out of it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // In an attribute it would become a blank.
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            // XML 1.0, section 2.2.
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_can_not_hold_is_marked_and_what_it_means_is_escaped() {
        assert_eq!(
            escaped("a<b>&\"c\"\n\u{1b}[0m\0é"),
            "a&lt;b&gt;&amp;&quot;c&quot;&#10;\u{fffd}[0m\u{fffd}é"
        );
    }
}
