//! What a bridge that something else starts is to have in its environment.

use std::{collections::BTreeMap, path::Path};

use crate::{
    settings::{Config, FlagsOf},
    setup::machine::Machine,
};

/// The variable that names the user's tools, by paths that have to be whole.
const TOOLS: &str = "MCP_BRIDGE_TOOLS";

/// Variables that move our folders. Whoever starts the bridge may not hand them on, and then it would not find the
/// others.
const FOLDERS: [&str; 2] = ["MCP_BRIDGE_CONFIG_DIR", "MCP_BRIDGE_STATE_DIR"];

/// The variables that say what these flags do, and where our folders are.
///
/// # Errors
/// A flag's value can't be used.
pub fn environment(
    settings: &FlagsOf<Config>,
    machine: &Machine,
) -> Result<BTreeMap<String, String>, String> {
    // Only the flags: what the environment and config.toml say, the bridge reads by itself.
    let config = Config::resolve(&settings.given, |_| None, Path::new("config.toml"), "")
        .map_err(|error| error.to_string())?;
    let mut env: BTreeMap<_, _> = settings
        .variables()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    if let Some(tools) = env.get_mut(TOOLS) {
        let folders = config
            .tools
            .chosen
            .folders
            .iter()
            .map(|folder| folder.display().to_string());
        let names = config.tools.chosen.names.into_iter().flatten();
        *tools = folders.chain(names).collect::<Vec<_>>().join(",");
    }
    for variable in FOLDERS {
        if let Some(folder) = machine.variable(variable) {
            let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
            env.insert(variable.to_owned(), folder.display().to_string());
        }
    }
    Ok(env)
}
