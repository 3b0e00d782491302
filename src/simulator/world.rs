//! The world around several simulated computers: what happens to all of them at once.

use std::sync::Arc;
use std::time::Duration;

use super::computer::Computer;
use super::land::Land;
use super::state::State;

/// How long a server waits for a computer to stop. Lua's own C functions can't be interrupted.
const STOP_TIME: Duration = Duration::from_secs(2);

/// The computers of one world. Dropping it ends them all.
#[derive(Debug)]
pub struct World {
    computers: Vec<Computer>,
    /// What is around them all, if they are in one place.
    land: Option<Arc<Land>>,
}

impl World {
    /// A world with these computers in it.
    pub fn new(computers: Vec<Computer>) -> Self {
        Self {
            computers,
            land: None,
        }
    }

    /// A world with these computers in it, which were all started in this land.
    pub fn in_land(land: Arc<Land>, computers: Vec<Computer>) -> Self {
        Self {
            computers,
            land: Some(land),
        }
    }

    /// What is around its computers, if they are in one place.
    pub fn land(&self) -> Option<&Arc<Land>> {
        self.land.as_ref()
    }

    /// All its computers.
    pub fn computers(&self) -> &[Computer] {
        &self.computers
    }

    /// The computer with that number.
    pub fn computer(&self, id: u64) -> Option<&Computer> {
        self.computers.iter().find(|computer| computer.id() == id)
    }

    /// Stops the world, as the menu of a single-player game does: no timer fires, but messages still arrive.
    pub fn pause(&self) {
        self.computers.iter().for_each(Computer::pause);
        self.land.iter().for_each(|land| land.set_paused(true));
    }

    /// Lets a paused world go on.
    pub fn resume(&self) {
        self.computers.iter().for_each(Computer::resume);
        self.land.iter().for_each(|land| land.set_paused(false));
    }

    /// Stops the server and starts it again: all computers are gone at once, and once all are, those that were on
    /// boot anew. A world that was paused goes on.
    pub async fn restart(&self) {
        for computer in &self.computers {
            computer.unload();
        }
        for computer in &self.computers {
            let is_gone =
                |computer: &Computer| matches!(computer.state(), State::Unloaded | State::Stopped);
            computer.until(STOP_TIME, is_gone).await;
        }
        for computer in &self.computers {
            computer.resume();
            computer.load();
        }
        self.land.iter().for_each(|land| land.set_paused(false));
    }
}
