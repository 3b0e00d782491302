//! `mcp-bridge completions`: what makes a shell complete this program's commands and flags.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::console;

/// Print what makes your shell complete commands and flags
#[derive(Debug, Args)]
#[command(after_help = "\
bash        mcp-bridge completions bash > ~/.local/share/bash-completion/completions/mcp-bridge
zsh         mcp-bridge completions zsh > \"${fpath[1]}/_mcp-bridge\"
fish        mcp-bridge completions fish > ~/.config/fish/completions/mcp-bridge.fish
powershell  mcp-bridge completions powershell >> $PROFILE
elvish      mcp-bridge completions elvish >> ~/.config/elvish/rc.elv

Open a new shell afterwards.")]
pub struct Completions {
    /// Your shell
    shell: Shell,
}

impl Completions {
    /// Prints it for this command line.
    pub fn run(self, mut command: Command) -> ExitCode {
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        // clap_complete 4.6 takes the `-` of the program's name for that before a command, in half of what it writes for
        // bash: then nothing is completed below a command.
        let script = String::from_utf8_lossy(&script).replace("mcp__subcmd__bridge", "mcp__bridge");
        console::show(&script);
        ExitCode::SUCCESS
    }
}
