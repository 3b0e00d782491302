//! Reads the fields of a map of a manifest, and says where and why one can't be used.

use serde_json::Value;

use super::{
    tree::{Node, NodeKind},
    wrong::Wrong,
};

/// A map of a manifest.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    entries: &'a [(String, Node)],
    line: usize,
}

impl<'a> Fields<'a> {
    /// A node's fields.
    pub fn of(node: &'a Node, name: &str) -> Result<Self, Wrong> {
        match &node.kind {
            NodeKind::Map(entries) => Ok(Self {
                entries,
                line: node.line,
            }),
            _ => Err(Wrong {
                line: node.line,
                reason: format!(
                    "{name} must be a map of keys to values, not {}",
                    node.what()
                ),
            }),
        }
    }

    /// Something is wrong with the whole of it.
    pub fn wrong(&self, reason: impl Into<String>) -> Wrong {
        Wrong {
            line: self.line,
            reason: reason.into(),
        }
    }

    /// A field's node; one that is null counts as left out.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
            .filter(|node| !matches!(node.kind, NodeKind::Scalar(Value::Null)))
    }

    /// A field's line, or that of the whole.
    pub fn line_of(&self, key: &str) -> usize {
        self.get(key).map_or(self.line, |node| node.line)
    }

    /// A field's text. A number or a truth value counts as the text it is written as.
    pub fn text(&self, key: &str) -> Result<Option<String>, Wrong> {
        self.get(key).map(|node| text_of(node, key)).transpose()
    }

    /// The first of these fields that is there, as text.
    pub fn first_text(&self, keys: &[&str]) -> Result<Option<String>, Wrong> {
        match self.first(keys) {
            Some(key) => self.text(key),
            None => Ok(None),
        }
    }

    /// The first of these fields that is there.
    pub fn first<'k>(&self, keys: &[&'k str]) -> Option<&'k str> {
        keys.iter().copied().find(|key| self.get(key).is_some())
    }

    /// A field that is true or false.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Wrong> {
        match self.get(key) {
            None => Ok(None),
            Some(node) => match &node.kind {
                NodeKind::Scalar(Value::Bool(flag)) => Ok(Some(*flag)),
                _ => Err(must_be(node, key, "true or false")),
            },
        }
    }

    /// A field that is a whole number within bounds.
    pub fn number(&self, key: &str, least: u64, most: u64) -> Result<Option<u64>, Wrong> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        match &node.kind {
            NodeKind::Scalar(Value::Number(number)) => number.as_u64(),
            _ => None,
        }
        .filter(|number| (least..=most).contains(number))
        .map(Some)
        .ok_or_else(|| must_be(node, key, &format!("a whole number from {least} to {most}")))
    }

    /// A field that is a list.
    pub fn list(&self, key: &str) -> Result<Option<&'a [Node]>, Wrong> {
        match self.get(key) {
            None => Ok(None),
            Some(node) => match &node.kind {
                NodeKind::List(items) => Ok(Some(items)),
                _ => Err(must_be(node, key, "a list")),
            },
        }
    }

    /// A field that is a map.
    pub fn map(&self, key: &str) -> Result<Option<Fields<'a>>, Wrong> {
        self.get(key)
            .map(|node| Fields::of(node, &format!("`{key}`")))
            .transpose()
    }

    /// All fields, in their order.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Node)> {
        self.entries.iter().map(|(key, node)| (key.as_str(), node))
    }
}

fn must_be(node: &Node, key: &str, expected: &str) -> Wrong {
    Wrong {
        line: node.line,
        reason: format!("`{key}` must be {expected}, not {}", node.what()),
    }
}

/// A node's text.
pub fn text_of(node: &Node, key: &str) -> Result<String, Wrong> {
    match &node.kind {
        NodeKind::Scalar(Value::String(text)) => Ok(text.clone()),
        NodeKind::Scalar(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
        _ => Err(must_be(node, key, "a text")),
    }
}
