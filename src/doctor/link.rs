//! The link port: who holds it, who may come in, and the bridges that share it.

use std::{
    io::{self, ErrorKind},
    net::IpAddr,
};

use super::{
    check::{Check, Group},
    finding::Finding,
    listener, log,
    patient::Patient,
    place,
};
use crate::{
    base::{host_and_port::HostPort, text::one_line, token::LONG_ENOUGH},
    bridges::{
        carrier,
        one_machine::{
            self,
            port_holder::{self, Health, Unknown},
        },
    },
    computers::Outdated,
    hands::message::Answer,
};

/// The checks of this group.
pub const CHECKS: &[Check] = &[
    Check {
        id: "port",
        group: Group::Link,
        about: "Who holds the link port, and whether it can be had",
        look: port,
    },
    Check {
        id: "address",
        group: Group::Link,
        about: "From where computers reach the link port",
        look: address,
    },
    Check {
        id: "token",
        group: Group::Link,
        about: "Whether computers must show a token, and show the right one",
        look: token,
    },
    Check {
        id: "bridges",
        group: Group::Link,
        about: "Whether all bridges that run answer, are of this version, and reach the computers",
        look: bridges,
    },
];

const NO_LINK: &str = "No computer can link while something else has the port.";

fn port(patient: &Patient) -> Vec<Finding> {
    let Some(place) = patient.place() else {
        return Vec::new();
    };
    vec![match patient.health(&place) {
        Ok(health) => held(&place, health),
        Err(Unknown::Free) => match place::can_bind(&place.host, place.port) {
            Ok(()) => Finding::ok(format!(
                "{place} is free: no bridge runs just now. A client starts one by itself"
            )),
            Err(error) => cannot_be_opened(&place, &error),
        },
        Err(Unknown::Silent) => {
            let owner = port_holder::named_owner(&patient.folders.shared, &place);
            Finding::problem(format!("{place}: {}", carrier::frozen(owner.as_ref())))
                .because(NO_LINK)
                .mended_by(match owner {
                    Some(owner) => format!("resume or end process {}", owner.pid),
                    None => who_is_it(place.port),
                })
        }
        Err(Unknown::Stranger) => {
            let program = listener::of(place.port);
            let who = program.as_ref().map_or_else(
                || "another program, no mcp-bridge,".to_owned(),
                |program| {
                    format!(
                        "{}, which is no mcp-bridge,",
                        one_line(&program.to_string())
                    )
                },
            );
            Finding::problem(format!("{place}: {who} listens there"))
                .because(NO_LINK)
                .mended_by(format!(
                    "{}, or set CC_LINK_PORT to another port in every client's entry (`mcp-bridge setup client \
                     --link-port PORT`), and in the game start the agent with that port",
                    match program {
                        Some(program) => format!("end process {}", program.pid),
                        None => who_is_it(place.port),
                    }
                ))
        }
        Err(Unknown::Unreachable(error)) => cannot_be_opened(&place, error),
    }]
}

fn held(place: &HostPort, health: &Health) -> Finding {
    // Whatever holds the port may say anything.
    let version = one_line(&health.version);
    let mut words = format!("{place} is held by mcp-bridge {version}");
    let Some(owner) = &health.owner else {
        return Finding::ok(words);
    };
    let sharing = health.bridges.unwrap_or(1);
    words.push_str(&format!(
        " (process {}) since {}; {sharing} {} it",
        owner.pid,
        one_line(&owner.since),
        if sharing == 1 {
            "bridge has"
        } else {
            "bridges share"
        },
    ));
    match Outdated::unless_current(&health.version, owner.pid) {
        None => Finding::ok(words),
        Some(outdated) => Finding::warning(words)
            .because(outdated.to_string())
            .mended_by(format!(
                "restart the client that started process {}, or end that process",
                owner.pid
            )),
    }
}

/// What a person does to learn who has the port.
fn who_is_it(port: u16) -> String {
    format!(
        "find the program with `{}` and end it",
        listener::command(port)
    )
}

/// A port that no bridge could open.
fn cannot_be_opened(place: &HostPort, error: &io::Error) -> Finding {
    let finding = Finding::problem(format!("{place} can't be opened: {error}"))
        .because("No bridge can listen there, so no computer can link.");
    if cfg!(windows) && error.kind() == ErrorKind::PermissionDenied {
        // Hyper-V and WSL set ranges of ports aside, other ones at each start of the machine.
        return finding.mended_by(format!(
            "see whether {} is in a range that `netsh interface ipv4 show excludedportrange protocol=tcp` lists. Then take \
             another port: set CC_LINK_PORT in every client's entry, and start the agents with it",
            place.port
        ));
    }
    finding.mended_by(one_machine::advice(error))
}

