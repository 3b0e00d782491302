//! All tools of one moment by their words, and what a search of them comes to.

use std::sync::Arc;

use rmcp::model::Tool as Definition;

use super::{document::Document, index::Index, words::Stems};
use crate::tools::refusal::Refusal;

/// All tools of one moment by their words.
pub struct Finder {
    index: Index,
    /// Of each document.
    names: Vec<String>,
}

impl Finder {
    /// Of these, by their names.
    pub fn of(tools: impl Iterator<Item = (String, Document)>) -> Self {
        let (names, documents): (Vec<_>, Vec<_>) = tools.unzip();
        Self {
            index: Index::of(&documents),
            names,
        }
    }

    /// The names of those that fit, the best first, each with how well it does; none where the query has no words.
    pub fn find(&self, query: &str) -> Option<Vec<(&str, f32)>> {
        let hits = self.index.find(query)?;
        let named = hits.iter();
        let named = named.map(|hit| (self.names[hit.document].as_str(), hit.score));
        Some(named.collect())
    }

    /// The names of all, in their order.
    pub fn all(&self) -> Vec<(&str, f32)> {
        self.names.iter().map(|name| (name.as_str(), 0.0)).collect()
    }
}

/// The words of a query that are looked for.
pub fn words_of(query: &str) -> Vec<String> {
    let words = Stems::default().of_query(query);
    words.into_iter().map(|word| word.written).collect()
}

/// What a search comes to, for one client.
#[derive(Debug, Clone, Default)]
pub struct Searched {
    /// The tools that fit and may be called, as they are shown, the best first.
    pub tools: Vec<Arc<Definition>>,
    /// Those that fit about as well and may not be called, the best first.
    pub refused: Vec<(String, Refusal)>,
    /// The words of the query that were looked for. If it has none, all tools fit.
    pub words: Vec<String>,
    /// Whether there are any tools that could fit some query.
    pub are_any: bool,
    /// Whether there are others, which were left out since the client knows them from its list.
    pub knows_others: bool,
    /// The names of those of them that fit, the best first.
    pub in_list: Vec<String>,
}
