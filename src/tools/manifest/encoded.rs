//! Bytes that stand in a manifest in base64: whether they are that, and the picture that they are said to be.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::Value;

/// How pictures begin that clients show: the type, the bytes, and where these stand.
const PICTURES: [(&str, &[u8], usize); 5] = [
    ("image/png", b"\x89PNG\r\n\x1a\n", 0),
    ("image/jpeg", b"\xff\xd8\xff", 0),
    ("image/gif", b"GIF8", 0),
    ("image/webp", b"WEBP", 8),
    ("image/bmp", b"BM", 0),
];

/// Base64 without the spaces and line ends that YAML puts between its lines.
///
/// # Errors
/// What is wrong with it, or with the picture that it is, in words that follow its key.
pub fn read(text: &str, mime_type: Option<&str>) -> Result<String, String> {
    let text: String = text.split_whitespace().collect();
    let bytes = BASE64
        .decode(&text)
        .map_err(|error| format!("must be base64: {error}"))?;
    let said = PICTURES
        .iter()
        .find(|(picture, ..)| mime_type == Some(picture));
    match said {
        Some((picture, ..)) if !is_picture(&bytes, picture) => {
            let other = PICTURES
                .iter()
                .find(|(picture, ..)| is_picture(&bytes, picture));
            Err(match other {
                Some((other, ..)) => format!("is {other}, not {picture}, as its mimeType says"),
                None => format!("is not {picture}, as its mimeType says: clients would refuse it"),
            })
        }
        _ => Ok(text),
    }
}

/// The same for a content block, in place.
///
/// # Errors
/// What is wrong with its `data`.
pub fn read_block(block: &mut Value) -> Result<(), String> {
    if !matches!(block["type"].as_str(), Some("image" | "audio")) {
        return Ok(());
    }
    let mime_type = block["mimeType"].as_str().map(str::to_owned);
    if let Some(data) = block["data"].as_str() {
        let read =
            read(data, mime_type.as_deref()).map_err(|wrong| format!("its `data` {wrong}"))?;
        block["data"] = Value::String(read);
    }
    Ok(())
}

fn is_picture(bytes: &[u8], mime_type: &str) -> bool {
    PICTURES.iter().any(|(picture, begins, at)| {
        *picture == mime_type
            && bytes
                .get(*at..)
                .is_some_and(|rest| rest.starts_with(begins))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_base64_and_pictures_what_they_are_said_to_be() {
        const GIF: &str = "R0lGODlhAQABAAAAACw=";
        assert_eq!(
            read("R0lG\n  ODlhAQABAAAAACw=\n", Some("image/gif")).unwrap(),
            GIF
        );
        assert_eq!(read("", None).unwrap(), "");
        for (text, mime_type, said) in [
            ("not base64!", None, "must be base64: "),
            ("AAA", None, "must be base64: "),
            (GIF, Some("image/png"), "is image/gif, not image/png"),
            ("AAAA", Some("image/webp"), "is not image/webp"),
        ] {
            let wrong = read(text, mime_type).unwrap_err();
            assert!(wrong.starts_with(said), "{wrong}");
        }
        let mut block = serde_json::json!({"type": "audio", "data": "?", "mimeType": "audio/wav"});
        assert!(
            read_block(&mut block)
                .unwrap_err()
                .starts_with("its `data` must be base64")
        );
    }
}