fn address(patient: &Patient) -> Vec<Finding> {
    let Some(place) = patient.place() else {
        return Vec::new();
    };
    let is_local = match place.host.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback(),
        Err(_) => place.host.eq_ignore_ascii_case("localhost"),
    };
    if is_local {
        return vec![Finding::ok(format!(
            "computers of games on this machine reach {place}, others do not"
        ))];
    }
    if is_wsl() {
        return vec![
            Finding::warning(format!(
                "this is Linux within Windows (WSL), and {place} is within it"
            ))
            .because(
                "A game on Windows reaches it as localhost only while WSL forwards that, and from other machines not at all.",
            )
            .mended_by(
                "run mcp-bridge on Windows itself, or set `networkingMode=mirrored` below `[wsl2]` in %USERPROFILE%\\.wslconfig",
            ),
        ];
    }
    vec![Finding::ok(format!(
        "computers reach {place} from this machine, and from others unless a firewall is in the way, which can't be seen from here"
    ))]
}

/// Whether this Linux runs within Windows.
fn is_wsl() -> bool {
    let version = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    version.is_ok_and(|version| version.to_lowercase().contains("microsoft"))
}

fn token(patient: &Patient) -> Vec<Finding> {
    let Ok(config) = patient.config() else {
        return Vec::new();
    };
    let mut findings = vec![match &config.link.token {
        None => Finding::ok("no link token is set: computers of this machine and of private networks may link"),
        Some(token) if token.is_long_enough() => Finding::ok("a link token is set, and long enough"),
        Some(_) => Finding::warning(format!(
            "the link token has fewer than {LONG_ENOUGH} characters"
        ))
        .because("It could be guessed, so computers link from private addresses only.")
        .mended_by("take a longer one at random, for the bridge (CC_LINK_TOKEN) and for the computers (`set mcp_computer.token …`)"),
    }];
    let lines = log::of_the_last_day(patient);
    let linked = lines
        .iter()
        .rposition(|line| line.text.contains("link::session: linked "));
    let refused: Vec<_> = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| {
            line.text.contains("link refused") && linked.is_none_or(|linked| *at > linked)
        })
        .map(|(_, line)| line)
        .collect();
    if let Some(last) = refused.last() {
        let finding = Finding::warning(format!(
            "since the last computer linked, {} refused, the last at {}: {}",
            if refused.len() == 1 {
                "1 was".to_owned()
            } else {
                format!("{} were", refused.len())
            },
            last.time,
            last.shown()
        ))
        .because("A computer that is refused for its token stops trying.");
        findings.push(if last.text.contains("token") {
            finding.mended_by(
                "give the computer the bridge's token: in the game `set mcp_computer.token TOKEN`, then reboot it; `mcp-computer \
                 doctor` there looks from its side",
            )
        } else {
            finding.mended_by("`mcp-bridge logs -n 100` shows them all")
        });
    }
    findings
}

fn bridges(patient: &Patient) -> Vec<Finding> {
    let round = match patient.bridges() {
        Ok(round) => round,
        Err(error) => {
            return vec![Finding::unknown(format!(
                "the bridges can't be asked: {}: {error}",
                patient.folders.shared.display()
            ))];
        }
    };
    let mut findings = Vec::new();
    for told in round.told.values() {
        let client = match told.client {
            Some(client) => format!(
                "bridge {} (of the client with process id {client})",
                told.pid
            ),
            None => format!("bridge {}", told.pid),
        };
        if let Answer::Computers {
            unreachable: Some(why),
            ..
        } = &told.answer
        {
            findings.push(
                Finding::problem(format!("{client} reaches no computer: {}", one_line(why)))
                    .because("Its client sees no computers.")
                    .mended_by("end what is named there; the bridge goes on by itself"),
            );
        }
        if told.version != env!("CARGO_PKG_VERSION") {
            findings.push(stale(
                &client,
                &format!("is mcp-bridge {}", one_line(&told.version)),
            ));
        } else if was_replaced(told.pid) {
            findings.push(stale(
                &client,
                "runs a program file that was replaced since",
            ));
        }
    }
    for pid in &round.silent {
        findings.push(
            Finding::warning(format!("bridge {pid} runs, but does not answer"))
                .because(
                    "It may be suspended, or of a version that can't be asked; its client waits.",
                )
                .mended_by(format!("restart its client, or end process {pid}")),
        );
    }
    let share = patient
        .place()
        .and_then(|place| patient.health(&place).as_ref().ok()?.bridges);
    let asked = round.told.len() + round.silent.len();
    if let Some(share) = share.filter(|share| *share > asked) {
        findings.push(
            Finding::warning(format!(
                "of the {share} bridges that share the link port only {asked} can be asked"
            ))
            .because("The others are older than this version, or have another state folder: `jobs`, `stop` and `pause` don't reach them.")
            .mended_by("restart their clients"),
        );
    }
    if findings.is_empty() {
        findings.push(Finding::ok(match round.told.len() {
            0 => "no bridge runs just now".to_owned(),
            1 => "the bridge that runs answers, and is of this version".to_owned(),
            count => format!("all {count} bridges that run answer, and are of this version"),
        }));
    }
    findings
}

fn stale(bridge: &str, how: &str) -> Finding {
    Finding::warning(format!("{bridge} {how}"))
        .because(format!(
            "It does not do what this version, {}, does.",
            env!("CARGO_PKG_VERSION")
        ))
        .mended_by("restart its client")
}

/// Whether the file that a process runs is no longer there, as Linux tells (proc(5)).
fn was_replaced(pid: u32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe"));
    program.is_ok_and(|program| program.to_string_lossy().ends_with(" (deleted)"))
}
