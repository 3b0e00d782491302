//! `list-computers`: what the registry knows, without asking any computer.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::typed::Native;
use crate::{
    base::{
        excerpt::shortened,
        text::{one_line, timestamp},
    },
    computers::{AgentPolicy, Computer, LinkPort, Presence, Unreachable, updating},
    tools::{
        Context, Hold,
        bounds::fitting,
        text,
        wording::{ago, name_of, time_between},
    },
};

/// How much room is kept for what is said besides the computers, in characters.
const REST: usize = 4_000;

/// How many computers with old agents are named.
const NAMED: usize = 5;

/// How much of a query is repeated, in characters.
const LONGEST_QUERY: usize = 200;

pub struct ListComputers;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    query: Option<String>,
    kind: Option<String>,
    limit: usize,
    offset: usize,
}

impl Native for ListComputers {
    const NAME: &'static str = "list-computers";
    type Arguments = Arguments;
    type Error = Unreachable;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, Unreachable> {
        let known = context.fleet.computers().await?;
        let port = context.fleet.port().await;
        let now = SystemTime::now();
        let page = arguments.page(&known, now);
        let address = match &port.owner {
            Some(owner) => owner.address.to_string(),
            None => "not yet open".to_owned(),
        };
        let mut words = page.in_words(&arguments, known.len());
        words.push_str(&format!("Link port: {address}{}", held_by(&port, now)));
        let mut fields = json!({
            "now": timestamp(now),
            "linkPort": address,
            "known": known.len(),
            "total": page.total,
            "computers": page.fields,
        });
        if let Some(next) = page.next {
            fields["nextOffset"] = json!(next);
        }
        let outdated = port.outdated().map(|outdated| outdated.to_string());
        let notices: Vec<_> = outdated.into_iter().chain(old_agents(&known)).collect();
        for notice in &notices {
            words.push_str(&format!("\n\n{notice}"));
        }
        if !notices.is_empty() {
            fields["notice"] = json!(notices.join("\n\n"));
        }
        if let Some(hold) = context.others.paused().await {
            let (said, why) = match &hold {
                Hold::Paused(paused) => (
                    "A person has paused all calls that could change something,",
                    paused.when_and_why(now),
                ),
                Hold::Unknown(_) => ("Not all is called now:", hold.told()),
            };
            words.push_str(&format!("\n\n{said} {why}."));
            fields["paused"] = json!(why);
        }
        let mut result = text(words);
        result.structured_content = Some(fields);
        Ok(result)
    }
}

/// What is shown of the computers that are wanted.
struct Page {
    /// A line for each that is shown.
    lines: Vec<String>,
    /// The same for a program.
    fields: Vec<Value>,
    /// How many are wanted, shown or not.
    total: usize,
    /// How many of those are linked.
    linked: usize,
    /// From where on the others are shown, if there are any.
    next: Option<usize>,
}

impl Arguments {
    /// The linked ones first, each part in order of numbers; as many as there is room for, in words and in fields.
    fn page(&self, known: &[Arc<Computer>], now: SystemTime) -> Page {
        let wanted = known.iter().filter(|computer| self.wants(computer));
        let (mut all, gone): (Vec<_>, Vec<_>) =
            wanted.partition(|computer| computer.link().is_some());
        let linked = all.len();
        all.extend(gone);
        let shown = || all.iter().skip(self.offset).take(self.limit);
        let mut lines: Vec<_> = shown().map(|computer| in_words(computer, now)).collect();
        let mut fields: Vec<_> = shown().map(|computer| in_fields(computer, now)).collect();
        let json: Vec<_> = fields.iter().map(Value::to_string).collect();
        let room = |texts: &[String]| fitting(texts.iter().map(String::as_str), REST);
        let room = room(&lines).min(room(&json));
        lines.truncate(room);
        fields.truncate(room);
        let next = self.offset.saturating_add(lines.len());
        Page {
            next: (next < all.len()).then_some(next),
            lines,
            fields,
            total: all.len(),
            linked,
        }
    }

