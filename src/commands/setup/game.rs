//! `mcp-bridge setup game`: the game lets computers reach the bridge.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::Args;

use super::scene::Scene;
use crate::{
    base::text::one_line,
    settings::{Config, Flags},
    setup::{
        asking::{How, Verdict},
        change::Change,
        game::{
            config::open::{Added, Wish},
            found::instance::{ConfigFile, Instance},
            open_world::state::Open,
            rules::target::Target,
            survey::{self, InTheWay, Noted, Survey},
            table::table,
        },
        ledger::{Addition, Ledger},
    },
};

/// The name of this part in the ledger.
const PART: &str = "game";

/// Where the bridge is for a game on the same machine.
const ADDRESS: &str = "127.0.0.1";

/// Let computers in the game reach the bridge: a rule in the game's settings
#[derive(Debug, Args)]
pub struct Game {
    /// A game folder, a server's folder, or a world; without it, what is in the usual places
    dir: Option<PathBuf>,

    /// Where the game finds the bridge, if they are not on the same machine
    #[arg(long, value_name = "HOST", default_value = ADDRESS, value_parser = host)]
    address: String,

    /// The bridge's link port, if it is not the one of its settings
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Give new computers this link token, and the bridge's address
    #[arg(long)]
    token: Option<String>,

    /// Change the files even while the world is open
    #[arg(long)]
    force: bool,

    /// Whether somebody asked for this part: else it is no failure if there is no game.
    #[arg(skip = true)]
    is_asked_for: bool,
}

impl Default for Game {
    /// As a part of the whole `setup`.
    fn default() -> Self {
        Self {
            dir: None,
            address: ADDRESS.to_owned(),
            port: None,
            token: None,
            force: false,
            is_asked_for: false,
        }
    }
}

/// A host as it may stand in a rule.
fn host(text: &str) -> Result<String, String> {
    let is_host = !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-_:[]".contains(c));
    if is_host && !text.contains("://") {
        Ok(text.to_owned())
    } else {
        Err("an address or a name is wanted, such as 192.168.1.20; the port is `--port`".to_owned())
    }
}

impl Game {
    pub fn run(self, scene: &mut Scene<'_, '_>) {
        if scene.remove {
            return self.take_out(scene);
        }
        let wish = match self.wish(scene) {
            Ok(wish) => wish,
            Err(problem) => return scene.asking.refuse(&problem),
        };
        let survey = match &self.dir {
            Some(folder) => Survey::of_folder(&scene.machine.here.join(folder)),
            None => Survey::of(scene.machine),
        };
        let now = SystemTime::now();
        if scene.asking.how != How::Print
            && !(survey.instances.is_empty() && survey.has_no_computers())
        {
            let table = table(&survey, &wish.target, now);
            scene.asking.say(&format!("{table}\n"));
        }
        if survey.has_no_computers() {
            return self.say(scene, &self.nothing_found(&wish));
        }
        let mut reach = Vec::new();
        for instance in survey
            .instances
            .iter()
            .filter(|instance| instance.has_computers())
        {
            reach.push(self.open_instance(scene, instance, &wish, now));
        }
        if let Some(file) = &survey.ccemux {
            reach.push(open_files(
                scene,
                "CCEmuX",
                std::slice::from_ref(file),
                &wish,
            ));
        }
        if let Some(folder) = &survey.craftos_pc {
            scene.asking.say(&format!(
                "CraftOS-PC ({}) lets computers reach this machine as it is: nothing to do.",
                folder.display()
            ));
            reach.push(true);
        }
        if reach.contains(&true) && scene.asking.how != How::Print {
            scene.asking.say(&format!(
                "\nNext, start the world, and type on a computer in it:\n  wget run {}/install.lua",
                wish.target.url().replacen("ws://", "http://", 1)
            ));
        }
    }

    /// What the game's files are to allow.
    fn wish(&self, scene: &mut Scene<'_, '_>) -> Result<Wish, String> {
        let variable = |name: &str| scene.machine.variable(name).map(str::to_owned);
        let link = Config::load(&Flags::default(), variable, scene.folders)
            .map_err(|error| error.to_string())?
            .link;
        let port = self.port.unwrap_or(link.port);
        if port == 0 {
            return Err("The bridge's link port is set to 0, any free one. A rule needs one that stays: set link_port, \
                        or give `--port`."
                .to_owned());
        }
        match (&link.token, &self.token) {
            (Some(token), Some(given)) if !token.matches(given) => {
                return Err("The token given is not the link token of the bridge's settings. Computers that show it \
                            would be refused."
                    .to_owned());
            }
            (Some(_), None) => scene.asking.say(
                "The bridge wants a token. Give it here after `--token`, and new computers have it; or type it on each: \
                 set mcp_computer.token <token>\n",
            ),
            _ => {}
        }
        Ok(Wish {
            target: Target::new(&self.address, port),
            token: self.token.clone(),
        })
    }

