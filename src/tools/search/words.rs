//! Words of a text, and what they are compared by.

use rust_stemmers::{Algorithm, Stemmer};

use crate::base::excerpt::first;

/// How many words of a query count: comparing takes as many steps.
const MOST_WORDS: usize = 32;

/// How much of a query is read, in characters.
const LONGEST_QUERY: usize = 2_000;

/// How long a word may be, in bytes: what is longer is none that anybody looks for.
const LONGEST: usize = 64;

/// Words of questions that say nothing of what is looked for, as [`split`] has them.
const STOP_WORDS: &str = "\
    a able about all also am an and any anything are as at be been being but by can cannot cant could did do does \
    doesnt doing dont each every for from had has have having help her here his how i if in into is isnt it its \
    just like make makes making many may me mine much must my need needs of on one ones or our please should so \
    some something than that the their them then there these they thing things this those to too tool tools us use \
    used using very want was way we were what when where which who whom whose why will with would you your";

/// Forms of words that no rule leads back to what they are forms of.
const IRREGULAR: &[(&str, &str)] = &[
    ("bought", "buy"),
    ("broke", "break"),
    ("broken", "break"),
    ("built", "build"),
    ("drawn", "draw"),
    ("drew", "draw"),
    ("dug", "dig"),
    ("fed", "feed"),
    ("found", "find"),
    ("gave", "give"),
    ("given", "give"),
    ("gone", "go"),
    ("got", "get"),
    ("kept", "keep"),
    ("ran", "run"),
    ("sent", "send"),
    ("sold", "sell"),
    ("taken", "take"),
    ("took", "take"),
    ("went", "go"),
    ("written", "write"),
    ("wrote", "write"),
];

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As it was written, in lower case.
    pub written: String,
    /// What it is compared by.
    pub stem: String,
}

/// Brings words to what they are compared by.
pub struct Stems(Stemmer);

impl Default for Stems {
    fn default() -> Self {
        Self(Stemmer::create(Algorithm::English))
    }
}

impl Stems {
    /// What a word in lower case is compared by: "digging" and "digs" are `dig`.
    pub fn of(&self, word: &str) -> String {
        if !word.is_ascii() {
            // The rules are those of English.
            return word.to_owned();
        }
        match IRREGULAR.binary_search_by_key(&word, |(form, _)| form) {
            Ok(at) => IRREGULAR[at].1.to_owned(),
            Err(_) => self.0.stem(word).into_owned(),
        }
    }

    /// The words of a query, each once. Words that say nothing are left out, unless there are no others.
    pub fn of_query(&self, query: &str) -> Vec<Word> {
        let mut all: Vec<String> = Vec::new();
        split(first(query, LONGEST_QUERY), |word| {
            if !all.iter().any(|known| known == word) {
                all.push(word.to_owned());
            }
        });
        if all.iter().any(|word| !says_nothing(word)) {
            all.retain(|word| !says_nothing(word));
        }
        let mut words: Vec<Word> = Vec::new();
        for written in all {
            let stem = self.of(&written);
            if words.len() < MOST_WORDS && !words.iter().any(|word| word.stem == stem) {
                words.push(Word { written, stem });
            }
        }
        words
    }
}

fn says_nothing(word: &str) -> bool {
    STOP_WORDS.split(' ').any(|other| other == word)
}

/// Hands each word of a text over, in lower case: `computerId` is `computer` and `id`, and `computerid` too, as somebody
/// may write it; `HTTPServer` is `http` and `server`; "turtle's" is `turtle`.
pub fn split(text: &str, mut hand_over: impl FnMut(&str)) {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’');
    for run in text.split(|c: char| !is_inside(c)) {
        let run = run.trim_matches(['\'', '’']);
        if run.is_empty() {
            continue;
        }
        let plain = without_apostrophes(run);
        let pieces = pieces_of(&plain);
        let mut give = |word: &str| {
            if word.len() <= LONGEST {
                hand_over(&word.to_lowercase());
            }
        };
        for piece in &pieces {
            give(piece);
        }
        if pieces.len() > 1 {
            give(&plain);
        }
    }
}

/// "turtle's" is "turtle", "don't" is "dont".
fn without_apostrophes(run: &str) -> String {
    match run.split_once(['\'', '’']) {
        Some((word, "s" | "re" | "ve" | "ll" | "d" | "m")) => word.to_owned(),
        Some(_) => run.replace(['\'', '’'], ""),
        None => run.to_owned(),
    }
}

/// Where a name is written as `camelCase`, its pieces; else the whole.
fn pieces_of(run: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    let mut pieces = Vec::new();
    let mut begin = 0;
    for at in 1..chars.len() {
        let (place, here) = chars[at];
        let before = chars[at - 1].1;
        let after = chars.get(at + 1).map(|(_, c)| *c);
        // A hump, or the last capital of several, which begins the next word.
        let is_hump = here.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || before.is_uppercase() && after.is_some_and(char::is_lowercase));
        if is_hump {
            pieces.push(&run[begin..place]);
            begin = place;
        }
    }
    pieces.push(&run[begin..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        split(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn names_and_sentences_are_split_into_words() {
        for (text, words) in [
            ("dig-tunnel_2", "dig tunnel 2"),
            ("computerId", "computer id computerid"),
            ("readHTTPBody", "read http body readhttpbody"),
            ("github__create_issue", "github create issue"),
            ("my chests' contents", "my chests contents"),
            (
                "What's the turtle’s fuel? I don't know.",
                "what the turtle fuel i dont know",
            ),
            ("sha256 of v1.2", "sha256 of v1 2"),
            ("農場の小麦 Öl", "農場の小麦 öl"),
            (" -- '' ", ""),
        ] {
            assert_eq!(of(text).join(" "), words, "{text}");
        }
        assert_eq!(of(&"x".repeat(65)), [""; 0]);
    }

    #[test]
    fn forms_of_a_word_are_one() {
        let stems = Stems::default();
        for (one, other) in [
            ("digging", "dig"),
            ("dug", "digs"),
            ("directories", "directory"),
            ("running", "ran"),
            ("turtles", "turtle"),
        ] {
            assert_eq!(stems.of(one), stems.of(other), "{one}");
        }
        assert_eq!(stems.of("öl"), "öl");
    }

    #[test]
    fn a_question_is_the_words_that_say_something() {
        let of = |query: &str| {
            let words = Stems::default().of_query(query);
            let stems: Vec<_> = words.into_iter().map(|word| word.stem).collect();
            stems.join(" ")
        };
        assert_eq!(of("How much fuel do my turtles have?"), "fuel turtl");
        assert_eq!(of("What is running? Who runs?"), "run");
        assert_eq!(of("what is this"), "what is this");
        assert_eq!(of("!?"), "");
    }

    #[test]
    fn the_tables_know_words_as_they_are_split() {
        assert!(IRREGULAR.is_sorted());
        for word in STOP_WORDS.split(' ') {
            assert_eq!(of(word), [word]);
        }
    }
}