    fn wants(&self, computer: &Computer) -> bool {
        let facts = computer.facts();
        let machine = facts.machine.as_ref();
        let is_of_kind = self
            .kind
            .as_ref()
            .is_none_or(|kind| machine.is_some_and(|machine| machine.kind == *kind));
        let has = |text: Option<&str>, query: &str| {
            text.is_some_and(|text| text.to_lowercase().contains(query))
        };
        is_of_kind
            && self.query.as_ref().is_none_or(|query| {
                let query = query.trim().to_lowercase();
                // Digits are meant as a number, and stand in every version.
                let is_number = query.bytes().all(|byte| byte.is_ascii_digit());
                facts.key.to_string() == query
                    || has(facts.label.as_deref(), &query)
                    || (!is_number && has(machine.map(|machine| machine.host.as_str()), &query))
            })
    }

    /// The call that shows what follows.
    fn call(&self, next: usize) -> String {
        let mut call = json!({});
        if let Some(query) = &self.query {
            call["query"] = json!(shortened(query, LONGEST_QUERY));
        }
        if let Some(kind) = &self.kind {
            call["kind"] = json!(kind);
        }
        call["offset"] = json!(next);
        format!("list-computers {call}")
    }
}

impl Page {
    fn in_words(&self, arguments: &Arguments, known: usize) -> String {
        let mut words = self.lines.join("\n");
        if !words.is_empty() {
            words.push('\n');
        }
        let Self { total, linked, .. } = self;
        match self.next {
            Some(next) => words.push_str(&format!(
                "[{} more of {total} computers, {linked} of them linked: {} shows them; query and kind find some]\n",
                total - next,
                arguments.call(next)
            )),
            None if known == 0 => words.push_str("No computer has linked yet.\n"),
            None if *total == 0 => {
                words.push_str(&format!("None of the {known} known computers fits that.\n"));
            }
            None if self.lines.is_empty() => {
                words.push_str(&format!("[There are {total} computers, and no more of them]\n"));
            }
            None => {}
        }
        words
    }
}

/// What to know of linked computers whose agents are older than this bridge.
fn old_agents(known: &[Arc<Computer>]) -> Option<String> {
    let linked = known.iter().filter(|computer| computer.link().is_some());
    let old: Vec<_> = linked
        .filter_map(|computer| {
            let version = updating::version_of(computer)?;
            updating::is_older(&version).then(|| {
                let name = name_of(&computer.facts());
                (computer.key, format!("{name} has {}", one_line(&version)))
            })
        })
        .collect();
    let (first, _) = old.first()?;
    let mut names: Vec<_> = old
        .iter()
        .take(NAMED)
        .map(|(_, name)| name.clone())
        .collect();
    if old.len() > NAMED {
        names.push(format!("and {} more", old.len() - NAMED));
    }
    Some(format!(
        "Older than this mcp-bridge, {}: the mcp-computer of {}. update-agent {} updates one; a person can update all: \
         mcp-bridge agents update",
        env!("CARGO_PKG_VERSION"),
        names.join(", "),
        json!({ "computerId": first }),
    ))
}

/// Who holds the link port: `, held by this mcp-bridge (process 4242) for 3 min, shared by 2 bridges`.
fn held_by(port: &LinkPort, now: SystemTime) -> String {
    let Some(owner) = &port.owner else {
        return String::new();
    };
    let who = if port.own { "this" } else { "another" };
    let since = time_between(owner.since, now);
    let shared = match port.bridges {
        0 | 1 => String::new(),
        bridges => format!(", shared by {bridges} bridges"),
    };
    format!(
        ", held by {who} mcp-bridge (process {}) for {since}{shared}",
        owner.pid
    )
}

