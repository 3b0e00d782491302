//! Files as each version of the game writes them, changed, read again, and changed back.

use crate::setup::game::rules::{filter::Verdict, target::Target};

use super::{
    close::close,
    format::Format,
    open::{Added, Opened, Switch, Wish, open},
};

/// A version of the game, and a file as it writes it.
struct Sample {
    version: &'static str,
    text: &'static str,
    format: Format,
}

const RULES: Format = Format::Toml { knows_ports: true };

/// Rules of versions that know no ports, and lists.
const WITHOUT_PORTS: Format = Format::Toml { knows_ports: false };

fn samples() -> Vec<Sample> {
    let sample = |version, text, format| Sample {
        version,
        text,
        format,
    };
    vec![
        sample("1.12.2", include_str!("samples/1.12.2.cfg"), Format::Forge),
        sample("1.14.4", include_str!("samples/1.14.4.toml"), WITHOUT_PORTS),
        sample(
            "1.15.2, before 1.93",
            include_str!("samples/1.15.2.toml"),
            WITHOUT_PORTS,
        ),
        sample(
            "1.15.2, before 1.95",
            include_str!("samples/1.15.2.toml"),
            RULES,
        ),
        sample("1.16.5", include_str!("samples/1.16.5.toml"), RULES),
        sample(
            "1.20.1 and later",
            include_str!("samples/1.20.1.toml"),
            RULES,
        ),
        sample(
            "CCEmuX",
            include_str!("samples/ccemux.json"),
            Format::Ccemux,
        ),
    ]
}

fn sample(version: &str) -> Sample {
    let mut samples = samples().into_iter();
    samples.find(|sample| sample.version == version).unwrap()
}

fn wish(host: &str, token: Option<&str>) -> Wish {
    Wish {
        target: Target::new(host, 3001),
        token: token.map(str::to_owned),
    }
}

fn local() -> Wish {
    wish("127.0.0.1", None)
}

fn allowed(text: &str, format: Format, target: &Target) -> Verdict {
    format.read(text).unwrap().filter().verdict(target)
}

/// Hosts at the edges of what is private, and ports around ours.
fn probes() -> impl Iterator<Item = Target> {
    const HOSTS: [&str; 30] = [
        "0.0.0.0",
        "9.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "11.0.0.0",
        "100.64.0.1",
        "126.255.255.255",
        "127.0.0.0",
        "127.0.0.1",
        "127.0.0.2",
        "127.0.0.3",
        "127.128.0.1",
        "127.255.255.255",
        "128.0.0.0",
        "169.254.1.1",
        "172.16.0.0",
        "172.31.255.255",
        "192.168.0.1",
        "192.168.1.19",
        "192.168.1.20",
        "192.168.1.21",
        "224.0.0.1",
        "8.8.8.8",
        "localhost",
        "pastebin.com",
        "[::1]",
        "[::2]",
        "[fd00::6]",
        "[fd00::7]",
        "[2001:db8::1]",
    ];
    HOSTS.into_iter().flat_map(|host| {
        [80, 3000, 3001, 3002]
            .into_iter()
            .map(move |port| Target::new(host, port))
    })
}

/// That our address is allowed now, and besides it what was before.
fn assert_only_ours_is_new(before: &str, after: &str, format: Format, wish: &Wish, about: &str) {
    let filter = |text| format.read(text).unwrap().filter();
    let (was, is) = (filter(before), filter(after));
    assert!(is.verdict(&wish.target).allowed, "{about}:\n{after}");
    // Lists and older rules know no ports.
    let by_port = format == RULES;
    for probe in probes() {
        let is_ours = probe.address() == wish.target.address()
            && (!by_port || probe.port() == wish.target.port());
        if !is_ours {
            let (was, is) = (was.verdict(&probe), is.verdict(&probe));
            assert_eq!(is.allowed, was.allowed, "{about}: {}\n{after}", probe.url());
        }
    }
}

