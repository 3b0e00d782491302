//! How much of a handler's texts is kept and shown.

/// How much of what a handler prints is kept, in bytes: as much as of what a job prints.
pub const KEPT_OUTPUT: usize = 1024 * 1024;

/// How long an error is shown, in bytes.
pub const ERROR: usize = 8 * 1024;

/// A text's beginning, and how much is missing.
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit)
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    format!("{}… ({} more bytes)", &text[..end], text.len() - end)
}