/// One line: `12 (Label: base-turtle): linked 3 min ago from 192.168.1.5:51234, advanced turtle, …`.
fn in_words(computer: &Computer, now: SystemTime) -> String {
    let facts = &computer.facts();
    let mut parts = Vec::new();
    match &computer.presence() {
        Presence::Linked(_) => {
            parts.push(format!(
                "linked {} from {}",
                ago(facts.linked_since, now),
                facts.address
            ));
            parts.push(format!("last seen {}", ago(facts.last_seen(), now)));
        }
        Presence::Left { since, why } => parts.push(format!(
            "offline, left {}: {}",
            ago(*since, now),
            one_line(why)
        )),
    }
    if let Some(machine) = &facts.machine {
        let grade = if machine.advanced { "advanced " } else { "" };
        parts.push(format!("{grade}{}", one_line(&machine.kind)));
        if !machine.host.is_empty() {
            parts.push(one_line(&machine.host).into_owned());
        }
    }
    match &facts.agent {
        Some(agent) => parts.push(format!(
            "{} {}",
            one_line(&agent.name),
            one_line(&agent.version)
        )),
        None => parts.push("agent of protocol version 1".to_owned()),
    }
    match facts.policy {
        AgentPolicy::Full => {}
        AgentPolicy::Ask => parts.push("asks its player before code runs".to_owned()),
        AgentPolicy::ReadOnly => parts.push("read-only: runs no code of a bridge".to_owned()),
    }
    if facts.paused && computer.link().is_some() {
        parts.push(
            "paused by its player: nothing new begins until `mcp-computer resume` there".to_owned(),
        );
    }
    if let Some(change) = computer.change_of_hands() {
        parts.push(format!(
            "changed hands {}: shows another key than the one that was linked from {} before, so it may be another \
             computer",
            ago(change.since, now),
            change.former
        ));
    }
    format!("{}: {}", name_of(facts), parts.join(", "))
}

