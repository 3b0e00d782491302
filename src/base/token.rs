//! A secret shared with whoever may come in.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// How many characters a token has that nobody can find by trying, if they are chosen at random.
pub const LONG_ENOUGH: usize = 16;

/// Such a secret, of which only the hash is kept. Its `Debug` form hides it.
#[derive(Clone)]
pub struct Token {
    hash: [u8; 32],
    /// In characters.
    length: usize,
}

impl Token {
    /// A token made of this text.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            hash: hash(&text),
            length: text.chars().count(),
        }
    }

    /// Whether `given` is this token, in a time that depends on neither where the two differ nor how long this one is.
    pub fn matches(&self, given: &str) -> bool {
        self.hash.ct_eq(&hash(given)).into()
    }

    /// Whether it can keep those out who can try as many as they like.
    pub fn is_long_enough(&self) -> bool {
        self.length >= LONG_ENOUGH
    }

    /// `text` with `instead` wherever this token stands in it. One that is short is not looked for: it is in anything.
    pub fn hidden_in(&self, text: &str, instead: &str) -> String {
        const SHORT: usize = 6;
        if self.length < SHORT {
            return text.to_owned();
        }
        let mut places: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
        places.push(text.len());
        let (mut shown, mut from) = (String::new(), 0);
        for window in places.windows(self.length + 1) {
            let (start, end) = (window[0], window[self.length]);
            if start >= from && self.matches(&text[start..end]) {
                shown.push_str(&text[from..start]);
                shown.push_str(instead);
                from = end;
            }
        }
        shown + &text[from..]
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_matches_itself_only_and_hides_in_debug_output() {
        let token = Token::new("s3cret");
        assert!(token.matches("s3cret"));
        assert!(!token.matches("s3cres") && !token.matches("s3cret ") && !token.matches(""));
        assert!(!format!("{token:?}").contains("s3cret"));
        assert_eq!(token.hidden_in("é s3cret, s3cret", "…"), "é …, …");
        assert_eq!(token.hidden_in("s3cre", "…"), "s3cre");
    }

    #[test]
    fn a_token_is_long_enough_from_sixteen_characters_on() {
        assert!(!Token::new("é".repeat(15)).is_long_enough());
        assert!(Token::new("é".repeat(16)).is_long_enough());
    }
}
