//! Completion: what an argument of a prompt, or a name in a template of URIs, can be that a person has begun to write.

use rmcp::model::{ArgumentInfo, CompleteResult, CompletionContext, CompletionInfo, JsonObject};

/// An argument that was begun.
#[derive(Debug, Clone)]
pub struct Begun {
    /// Its name, and what of it there is.
    pub argument: ArgumentInfo,
    /// The arguments before it.
    pub context: Option<CompletionContext>,
    /// What the client attached for whoever answers.
    pub attached: Option<JsonObject>,
}

/// The answer that is made of these values: as many of them as one may have, and how many there are.
pub fn of_values(mut values: Vec<String>) -> CompleteResult {
    let mut completion = CompletionInfo::default();
    completion.total = u32::try_from(values.len()).ok();
    completion.has_more = Some(values.len() > CompletionInfo::MAX_VALUES);
    values.truncate(CompletionInfo::MAX_VALUES);
    completion.values = values;
    CompleteResult::new(completion)
}
