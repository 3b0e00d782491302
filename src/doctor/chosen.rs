//! Whether there is what the settings choose of tools, before a bridge is started with them.

use std::path::Path;

use crate::{
    settings::{Config, Folders},
    tools::{self, Pause, builtin, folder, kit::Kit, policy::Policy},
    upstream::{names, sources, status_tool::SET},
};

/// The names of tools and of sets that are chosen, and that nothing has: a client would miss what is meant, or all tools
/// there are. `here` is where a bridge would look for MCP servers. Nothing is said while a folder of tools can't be read
/// whole, since what is wrong there may be what is missing.
pub fn unmet(config: &Config, folders: &Folders, here: &Path) -> Vec<String> {
    let tools = &config.tools;
    if tools.chosen.names.is_none() && tools.sets.is_none() && tools.listed.is_none() {
        return Vec::new();
    }
    let kit = Kit::default();
    let built_in = builtin::offer(&kit, config.probe_timeout);
    let roots = tools::roots(folders.own_tools(), &tools.chosen.folders);
    let look = folder::Folders::new(roots, kit, &built_in).look();
    if !look.problems.is_empty() {
        return Vec::new();
    }
    let mut sets = built_in.sets;
    sets.extend(look.offer.sets);
    if config.upstream {
        let read = sources::read(here, folders.config.as_deref());
        let servers = sources::resolve(&read, None).servers;
        sets.extend(servers.iter().flat_map(|server| names::sets(&server.name)));
        sets.push(SET.to_owned());
    }
    let all = built_in.tools.iter().chain(&look.offer.tools);
    Policy::of(tools, Pause::of(&folders.shared)).unmet(all, sets.iter().map(String::as_str))
}
