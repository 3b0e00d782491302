//! Parses the manifests of our own tools: a start of the program is left with what was found. A client's first question
//! waits for these tools, and to parse YAML would be most of that time.

use std::{collections::BTreeMap, env, error::Error, fs, path::Path};

#[path = "src/tools/manifest/tree.rs"]
#[allow(dead_code, reason = "values are read where the program runs")]
mod tree;
#[path = "src/tools/manifest/wrong.rs"]
mod wrong;

/// Where they are, each in a folder of its set's name.
const TOOLS: &str = "lua/tools";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={TOOLS}");
    let mut manifests = BTreeMap::new();
    for set in fs::read_dir(TOOLS)? {
        let set = set?;
        let file = set.path().join("_index.yaml");
        // A folder without one has what handlers share.
        if !file.is_file() {
            continue;
        }
        let parsed = tree::parse(&fs::read_to_string(&file)?)
            .map_err(|wrong| format!("{}:{}: {}", file.display(), wrong.line, wrong.reason))?;
        let root = parsed.ok_or_else(|| format!("{} is empty", file.display()))?;
        let name = set.file_name().into_string();
        manifests.insert(
            name.map_err(|name| format!("{} is no text", name.display()))?,
            root,
        );
    }
    let folder = env::var_os("OUT_DIR").ok_or("cargo says no OUT_DIR")?;
    fs::write(
        Path::new(&folder).join("own_manifests.json"),
        serde_json::to_string(&manifests)?,
    )?;
    Ok(())
}