/// The same for a program, with ages in seconds. What is not known is left out.
pub fn in_fields(computer: &Computer, now: SystemTime) -> Value {
    let age = |moment: SystemTime| {
        let age = now.duration_since(moment).unwrap_or(Duration::ZERO);
        json!(age.as_secs())
    };
    let facts = &computer.facts();
    let mut fields = json!({
        "computerId": facts.key,
        "linked": computer.link().is_some(),
        "address": facts.address.to_string(),
        "lastSeenSeconds": age(facts.last_seen()),
    });
    if let Some(label) = &facts.label {
        // A client may show a model this form alone, and its user sees no more of it than of the text.
        fields["label"] = json!(one_line(label));
    }
    if let Some(machine) = &facts.machine {
        fields["kind"] = json!(machine.kind);
        fields["advanced"] = json!(machine.advanced);
        fields["host"] = json!(machine.host);
    }
    if let Some(agent) = &facts.agent {
        fields["agent"] = json!(agent);
    }
    if !facts.policy.is_full() {
        fields["policy"] = json!(facts.policy);
    }
    if facts.paused && computer.link().is_some() {
        fields["paused"] = json!(true);
    }
    if let Some(change) = computer.change_of_hands() {
        fields["changedHands"] = json!(timestamp(change.since));
    }
    match &computer.presence() {
        Presence::Linked(_) => fields["linkedSeconds"] = age(facts.linked_since),
        Presence::Left { since, why } => {
            fields["leftSeconds"] = age(*since);
            fields["leftBecause"] = json!(why);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        computers::{link::tests::Nowhere, registry::Registry},
        wire::{
            frame::{self, AgentFrame},
            text::TextMode,
        },
    };

    /// Computers with numbers from 0: turtles and pocket computers by turns; every hundredth has left.
    fn known(count: u64) -> Vec<Arc<Computer>> {
        let registry = Registry::default();
        for id in 0..count {
            let kind = if id % 2 == 0 { "turtle" } else { "pocket" };
            let hello = json!({
                "type": "hello", "computerId": id, "computerLabel": format!("Miner {id}"), "protocol": 2, "boot": "b",
                "agent": {"name": "mcp-computer", "version": "1.1.0"},
                "computer": {"kind": kind, "advanced": true, "host": "ComputerCraft 1.113.1"},
            });
            let mut hello = match frame::read(&hello.to_string(), TextMode::Plain) {
                Ok(AgentFrame::Hello(hello)) => *hello,
                other => panic!("{other:?}"),
            };
            let address = "127.0.0.1:1".parse().unwrap();
            let linked = registry
                .link(&mut hello, address, Box::new(Nowhere))
                .unwrap();
            if id % 100 == 99 {
                registry.leave(&linked.computer, &linked.link, "gone");
            }
        }
        registry.all()
    }

    fn wanted(query: Option<&str>, kind: Option<&str>, limit: usize, offset: usize) -> Arguments {
        Arguments {
            query: query.map(str::to_owned),
            kind: kind.map(str::to_owned),
            limit,
            offset,
        }
    }

    fn numbers(page: &Page) -> Vec<u64> {
        let fields = page.fields.iter();
        fields
            .map(|one| one["computerId"].as_u64().unwrap())
            .collect()
    }

    #[test]
    fn of_15000_computers_a_page_is_bounded_and_says_how_many_there_are_and_how_to_see_them() {
        let (known, now) = (known(15_000), SystemTime::now());
        for limit in [50, 500] {
            let arguments = wanted(None, None, limit, 0);
            let page = arguments.page(&known, now);
            assert_eq!((page.total, page.linked), (15_000, 14_850));
            assert!(page.lines.len() <= limit && page.lines.len() >= 50);
            assert_eq!(page.lines.len(), page.fields.len());
            let words = page.in_words(&arguments, known.len());
            assert!(
                words.chars().count() < 40_000 && json!(page.fields).to_string().len() < 40_000
            );
            let shown = page.lines.len();
            assert!(
                words.ends_with(&format!(
                    "[{} more of 15000 computers, 14850 of them linked: list-computers {{\"offset\":{shown}}} shows them; \
                     query and kind find some]\n",
                    15_000 - shown
                )),
                "{words:.300}"
            );
        }
    }

    #[test]
    fn pages_show_each_computer_once_the_linked_ones_first() {
        let (known, now) = (known(300), SystemTime::now());
        let (mut seen, mut offset) = (Vec::new(), Some(0));
        while let Some(from) = offset {
            let page = wanted(None, None, 70, from).page(&known, now);
            seen.extend(numbers(&page));
            offset = page.next;
        }
        let (gone, linked): (Vec<u64>, Vec<u64>) = (0..300).partition(|id| id % 100 == 99);
        assert_eq!(seen, [linked, gone].concat());
    }

    #[test]
    fn computers_are_found_by_text_and_kind() {
        let (known, now) = (known(300), SystemTime::now());
        let found = |query, kind| numbers(&wanted(query, kind, 5, 0).page(&known, now));
        assert_eq!(found(Some("MINER 27"), None), [27, 270, 271, 272, 273]);
        assert_eq!(found(Some("27"), Some("turtle")), [270, 272, 274, 276, 278]);
        assert_eq!(found(Some("miner 299"), None), [299]);
        // Not every computer of a version that has it.
        assert_eq!(found(Some("113"), None), [113]);
        assert_eq!(found(Some("1.113"), None).len(), 5);
        assert_eq!(found(None, Some("command")), [0; 0]);
        let arguments = wanted(Some("no such"), None, 5, 0);
        let page = arguments.page(&known, now);
        assert_eq!(
            page.in_words(&arguments, known.len()),
            "None of the 300 known computers fits that.\n"
        );
        let arguments = wanted(Some("miner"), Some("pocket"), 5, 10);
        let words = arguments
            .page(&known, now)
            .in_words(&arguments, known.len());
        assert!(
            words.contains(
                r#"list-computers {"query":"miner","kind":"pocket","offset":15} shows them"#
            ),
            "{words}"
        );
    }

    #[test]
    fn a_programs_form_has_ages_in_seconds_and_no_text_of_times() {
        let (known, now) = (known(100), SystemTime::now() + Duration::from_secs(90));
        let fields = wanted(None, None, 500, 0).page(&known, now).fields;
        assert_eq!(fields.len(), 100);
        assert!((89..95).contains(&fields[0]["linkedSeconds"].as_u64().unwrap()));
        assert!(fields[0].get("leftSeconds").is_none());
        assert!((89..95).contains(&fields[99]["leftSeconds"].as_u64().unwrap()));
        assert_eq!(fields[99]["leftBecause"], "gone");
    }
}
