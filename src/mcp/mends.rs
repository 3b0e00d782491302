//! What single clients need, since they misread what the protocol allows: a table, one line for each. Nobody else's
//! answers are touched.

use rmcp::model::{CallToolResult, ContentBlock};

use crate::base::text::{as_value, is_json_but_no_object};

/// A fault of a client, and what goes round it.
struct Mend {
    /// How what the client calls itself (`clientInfo.name`) begins.
    client: &'static str,
    /// What becomes of a result.
    of_result: fn(&mut CallToolResult),
}

const MENDS: [Mend; 1] = [
    // Gemini CLI up to 0.61 at least: its transport parses the first text of any result that has no structured content,
    // and takes for that whatever JSON it is. Where it is no object, the result is refused as broken, though the tool ran.
    Mend {
        client: "gemini-cli",
        of_result: mark_bare_value,
    },
];

/// A result as the client of this name can take it.
pub fn mended(client: &str, mut result: CallToolResult) -> CallToolResult {
    for mend in &MENDS {
        let start = client.get(..mend.client.len());
        if start.is_some_and(|start| start.eq_ignore_ascii_case(mend.client)) {
            (mend.of_result)(&mut result);
        }
    }
    result
}

/// Writes the mark of our own values before a first text that is a value alone. Structured content beside it would leave
/// the text as it is, but has to fit the schema that a tool may have for it.
fn mark_bare_value(result: &mut CallToolResult) {
    let has_structured = matches!(&result.structured_content, Some(content) if content.is_object());
    if has_structured {
        return;
    }
    if let Some(ContentBlock::Text(first)) = result.content.first_mut()
        && is_json_but_no_object(&first.text)
    {
        first.text = as_value(&first.text);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const GEMINI_CLI: &str = "gemini-cli-mcp-client";

    fn texts(result: &CallToolResult) -> Vec<&str> {
        let texts = result.content.iter().filter_map(|block| block.as_text());
        texts.map(|block| block.text.as_str()).collect()
    }

    fn of(texts: &[&str], structured: Option<Value>) -> CallToolResult {
        let blocks = texts.iter().map(|text| ContentBlock::text(*text));
        let mut result = CallToolResult::success(blocks.collect());
        result.structured_content = structured;
        result
    }

    #[test]
    fn gemini_cli_is_shown_no_bare_value_first() {
        for (told, shown) in [
            (["2", "2"], ["=> 2", "2"]),
            (["[1]\n", ""], ["=> [1]\n", ""]),
            (["null", "x"], ["=> null", "x"]),
            (["{\"a\":1}", "2"], ["{\"a\":1}", "2"]),
            (["two", "2"], ["two", "2"]),
        ] {
            assert_eq!(texts(&mended(GEMINI_CLI, of(&told, None))), shown);
        }
        let structured = of(&["2"], Some(json!({"n": 2})));
        assert_eq!(texts(&mended(GEMINI_CLI, structured)), ["2"]);
        // Such content is taken out again for a client of the era with `initialize`.
        let structured = of(&["2"], Some(json!(2)));
        assert_eq!(texts(&mended(GEMINI_CLI, structured)), ["=> 2"]);
        assert!(mended(GEMINI_CLI, of(&[], None)).content.is_empty());
    }

    #[test]
    fn others_are_shown_what_the_tool_answered() {
        for client in ["", "gemini", "tests", "claude-code", "é-very-long-name"] {
            assert_eq!(texts(&mended(client, of(&["2"], None))), ["2"], "{client}");
        }
        assert_eq!(texts(&mended("Gemini-CLI", of(&["2"], None))), ["=> 2"]);
    }
}
