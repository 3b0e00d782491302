//! Templates of URIs (RFC 6570), the other way round: what a URI says in the place of each name.
//!
//! The libraries that there are either only write URIs, or read no queries, or are under a licence that ours can't take.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use thiserror::Error;

/// The longest URI that is held against a template, in bytes, and the most names of a template: the work grows with both.
const LONGEST: usize = 4096;
const MOST_NAMES: usize = 20;

/// What the names of a template stand for in a URI, decoded; one of a query that is not there is left out.
pub type Names = Vec<(String, String)>;

/// A template, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// What stands there as it is.
    Fixed(String),
    /// `{name}`, or `{+name}`, which takes `/`, `?` and `#` too.
    Name { name: String, is_reserved: bool },
    /// `{?names}`, or `{&names}` after a query that is fixed: pairs in any order, each of which may be missing.
    Query { begin: char, names: Vec<String> },
}

/// Why a template can't be used, in words that follow it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// A bracket alone.
    #[error("has a `{0}` without its other half")]
    Bracket(char),
    /// No name, or one with signs that none may have.
    #[error("has `{{{0}}}`, where a name of letters, digits and _ is wanted")]
    Name(String),
    /// A form that is not read here.
    #[error(
        "has `{{{0}}}`; the forms that are read are {{name}}, {{+name}}, {{/name}}, {{#name}}, {{?names}} and {{&names}}"
    )]
    Form(String),
    /// A name that stands there twice.
    #[error("has the name `{0}` twice")]
    Twice(String),
    /// More names than are looked for.
    #[error("has {0} names, and {MOST_NAMES} at most are read")]
    TooMany(usize),
    /// Two names of which nobody could say where one ends.
    #[error("has nothing between `{0}` and the name before it")]
    Adjacent(String),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// It is none, or says more than is read here.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            if rest[at..].starts_with('}') {
                return Err(TemplateError::Bracket('}'));
            }
            let (inside, after) = rest[at + 1..]
                .split_once('}')
                .ok_or(TemplateError::Bracket('{'))?;
            add_fixed(&mut parts, &rest[..at]);
            expression(&mut parts, inside)?;
            rest = after;
        }
        add_fixed(&mut parts, rest);
        let mut names = BTreeSet::new();
        let mut follows_name = false;
        for part in &parts {
            if let Some(twice) = part
                .names()
                .iter()
                .find(|name| !names.insert(name.as_str()))
            {
                return Err(TemplateError::Twice(twice.clone()));
            }
            follows_name = match part {
                Part::Name { name, .. } if follows_name => {
                    return Err(TemplateError::Adjacent(name.clone()));
                }
                Part::Name { .. } => true,
                Part::Fixed(_) | Part::Query { .. } => false,
            };
        }
        match names.len() {
            count if count > MOST_NAMES => Err(TemplateError::TooMany(count)),
            _ => Ok(Self(parts)),
        }
    }

    /// Its names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(Part::names).map(String::as_str)
    }

    /// What the names stand for in a URI, if it fits.
    pub fn names_in(&self, uri: &str) -> Option<Names> {
        if uri.len() > LONGEST || !self.may_fit(uri) {
            return None;
        }
        fit(&self.0, uri)
    }

    /// Whether what stands in it as it is stands in a URI too, in this order. Most do not fit by that.
    fn may_fit(&self, uri: &str) -> bool {
        let mut rest = uri;
        for (at, part) in self.0.iter().enumerate() {
            let Part::Fixed(text) = part else {
                continue;
            };
            let end = match at {
                0 => rest.starts_with(text.as_str()).then_some(text.len()),
                _ => rest.find(text.as_str()).map(|at| at + text.len()),
            };
            match end {
                Some(end) => rest = &rest[end..],
                None => return false,
            }
        }
        match self.0.last() {
            Some(Part::Fixed(text)) => uri.ends_with(text.as_str()),
            _ => true,
        }
    }
}

impl Part {
    fn names(&self) -> &[String] {
        match self {
            Self::Fixed(_) => &[],
            Self::Name { name, .. } => std::slice::from_ref(name),
            Self::Query { names, .. } => names,
        }
    }
}

fn add_fixed(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Fixed(before)) => before.push_str(text),
        _ => parts.push(Part::Fixed(text.to_owned())),
    }
}

