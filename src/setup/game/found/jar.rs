//! The mod's file among the mods: its version, by its name or by what is in it.

use std::{fs, io::Read, path::Path};

use serde_json::Value;
use toml::Table;
use zip::ZipArchive;

use crate::base::files;

use super::version::Version;

/// The mod's id, in the papers of every loader.
const ID: &str = "computercraft";

/// What the mod's file begins with, as its authors call it.
const NAMES: [&str; 3] = ["cc-tweaked-", "cc-restitched-", "cc-restiched-"];

/// More mods than this are not looked into: no pack has so many.
const MOST_MODS: usize = 2000;

/// The most that is read of a mod's papers, in bytes.
const LARGEST_PAPER: u64 = 1024 * 1024;

/// ComputerCraft, as it was found among the mods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mod {
    /// None if its papers don't say.
    pub version: Option<Version>,
    /// The Minecraft that it is for, if its name says so.
    pub minecraft: Option<Version>,
}

/// Looks for the mod in a folder of mods.
pub fn find(mods: &Path) -> Option<Mod> {
    let entries = fs::read_dir(mods).ok()?;
    let mut jars: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end.eq_ignore_ascii_case("jar"))
        })
        .take(MOST_MODS)
        .collect();
    jars.sort();
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    jars.iter()
        .find_map(|path| by_name(&name(path)?))
        .or_else(|| jars.iter().find_map(|path| by_content(path)))
}

/// By a name such as `cc-tweaked-1.20.1-forge-1.113.1.jar`.
fn by_name(name: &str) -> Option<Mod> {
    let name = name.to_ascii_lowercase();
    let rest = NAMES.iter().find_map(|start| name.strip_prefix(start))?;
    let rest = rest.strip_suffix(".jar")?;
    let mut versions = rest.split('-').filter_map(Version::parse);
    let minecraft = versions.next()?;
    match versions.next() {
        Some(version) => Some(Mod {
            version: Some(version),
            minecraft: Some(minecraft),
        }),
        // There is one only: the mod's own.
        None => Some(Mod {
            version: Some(minecraft),
            minecraft: None,
        }),
    }
}

/// By the papers in it: packs rename files.
fn by_content(path: &Path) -> Option<Mod> {
    let (file, _) = files::open(path).ok()?;
    let mut jar = ZipArchive::new(file).ok()?;
    let found = |version: Option<&str>| Mod {
        version: version.and_then(Version::parse),
        minecraft: None,
    };
    if let Some(text) = paper(&mut jar, "fabric.mod.json") {
        let paper: Value = serde_json::from_str(&text).unwrap_or_default();
        return (paper["id"] == ID).then(|| found(paper["version"].as_str()));
    }
    for name in ["META-INF/neoforge.mods.toml", "META-INF/mods.toml"] {
        if let Some(text) = paper(&mut jar, name) {
            let version = version_in_toml(&text)?;
            let version = match Version::parse(&version) {
                Some(_) => Some(version),
                // A placeholder, for what the manifest says.
                None => paper(&mut jar, "META-INF/MANIFEST.MF")
                    .and_then(|manifest| version_in_manifest(&manifest)),
            };
            return Some(found(version.as_deref()));
        }
    }
    // This one is not always valid JSON.
    let text = paper(&mut jar, "mcmod.info")?;
    let after = |text: &str, key: &str| {
        let (_, after) = text.split_once(&format!("\"{key}\""))?;
        after.split('"').nth(1).map(str::to_owned)
    };
    (after(&text, "modid")? == ID).then(|| found(after(&text, "version").as_deref()))
}