#[test]
fn each_version_lets_our_address_through_and_nothing_else_and_is_as_it_was_afterwards() {
    let hosts = ["127.0.0.1", "localhost", "192.168.1.20", "::1", "fd00::7"];
    let mut opened = 0;
    for sample in samples() {
        for (line_end, switches) in [("\n", true), ("\r\n", true), ("\n", false)] {
            let mut before = sample.text.replace('\n', line_end);
            if !switches {
                for name in ["enabled", "websocket_enabled"] {
                    for (on, sign) in [("=true", "="), (" = true", " = ")] {
                        before =
                            before.replace(&format!("{name}{on}"), &format!("{name}{sign}false"));
                    }
                }
                before = before.replace("\"httpEnable\": true", "\"httpEnable\": false");
                assert!(!sample.format.read(&before).unwrap().http_is_on());
            }
            for host in hosts {
                for token in [None, Some("s3cret-s3cret-s3cret")] {
                    let wish = wish(host, token);
                    let about = format!("{} {host} {token:?} {line_end:?}", sample.version);
                    let after = open(&before, sample.format, &wish).unwrap();
                    assert_only_ours_is_new(&before, &after.text, sample.format, &wish, &about);
                    let view = sample.format.read(&after.text).unwrap();
                    assert!(view.http_is_on() && view.websockets_are_on(), "{about}");
                    assert_eq!(
                        view.computer_setting("mcp_computer.token"),
                        token,
                        "{about}"
                    );
                    let url = token.map(|_| wish.target.url());
                    assert_eq!(
                        view.computer_setting("mcp_computer.url"),
                        url.as_deref(),
                        "{about}"
                    );
                    assert_eq!(
                        after.text.matches("\r\n").count(),
                        after.text.matches('\n').count() * usize::from(line_end == "\r\n"),
                        "{about}"
                    );

                    let again = open(&after.text, sample.format, &wish).unwrap();
                    assert_eq!((&again.text, again.added), (&after.text, vec![]), "{about}");
                    let closed = close(&after.text, sample.format, &after.added).unwrap();
                    assert_eq!(closed, before, "{about}");
                    opened += usize::from(!after.added.is_empty());
                }
            }
        }
    }
    assert!(opened > 150, "{opened}");
}

#[test]
fn the_rule_goes_above_the_one_that_denies_in_the_files_own_style() {
    let Sample { text, format, .. } = sample("1.20.1 and later");
    let Opened { text: after, added } = open(text, format, &local()).unwrap();
    let rule = "\t[[http.rules]]\n\t\t#Lets computers reach mcp-bridge.\n\t\thost = \"127.0.0.1\"\n\t\tport = 3001\n\
                \t\taction = \"allow\"\n\n";
    let header = "\t[[http.rules]]\n\t\t#What is behind the router";
    assert_eq!(after, text.replace(header, &format!("{rule}{header}")));
    let host = "127.0.0.1".to_owned();
    assert_eq!(
        added,
        [Added::Rule {
            host,
            port: Some(3001)
        }]
    );
}

#[test]
fn a_blocked_range_is_split_so_that_it_leaves_out_one_address() {
    let Sample { text, format, .. } = sample("1.14.4");
    let after = open(text, format, &local()).unwrap().text;
    let list = after
        .lines()
        .find(|line| line.contains("blacklist ="))
        .unwrap();
    assert!(
        list.starts_with("\tblacklist = [\"127.0.0.0/32\", \"127.0.0.2/31\", \"127.0.0.4/30\", "),
        "{list}"
    );
    assert!(list.ends_with(
        "\"127.128.0.0/9\", \"10.0.0.0/8\", \"172.16.0.0/12\", \"192.168.0.0/16\", \"fd00::/8\"]"
    ));
    let Sample { text, format, .. } = sample("1.12.2");
    let after = open(text, format, &local()).unwrap().text;
    assert!(
        after.contains(" <\n        127.0.0.0/32\n        127.0.0.2/31\n"),
        "{after}"
    );
}

#[test]
fn a_rule_that_allows_it_already_is_enough() {
    let Sample { text, format, .. } = sample("1.16.5");
    for host in ["127.0.0.0/8", "localhost", "*"] {
        let own = format!("[[http.rules]]\nhost = \"{host}\"\naction = \"ALLOW\"\n[[http.rules]]");
        let text = text.replacen("[[http.rules]]", &own, 1);
        let after = open(&text, format, &wish("localhost", None)).unwrap();
        assert_eq!((after.text, after.added), (text, vec![]), "{host}");
    }
}

