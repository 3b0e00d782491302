//! The game: whether the worlds on this machine let their computers reach the link port.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    check::{Check, Group},
    finding::Finding,
    fix::Fix,
    patient::Patient,
};
use crate::{
    base::{log_tail, text::one_line},
    setup::game::{
        config::{
            format::Format,
            open::Wish,
            view::{Hosts, View},
        },
        found::instance::{ConfigFile, Instance},
        open_world::state::Open,
        rules::{pattern::Match, target::Target},
        survey::{self, InTheWay},
        table::why_not,
    },
    wire::limits::DEFAULT_MAX_MESSAGE,
};

/// The checks of this group.
pub const CHECKS: &[Check] = &[
    Check {
        id: "games",
        group: Group::Game,
        about: "Which games with ComputerCraft are on this machine",
        look: games,
    },
    Check {
        id: "rules",
        group: Group::Game,
        about: "Whether each world lets its computers reach the link port",
        look: rules,
    },
    Check {
        id: "messages",
        group: Group::Game,
        about: "Whether the game lets messages through that are as long as the link's",
        look: messages,
    },
    Check {
        id: "given",
        group: Group::Game,
        about: "Whether the token that new computers are given is the bridge's",
        look: given,
    },
    Check {
        id: "gamelog",
        group: Group::Game,
        about: "What the game's log says of ComputerCraft",
        look: game_log,
    },
];

/// How many lines of the end of a game's log are read.
const LOG_LINES: usize = 2_000;

/// How many games are named in one line.
const NAMED: usize = 5;

/// The setting by which a computer has the link's token.
const TOKEN_SETTING: &str = "mcp_computer.token";

/// A file that decides for a world, or for all worlds of an instance.
struct Deciding<'a> {
    /// None of an emulator.
    instance: Option<&'a Instance>,
    file: ConfigFile,
    /// For which world, or which worlds, in words.
    whose: String,
}

fn games(patient: &Patient) -> Vec<Finding> {
    let survey = patient.games();
    let mut names: Vec<_> = survey
        .instances
        .iter()
        .filter(|instance| instance.has_computers())
        .map(|instance| {
            let version = instance
                .version()
                .map_or_else(|| "?".to_owned(), ToString::to_string);
            let worlds = match instance.worlds.len() {
                1 => "1 world".to_owned(),
                count => format!("{count} worlds"),
            };
            format!(
                "{} (ComputerCraft {version}, {worlds})",
                one_line(&instance.name)
            )
        })
        .collect();
    names.extend(survey.ccemux.as_ref().map(|_| "CCEmuX".to_owned()));
    names.extend(survey.craftos_pc.as_ref().map(|_| "CraftOS-PC".to_owned()));
    if names.is_empty() {
        return vec![Finding::ok(
            "no game with ComputerCraft was found in the usual places; --game DIR names another",
        )];
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let mut all = names.join(", ");
    if more > 0 {
        all.push_str(&format!(" and {more} more"));
    }
    vec![Finding::ok(all)]
}

/// The files that decide, each once.
fn deciding(patient: &Patient) -> Vec<Deciding<'_>> {
    let survey = patient.games();
    let mut all = Vec::new();
    for instance in survey
        .instances
        .iter()
        .filter(|instance| instance.has_computers())
    {
        let of = |file: ConfigFile, worlds: &str| Deciding {
            instance: Some(instance),
            whose: format!("{} of {}", worlds, one_line(&instance.name)),
            file,
        };
        let worlds = instance.worlds.iter();
        let own: Vec<_> = worlds
            .filter_map(|world| Some((world, instance.config_of(world)?)))
            .collect();
        let others = instance.worlds.len() - own.len();
        all.extend(
            own.into_iter()
                .map(|(world, file)| of(file, &format!("world {}", one_line(&world.name)))),
        );
        if let Some(file) = instance
            .config_of_all()
            .filter(|_| others > 0 || instance.worlds.is_empty())
        {
            all.push(of(file, "the worlds"));
        }
    }
    all.extend(survey.ccemux.iter().map(|file| Deciding {
        instance: None,
        file: file.clone(),
        whose: "CCEmuX".to_owned(),
    }));
    all
}

/// Where computers of this machine's games connect to.
fn target(patient: &Patient) -> Option<Target> {
    let place = patient.place()?;
    let host = match place.host.as_str() {
        "0.0.0.0" | "::" | "localhost" => "127.0.0.1",
        host => host,
    };
    (place.port != 0).then(|| Target::new(host, place.port))
}