/// One of a jar's papers, if it has it.
fn paper(jar: &mut ZipArchive<fs::File>, name: &str) -> Option<String> {
    let entry = jar.by_name(name).ok()?;
    let mut text = String::new();
    entry.take(LARGEST_PAPER).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The version of our mod in a `mods.toml`, if it is in there.
fn version_in_toml(text: &str) -> Option<String> {
    let table: Table = text.parse().ok()?;
    let mods = table.get("mods")?.as_array()?;
    let ours = mods
        .iter()
        .find(|one| one.get("modId").and_then(|id| id.as_str()) == Some(ID))?;
    Some(ours.get("version")?.as_str()?.to_owned())
}

fn version_in_manifest(text: &str) -> Option<String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Implementation-Version:"))?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write};

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn jar(folder: &Path, name: &str, papers: &[(&str, &str)]) {
        let mut jar = ZipWriter::new(File::create(folder.join(name)).unwrap());
        for (paper, text) in papers {
            jar.start_file(*paper, SimpleFileOptions::default())
                .unwrap();
            jar.write_all(text.as_bytes()).unwrap();
        }
        jar.finish().unwrap();
    }

    fn found(version: &str, minecraft: Option<&str>) -> Option<Mod> {
        Some(Mod {
            version: Version::parse(version),
            minecraft: minecraft.and_then(Version::parse),
        })
    }

    #[test]
    fn the_name_says_the_versions() {
        for (name, version, minecraft) in [
            (
                "cc-tweaked-1.20.1-forge-1.113.1.jar",
                "1.113.1",
                Some("1.20.1"),
            ),
            (
                "cc-tweaked-1.21.1-neoforge-1.116.0.jar",
                "1.116.0",
                Some("1.21.1"),
            ),
            ("cc-tweaked-1.12.2-1.89.2.jar", "1.89.2", Some("1.12.2")),
            ("CC-Restitched-1.17.1-1.97.jar", "1.97", Some("1.17.1")),
            ("cc-tweaked-1.113.1.jar", "1.113.1", None),
        ] {
            assert_eq!(by_name(name), found(version, minecraft), "{name}");
        }
        assert_eq!(by_name("create-1.20.1-0.5.1.jar"), None);
        assert_eq!(by_name("cc-tweaked.jar"), None);
    }

    #[test]
    fn a_renamed_file_is_known_by_its_papers() {
        for (papers, version) in [
            (
                vec![(
                    "fabric.mod.json",
                    r#"{"id": "computercraft", "version": "1.101.4"}"#,
                )],
                Some("1.101.4"),
            ),
            (
                vec![
                    (
                        "META-INF/mods.toml",
                        "[[mods]]\nmodId = \"computercraft\"\nversion = \"${file.jarVersion}\"\n",
                    ),
                    (
                        "META-INF/MANIFEST.MF",
                        "Manifest-Version: 1.0\r\nImplementation-Version: 1.101.3\r\n",
                    ),
                ],
                Some("1.101.3"),
            ),
            (
                vec![(
                    "META-INF/neoforge.mods.toml",
                    "[[mods]]\nmodId = \"computercraft\"\nversion = \"1.115.1\"\n",
                )],
                Some("1.115.1"),
            ),
            (
                vec![(
                    "mcmod.info",
                    "[{\"modid\": \"computercraft\",\n\"version\": \"1.89.2\", oops}]",
                )],
                Some("1.89.2"),
            ),
            (
                vec![("fabric.mod.json", r#"{"id": "computercraft"}"#)],
                Some(""),
            ),
            (
                vec![("fabric.mod.json", r#"{"id": "create", "version": "1.2.3"}"#)],
                None,
            ),
            (
                vec![(
                    "META-INF/mods.toml",
                    "[[mods]]\nmodId = \"jei\"\nversion = \"1.2\"\n",
                )],
                None,
            ),
            (vec![("x", "y")], None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            jar(folder.path(), "renamed.jar", &papers);
            std::fs::write(folder.path().join("broken.jar"), "no zip").unwrap();
            let expected = version.and_then(|version| found(version, None));
            assert_eq!(find(folder.path()), expected, "{papers:?}");
        }
    }
}