#[test]
fn a_rule_below_the_one_that_denies_stays_and_another_goes_above() {
    let Sample { text, format, .. } = sample("1.16.5");
    let late = "\n\t[[http.rules]]\n\t\thost = \"127.0.0.1\"\n\t\tport = 3001\n\t\taction = \"allow\"\n\n\t#Bytes that";
    let text = text.replacen("\n\t#Bytes that", late, 1);
    assert!(!allowed(&text, format, &local().target).allowed);
    let after = open(&text, format, &local()).unwrap();
    assert!(allowed(&after.text, format, &local().target).allowed);
    assert_eq!(close(&after.text, format, &after.added).unwrap(), text);
}

#[test]
fn rules_in_one_line_are_refused_with_what_to_write() {
    let text =
        "[http]\nenabled = true\nrules = [\n { host = \"$private\", action = \"deny\" },\n]\n";
    let refusal = open(text, RULES, &local()).unwrap_err();
    assert_eq!(refusal.line, Some(4));
    let written = "{ host = \"127.0.0.1\", port = 3001, action = \"allow\" }";
    assert!(refusal.reason.contains(written), "{refusal}");
    let refusal = open("[http]\nrules = []\n", RULES, &local()).unwrap_err();
    assert!(refusal.reason.contains(written), "{refusal}");
}

#[test]
fn what_the_game_would_not_read_is_refused_with_its_line() {
    for (text, format, line, words) in [
        ("[http\n", RULES, Some(1), "no valid TOML"),
        ("a = 1\n", RULES, None, "says nothing of HTTP"),
        ("http = 1\n", RULES, Some(1), "`http` is not a table"),
        ("[http]\nenabled = true\n", RULES, None, "no rules"),
        ("[http]\nrules = 1\n", RULES, Some(2), "not a list of rules"),
        (
            "[http]\nenabled = \"yes\"\nrules = []\n",
            RULES,
            Some(2),
            "`enabled` is not",
        ),
        (
            "[[http.rules]]\naction = \"deny\"\n",
            RULES,
            Some(1),
            "no host",
        ),
        (
            "[[http.rules]]\nhost = \"x/y\"\n",
            RULES,
            Some(2),
            "`x/y` is no range",
        ),
        (
            "[[http.rules]]\nhost = \"*\"\naction = \"permit\"\n",
            RULES,
            Some(3),
            "`permit`",
        ),
        (
            "[[http.rules]]\nhost = \"*\"\nport = 70000\n",
            RULES,
            Some(3),
            "not a port",
        ),
        (
            "[http]\nwhitelist = [1]\nblacklist = []\n",
            RULES,
            Some(2),
            "not a text",
        ),
        ("http {\n", Format::Forge, None, "has no end"),
        ("}\n", Format::Forge, Some(1), "closes nothing"),
        (
            "http {\nS:blocked_domains <\n",
            Format::Forge,
            Some(2),
            "has no end",
        ),
        ("http {\n}\n", Format::Forge, None, "no `allowed_domains`"),
        (
            "general {\n S:http_whitelist=*\n}\n",
            Format::Forge,
            Some(2),
            "is no list",
        ),
        (
            "{\n\"httpBlacklist\": 1,\n\"httpWhitelist\": []}",
            Format::Ccemux,
            Some(2),
            "not a list",
        ),
        ("{", Format::Ccemux, Some(1), "no valid JSON"),
        ("[]", Format::Ccemux, None, "no JSON object"),
        ("{}", Format::Ccemux, None, "no lists of hosts"),
    ] {
        let refusal = open(text, format, &local()).unwrap_err();
        assert!(refusal.reason.contains(words), "{text:?}: {refusal}");
        assert_eq!(refusal.line, line, "{text:?}: {refusal}");
    }
}

#[test]
fn older_names_of_the_lists_are_known() {
    let Sample { text, format, .. } = sample("1.12.2");
    let text = text
        .replace("S:allowed_domains", "S:\"whitelist\"")
        .replace("S:blocked_domains", "S:blacklist");
    let after = open(&text, format, &local()).unwrap();
    assert_only_ours_is_new(&text, &after.text, format, &local(), "old names");
    assert_eq!(close(&after.text, format, &after.added).unwrap(), text);
}

#[test]
fn a_list_of_allowed_hosts_gets_ours_and_loses_it_again() {
    for (sample, all, one) in [
        (sample("1.12.2"), "        *\n", "        pastebin.com\n"),
        (sample("1.14.4"), "[\"*\"]", "[\"pastebin.com\"]"),
        (sample("CCEmuX"), "\"*\"", "\"pastebin.com\""),
    ] {
        let text = sample.text.replacen(all, one, 1);
        let after = open(&text, sample.format, &local()).unwrap();
        assert_only_ours_is_new(&text, &after.text, sample.format, &local(), sample.version);
        assert!(after.added.contains(&Added::Host {
            host: "127.0.0.1".to_owned()
        }));
        assert_eq!(
            close(&after.text, sample.format, &after.added).unwrap(),
            text
        );
    }
}