fn rules(patient: &Patient) -> Vec<Finding> {
    let Some(target) = target(patient) else {
        return Vec::new();
    };
    let mut findings: Vec<_> = deciding(patient)
        .iter()
        .flat_map(|deciding| judge(patient, deciding, &target))
        .collect();
    let survey = patient.games();
    for instance in survey
        .instances
        .iter()
        .filter(|instance| instance.computercraft.is_some())
    {
        let all = instance.config_of_all();
        let bare = instance
            .worlds
            .iter()
            .filter(|world| all.is_none() && instance.config_of(world).is_none());
        findings.extend(bare.map(|world| {
            let (world_name, name) = (one_line(&world.name), one_line(&instance.name));
            Finding::warning(format!("world {world_name} of {name} has no settings of ComputerCraft yet"))
                .because("The game writes them when the world is first opened with it, and forbids the link port in them.")
                .mended_by(format!("open that world once, close it, and run `{}`", setup_game(patient)))
                .at(&world.folder)
        }));
    }
    findings
}

/// The command that sets these games up.
fn setup_game(patient: &Patient) -> String {
    match patient.game() {
        Some(folder) => format!("mcp-bridge setup game \"{}\"", folder.display()),
        None => "mcp-bridge setup game".to_owned(),
    }
}

/// Whether one file lets computers reach the target, and whether that holds already.
fn judge(patient: &Patient, deciding: &Deciding<'_>, target: &Target) -> Vec<Finding> {
    let (file, whose) = (&deciding.file, &deciding.whose);
    let view = match survey::view(file) {
        Ok(view) => view,
        Err(refusal) => {
            let what = match refusal.line {
                Some(_) => "that line",
                None => "that file",
            };
            return vec![
                Finding::problem(format!("{whose}: {refusal}"))
                    .because("The game may not read that file either, and then writes a new one, in which the link port is forbidden.")
                    .mended_by(format!("correct {what} with the game closed, or delete the file and open the world once, so that the game writes it"))
                    .at(&file.path),
            ];
        }
    };
    let way = deciding
        .instance
        .and_then(|instance| survey::in_the_way(instance, file, patient.now));
    let Some(why) = why_not(&view, target) else {
        let mut findings = vec![
            Finding::ok(format!(
                "{whose} lets computers connect to {}",
                target.url()
            ))
            .at(&file.path),
        ];
        findings.extend(way.filter(|way| was_changed_since(deciding.instance, way, file)).map(|way| {
            Finding::warning(format!("world {} was opened before its settings were changed", one_line(&way.world)))
                .because("What was changed counts once the world is opened anew, and the game may write over it when it ends.")
                .mended_by("close the world, see that the change is still there, and open it again")
                .at(&file.path)
        }));
        return findings;
    };
    let finding = Finding::problem(format!(
        "{whose} keeps computers from {}: {why}",
        target.url()
    ))
    .because("Computers there say `Domain not permitted`, or have no HTTP, and can't link.")
    .at(&file.path);
    if let Some(way) = way {
        return vec![finding.mended_by(format!(
            "close the game first: {}. Then `mcp-bridge doctor --fix`",
            in_words(&way)
        ))];
    }
    let wish = Wish {
        target: target.clone(),
        token: None,
    };
    vec![match survey::opening(file, &wish) {
        Ok(Some((change, noted))) => {
            let too = survey::opened_too(file, &noted);
            let fix = Fix::of_game(patient, change, &noted, too);
            finding.fixed_by(setup_game(patient), fix)
        }
        Ok(None) => finding.mended_by(format!("`{}` shows what it can do", setup_game(patient))),
        Err(refusal) => finding.mended_by(format!("by hand, with the game closed: {refusal}")),
    }]
}

fn in_words(way: &InTheWay) -> String {
    let world = one_line(&way.world);
    match &way.open {
        Open::Yes { process: Some(pid) } => format!(
            "world {world} is open (process {pid}), and the game writes its settings anew when it ends"
        ),
        Open::Yes { process: None } => {
            format!("world {world} is open, and the game writes its settings anew when it ends")
        }
        Open::Perhaps { written } => format!(
            "world {world} was written {} s ago, so it may be open",
            written.as_secs()
        ),
        Open::Unknown(why) => format!("whether world {world} is open can't be told: {why}"),
        Open::No => format!("world {world} is closed"),
    }
}

/// Whether a world that is open was opened before its file was changed.
fn was_changed_since(instance: Option<&Instance>, way: &InTheWay, file: &ConfigFile) -> bool {
    if !matches!(way.open, Open::Yes { .. }) {
        return false;
    }
    let world =
        instance.and_then(|instance| instance.worlds.iter().find(|world| world.name == way.world));
    let written = |path: &Path| fs::metadata(path).and_then(|facts| facts.modified()).ok();
    // The game writes this file when it opens the world.
    let opened = world.and_then(|world| written(&world.folder.join("session.lock")));
    matches!((opened, written(&file.path)), (Some(opened), Some(changed)) if changed > opened)
}

