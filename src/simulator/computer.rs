//! The host's handle on a simulated computer: its screen, its disk, its power, what it is doing.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::events::{Event, Events, Value};
use super::filesystem::{FileSystem, normalise};
use super::keys;
use super::land::Land;
use super::machine;
use super::options::ComputerOptions;
use super::rom;
use super::shared::{Order, Shared, lock};
use super::state::{ProgramState, State};
use super::terminal::Terminal;

/// How long a computer that is to stop may take before it is left alone: Lua's own C functions, such as
/// `string.rep`, can't be interrupted.
const STOP_TIME: Duration = Duration::from_secs(2);

/// Longest text that a player can paste, in characters.
const PASTE_LIMIT: usize = 512;

/// Text in the game's character set, as far as that is Latin-1.
fn game_text(text: &str) -> Vec<u8> {
    text.chars()
        .map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?'))
        .collect()
}

/// An argument of an event queued by the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// `nil`.
    Nil,
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A string of bytes.
    Text(Vec<u8>),
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Argument::Text(text.as_bytes().to_vec())
    }
}

impl From<f64> for Argument {
    fn from(number: f64) -> Self {
        Argument::Number(number)
    }
}

impl From<bool> for Argument {
    fn from(value: bool) -> Self {
        Argument::Boolean(value)
    }
}

/// A simulated computer. Dropping it ends it.
pub struct Computer {
    shared: Arc<Shared>,
    id: u64,
    /// Which numbers its keys have.
    lwjgl2_keys: bool,
}

impl Computer {
    /// Switches a computer on, in an empty world of its own. Its shell runs the start-up files of its disk, then
    /// `program`, a command line such as `mcp-computer ws://127.0.0.1:3001` (nothing if empty), then shows its prompt.
    /// Its sockets live on `runtime`, its Lua on a thread of its own.
    ///
    /// # Errors
    /// If a file to put on its disk has no place there, or the system gives no thread.
    pub fn start(
        options: ComputerOptions,
        program: &str,
        runtime: &tokio::runtime::Handle,
    ) -> std::io::Result<Computer> {
        let land = Land::alone(&options);
        Computer::start_in(&land, options, program, runtime)
    }

    /// The same in a world that others are in too.
    ///
    /// # Errors
    /// As those of [`Computer::start`].
    pub fn start_in(
        land: &Arc<Land>,
        options: ComputerOptions,
        program: &str,
        runtime: &tokio::runtime::Handle,
    ) -> std::io::Result<Computer> {
        let mut disk = FileSystem::new(options.limits.disk_bytes, rom::FILES);
        if land.drive(options.id).is_some() {
            disk.insert_floppy();
        }
        let refused = std::io::Error::other::<String>;
        for (path, bytes) in &options.files {
            let path = normalise(path).map_err(refused)?;
            let content = disk.create(&path, false, 0.0).map_err(refused)?;
            disk.write(&path, &content, 0, bytes, 0.0)
                .map_err(refused)?;
        }
        let shared = Arc::new(Shared::new(&options, disk));
        land.join(&options, &shared);
        let (id, lwjgl2_keys) = (options.id, options.version.lwjgl2_keys());
        let (its, program, runtime) = (Arc::clone(&shared), program.to_owned(), runtime.clone());
        let land = Arc::clone(land);
        thread::Builder::new()
            .name(format!("computer {id}"))
            .stack_size(4 << 20)
            .spawn(move || machine::run(&its, &land, Arc::new(options), &program, &runtime))?;
        Ok(Computer {
            shared,
            id,
            lwjgl2_keys,
        })
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its label now.
    pub fn label(&self) -> Option<String> {
        let label = lock(&self.shared.label);
        label
            .as_ref()
            .map(|label| String::from_utf8_lossy(label).into_owned())
    }

    /// The lines of text on its screen now, without trailing spaces.
    pub fn screen(&self) -> Vec<String> {
        lock(&self.shared.terminal).lines()
    }

    /// A copy of its screen now, with colours and cursor.
    pub fn terminal(&self) -> Terminal {
        lock(&self.shared.terminal).clone()
    }

    /// Whether it is on, and if not, why.
    pub fn state(&self) -> State {
        self.shared.status().state.clone()
    }

    /// What became of the program it was started with, in its present run.
    pub fn program(&self) -> ProgramState {
        self.shared.status().program
    }

    /// How often it was switched on, reboots among them.
    pub fn boots(&self) -> u64 {
        self.shared.status().boots
    }

    fn events(&self) -> Arc<Events> {
        Arc::clone(&self.shared.status().events)
    }

    /// How many events its full queue has lost in its present run.
    pub fn dropped_events(&self) -> u64 {
        self.events().dropped()
    }

    /// Queues an event; false if the queue was full and the event was dropped.
    pub fn queue_event(&self, name: &str, arguments: &[Argument]) -> bool {
        let values = arguments.iter().map(|argument| match argument {
            Argument::Nil => Value::Nil,
            Argument::Boolean(value) => Value::Boolean(*value),
            Argument::Number(number) => Value::Number(*number),
            Argument::Text(text) => Value::Text(text.clone()),
        });
        self.events().push(Event::new(name, values.collect()))
    }

    /// Holds Ctrl+T, as a player does to end a program.
    pub fn terminate(&self) {
        self.queue_event("terminate", &[]);
    }

    /// Types text and then Enter, as a player does.
    pub fn type_line(&self, text: &str) {
        for letter in text.chars() {
            self.queue_event("char", &[Argument::Text(game_text(&letter.to_string()))]);
        }
        self.press_enter();
    }

    /// Presses Enter.
    pub fn press_enter(&self) {
        self.press_key("enter");
    }

    /// Presses and releases the key that has this name in the game's `keys`; false if it has none of that name.
    pub fn press_key(&self, name: &str) -> bool {
        self.strike(name, None)
    }

    /// Writes one character as a player does: with its key, where a keyboard of the United States has one. A
    /// character that the game's character set lacks is a question mark.
    pub fn press_character(&self, character: char) {
        let key = keys::of_character(character).unwrap_or("");
        self.strike(key, Some(character));
    }

    /// The events of one key going down, writing something, and going up.
    fn strike(&self, key: &str, character: Option<char>) -> bool {
        let code = keys::code(key, self.lwjgl2_keys).map(f64::from);
        if let Some(code) = code {
            self.queue_event("key", &[code.into(), false.into()]);
        }
        if let Some(character) = character {
            self.queue_event("char", &[Argument::Text(game_text(&character.to_string()))]);
        }
        if let Some(code) = code {
            self.queue_event("key_up", &[code.into()]);
        }
        code.is_some()
    }

    /// Pastes text: its first line, up to 512 characters, as the game does.
    pub fn paste(&self, text: &str) {
        let line = text.split(['\r', '\n']).next().unwrap_or_default();
        let line: String = line.chars().take(PASTE_LIMIT).collect();
        if !line.is_empty() {
            self.queue_event("paste", &[Argument::Text(game_text(&line))]);
        }
    }

    /// Stops the world around it, as the menu of a single-player game does: no timer fires any more, but messages
    /// still arrive. To be undone with [`Computer::resume`].
    pub fn pause(&self) {
        self.shared.set_paused(true);
    }

    /// Lets a paused world go on.
    pub fn resume(&self) {
        self.shared.set_paused(false);
    }

    /// Whether the world around it is paused.
    pub fn is_paused(&self) -> bool {
        self.shared.status().paused
    }

    /// Unloads its chunk, as when all players walk away, or the server stops: its sockets drop without a close
    /// frame, its programs end where they are. Until [`Computer::load`] it can't be switched on.
    pub fn unload(&self) {
        self.shared.unload();
    }

    /// Whether its chunk is loaded. Its state follows a moment later, once its thread has let go of what ran.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.shared.is_loaded()
    }

