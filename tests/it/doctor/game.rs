//! Broken set-ups of the game: what it forbids its computers, and when that can be mended.

use std::{fs, path::PathBuf, process::Output};

use super::{Examined, Machine, can_be_fixed, names_path, text};

/// The rules as the game writes them, with this before them.
fn config(before: &str, rules_before: &str) -> String {
    format!(
        "[http]\n\tenabled = true\n\twebsocket_enabled = true\n{before}\n{rules_before}\
         \t[[http.rules]]\n\t\thost = \"$private\"\n\t\taction = \"deny\"\n\
         \t[[http.rules]]\n\t\thost = \"*\"\n\t\taction = \"allow\"\n\t\tmax_websocket_message = 131072\n"
    )
}

impl Machine {
    /// The rule that lets computers through.
    fn rule(&self) -> String {
        format!(
            "\t[[http.rules]]\n\t\thost = \"127.0.0.1\"\n\t\tport = {}\n\t\taction = \"allow\"\n",
            self.port.number()
        )
    }

    /// A game with ComputerCraft and one world, whose settings are these.
    fn game(&self, config: Option<&str>) -> PathBuf {
        self.file("game/mods/cc-tweaked-1.20.1-forge-1.113.1.jar", "");
        self.file("game/logs/latest.log", "");
        fs::create_dir_all(self.path("game/config")).unwrap();
        self.file("game/saves/Base/level.dat", "");
        let name = "game/saves/Base/serverconfig/computercraft-server.toml";
        match config {
            Some(config) => self.file(name, config),
            None => self.path(name),
        }
    }

    async fn looks_at_game(&self) -> Examined {
        let game = self.path("game");
        Examined::of(
            &self
                .enters(&["doctor", "--json", "--game", game.to_str().unwrap()])
                .await,
        )
    }

    async fn fixes(&self) -> Output {
        let game = self.path("game");
        self.enters(&["doctor", "--fix", "--yes", "--game", game.to_str().unwrap()])
            .await
    }
}

#[tokio::test]
async fn a_world_that_lets_its_computers_through_is_well() {
    let machine = Machine::new();
    machine.game(Some(&config("", &machine.rule())));
    let examined = machine.looks_at_game().await;
    examined.well();
    let rules = examined.of_check("rules", "ok");
    assert!(
        rules.len() == 1 && rules[0]["message"].as_str().unwrap().contains("world Base"),
        "{examined:?}"
    );
    assert!(
        examined.of_check("games", "ok")[0]
            .to_string()
            .contains("ComputerCraft 1.113.1, 1 world")
    );
}

#[tokio::test]
async fn a_rule_below_the_one_for_private_addresses_is_put_above_it() {
    let machine = Machine::new();
    let file = machine.game(Some(&(config("", "") + &machine.rule())));
    let examined = machine.looks_at_game().await;
    let words = [
        "world Base",
        "`$private` denies it, line 5",
        "Domain not permitted",
    ];
    let finding = examined.names("rules", "problem", &words, "mcp-bridge setup game");
    can_be_fixed(finding);
    names_path(finding, &file);
    let fixed = machine.fixes().await;
    assert!(fixed.status.success(), "{fixed:?}");
    machine.looks_at_game().await.well();
    // What was added is known, so that it can be taken out again.
    let ledger = fs::read_to_string(machine.path("state/setup.json")).unwrap();
    assert!(ledger.contains("computercraft-server.toml"), "{ledger}");
}