#[test]
fn a_name_gets_a_rule_of_its_own_above_all_that_may_deny_it_and_is_refused_where_there_are_lists() {
    let wish = wish("bridge.lan", None);
    let Sample { text, format, .. } = sample("1.20.1 and later");
    let after = open(text, format, &wish).unwrap().text;
    assert!(allowed(&after, format, &wish.target).allowed);
    for probe in probes() {
        let (was, is) = (
            allowed(text, format, &probe),
            allowed(&after, format, &probe),
        );
        assert_eq!(was.allowed, is.allowed);
    }
    let Sample { text, format, .. } = sample("1.14.4");
    let refusal = open(text, format, &wish).unwrap_err();
    assert!(refusal.reason.contains("as a number"), "{refusal}");
}

#[test]
fn a_name_that_is_blocked_is_left_to_the_person_who_blocked_it() {
    let Sample { text, format, .. } = sample("1.12.2");
    let text = text.replace("        127.0.0.0/8\n", "        localhost\n");
    let refusal = open(&text, format, &local()).unwrap_err();
    assert_eq!(refusal.line, Some(51));
    assert!(
        refusal.reason.contains("`localhost` in `blocked_domains`"),
        "{refusal}"
    );
}

#[test]
fn a_token_that_computers_would_misread_is_refused_and_not_shown() {
    let Sample { text, format, .. } = sample("1.16.5");
    let refusal = open(text, format, &wish("127.0.0.1", Some("secret,secret"))).unwrap_err();
    assert!(refusal.reason.contains("a comma"), "{refusal}");
    assert!(!refusal.to_string().contains("secret"), "{refusal}");
}

#[test]
fn settings_of_new_computers_are_added_to_those_there_or_get_a_line() {
    let Sample { text, format, .. } = sample("1.16.5");
    let wish = wish("127.0.0.1", Some("abc"));
    let own = text.replace("settings = \"\"", "settings = \"list.show_hidden=true\"");
    let after = open(&own, format, &wish).unwrap();
    let line = "default_computer_settings = \"list.show_hidden=true,mcp_computer.url=ws://127.0.0.1:3001,\
                mcp_computer.token=abc\"\n";
    assert!(after.text.contains(line), "{}", after.text);
    assert_eq!(close(&after.text, format, &after.added).unwrap(), own);

    let none = text.replace("default_computer_settings = \"\"\n", "");
    let after = open(&none, format, &wish).unwrap();
    assert!(
        after.text.starts_with("default_computer_settings = \"mcp"),
        "{}",
        after.text
    );
    assert_eq!(close(&after.text, format, &after.added).unwrap(), none);
}

#[test]
fn after_the_game_has_written_the_file_anew_ours_is_still_found() {
    let Sample { text, format, .. } = sample("1.20.1 and later");
    let off = text.replace("\tenabled = true", "\tenabled = false");
    let after = open(&off, format, &wish("127.0.0.1", Some("abc"))).unwrap();
    assert!(after.added.contains(&Added::Switch(Switch::Http)));
    // Without comments, with other indents and another order of keys.
    let anew: Vec<_> = after
        .text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .map(str::trim_start)
        .collect();
    let anew = anew.join("\n").replace(
        "port = 3001\naction = \"allow\"",
        "action = \"allow\"\nport = 3001",
    );
    let closed = close(&anew, format, &after.added).unwrap();
    let as_before: Vec<_> = off
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .map(str::trim_start)
        .collect();
    assert_eq!(closed, as_before.join("\n"));
}

#[test]
fn what_others_changed_since_stays() {
    let Sample { text, format, .. } = sample("1.20.1 and later");
    let after = open(text, format, &local()).unwrap();
    // A rule with a limit of its own is no longer ours.
    let own = after.text.replace(
        "port = 3001\n",
        "port = 3001\n\t\tmax_websocket_message = 65536\n",
    );
    assert_eq!(close(&own, format, &after.added).unwrap(), own);
    // And one that is gone is gone.
    assert_eq!(close(text, format, &after.added).unwrap(), text);
}
