//! The settings that every computer begins with: `name=value,name=value`, in one text.

/// The agent's setting for the bridge's address.
pub const URL: &str = "mcp_computer.url";

/// The agent's setting for the link's token.
pub const TOKEN: &str = "mcp_computer.token";

/// The value of a setting.
pub fn get<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    // Computers apply them in their order, so the last one holds.
    text.rsplit(',')
        .filter_map(|pair| pair.split_once('='))
        .find(|(given, _)| *given == name)
        .map(|(_, value)| value)
}

/// The text with a setting, in the place of the one of that name, or else at the end.
pub fn with(text: &str, name: &str, value: &str) -> String {
    if get(text, name) == Some(value) {
        return text.to_owned();
    }
    let rest = without(text, name);
    let comma = if rest.is_empty() { "" } else { "," };
    format!("{rest}{comma}{name}={value}")
}

/// The text without a setting.
pub fn without(text: &str, name: &str) -> String {
    let others: Vec<_> = text
        .split(',')
        .filter(|pair| pair.split_once('=').is_none_or(|(given, _)| given != name))
        .collect();
    others.join(",")
}

/// Why computers would read another value than this one, as a clause; none if they would read it as it is.
pub fn misread(value: &str) -> Option<&'static str> {
    if value.contains(',') {
        return Some("has a comma, which ends a setting");
    }
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some("is empty, or has blanks or letters that are not ASCII");
    }
    if matches!(value, "true" | "false" | "nil") || is_lua_number(value) {
        return Some(
            "reads as a number, `true`, `false` or `nil`, which computers would not keep as a text",
        );
    }
    None
}

/// Whether Lua's `tonumber` would make a number of it, or might.
fn is_lua_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X")) {
        Some(hex) => hex
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || b".pP+-".contains(&byte)),
        None => unsigned.parse::<f64>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_put_in_and_taken_out_and_the_others_stay() {
        assert_eq!(with("", TOKEN, "abc"), "mcp_computer.token=abc");
        let both = with("bios.strict_globals=true", TOKEN, "a=b");
        assert_eq!(both, "bios.strict_globals=true,mcp_computer.token=a=b");
        assert_eq!(get(&both, TOKEN), Some("a=b"));
        assert_eq!(with(&both, TOKEN, "a=b"), both);
        assert_eq!(
            with("mcp_computer.token=old,x=1", TOKEN, "new"),
            "x=1,mcp_computer.token=new"
        );
        assert_eq!(without(&both, TOKEN), "bios.strict_globals=true");
        assert_eq!(without("x=1", TOKEN), "x=1");
        assert_eq!(get("a=1,a=2", "a"), Some("2"));
    }

    #[test]
    fn what_computers_would_misread_is_known() {
        for value in [
            "a,b",
            "",
            "with blank",
            "ü",
            "true",
            "nil",
            "12345678901234567890",
            "1e5",
            "0xAB",
            "-3",
        ] {
            assert!(misread(value).is_some(), "{value}");
        }
        for value in [
            "0123456789abcdef",
            "s3cret-token",
            "ws://127.0.0.1:3001",
            "a=b",
            "0xyz",
        ] {
            assert_eq!(misread(value), None, "{value}");
        }
    }
}
