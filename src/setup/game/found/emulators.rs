//! Emulators of the game's computers that are on this machine.

use std::path::PathBuf;

use crate::setup::machine::{Machine, System};

/// CCEmuX's configuration, if it has run here.
pub fn ccemux(machine: &Machine) -> Option<PathBuf> {
    let file = data(machine, "ccemux", "ccemux").join("ccemux.json");
    file.is_file().then_some(file)
}

/// CraftOS-PC's folder, if it has run here. It lets computers reach this machine as it is.
pub fn craftos_pc(machine: &Machine) -> Option<PathBuf> {
    let folder = data(machine, "craftos-pc", "CraftOS-PC");
    folder.is_dir().then_some(folder)
}

/// The data folder of a program that has a name of its own on Linux.
fn data(machine: &Machine, on_linux: &str, elsewhere: &str) -> PathBuf {
    match machine.system {
        System::Linux => machine.xdg_data().join(on_linux),
        System::MacOs => machine.application_support().join(elsewhere),
        System::Windows => machine.app_data().join(elsewhere),
    }
}
