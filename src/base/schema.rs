//! The way through a JSON Schema: where in one others stand, and where its references lead.

use std::fmt::{Arguments, Write};

use serde_json::Value;

/// What stands under a keyword that holds schemas.
#[derive(Debug, Clone, Copy)]
enum Subschemas {
    /// One schema, which must be an object for every client to take it.
    One,
    /// One schema, or true or false, which every client knows here.
    OneOrBoolean,
    /// A list of schemas.
    List,
    /// An object whose values are schemas.
    Map,
}

impl Subschemas {
    /// What stands under this keyword; `None` for one that holds no schema.
    fn under(keyword: &str) -> Option<Self> {
        match keyword {
            "contains" | "contentSchema" | "else" | "if" | "items" | "not" | "propertyNames"
            | "then" => Some(Self::One),
            "additionalItems"
            | "additionalProperties"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Some(Self::OneOrBoolean),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Some(Self::List),
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
                Some(Self::Map)
            }
            _ => None,
        }
    }
}

/// Where in the whole a schema stands.
#[derive(Debug)]
pub struct SchemaPlace {
    /// For people, such as `inputSchema.properties.a.anyOf[0]`.
    pub path: String,
    /// How many schemas it stands in; 0 at the root.
    pub depth: usize,
    /// Whether nothing but `properties` leads to it, if anything does.
    by_properties: bool,
}

impl SchemaPlace {
    /// Whether it is of an argument, or of a part of one: nothing but `properties` leads to it.
    pub fn is_argument(&self) -> bool {
        self.by_properties && self.depth > 0
    }
}

/// Where a walk goes from a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// To the schemas in it.
    Inside,
    /// Past it.
    Past,
}

/// Shows the schema called `name`, and all that it holds, to `look`, each before what is in it. `look` may change it,
/// and bounds the depth by where it says to go.
///
/// Where every client takes true and false for a schema, `look` does not see these. Nor does it see what has another
/// form than its keyword asks for, such as a number under `properties`: a validator tells of it.
///
/// # Errors
/// The first of `look`, which ends the walk.
pub fn walk<E>(
    schema: &mut Value,
    name: &str,
    mut look: impl FnMut(&mut Value, &SchemaPlace) -> Result<Next, E>,
) -> Result<(), E> {
    let mut place = SchemaPlace {
        path: name.to_owned(),
        depth: 0,
        by_properties: true,
    };
    visit(schema, &mut place, &mut look)
}

fn visit<E>(
    schema: &mut Value,
    place: &mut SchemaPlace,
    look: &mut impl FnMut(&mut Value, &SchemaPlace) -> Result<Next, E>,
) -> Result<(), E> {
    if look(schema, place)? == Next::Past {
        return Ok(());
    }
    let Value::Object(fields) = schema else {
        return Ok(());
    };
    for (keyword, inner) in fields {
        let mut enter = |inner: &mut Value, step: Arguments<'_>| {
            let here = place.path.len();
            let by_properties = place.by_properties;
            place.by_properties &= keyword == "properties";
            // Text takes all that is written to it.
            let _ = place.path.write_fmt(step);
            place.depth += 1;
            let result = visit(inner, place, look);
            place.depth -= 1;
            place.path.truncate(here);
            place.by_properties = by_properties;
            result
        };
        match (Subschemas::under(keyword), inner) {
            (Some(Subschemas::OneOrBoolean), Value::Bool(_)) => {}
            (Some(Subschemas::One | Subschemas::OneOrBoolean), inner) => {
                enter(inner, format_args!(".{keyword}"))?;
            }
            (Some(Subschemas::List), Value::Array(list)) => {
                for (index, inner) in list.iter_mut().enumerate() {
                    enter(inner, format_args!(".{keyword}[{index}]"))?;
                }
            }
            (Some(Subschemas::Map), Value::Object(map)) => {
                for (name, inner) in map {
                    enter(inner, format_args!(".{keyword}.{name}"))?;
                }
            }
            (None | Some(Subschemas::List | Subschemas::Map), _) => {}
        }
    }
    Ok(())
}

/// Where a reference in a schema leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// To a part of the schema.
    Found,
    /// To nothing in the schema.
    Missing,
    /// To a part of the schema by the name of an anchor, or escaped for a URI: it is not looked for.
    Unseen,
    /// Out of the schema.
    Outside,
}

/// Where `reference` leads in the schema `root`.
pub fn target(reference: &str, root: &Value) -> Target {
    let Some(pointer) = reference.strip_prefix('#') else {
        return Target::Outside;
    };
    if root.pointer(pointer).is_some() {
        Target::Found
    } else if pointer.starts_with('/') && !pointer.contains('%') {
        Target::Missing
    } else {
        Target::Unseen
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_walk_comes_by_every_schema_with_its_place_and_what_was_put_there_on_the_way() {
        let mut schema = json!({
            "enum": [{"not": {}}],
            "additionalProperties": false,
            "unevaluatedItems": {"type": "string"},
            "allOf": [true, {"items": 7}],
            "properties": {"a": {"then": {}}, "b": {"const": {"if": {}}}},
            "definitions": [{}],
        });
        let mut seen = Vec::new();
        let Ok(()) = walk::<Infallible>(&mut schema, "s", |schema, place| {
            seen.push(format!("{} {}", place.depth, place.path));
            if *schema == json!(true) {
                *schema = json!({"else": {}});
            }
            Ok(if place.path == "s.properties.a" {
                Next::Past
            } else {
                Next::Inside
            })
        });
        seen.sort();
        let all = [
            "0 s",
            "1 s.allOf[0]",
            "1 s.allOf[1]",
            "1 s.properties.a",
            "1 s.properties.b",
            "1 s.unevaluatedItems",
            "2 s.allOf[0].else",
            "2 s.allOf[1].items",
        ];
        assert_eq!(seen, all);
        assert_eq!(schema["allOf"][0], json!({"else": {}}));
    }

    #[test]
    fn a_walk_ends_at_the_first_error() {
        let mut shown = 0;
        let walked = walk(&mut json!({"anyOf": [{}, {}, {}]}), "s", |_, place| {
            shown += 1;
            match place.path.as_str() {
                "s.anyOf[1]" => Err("enough"),
                _ => Ok(Next::Inside),
            }
        });
        assert_eq!((walked, shown), (Err("enough"), 3));
    }

    #[test]
    fn a_reference_leads_into_the_schema_or_not() {
        let root = json!({"$defs": {"a/b": {}, "c%20d": {}}});
        for (reference, leads) in [
            ("#", Target::Found),
            ("#/$defs/a~1b", Target::Found),
            ("#/$defs/c%20d", Target::Found),
            ("#/$defs/c%2520d", Target::Unseen),
            ("#name", Target::Unseen),
            ("#/$defs/e", Target::Missing),
            ("https://example.org", Target::Outside),
            ("", Target::Outside),
        ] {
            assert_eq!(target(reference, &root), leads, "{reference}");
        }
    }
}
