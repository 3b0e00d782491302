//! What a bridge that something else starts is to have in its environment.

use std::{collections::BTreeMap, path::Path};

use super::scene::Scene;
use crate::{
    doctor::chosen,
    settings::{Config, FlagsOf},
};

/// The variable that names the user's tools, by paths that have to be whole.
const TOOLS: &str = "MCP_BRIDGE_TOOLS";

/// Variables that move our folders. Whoever starts the bridge may not hand them on, and then it would not find the
/// others.
const FOLDERS: [&str; 2] = ["MCP_BRIDGE_CONFIG_DIR", "MCP_BRIDGE_STATE_DIR"];

/// The variable by which the game's rules and the clients' bridges have one link port.
const PORT: &str = "CC_LINK_PORT";

/// Variables of settings that go into an entry only as flags, and that whoever sets them here may think go too.
const LEFT: [(&str, &str); 5] = [
    ("CC_LINK_TOKEN", "--link-token"),
    (TOOLS, "--tools"),
    ("MCP_BRIDGE_TOOLSETS", "--toolsets"),
    ("MCP_BRIDGE_LIST", "--list"),
    ("MCP_BRIDGE_READ_ONLY", "--read-only"),
];

/// The variables that say what these flags do, and where our folders are.
///
/// # Errors
/// A flag's value can't be used.
pub fn environment(
    settings: &FlagsOf<Config>,
    scene: &mut Scene<'_, '_>,
) -> Result<BTreeMap<String, String>, String> {
    let machine = scene.machine;
    // Only the flags, and the link port, which the game's files are written for: other settings of the environment the
    // bridge has if its client hands them on, and those of config.toml in any case.
    let variable = |name: &str| {
        let port = machine.variable(name).filter(|_| name == PORT);
        port.map(str::to_owned)
    };
    let config = Config::resolve(&settings.given, variable, Path::new("config.toml"), "")
        .map_err(|error| error.to_string())?;
    let folders = &config.tools.chosen.folders;
    if let Some(none) = folders.iter().find(|folder| !folder.is_dir()) {
        return Err(format!(
            "There is no folder {} of tools: make it, or correct --tools.",
            none.display()
        ));
    }
    let unmet = chosen::unmet(&config, scene.folders, &machine.here);
    if !unmet.is_empty() {
        return Err(format!(
            "{}. `mcp-bridge tools list` names all tools and sets.",
            unmet.join("; ").replace(", which the settings name", "")
        ));
    }
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
    if let Some(port) = machine.variable(PORT) {
        env.entry(PORT.to_owned())
            .or_insert_with(|| port.to_owned());
    }
    for (variable, flag) in LEFT {
        if machine.variable(variable).is_some() && !env.contains_key(variable) {
            scene.asking.say(&format!(
                "! {variable} is set here, and what is set up has it only if that is given too: {flag}."
            ));
        }
    }
    for variable in FOLDERS {
        if let Some(folder) = machine.variable(variable) {
            let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
            env.insert(variable.to_owned(), folder.display().to_string());
        }
    }
    Ok(env)
}
