//! What a client says it takes, as rmcp wants to read it: by the names of the two forms that answers have.

use axum::http::{HeaderMap, HeaderValue, header};

/// What a client of this protocol is to say.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Makes "anything", said or left unsaid, what it means: RFC 9110, section 12.5.1, takes a request without Accept for one
/// that takes anything, as curl and most libraries say it.
pub fn spell_out(headers: &mut HeaderMap) {
    let takes_anything = headers
        .get_all(header::ACCEPT)
        .iter()
        .flat_map(|value| value.to_str().unwrap_or_default().split(','))
        .any(|range| {
            let (range, parameters) = range.split_once(';').unwrap_or((range, ""));
            range.trim() == "*/*" && !is_refused(parameters)
        });
    if takes_anything || !headers.contains_key(header::ACCEPT) {
        headers.insert(header::ACCEPT, BOTH);
    }
}

/// Whether a range has the weight 0, which means that it is not taken.
fn is_refused(parameters: &str) -> bool {
    parameters.split(';').any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_is_spelled_out_and_all_else_stays() {
        for (accept, is_both) in [
            (None, true),
            (Some("*/*"), true),
            (Some("text/html, */*;q=0.1"), true),
            (Some("application/json, */* ; q=0.8"), true),
            (Some("*/*;q=0"), false),
            (Some("*/*; q=0.000"), false),
            (Some("application/json"), false),
            (Some("text/event-stream"), false),
            (Some(""), false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            }
            let before = headers.get(header::ACCEPT).cloned();
            spell_out(&mut headers);
            let after = headers.get(header::ACCEPT).cloned();
            assert_eq!(
                after,
                if is_both { Some(BOTH) } else { before },
                "{accept:?}"
            );
        }
    }
}