    /// Says that there is nothing to do yet, which is a failure if it was asked for.
    fn say(&self, scene: &mut Scene<'_, '_>, words: &str) {
        if self.is_asked_for {
            scene.asking.refuse(words);
        } else {
            scene.asking.say(words);
        }
    }

    fn nothing_found(&self, wish: &Wish) -> String {
        let rule = Added::Rule {
            host: wish.target.rule_host(),
            port: Some(wish.target.port()),
        };
        let place = match &self.dir {
            Some(folder) => format!("in {}", folder.display()),
            None => "in the usual places".to_owned(),
        };
        format!(
            "No game with ComputerCraft was found {place}. If it is elsewhere, name its folder, the one with `saves` and \
             `mods` in it, or the server's:\n  mcp-bridge setup game FOLDER\nFor a world on somebody else's server, \
             its owner has to allow it, in <world>/serverconfig/computercraft-server.toml, {}",
            rule.by_hand(wish)
        )
    }

    /// Lets computers of a game's worlds through. Whether they reach the bridge then, in one of them at least.
    fn open_instance(
        &self,
        scene: &mut Scene<'_, '_>,
        instance: &Instance,
        wish: &Wish,
        now: SystemTime,
    ) -> bool {
        let files = instance.config_files();
        let name = one_line(&instance.name).into_owned();
        if files.is_empty() {
            let words = format!(
                "{name}: the game has written no settings of ComputerCraft yet. {}, and run this again.",
                if instance.is_server {
                    "Start the server once, stop it"
                } else {
                    "Open a world once, close it"
                }
            );
            self.say(scene, &words);
            return false;
        }
        let writes = self.writes(scene);
        let (mut ready, mut ways) = (Vec::new(), Vec::new());
        for file in files {
            let way = writes
                .then(|| survey::in_the_way(instance, &file, now))
                .flatten();
            // What is as it should be needs no writing.
            match way.filter(|_| !matches!(survey::opening(&file, wish), Ok(None))) {
                Some(way) if !ways.contains(&way) => ways.push(way),
                Some(_) => {}
                None => ready.push(file),
            }
        }
        for way in &ways {
            scene
                .asking
                .refuse(&refusal(&name, way, instance.is_server));
        }
        open_files(scene, &name, &ready, wish)
    }

    /// Takes out of the game's files what was added to them.
    fn take_out(&self, scene: &mut Scene<'_, '_>) {
        let mut ledger = Ledger::open(&scene.folders.shared);
        let additions: Vec<Addition> = ledger.of(PART).cloned().collect();
        let mut files: BTreeMap<&Path, Vec<&Addition>> = BTreeMap::new();
        for addition in &additions {
            files.entry(&addition.file).or_default().push(addition);
        }
        if let Some(folder) = &self.dir {
            let folder = scene.machine.here.join(folder);
            files.retain(|file, _| file.starts_with(&folder));
        }
        if files.is_empty() {
            return scene
                .asking
                .say("Nothing was added to the game's settings.");
        }
        for (file, additions) in files {
            if !self.take_out_of(scene, file, &additions) {
                continue;
            }
            for addition in additions {
                if let Err(error) = ledger.forget(addition) {
                    scene.asking.refuse(&format!(
                        "{}: that it is taken out can't be noted: {error}",
                        file.display()
                    ));
                }
            }
        }
    }

    /// Takes out of one file all that was added to it. Whether nothing of ours is in it now.
    fn take_out_of(&self, scene: &mut Scene<'_, '_>, file: &Path, additions: &[&Addition]) -> bool {
        let noted: Vec<Noted> = additions
            .iter()
            .filter_map(|addition| serde_json::from_value(addition.what.clone()).ok())
            .collect();
        let Some(format) = noted.first().map(|noted| noted.format) else {
            return true;
        };
        let added: Vec<Added> = noted.into_iter().flat_map(|noted| noted.added).collect();
        let change = match survey::closing(file, format, &added) {
            Ok(Some(change)) => change,
            Ok(None) => {
                scene.asking.say(&format!(
                    "{}: nothing of ours is left in it.",
                    file.display()
                ));
                return true;
            }
            Err(refusal) => {
                scene.asking.refuse(&refusal.to_string());
                return false;
            }
        };
        if self.writes(scene)
            && let Some((instance, file)) = survey::game_of(file, format)
            && let Some(way) = survey::in_the_way(&instance, &file, SystemTime::now())
        {
            scene.asking.refuse(&refusal(
                &one_line(&instance.name),
                &way,
                instance.is_server,
            ));
            return false;
        }
        match scene
            .asking
            .change(&[change], &format!("{}: write this?", file.display()))
        {
            Ok(verdict) => verdict == Verdict::Yes,
            Err(refusal) => {
                scene.asking.refuse(&refusal.to_string());
                false
            }
        }
    }

