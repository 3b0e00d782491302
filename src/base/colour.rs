//! Colours of what a command shows a person: marks, and the lines of a diff. Whoever writes it to a terminal sees to it
//! that there is one, and that its user wants colours (`NO_COLOR`).

use anstyle::{AnsiColor, Style};

/// The text with its marks and diffs in colours.
pub fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let style = |colour: AnsiColor| colour.on_default();
    let all = match line {
        _ if line.starts_with("+++ ") || line.starts_with("--- ") => Style::new().bold(),
        _ if line.starts_with("@@ ") => style(AnsiColor::Cyan),
        _ if line.starts_with('+') => style(AnsiColor::Green),
        _ if line.starts_with('-') => style(AnsiColor::Red),
        _ => return mark(line),
    };
    let text = line.trim_end_matches(['\r', '\n']);
    format!("{all}{text}{all:#}{}", &line[text.len()..])
}

/// A line with its mark in colours, if it begins with one.
fn mark(line: &str) -> String {
    let colours = [
        ("✓", AnsiColor::Green),
        ("!", AnsiColor::Yellow),
        ("✗", AnsiColor::Red),
    ];
    let blank = &line[..line.len() - line.trim_start_matches(' ').len()];
    for (mark, colour) in colours {
        if let Some(rest) = line[blank.len()..].strip_prefix(mark)
            && rest.starts_with(' ')
        {
            let style = colour.on_default();
            return format!("{blank}{style}{mark}{style:#}{rest}");
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_diffs_are_painted_and_nothing_else() {
        for (text, after) in [
            ("✓ well\n", "\u{1b}[32m✓\u{1b}[0m well\n"),
            ("  ✗ bad", "  \u{1b}[31m✗\u{1b}[0m bad"),
            ("+one\r\n", "\u{1b}[32m+one\u{1b}[0m\r\n"),
            ("-one\n one\n", "\u{1b}[31m-one\u{1b}[0m\n one\n"),
            ("--- a\n", "\u{1b}[1m--- a\u{1b}[0m\n"),
            ("!important", "!important"),
            ("a - b + c ✓\n", "a - b + c ✓\n"),
        ] {
            assert_eq!(painted(text), after);
            assert_eq!(
                anstream::adapter::strip_str(&painted(text)).to_string(),
                text
            );
        }
    }
}
