//! Launchers in made-up home folders.

use super::*;

/// A machine whose home is a folder, with files in it, each with its text.
fn machine(system: System, home: &Path, files: &[(&str, &str)]) -> Machine {
    for (name, text) in files {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Machine {
        system,
        home: home.to_path_buf(),
        here: home.join("here"),
        program: "/bin/mcp-bridge".into(),
        variables: Default::default(),
    }
}

/// What is found, each as `launcher: name, Minecraft, ComputerCraft, worlds`.
fn lines(instances: &[Instance]) -> Vec<String> {
    let text = |version: Option<&super::super::version::Version>| {
        version.map_or("?".to_owned(), ToString::to_string)
    };
    instances
        .iter()
        .map(|instance| {
            let worlds: Vec<_> = instance
                .worlds
                .iter()
                .map(|world| world.name.as_str())
                .collect();
            format!(
                "{}: {}, {}, {}, {}",
                instance.launcher,
                instance.name,
                text(instance.minecraft.as_ref()),
                text(instance.version()),
                worlds.join("+")
            )
        })
        .collect()
}

#[test]
fn each_launchers_instances_are_found_with_their_versions_and_worlds() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let pack = r#"{"components": [{"uid": "net.minecraft", "version": "1.20.1"}]}"#;
    let moved = home.join("Games");
    let config = format!("[General]\nInstanceDir={}\n", moved.display());
    let machine = machine(
        System::Linux,
        home,
        &[
            (".minecraft/saves/Old/level.dat", ""),
            (
                ".minecraft/launcher_profiles.json",
                r#"{"profiles": {"a": {"gameDir": "own"}}}"#,
            ),
            (".minecraft/own/mods/cc-tweaked-1.18.2-1.101.3.jar", ""),
            (".minecraft/own/config/x.toml", ""),
            (".local/share/PrismLauncher/prismlauncher.cfg", &config),
            ("Games/a/instance.cfg", "[General]\nname=All the Mods\n"),
            ("Games/a/mmc-pack.json", pack),
            (
                "Games/a/.minecraft/mods/cc-tweaked-1.20.1-forge-1.113.1.jar",
                "",
            ),
            ("Games/a/.minecraft/saves/One/level.dat", ""),
            ("Games/a/.minecraft/saves/no-world/x", ""),
            ("Games/a/.minecraft/config/x", ""),
            ("Games/_LAUNCHER_TEMP/x", ""),
            (
                "Documents/curseforge/minecraft/Instances/RLCraft/minecraftinstance.json",
                r#"{"name": "RL Craft", "gameVersion": "1.12.2"}"#,
            ),
            (
                "Documents/curseforge/minecraft/Instances/RLCraft/saves/W/level.dat",
                "",
            ),
            (
                ".local/share/ModrinthApp/profiles/Fabric/saves/W/level.dat",
                "",
            ),
            (
                ".local/share/gdlauncher_carbon/data/instances/g/instance.json",
                r#"{"name": "GD"}"#,
            ),
            (
                ".local/share/gdlauncher_carbon/data/instances/g/instance/saves/W/level.dat",
                "",
            ),
            (
                ".local/share/ATLauncher/instances/at/instance.json",
                r#"{"id": "1.19.2", "launcher": {"name": "AT"}}"#,
            ),
            (".local/share/ATLauncher/instances/at/saves/W/level.dat", ""),
            ("here/server.properties", "motd=x\nlevel-name=main\n"),
            ("here/main/level.dat", ""),
        ],
    );
    assert_eq!(
        lines(&find(&machine)),
        [
            "Minecraft: .minecraft, ?, ?, Old",
            "Minecraft: own, 1.18.2, 1.101.3, ",
            "Prism Launcher: All the Mods, 1.20.1, 1.113.1, One",
            "CurseForge: RL Craft, 1.12.2, ?, W",
            "Modrinth App: Fabric, ?, ?, W",
            "ATLauncher: AT, 1.19.2, ?, W",
            "GDLauncher: GD, ?, ?, W",
            "server: here, ?, ?, main",
        ]
    );
}

#[test]
fn windows_and_macos_have_places_of_their_own() {
    for (system, file, line) in [
        (
            System::Windows,
            "AppData/Roaming/.minecraft/saves/W/level.dat",
            "Minecraft: .minecraft, ?, ?, W",
        ),
        (
            System::Windows,
            "curseforge/minecraft/Instances/A/saves/W/level.dat",
            "CurseForge: A, ?, ?, W",
        ),
        (
            System::Windows,
            "AppData/Roaming/PrismLauncher/instances/A/minecraft/saves/W/level.dat",
            "Prism Launcher: A, ?, ?, W",
        ),
        (
            System::MacOs,
            "Library/Application Support/minecraft/saves/W/level.dat",
            "Minecraft: minecraft, ?, ?, W",
        ),
        (
            System::MacOs,
            "Library/Application Support/ModrinthApp/profiles/A/saves/W/level.dat",
            "Modrinth App: A, ?, ?, W",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine(system, folder.path(), &[(file, "")]);
        assert_eq!(lines(&find(&machine)), [line]);
    }
}

#[test]
fn a_folder_that_is_named_may_be_a_game_a_world_an_instance_or_hold_them() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    machine(
        System::Linux,
        home,
        &[
            ("all/one/minecraft/saves/A/level.dat", ""),
            ("all/one/minecraft/saves/B/level.dat", ""),
            ("all/two/server.properties", ""),
            ("all/two/world/level.dat", ""),
        ],
    );
    let found = |name: &str| {
        let instances = find_in(&home.join(name));
        instances
            .iter()
            .map(|instance| (instance.name.clone(), instance.worlds.len()))
            .collect::<Vec<_>>()
    };
    let one = |worlds| vec![("one".to_owned(), worlds)];
    assert_eq!(found("all/one"), one(2));
    assert_eq!(found("all/one/minecraft"), [("minecraft".to_owned(), 2)]);
    assert_eq!(
        found("all/one/minecraft/saves/A"),
        [("minecraft".to_owned(), 1)]
    );
    assert_eq!(found("all/two/world"), [("two".to_owned(), 1)]);
    assert_eq!(found("all"), [("one".to_owned(), 2), ("two".to_owned(), 1)]);
    assert_eq!(found("none"), []);
}
