//! A secret shared with whoever may come in.

use std::fmt;

use subtle::ConstantTimeEq;

/// Such a secret. Its `Debug` form hides it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token made of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether `given` is this token, in a time that does not depend on where the two differ.
    pub fn matches(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
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
    }
}