    /// Loads its chunk again: a computer that was on boots anew, with its disk and label as they were.
    pub fn load(&self) {
        self.shared.load();
    }

    /// Switches it off, as a player does: its sockets drop, its programs end where they are.
    pub fn shutdown(&self) {
        self.shared.order(Order::Off);
    }

    /// Switches it on; one that is on is restarted. Nothing happens to one that is unloaded.
    pub fn reboot(&self) {
        self.shared.order(Order::Boot);
    }

    /// Ends it for good. Returns once its thread has ended, or has been given up because it can't be interrupted.
    pub fn stop(&self) {
        self.shared.order(Order::Stop);
        self.wait_until(STOP_TIME, |computer| computer.state() == State::Stopped);
    }

    /// Waits until something is true of it, and says whether it came true in time. Looks again each time its
    /// screen or its state has changed. For async code there is [`Computer::until`].
    pub fn wait_until(&self, time: Duration, wanted: impl Fn(&Computer) -> bool) -> bool {
        let deadline = Instant::now() + time;
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.mark_unchanged();
            if wanted(self) {
                return true;
            }
            let mut status = self.shared.status();
            while !changes.has_changed().unwrap_or(true) {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return false;
                }
                let waited = self.shared.changed.wait_timeout(status, left);
                status = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Waits until something is true of it, and says whether it came true in time.
    pub async fn until(&self, time: Duration, wanted: impl Fn(&Computer) -> bool) -> bool {
        let mut changes = self.shared.changes.subscribe();
        let waiting = async {
            loop {
                changes.mark_unchanged();
                if wanted(self) || changes.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(time, waiting).await.is_ok()
    }

    /// Waits until it has stopped being on; its state then, or `None` if it is still on after that time.
    pub fn wait_until_stopped(&self, time: Duration) -> Option<State> {
        self.wait_until(time, |computer| computer.state() != State::Running)
            .then(|| self.state())
    }

    /// Tells when its screen or its state changes; the value means nothing.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// The content of a file of its disk.
    pub fn read_file(&self, path: &str) -> Option<Vec<u8>> {
        let disk = lock(&self.shared.disk);
        let content = disk.content(&normalise(path).ok()?).ok()?;
        Some(lock(&content).clone())
    }

    /// Puts a file on its disk.
    ///
    /// # Errors
    /// With the game's words where there is no place for it.
    pub fn write_file(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        let refused = std::io::Error::other::<String>;
        let path = normalise(path).map_err(refused)?;
        let mut disk = lock(&self.shared.disk);
        let content = disk.create(&path, false, 0.0).map_err(refused)?;
        disk.write(&path, &content, 0, bytes, 0.0).map_err(refused)
    }
}

impl Drop for Computer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Computer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Computer")
            .field("id", &self.id)
            .field("state", &self.state())
            .finish()
    }
}
