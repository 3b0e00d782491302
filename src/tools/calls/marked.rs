//! Which values a schema marks as secret: by `writeOnly` or the format `password`, wherever it says so of them.

use std::ptr;

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// How many schemas are looked at for one value; servers write them.
const MOST: usize = 64;

/// How deep a reference may lead.
const DEEPEST: usize = 16;

/// The schemas that may hold for one value: the one that stands there, and those that it takes up by `$ref`, `anyOf` and
/// the like. Which of them do is not looked at: rather too much is hidden.
#[derive(Clone, Default)]
pub struct Schemas<'a> {
    /// The whole schema, in which references are looked up.
    root: Option<&'a JsonObject>,
    all: Vec<&'a JsonObject>,
}

impl<'a> Schemas<'a> {
    /// Those of what a whole schema describes.
    pub fn of(root: Option<&'a JsonObject>) -> Self {
        Self::taking_up(root, root)
    }

    fn taking_up(
        root: Option<&'a JsonObject>,
        first: impl IntoIterator<Item = &'a JsonObject>,
    ) -> Self {
        let mut all: Vec<&JsonObject> = Vec::new();
        let mut next: Vec<_> = first.into_iter().collect();
        while let Some(schema) = next.pop() {
            if all.len() == MOST || all.iter().any(|known| ptr::eq(*known, schema)) {
                continue;
            }
            all.push(schema);
            let reference = schema.get("$ref").and_then(Value::as_str);
            next.extend(reference.and_then(|reference| found(root?, reference)));
            let lists = ["allOf", "anyOf", "oneOf"].iter();
            let lists = lists.filter_map(|word| schema.get(*word)?.as_array());
            next.extend(lists.flatten().filter_map(Value::as_object));
            let branches = ["then", "else"].iter();
            next.extend(branches.filter_map(|word| schema.get(*word)?.as_object()));
        }
        Self { root, all }
    }

    fn inner(&self, inner: impl Fn(&'a JsonObject) -> Vec<&'a Value>) -> Self {
        let inner = self.all.iter().flat_map(|schema| inner(schema));
        Self::taking_up(self.root, inner.filter_map(Value::as_object))
    }

    /// Those of one property.
    pub fn property(&self, name: &str) -> Self {
        self.inner(|schema| {
            let own = schema.get("properties").and_then(|all| all.get(name));
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            let patterns = patterns.into_iter().flat_map(JsonObject::values);
            let others = match own {
                Some(_) => None,
                None => schema.get("additionalProperties"),
            };
            own.into_iter().chain(patterns).chain(others).collect()
        })
    }

    /// Those of any item of a list.
    pub fn items(&self) -> Self {
        self.inner(|schema| {
            let first = schema.get("prefixItems").and_then(Value::as_array);
            let items = schema.get("items");
            // One for each place, as it once was.
            let each = items.and_then(Value::as_array);
            let each = each.into_iter().chain(first).flatten();
            each.chain(items).collect()
        })
    }

    /// Whether one of them says that the value is secret.
    pub fn are_marked(&self) -> bool {
        self.all.iter().any(|schema| {
            schema.get("writeOnly") == Some(&json!(true))
                || schema.get("format") == Some(&json!("password"))
        })
    }

    /// Whether one of them says what the value is made of.
    pub fn are_made_of_more(&self) -> bool {
        let words = [
            "properties",
            "patternProperties",
            "additionalProperties",
            "items",
            "prefixItems",
        ];
        self.all
            .iter()
            .any(|schema| words.iter().any(|word| schema.contains_key(*word)))
    }
}

/// What a reference within the same schema names.
fn found<'a>(root: &'a JsonObject, reference: &str) -> Option<&'a JsonObject> {
    let pointer = reference.strip_prefix('#')?;
    let mut names = pointer.split('/');
    if !names.next()?.is_empty() {
        return None;
    }
    names.take(DEEPEST).try_fold(root, |schema, name| {
        let name = name.replace("~1", "/").replace("~0", "~");
        schema.get(&name)?.as_object()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_is_found_wherever_the_schema_says_so() {
        let schema = json!({
            "$defs": {
                "a/b": {"type": "string", "format": "password"},
                "key": {"$ref": "#/$defs/a~1b"},
                "round": {"anyOf": [{"$ref": "#/$defs/round"}, {"type": "null"}]},
            },
            "properties": {
                "ref": {"$ref": "#/$defs/key"},
                "any": {"anyOf": [{"type": "string", "writeOnly": true}, {"type": "null"}]},
                "all": {"allOf": [{"$ref": "#/$defs/a~1b"}]},
                "map": {"additionalProperties": {"$ref": "#/$defs/key"}},
                "pattern": {"patternProperties": {"^x": {"writeOnly": true}}},
                "list": {"items": {"$ref": "#/$defs/key"}},
                "tuple": {"prefixItems": [{"type": "string"}, {"format": "password"}]},
                "old": {"items": [{"format": "password"}]},
                "round": {"$ref": "#/$defs/round"},
                "nowhere": {"$ref": "#/$defs/nothing"},
                "plain": {"type": "string", "not": {"format": "password"}},
            },
            "if": {"properties": {"plain": {"const": "x"}}},
            "then": {"properties": {"later": {"writeOnly": true}}},
        });
        let all = Schemas::of(schema.as_object());
        for (name, is_marked) in [
            ("ref", true),
            ("any", true),
            ("all", true),
            ("later", true),
            ("round", false),
            ("nowhere", false),
            ("plain", false),
            ("unknown", false),
        ] {
            assert_eq!(all.property(name).are_marked(), is_marked, "{name}");
        }
        for name in ["map", "pattern"] {
            let inner = all.property(name);
            assert!(
                !inner.are_marked() && inner.property("x").are_marked(),
                "{name}"
            );
        }
        for name in ["list", "tuple", "old"] {
            let inner = all.property(name);
            assert!(!inner.are_marked() && inner.items().are_marked(), "{name}");
        }
        assert!(!Schemas::of(None).property("x").are_marked());
    }

    #[test]
    fn a_schema_that_goes_on_for_ever_is_looked_at_in_bounds() {
        let many: Vec<_> = (0..1000).map(|n| json!({"title": n.to_string()})).collect();
        let schema = json!({"properties": {"x": {"anyOf": many}}});
        assert_eq!(
            Schemas::of(schema.as_object()).property("x").all.len(),
            MOST
        );
    }
}
