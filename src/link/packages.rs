//! The agent as a package of TrapOS's package manager (`ccpm`), for which the link port is a registry of the type `http`.
//!
//! What that reads, all below the registry's address: the list of packages, what each is, and its files by their paths.

use serde_json::json;

use super::agent;

/// The package, and its one file: where it is served, and where it stands on the computer.
const NAME: &str = "mcp-computer";
const FILE: &str = "programs/mcp-computer.lua";

/// What is served at a path, for the one who reaches the port as `host`; none: it belongs to no package.
pub fn page(path: &str, host: Option<&str>) -> Option<Page> {
    match path {
        "/packages/index.json" => Some(Page::Json(json!({ "packages": [NAME] }).to_string())),
        "/packages/mcp-computer/ccpm.json" => Some(Page::Json(descriptor())),
        "/programs/mcp-computer.lua" => Some(Page::Lua(agent::program_for(host))),
        _ => None,
    }
}

/// What a page is.
#[derive(Debug, PartialEq, Eq)]
pub enum Page {
    /// It tells of packages.
    Json(String),
    /// A program.
    Lua(String),
}

/// What the package is. It starts with no computer by itself: `mcp-computer install` asks for that, and TrapOS would run
/// it on the screen of its shell.
fn descriptor() -> String {
    json!({
        "name": NAME,
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Links this computer to an mcp-bridge, so that an MCP client can see and program it",
        "dependencies": [],
        "files": [FILE],
        "autostart": [],
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(path: &str) -> Value {
        match page(path, None) {
            Some(Page::Json(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn each_package_of_the_index_has_a_descriptor_and_all_its_files() {
        for name in read("/packages/index.json")["packages"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            let package = read(&format!("/packages/{name}/ccpm.json"));
            assert_eq!(package["name"], name);
            assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
            assert!(package["dependencies"].is_array() && package["autostart"].is_array());
            for file in package["files"].as_array().unwrap() {
                let path = format!("/{}", file.as_str().unwrap());
                let served = page(&path, Some("mc.lan:3001"));
                assert_eq!(
                    served,
                    Some(Page::Lua(agent::program_for(Some("mc.lan:3001"))))
                );
            }
        }
    }

    #[test]
    fn the_agent_knows_where_the_package_has_its_file() {
        let installation = include_str!("../../lua/mcp-computer/installation.lua");
        assert!(installation.contains(&format!("\"/{FILE}\"")));
        assert!(installation.contains(&format!("PACKAGE = \"{NAME}\"")));
    }
}
