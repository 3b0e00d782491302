//! Settings from any source.

use proptest::prelude::*;

use super::targets::config;

/// A value as a person may write it, and as nobody should.
fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (0..700_000u32).prop_map(|number| number.to_string()),
        "[\\[\\]0-9a-zA-Z.:, \t\u{a0}-]{0,20}",
        any::<f64>().prop_map(|number| format!("{number:?}")),
    ]
}

/// A line of a configuration file.
fn any_line() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        9 => proptest::sample::select(vec!["link_host", "link_port", "link_token", "link_names", "probe_timeout_ms", "upstream"])
            .prop_map(str::to_owned),
        1 => "[a-z_.\"]{0,8}",
    ];
    let value = prop_oneof![
        any_value(),
        any_value().prop_map(|text| format!("{text:?}")),
        proptest::collection::vec(any_value(), 0..3).prop_map(|list| format!("{list:?}")),
    ];
    (key, value).prop_map(|(key, value)| format!("{key} = {value}\n"))
}

proptest! {
    #![proptest_config(super::cases())]

    #[test]
    fn any_text_as_a_configuration_file_is_refused_or_within_bounds(text in any::<String>()) {
        config::check(text.as_bytes());
    }

    #[test]
    fn any_lines_of_a_configuration_file_are_refused_or_within_bounds(
        lines in proptest::collection::btree_set(any_line(), 0..4),
    ) {
        let text: String = lines.into_iter().collect();
        config::check(text.as_bytes());
    }

    #[test]
    fn any_flags_and_variables_are_refused_or_within_bounds(
        values in proptest::collection::vec(prop_oneof![Just(String::new()), any_value()], 7),
    ) {
        config::check(format!("\0{}", values.join("\0")).as_bytes());
    }
}