/// What stands between brackets.
fn expression(parts: &mut Vec<Part>, inside: &str) -> Result<(), TemplateError> {
    let names = inside.trim_start_matches(['+', '#', '/', '?', '&', '.', ';']);
    let operator = &inside[..inside.len() - names.len()];
    if names.ends_with('*') || names.contains(':') {
        return Err(TemplateError::Form(inside.to_owned()));
    }
    let names: Vec<_> = names.split(',').map(str::to_owned).collect();
    let is_name = |name: &String| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !names.iter().all(is_name) {
        return Err(TemplateError::Name(inside.to_owned()));
    }
    let separator = match operator {
        "" | "+" => ",",
        "#" => "#",
        "/" => "/",
        "?" | "&" => {
            match parts.last_mut() {
                Some(Part::Query { names: before, .. }) if operator == "&" => before.extend(names),
                _ => parts.push(Part::Query {
                    begin: if operator == "?" { '?' } else { '&' },
                    names,
                }),
            }
            return Ok(());
        }
        _ => return Err(TemplateError::Form(inside.to_owned())),
    };
    let is_reserved = matches!(operator, "+" | "#");
    for (index, name) in names.into_iter().enumerate() {
        if index > 0 || matches!(operator, "#" | "/") {
            let separator = if operator == "#" && index > 0 {
                ","
            } else {
                separator
            };
            add_fixed(parts, separator);
        }
        parts.push(Part::Name { name, is_reserved });
    }
    Ok(())
}

/// What the names of these parts stand for. A name takes as little as it can, the first before those that follow it.
fn fit(parts: &[Part], uri: &str) -> Option<Names> {
    // For each number of parts and each place, whether the parts from there on fit the rest. The last come first.
    let mut fits = vec![vec![false; uri.len() + 1]; parts.len() + 1];
    fits[parts.len()][uri.len()] = true;
    for (at, part) in parts.iter().enumerate().rev() {
        let (before, after) = fits.split_at_mut(at + 1);
        fill(part, uri, &after[0], &mut before[at]);
    }
    if !fits[0][0] {
        return None;
    }
    let (mut names, mut place) = (Names::new(), 0);
    for (part, after) in parts.iter().zip(&fits[1..]) {
        match part {
            Part::Fixed(text) => place += text.len(),
            Part::Name { name, .. } => {
                let mut ends = place + 1..=uri.len();
                let end = ends.find(|end| after[*end])?;
                names.push((name.clone(), decoded(&uri[place..end])?));
                place = end;
            }
            Part::Query {
                begin,
                names: known,
            } => {
                if let Some(given) = uri[place..].strip_prefix(*begin) {
                    names.extend(pairs(known, of_query(given))?);
                    place += begin.len_utf8() + of_query(given).len();
                }
            }
        }
    }
    Some(names)
}

/// Finds the places of a URI from which on this part and those after it fit, by those from which on the ones after it do.
fn fill(part: &Part, uri: &str, after: &[bool], fits: &mut [bool]) {
    // Beyond this place: the next at which the rest fits, and where a name ends that takes no sign of a path.
    let (mut next, mut end_of_name) = (None, uri.len());
    for place in (0..=uri.len()).rev() {
        if !uri.is_char_boundary(place) {
            continue;
        }
        let rest = &uri[place..];
        fits[place] = match part {
            Part::Fixed(text) => rest.starts_with(text.as_str()) && after[place + text.len()],
            Part::Name { is_reserved, .. } => {
                if rest.starts_with(['/', '?', '#']) {
                    end_of_name = place;
                }
                let most = if *is_reserved { uri.len() } else { end_of_name };
                next.is_some_and(|next| next <= most)
            }
            Part::Query { begin, names } => match rest.strip_prefix(*begin) {
                Some(given) => {
                    let given = of_query(given);
                    after[place + begin.len_utf8() + given.len()] && pairs(names, given).is_some()
                }
                None => after[place],
            },
        };
        if after[place] {
            next = Some(place);
        }
    }
}

/// What of a URI is its query, if that begins it.
fn of_query(uri: &str) -> &str {
    &uri[..uri.find('#').unwrap_or(uri.len())]
}

/// The pairs of a query, if it has each of these names once at most and no other.
fn pairs(known: &[String], given: &str) -> Option<Names> {
    let mut pairs = Names::new();
    for pair in given.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name)?;
        if !known.contains(&name) || pairs.iter().any(|(other, _)| *other == name) {
            return None;
        }
        pairs.push((name, decoded(value)?));
    }
    Some(pairs)
}