    /// Whether files are written unless a world is open.
    fn writes(&self, scene: &Scene<'_, '_>) -> bool {
        matches!(scene.asking.how, How::Ask | How::Yes) && !self.force
    }
}

/// Why nothing is written while a world is open, and what to do.
fn refusal(name: &str, way: &InTheWay, is_server: bool) -> String {
    let world = one_line(&way.world);
    let close = if is_server {
        "Stop the server"
    } else {
        "Close the world"
    };
    let undo = "The game writes its settings when it stops, and would undo the change.";
    match &way.open {
        Open::Yes { process } => {
            let by = process.map_or(String::new(), |process| format!(" (process {process})"));
            format!("{name}: the world `{world}` is open{by}. {undo} {close}, and run this again.")
        }
        Open::Perhaps { written } => format!(
            "{name}: the world `{world}` was written {} s ago, so it may be open. {undo} {close}, wait two minutes, and \
             run this again; or add `--force`.",
            written.as_secs()
        ),
        Open::Unknown(why) => format!(
            "{name}: whether the world `{world}` is open can't be told: {why}. {undo} {close}, and run this again with \
             `--force`."
        ),
        Open::No => String::new(),
    }
}

/// Shows the changes of files, and makes them after a yes. Whether computers reach the bridge then by one of them.
fn open_files(scene: &mut Scene<'_, '_>, name: &str, files: &[ConfigFile], wish: &Wish) -> bool {
    let mut changes = Vec::new();
    let mut notes = Vec::new();
    let mut reach = false;
    for file in files {
        match survey::opening(file, wish) {
            Ok(None) => reach = true,
            Ok(Some((change, noted))) => {
                notes.push((file, noted));
                changes.push(change);
            }
            Err(refusal) => scene.asking.refuse(&refusal.to_string()),
        }
    }
    if scene.asking.how == How::Print {
        for (file, noted) in &notes {
            scene.asking.say(&format!("\nIn {}:", file.path.display()));
            for added in &noted.added {
                scene.asking.say(&format!("- {}", added.by_hand(wish)));
            }
        }
        return reach;
    }
    if changes.is_empty() {
        if reach {
            scene.asking.say(&format!(
                "{name}: computers can reach the bridge; nothing to change."
            ));
        }
        return reach;
    }
    for too in notes
        .iter()
        .filter_map(|(file, noted)| survey::opened_too(file, noted))
    {
        scene.asking.say(&format!("! {too}"));
    }
    match scene
        .asking
        .change(&changes, &format!("{name}: write this?"))
    {
        Ok(Verdict::Yes) => {
            for (change, (file, noted)) in changes.iter().zip(&notes) {
                note(scene, change, file, noted);
            }
            scene.asking.say(&format!(
                "{name}: computers can reach {} now.",
                wish.target.url()
            ));
            true
        }
        Ok(Verdict::No | Verdict::Shown) => reach,
        Err(refusal) => {
            // Those before it are written.
            for (change, (file, noted)) in changes.iter().zip(&notes) {
                if survey::opening(file, wish).is_ok_and(|left| left.is_none()) {
                    note(scene, change, file, noted);
                }
            }
            scene.asking.refuse(&refusal.to_string());
            reach
        }
    }
}

/// Notes what was added to a file, for its removal.
fn note(scene: &mut Scene<'_, '_>, change: &Change, file: &ConfigFile, noted: &Noted) {
    let what = serde_json::to_value(noted).unwrap_or_default();
    let addition = Addition {
        part: PART.to_owned(),
        file: file.path.clone(),
        what,
    };
    if let Err(error) = Ledger::open(&scene.folders.shared).add(addition) {
        scene.asking.refuse(&format!(
            "{} is changed, but that can't be noted ({error}), so that `--remove` won't find it. What was there before \
             is in {}.",
            file.path.display(),
            change.backup().display()
        ));
    }
}