fn messages(patient: &Patient) -> Vec<Finding> {
    let Some(target) = target(patient) else {
        return Vec::new();
    };
    let all = deciding(patient);
    let short = all.iter().filter_map(|deciding| {
        let text = fs::read_to_string(&deciding.file.path).ok()?;
        let view = survey::view(&deciding.file).ok()?;
        let (key, bytes) = longest_message(&deciding.file, &view, &text, &target)?;
        let whose = &deciding.whose;
        (bytes < DEFAULT_MAX_MESSAGE as i64).then(|| {
            Finding::warning(format!("{whose} lets through only messages of {bytes} bytes: {key}"))
                .because(format!("The link's have up to {DEFAULT_MAX_MESSAGE}: a longer one ends it, and long answers never come."))
                .mended_by(format!("with the game closed, set {key} = {DEFAULT_MAX_MESSAGE} in the rule that allows the link port"))
                .at(&deciding.file.path)
        })
    });
    short.collect()
}

/// The longest message that a file's rules allow to the target, and the key that says so; none if none does.
fn longest_message(
    file: &ConfigFile,
    view: &View,
    text: &str,
    target: &Target,
) -> Option<(&'static str, i64)> {
    let (Hosts::Rules(rules), Format::Toml { .. }) = (&view.hosts, file.format) else {
        return None;
    };
    let table: toml::Table = toml::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let written = table.get("http")?.get("rules")?.as_array()?;
    let matching = rules.iter().zip(written).filter(|(placed, _)| {
        placed.rule.port.is_none_or(|port| port == target.port())
            && placed.rule.pattern.matches(target) == Match::Yes
    });
    // Of all rules that match, the first that has the key counts.
    let mut said = matching.filter_map(|(_, rule)| {
        let keys = ["max_websocket_message", "websocket_message"];
        keys.iter()
            .find_map(|key| Some((*key, rule.get(key)?.as_integer()?)))
    });
    said.next()
}

fn given(patient: &Patient) -> Vec<Finding> {
    let Ok(config) = patient.config() else {
        return Vec::new();
    };
    let all = deciding(patient);
    let wrong = all.iter().filter_map(|deciding| {
        let view = survey::view(&deciding.file).ok()?;
        let given = view.computer_setting(TOKEN_SETTING)?;
        let whose = &deciding.whose;
        let finding = match &config.link.token {
            Some(token) if token.matches(given) => return None,
            Some(_) => Finding::problem(format!("{whose} gives its computers another token than the bridge has"))
                .because("The bridge refuses them."),
            None => Finding::warning(format!("{whose} gives its computers a token, and the bridge has none here"))
                .because("If the bridge of your client has none either, every computer of this network may link, whatever it shows."),
        };
        Some(
            finding
                .mended_by(
                    "give both the same one: `mcp-bridge setup game --token TOKEN` and `mcp-bridge setup client --link-token TOKEN`",
                )
                .at(&deciding.file.path),
        )
    });
    wrong.collect()
}

fn game_log(patient: &Patient) -> Vec<Finding> {
    let survey = patient.games();
    let instances = survey
        .instances
        .iter()
        .filter(|instance| instance.has_computers());
    let errors = instances.filter_map(|instance| {
        let log: PathBuf = instance.folder.join("logs/latest.log");
        let text = log_tail::tail_of(std::slice::from_ref(&log), LOG_LINES).ok()?;
        let is_error = |line: &&str| {
            line.contains("/ERROR]")
                && (line.contains("computercraft") || line.contains("ComputerCraft"))
        };
        let last = text.lines().rfind(is_error)?;
        let shown: String = one_line(last).chars().take(300).collect();
        Some(
            Finding::warning(format!(
                "the log of {} has an error of ComputerCraft: {shown}",
                one_line(&instance.name)
            ))
            .mended_by(format!("{} has all of it", log.display()))
            .at(log),
        )
    });
    errors.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::game::found::instance::Scope;

    #[test]
    fn the_first_rule_that_matches_and_says_so_limits_messages() {
        let text = "[http]\n[[http.rules]]\nhost = \"127.0.0.0/8\"\naction = \"allow\"\n\
                    [[http.rules]]\nhost = \"$private\"\naction = \"deny\"\nmax_websocket_message = 4096\n\
                    [[http.rules]]\nhost = \"*\"\naction = \"allow\"\nmax_websocket_message = 99\n";
        let file = ConfigFile {
            path: "a.toml".into(),
            format: Format::Toml { knows_ports: true },
            scope: Scope::AllWorlds,
        };
        let view = file.format.read(text).unwrap();
        let of = |host| longest_message(&file, &view, text, &Target::new(host, 3001));
        assert_eq!(of("127.0.0.1"), Some(("max_websocket_message", 4096)));
        assert_eq!(of("203.0.113.1"), Some(("max_websocket_message", 99)));
        let text = text.replace("max_websocket_message", "timeout");
        let view = file.format.read(&text).unwrap();
        let target = Target::new("127.0.0.1", 3001);
        assert_eq!(longest_message(&file, &view, &text, &target), None);
    }
}
