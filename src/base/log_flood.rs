//! Keeps one kind of line from filling the log, and each line on one line: what strangers can make a bridge write, they
//! can make it write without end.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use tracing::{Event, Level, Subscriber, callsite::Identifier};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{self, Format, Full, Writer},
    },
    registry::LookupSpan,
};

use super::text::{one_line, timestamp};

/// How many lines of one kind are written at once, and how often one more.
const BURST: f64 = 200.0;
const ONE_MORE_AFTER: Duration = Duration::from_secs(10);

/// How much of a line is written, in bytes.
const LONGEST: usize = 4 * 1024;

/// The same of what somebody asked to see by the log's filter.
const LONGEST_ASKED_FOR: usize = 64 * 1024;

/// How much of a line is told again beside how many were like it, in bytes.
const LONGEST_EXAMPLE: usize = 200;

/// How the log's lines are written.
pub struct Lines {
    format: Format<Full>,
    kinds: Mutex<Kinds>,
}

/// Lines by the place in the code that they come from.
#[derive(Default)]
struct Kinds(HashMap<Identifier, Kind>);

struct Kind {
    left: f64,
    counted: Instant,
    skipped: u64,
    /// The last that was written.
    example: String,
}

impl Lines {
    /// None of any kind were written yet.
    pub fn new() -> Self {
        Self {
            format: format::format(),
            kinds: Mutex::default(),
        }
    }
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let (level, kind) = (*metadata.level(), metadata.callsite());
        let mut line = String::new();
        if level > Level::INFO {
            self.format
                .format_event(context, Writer::new(&mut line), event)?;
            return writer.write_str(&bounded(&line, LONGEST_ASKED_FOR));
        }
        let now = Instant::now();
        // Kinds are never left half changed.
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(skipped) = kinds.take(&kind, now) else {
            return Ok(());
        };
        self.format
            .format_event(context, Writer::new(&mut line), event)?;
        // A panic's place and words stand on two lines, and come from nobody else.
        let line = match level {
            Level::ERROR => bounded(&line, LONGEST),
            _ => bounded(&one_line(line.trim_end()), LONGEST),
        };
        for (skipped, example) in kinds.summaries(&kind) {
            let moment = timestamp(SystemTime::now());
            writeln!(writer, "{moment}  {skipped}: {example}")?;
        }
        kinds.wrote(&kind, &line);
        drop(kinds);
        match skipped {
            0 => writer.write_str(&line),
            skipped => writeln!(writer, "{} ({})", line.trim_end(), and_more(skipped)),
        }
    }
}

impl Kinds {
    /// Takes the place of one line of this kind, if there is one left; tells how many had none before it.
    fn take(&mut self, kind: &Identifier, now: Instant) -> Option<u64> {
        let kind = self.0.entry(kind.clone()).or_insert_with(|| Kind {
            left: BURST,
            counted: now,
            skipped: 0,
            example: String::new(),
        });
        let more = now.duration_since(kind.counted).as_secs_f64() / ONE_MORE_AFTER.as_secs_f64();
        kind.left = (kind.left + more).min(BURST);
        kind.counted = now;
        if kind.left < 1.0 {
            kind.skipped += 1;
            return None;
        }
        kind.left -= 1.0;
        Some(std::mem::take(&mut kind.skipped))
    }

    /// Notes what was written of this kind.
    fn wrote(&mut self, kind: &Identifier, line: &str) {
        if let Some(kind) = self.0.get_mut(kind) {
            // Without the moment, which is not that of the others.
            let words = line
                .trim_end()
                .split_once(' ')
                .map_or("", |(_, words)| words);
            kind.example.clear();
            kind.example
                .push_str(clip(words.trim_start(), LONGEST_EXAMPLE));
        }
    }

    /// How many lines of other kinds were left out that nobody was told of yet, each with one of them.
    fn summaries(&mut self, but: &Identifier) -> Vec<(String, String)> {
        let others = self.0.iter_mut();
        others
            .filter(|(kind, state)| *kind != but && state.skipped > 0)
            .map(|(_, state)| {
                let skipped = std::mem::take(&mut state.skipped);
                (and_more(skipped), state.example.clone())
            })
            .collect()
    }
}

/// `and 1,234 more like it`
fn and_more(skipped: u64) -> String {
    let digits = skipped.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("and {grouped} more like it")
}

/// A line, with its end, and with so many bytes at most before it is said how many more it had.
fn bounded(line: &str, longest: usize) -> String {
    let line = line.trim_end_matches('\n');
    let mut shown = clip(line, longest).to_owned();
    let cut = line.len() - shown.len();
    if cut > 0 {
        // Writing to a String can't fail.
        let _ = write!(shown, "… ({cut} bytes more)");
    }
    shown.push('\n');
    shown
}

fn clip(text: &str, longest: usize) -> &str {
    let mut end = longest.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracing_subscriber::{fmt::MakeWriter, layer::SubscriberExt};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Log {
        type Writer = Self;
        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    /// What is logged meanwhile.
    fn logged(events: impl FnOnce()) -> String {
        let log = Log::default();
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(log.clone())
            .event_format(Lines::new());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), events);
        String::from_utf8(log.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn a_flood_of_one_kind_is_summed_up_and_hides_no_other() {
        let log = logged(|| {
            for number in 0..1_434 {
                tracing::warn!(number, "a stranger knocks");
            }
            tracing::info!("leaving");
        });
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len(), 202, "{log}");
        assert!(
            lines[199].ends_with("a stranger knocks number=199"),
            "{}",
            lines[199]
        );
        assert!(
            lines[200].contains("  and 1,234 more like it: WARN mcp_bridge::base::log_flood::tests: a stranger knocks number=199"),
            "{}",
            lines[200]
        );
        assert!(lines[201].ends_with("leaving"), "{}", lines[201]);
    }

    #[test]
    fn with_time_one_more_is_written_and_says_how_many_were_left_out() {
        let mut kinds = Kinds::default();
        let kind = Identifier(
            tracing::callsite!(name: "x", kind: tracing::metadata::Kind::EVENT, fields: message),
        );
        let start = Instant::now();
        for _ in 0..200 {
            assert_eq!(kinds.take(&kind, start), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(kinds.take(&kind, start), None);
        }
        assert_eq!(kinds.take(&kind, start + ONE_MORE_AFTER), Some(7));
        assert_eq!(kinds.take(&kind, start + ONE_MORE_AFTER), None);
        assert_eq!(and_more(1_234_567), "and 1,234,567 more like it");
        assert_eq!(and_more(12), "and 12 more like it");
    }

    #[test]
    fn a_line_stays_one_and_has_an_end() {
        let log = logged(|| {
            tracing::warn!("a\n2026-01-01T00:00:00Z ERROR forged {}", "é".repeat(3_000));
            for _ in 0..300 {
                tracing::debug!("asked for");
            }
        });
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len(), 301);
        assert!(
            lines[0].contains("a\\n2026-01-01T00:00:00Z ERROR forged é"),
            "{}",
            lines[0]
        );
        assert!(
            lines[0].ends_with(" bytes more)") && lines[0].len() < LONGEST + 40,
            "{}",
            lines[0]
        );
    }
}