/// Without its percent signs; none if it is no text.
fn decoded(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8().ok()?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(template: &str, uri: &str) -> Option<String> {
        let names = Template::parse(template).unwrap().names_in(uri)?;
        let names: Vec<_> = names.into_iter().map(|(n, v)| format!("{n}={v}")).collect();
        Some(names.join(" "))
    }

    #[test]
    fn a_uri_that_fits_says_something_in_the_place_of_each_name() {
        for (template, uri, said) in [
            ("a://{x}/data", "a://1/data", "x=1"),
            ("a://{x}/{y}", "a://1/2", "x=1 y=2"),
            ("a://{x}", "a://1", "x=1"),
            ("a://{x}-{y}", "a://1-2-3", "x=1 y=2-3"),
            ("a://{x}.md", "a://b.md.md", "x=b.md"),
            ("a://{x,y}", "a://1,2", "x=1 y=2"),
            ("a://b{/x,y}", "a://b/1/2", "x=1 y=2"),
            ("a://{+path}", "a://1/2?3", "path=1/2?3"),
            ("a://{+path}/end", "a://1/end/end", "path=1/end"),
            ("a://b{#part}", "a://b#1/2", "part=1/2"),
            ("a://{x}", "a://caf%C3%A9%20%2F", "x=café /"),
            ("a://b{?q,n}", "a://b?n=2&q=x%26y", "n=2 q=x&y"),
            ("a://b{?q,n}", "a://b?q=", "q="),
            ("a://b{?q}{&n}", "a://b?n=1", "n=1"),
            ("a://b?f=1{&q}", "a://b?f=1&q=2", "q=2"),
            ("a://b{?q}", "a://b", ""),
            ("a://{x}{?q}", "a://1?q=2", "x=1 q=2"),
        ] {
            assert_eq!(
                names(template, uri).as_deref(),
                Some(said),
                "{template} {uri}"
            );
        }
    }

    #[test]
    fn a_uri_of_another_form_does_not_fit() {
        let long = format!("a://{}", "x".repeat(LONGEST));
        for (template, uri) in [
            ("a://{x}/data", "a:///data"),
            ("a://{x}/data", "a://1/2/data"),
            ("a://{x}", "a://1/2"),
            ("a://{x}", "b://1"),
            ("a://{x}/data", "a://1/data/more"),
            ("a://{x}", "a://%ff"),
            ("a://b{?q}", "a://b?other=1"),
            ("a://b{?q}", "a://b?q=1&q=2"),
            ("a://b{?q}", "a://bc"),
            ("a://{+x}", &long),
        ] {
            assert_eq!(names(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn a_name_takes_more_where_what_follows_would_not_fit_else() {
        for (template, uri, said) in [
            ("a://{+a}x{b}y", "a://1x2/3x4y", "a=1x2/3 b=4"),
            ("a://{+a}/{b}", "a://1/2/3", "a=1/2 b=3"),
            ("a://{a}{?q}&{+b}", "a://1&2?q=3&4", "a=1 b=2?q=3&4"),
            ("a://{a}-{b}{?q}", "a://é-é-é?q=é", "a=é b=é-é q=é"),
            ("a://{+a}?{b}{?q}", "a://1?2?3?q=4", "a=1?2 b=3 q=4"),
        ] {
            let found = names(template, uri);
            assert_eq!(found.as_deref(), Some(said), "{template} {uri}");
        }
    }

    #[test]
    fn what_would_take_long_to_try_in_all_ways_does_not() {
        let many: Vec<_> = (0..MOST_NAMES).map(|at| format!("{{a{at}}}")).collect();
        let template = Template::parse(&format!("a://{}z{{+b}}/y", many[1..].join("x"))).unwrap();
        let all = "x".repeat(LONGEST / 2 - 8);
        let fitting = format!("a://{all}{all}z?/y");
        let other = format!("a://{all}/{all}z?/y");
        let begun = std::time::Instant::now();
        for _ in 0..10 {
            assert!(template.names_in(&fitting).is_some());
            assert!(template.names_in(&other).is_none());
        }
        // Each way tried would be seconds.
        assert!(begun.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn a_template_that_is_none_is_refused() {
        for (template, said) in [
            ("a://{b", "has a `{` without its other half"),
            ("a://b}", "has a `}` without its other half"),
            ("a://{}", "has `{}`, where a name"),
            ("a://{a b}", "has `{a b}`, where a name"),
            (
                "a://{a}{b}",
                "has nothing between `b` and the name before it",
            ),
            ("a://{a}/{a}", "has the name `a` twice"),
            ("a://{/a*}", "has `{/a*}`; the forms"),
            ("a://{a:3}", "has `{a:3}`; the forms"),
            ("a://b{;a}", "has `{;a}`; the forms"),
            (
                "a://{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u}",
                "has 21 names, and 20 at most",
            ),
        ] {
            let wrong = Template::parse(template).unwrap_err().to_string();
            assert!(wrong.starts_with(said), "{template}: {wrong}");
        }
    }
}
