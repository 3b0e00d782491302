//! What keeps a part of a manifest from being used.

/// Why something can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// Why.
    pub reason: String,
}
