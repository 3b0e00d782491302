//! What somebody meant by a word of a manifest that means nothing here.
//!
//! A manifest may serve another program too, so a word that is not ours is no mistake, unless it is one of ours but for a
//! slip.

use super::{fields::Fields, wrong::Wrong};

/// The keys of a manifest.
pub const OF_MANIFEST: &[&str] = &["version", "namespace", "meta", "entries"];

/// The keys of a manifest's own `meta`.
pub const OF_MANIFEST_META: &[&str] = &["mcp.http", "mcp.secrets"];

/// The keys of a host that is written as a map.
pub const OF_HOST: &[&str] = &["host", "private"];

/// The keys of an entry.
pub const OF_ENTRY: &[&str] = &["name", "kind", "source", "method", "meta"];

/// The keys of an entry's `meta`.
pub const OF_META: &[&str] = &[
    "mcp.tool",
    "mcp.prompt",
    "mcp.name",
    "mcp.title",
    "mcp.description",
    "mcp.inputSchema",
    "mcp.outputSchema",
    "mcp.annotations",
    "mcp.toolset",
    "mcp.listed",
    "mcp.timeoutMs",
    "mcp.exclusive",
    "mcp.examples",
    "mcp.text",
    "mcp.messages",
    "mcp.arguments",
    "mcp.extend",
    "mcp.uri",
    "mcp.mimeType",
    "mcp.blob",
    "mcp.watch",
    "mcp.prompt.name",
    "mcp.prompt.title",
    "mcp.prompt.description",
    "mcp.prompt.type",
    "mcp.prompt.text",
    "mcp.prompt.messages",
    "mcp.prompt.arguments",
    "mcp.prompt.extend",
];

/// What each of them begins with.
pub const PREFIX: &str = "mcp.";

/// The annotations.
pub const OF_ANNOTATIONS: &[&str] = &[
    "title",
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// The keys of a prompt's argument.
pub const OF_ARGUMENT: &[&str] = &[
    "name",
    "title",
    "description",
    "required",
    "values",
    "complete",
];

/// The keys of a prompt's message.
pub const OF_MESSAGE: &[&str] = &["role", "content"];

/// A word that is longer is nobody's slip, in bytes. What it takes to compare two words grows with both.
const LONGEST: usize = 100;

/// A beginning of a word that is shorter says too little, in bytes.
const SHORTEST_BEGINNING: usize = 5;

/// The word of `known` that another is but for a slip: its case, a letter or two, or an end that was left away.
pub fn meant(word: &str, known: &[&'static str]) -> Option<&'static str> {
    if word.len() > LONGEST || known.contains(&word) {
        return None;
    }
    if (known == OF_META || known == OF_MANIFEST_META) && !word.to_lowercase().starts_with("mcp") {
        return None;
    }
    let word = own_part(word);
    // In a short word, two other letters make another word.
    let most = if word.len() < 6 { 1 } else { 2 };
    let slip = |known: &&'static str| {
        let known = own_part(known);
        let slip = strsim::damerau_levenshtein(&word, &known);
        match word.len() >= SHORTEST_BEGINNING && known.starts_with(&word) {
            true => slip.min(most),
            false => slip,
        }
    };
    known
        .iter()
        .map(|known| (slip(known), *known))
        .filter(|(slip, _)| *slip <= most)
        .min_by_key(|(slip, _)| *slip)
        .map(|(_, known)| known)
}

/// What tells a word from others of its kind, in small letters: without what begins all of them, nor anything between its
/// parts.
fn own_part(word: &str) -> String {
    let word = word.to_lowercase();
    let own = word.strip_prefix(PREFIX).unwrap_or(&word);
    let own = own.strip_prefix("prompt.").unwrap_or(own);
    own.replace(['_', '-', ' '], "")
}

/// Whether no key is one of `known` but for a slip.
///
/// # Errors
/// The first that is.
pub fn no_slip(fields: &Fields<'_>, known: &[&'static str]) -> Result<(), Wrong> {
    for (key, node) in fields.entries() {
        if let Some(meant) = meant(key, known) {
            let key = crate::base::text::one_line(key);
            return Err(Wrong {
                line: node.line,
                reason: format!("`{key}` means nothing here; did you mean `{meant}`?"),
            });
        }
    }
    Ok(())
}

/// Whether all keys are among `known`: where nobody else has keys, one that is not is a mistake. `what` they are keys of.
///
/// # Errors
/// The first that is not.
pub fn only(fields: &Fields<'_>, known: &[&'static str], what: &str) -> Result<(), Wrong> {
    no_slip(fields, known)?;
    match fields.entries().find(|(key, _)| !known.contains(key)) {
        None => Ok(()),
        Some((key, node)) => Err(Wrong {
            line: node.line,
            reason: format!(
                "{what} has no `{}`; it has {}",
                crate::base::text::one_line(key),
                known.join(", ")
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_ours_but_for_a_slip_is_known() {
        for (word, known, ours) in [
            ("mcp.inputschema", OF_META, "mcp.inputSchema"),
            ("mcp.input_schema", OF_META, "mcp.inputSchema"),
            ("mcp.input", OF_META, "mcp.inputSchema"),
            ("MCP.Tool", OF_META, "mcp.tool"),
            ("mcp.tools", OF_META, "mcp.tool"),
            ("mcp.type", OF_META, "mcp.prompt.type"),
            ("mcp.timeout", OF_META, "mcp.timeoutMs"),
            ("mcp.descripton", OF_META, "mcp.description"),
            ("readonly", OF_ANNOTATIONS, "readOnlyHint"),
            ("readOnlyHnit", OF_ANNOTATIONS, "readOnlyHint"),
            ("require", OF_ARGUMENT, "required"),
            ("Source", OF_ENTRY, "source"),
            ("mcp.example", OF_META, "mcp.examples"),
        ] {
            assert_eq!(meant(word, known), Some(ours), "{word}");
        }
    }

    #[test]
    fn a_word_of_somebody_else_is_left_to_them() {
        for (word, known) in [
            ("mcp.tool", OF_META),
            ("mcp.order", OF_META),
            ("description", OF_META),
            ("input_schema", OF_META),
            ("modules", OF_ENTRY),
            ("imports", OF_ENTRY),
            ("data", OF_ENTRY),
            ("node", OF_ENTRY),
            ("audience", OF_ANNOTATIONS),
            (&"e".repeat(5000), OF_MANIFEST),
        ] {
            assert_eq!(meant(word, known), None, "{word}");
        }
    }
}