#[tokio::test]
async fn http_and_websockets_that_are_off_are_switched_on() {
    let machine = Machine::new();
    let off = config("", &machine.rule()).replace(
        "enabled = true\n\twebsocket_enabled = true",
        "enabled = false\n\twebsocket_enabled = false",
    );
    machine.game(Some(&off));
    let examined = machine.looks_at_game().await;
    can_be_fixed(examined.names("rules", "problem", &["`http` is off"], "setup game"));
    machine.fixes().await;
    machine.looks_at_game().await.well();

    let machine = Machine::new();
    let off = config("", &machine.rule())
        .replace("websocket_enabled = true", "websocket_enabled = false");
    machine.game(Some(&off));
    let examined = machine.looks_at_game().await;
    can_be_fixed(examined.names("rules", "problem", &["WebSockets are off"], "setup game"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_world_that_is_open_is_left_alone() {
    use rustix::fs::{FlockOperation, fcntl_lock};
    let machine = Machine::new();
    let file = machine.game(Some(&config("", "")));
    let before = fs::read_to_string(&file).unwrap();
    // As the game holds it while the world is open.
    let session = machine.file("game/saves/Base/session.lock", "☃");
    let held = fs::File::options().write(true).open(session).unwrap();
    fcntl_lock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
    let examined = machine.looks_at_game().await;
    let open = format!("world Base is open (process {})", std::process::id());
    let finding = examined.names("rules", "problem", &["denies it"], &open);
    assert_eq!(finding["canFix"], false);
    assert!(
        finding["mend"]
            .as_str()
            .unwrap()
            .contains("close the game first"),
        "{finding}"
    );
    machine.fixes().await;
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    // Once it is closed it can be mended.
    drop(held);
    machine.fixes().await;
    machine.looks_at_game().await.well();
}

#[cfg(unix)]
#[tokio::test]
async fn a_world_that_was_opened_before_its_settings_were_changed() {
    use rustix::fs::{FlockOperation, fcntl_lock};
    use std::time::{Duration, SystemTime};
    let machine = Machine::new();
    machine.game(Some(&config("", &machine.rule())));
    let session = machine.file("game/saves/Base/session.lock", "☃");
    let held = fs::File::options().write(true).open(session).unwrap();
    held.set_modified(SystemTime::now() - Duration::from_secs(600))
        .unwrap();
    fcntl_lock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
    let examined = machine.looks_at_game().await;
    let words = [
        "world Base was opened before its settings were changed",
        "may write over it",
    ];
    examined.names("rules", "warning", &words, "open it again");
}

#[tokio::test]
async fn settings_of_the_game_that_can_not_be_read() {
    let machine = Machine::new();
    let file = machine.game(Some("[http]\nenabled = \n"));
    let examined = machine.looks_at_game().await;
    let finding = examined.names(
        "rules",
        "problem",
        &["computercraft-server.toml, line 2"],
        "correct that line",
    );
    names_path(finding, &file);
}

#[tokio::test]
async fn a_world_without_settings_of_the_mod() {
    let machine = Machine::new();
    machine.game(None);
    let examined = machine.looks_at_game().await;
    let words = ["world Base", "has no settings of ComputerCraft yet"];
    examined.names("rules", "warning", &words, "open that world once");
}

#[tokio::test]
async fn messages_that_are_cut_short() {
    let machine = Machine::new();
    let rule = machine.rule() + "\t\tmax_websocket_message = 4096\n";
    machine.game(Some(&config("", &rule)));
    let examined = machine.looks_at_game().await;
    let words = ["messages of 4096 bytes: max_websocket_message", "131072"];
    examined.names(
        "messages",
        "warning",
        &words,
        "max_websocket_message = 131072",
    );
}

#[tokio::test]
async fn computers_that_are_given_another_token() {
    let (own, given) = (
        "a-token-of-more-than-16-characters",
        "another-token-of-the-same-length",
    );
    let machine = Machine::new().variable("CC_LINK_TOKEN", own);
    let before = format!("default_computer_settings = \"mcp_computer.token={given}\"\n");
    machine.game(Some(&(before + &config("", &machine.rule()))));
    let examined = machine.looks_at_game().await;
    examined.names(
        "given",
        "problem",
        &["another token than the bridge has", "refuses them"],
        "setup game --token TOKEN",
    );
    let all = examined.all.to_string();
    assert!(!all.contains(own) && !all.contains(given), "{all}");
}

#[tokio::test]
async fn an_error_of_the_mod_in_the_games_log() {
    let machine = Machine::new();
    machine.game(Some(&config("", &machine.rule())));
    machine.file(
        "game/logs/latest.log",
        "[12:00:00] [Server thread/ERROR] [computercraft/]: it broke\n",
    );
    let examined = machine.looks_at_game().await;
    examined.names("gamelog", "warning", &["it broke"], "latest.log");
    assert!(text(&machine.enters(&["doctor", "--checks"]).await.stdout).contains("gamelog"));
}
