//! Which names a sync takes: what the game can hold, and what of the game may become a file of the host.
//!
//! What comes from a computer may be of anybody who plays there, and must not be run by a person's tools by itself. So only
//! such files are taken as programs of the game have, and of those none whose name is one that a tool looks for.

use std::collections::BTreeMap;

/// The longest name of a file or folder, in bytes.
const LONGEST: usize = 120;

/// The deepest that a file lies below the folder.
const DEEPEST: usize = 16;

/// What the kinds of files end with that a pull writes; a name without an ending too.
const KINDS: &[&str] = &[
    "lua", "txt", "md", "json", "nfp", "nft", "nfa", "bimg", "dfpwm", "csv", "tsv", "log", "cfg",
    "dat", "data", "db", "bin", "map", "list", "tbl", "lson", "wav",
];

/// Names that programs on the host look for by themselves, or that tell them what to do, in lower case; first what assistants
/// read, then editors, tools that build and fetch, what of that is Lua, and what has no ending.
const LOOKED_FOR: &[&str] = &[
    "agent.md",
    "agents.md",
    "claude.md",
    "gemini.md",
    "codex.md",
    "qwen.md",
    "crush.md",
    "warp.md",
    "replit.md",
    "jules.md",
    "copilot.md",
    "cursor.md",
    "windsurf.md",
    "cline.md",
    "aider.md",
    "amp.md",
    "kiro.md",
    "opencode.md",
    "memory.md",
    "skill.md",
    "conventions.md",
    "llms.txt",
    "opencode.json",
    "crush.json",
    "hooks.json",
    "plugin.json",
    "settings.json",
    "tasks.json",
    "launch.json",
    "extensions.json",
    "keybindings.json",
    "omnisharp.json",
    "c_cpp_properties.json",
    "kernel.json",
    "exrc",
    "cmakelists.txt",
    "conanfile.txt",
    "apt.txt",
    "bower.json",
    "component.json",
    "manifest.json",
    "library.json",
    "dub.json",
    "elm.json",
    "elm-package.json",
    "spago.json",
    "rescript.json",
    "haxelib.json",
    "nodemon.json",
    "nest-cli.json",
    "angular.json",
    "angular-cli.json",
    "nx.json",
    "turbo.json",
    "lerna.json",
    "rush.json",
    "heft.json",
    "lage.json",
    "global.json",
    "project.json",
    "workspace.json",
    "libman.json",
    "launchsettings.json",
    "host.json",
    "function.json",
    "app.json",
    "eas.json",
    "dfx.json",
    "biome.json",
    "rome.json",
    "dprint.json",
    "oxlint.json",
    "tslint.json",
    "stylelint.json",
    "typedoc.json",
    "api-extractor.json",
    "renovate.json",
    "vercel.json",
    "now.json",
    "wrangler.json",
    "netlify.json",
    "firebase.json",
    "amplify.json",
    "serverless.json",
    "sst.json",
    "railway.json",
    "cypress.json",
    "cypress.env.json",
    "nightwatch.json",
    "backstop.json",
    "wallaby.json",
    "polymer.json",
    "aurelia.json",
    "sfdx-project.json",
    "ng-package.json",
    "daemon.json",
    "mprocs.json",
    "setup.cfg",
    "pyvenv.cfg",
    "buildout.cfg",
    "ansible.cfg",
    "site.cfg",
    "distutils.cfg",
    "openocd.cfg",
    "autoexec.cfg",
    "package.lua",
    "tlconfig.lua",
    "xmake.lua",
    "premake.lua",
    "premake4.lua",
    "premake5.lua",
    "genie.lua",
    "bam.lua",
    "lakefile.lua",
    "tupfile.lua",
    "tuprules.lua",
    "tupdefault.lua",
    "rc.lua",
    "exrc.lua",
    "build",
    "workspace",
    "configure",
    "gradlew",
    "mvnw",
    "bazel",
    "sconstruct",
    "sconscript",
    "wscript",
    "waf",
    "pkgbuild",
    "apkbuild",
    "kbuild",
    "kconfig",
    "jamroot",
    "jamrules",
    "buck",
    "eask",
    "cask",
    "dune",
    "dune-project",
    "dune-workspace",
    "rust-toolchain",
    "targets",
    "rules",
    "preinst",
    "postinst",
    "prerm",
    "postrm",
    "tup",
    "mlproject",
    "rebar",
    "cargo",
    "head",
    "config",
    "commondir",
    "gitdir",
    "hooks",
    "codeowners",
    "owners",
    "crontab",
    "authorized_keys",
    "known_hosts",
    "profile",
    "environment",
];

/// What such names begin or end with, or have in them.
const BEGIN: &[&str] = &[
    "package",
    "tsconfig",
    "jsconfig",
    "composer",
    "agent",
    "claude",
    "gemini",
    "cursor",
    "copilot",
    "codex",
    "mcp.",
    "mcp-",
    "appsettings",
    "devcontainer",
    "devbox",
    "docker",
    "cdk.",
    "cdk-",
    "cdktf",
    "deno.",
    "deno-",
    "compile_",
    "cmake",
    "conan",
    "vcpkg",
    "lefthook",
    "lint-staged",
    "lit.",
    "babel",
    "eslint",
    "prettier",
    "biome.",
    "turbo.",
    "rust-toolchain",
    "makefile",
];
const END: &[&str] = &["file", "rc"];
const WITHIN: &[&str] = &[
    "instructions",
    "config.",
    "conf.",
    "settings.",
    "requirements",
    "constraints",
    "hooks.",
];

/// Names that are devices to Windows, whatever follows a dot.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"];

/// How contents begin that a system runs.
const RUN: &[&[u8]] = &[
    b"#!",
    b"MZ",
    b"\x7fELF",
    b"\xfe\xed\xfa",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
];

/// Why a path can't be the name of a file in the game, or of none that is the same on every system; as a sentence's end.
pub fn unfit(path: &str) -> Option<&'static str> {
    let parts: Vec<_> = path.split('/').collect();
    if parts.len() > DEEPEST {
        return Some("it lies more than 16 folders deep: sync a folder nearer to it");
    }
    parts.into_iter().find_map(|name| {
        let bad = |c: char| !(' '..='~').contains(&c) || "\"*:<>?|\\".contains(c);
        if name.contains(bad) {
            return Some("its name has signs that the game can't hold");
        }
        if name.is_empty()
            || name.starts_with(' ')
            || name.ends_with([' ', '.'])
            || name.len() > LONGEST
        {
            return Some("its name is none that every system takes");
        }
        None
    })
}

/// Whether a name is one that both ways pass over: what begins with a dot is for tools, not for the game.
pub fn is_passed_over(name: &str) -> bool {
    name.starts_with('.') || name.ends_with(".sync-new")
}

/// Why a file of the game is not written here under this name, as a sentence's end.
pub fn unsafe_here(path: &str) -> Option<&'static str> {
    if let Some(why) = unfit(path) {
        return Some(why);
    }
    let lower = path.to_lowercase();
    for name in lower.split('/') {
        if name.starts_with('.') {
            return Some("names that begin with a dot are not written here");
        }
        let stem = name.split('.').next().unwrap_or_default().trim_end();
        let numbered = |word: &str| stem.strip_prefix(word).is_some_and(|rest| rest.len() == 1);
        // On Windows the short form of a longer name means that one.
        let is_short = name
            .split('~')
            .nth(1)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if DEVICES.contains(&stem) || numbered("com") || numbered("lpt") || is_short {
            return Some("its name means something else on Windows");
        }
    }
    let name = lower.rsplit('/').next().unwrap_or_default();
    let (stem, kind) = match name.rsplit_once('.') {
        Some((stem, kind)) => (stem, Some(kind)),
        None => (name, None),
    };
    if kind.is_some_and(|kind| !KINDS.contains(&kind)) {
        return Some("files of this kind are not written here, since a program might run them");
    }
    let is_looked_for = LOOKED_FOR.contains(&name)
        || BEGIN.iter().any(|begin| name.starts_with(begin)) && kind != Some("lua")
        || kind.is_none() && END.iter().any(|end| stem.ends_with(end))
        || kind != Some("lua") && WITHIN.iter().any(|within| name.contains(within));
    is_looked_for.then_some("programs of this machine look for that name by themselves")
}

/// Why contents of the game are not written here, as a sentence's end.
pub fn unsafe_contents(bytes: &[u8]) -> Option<&'static str> {
    RUN.iter()
        .any(|begin| bytes.starts_with(begin))
        .then_some("it is a program of this machine by its first bytes")
}

/// Takes out of these files, by their paths, those whose paths differ only in capital and small letters, since on some
/// systems they are one; notes them as left out, for this reason.
pub fn without_twins<T>(
    files: &mut BTreeMap<String, T>,
    left: &mut BTreeMap<String, String>,
    why: &str,
) {
    let mut by_lower: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files.keys() {
        by_lower
            .entry(path.to_lowercase())
            .or_default()
            .push(path.clone());
    }
    let twins = by_lower.into_values().filter(|paths| paths.len() > 1);
    for twin in twins.flatten() {
        files.remove(&twin);
        left.insert(twin, why.to_owned());
    }
}

/// A folder of the game as the game writes it: `/programs/farm`. Or what is wrong with it.
///
/// # Errors
/// It is no folder that can be synced.
pub fn game_folder(path: &str) -> Result<String, String> {
    let parts: Vec<_> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        return Err(format!(
            "{path} leads out of itself: name the computer's folder by its whole path."
        ));
    }
    if let Some(why) = parts.iter().find_map(|part| unfit(part)) {
        return Err(format!("{path} is no folder of a computer: {why}."));
    }
    Ok(format!("/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_game_has_may_be_written_and_what_a_tool_would_run_not() {
        for fine in [
            "main.lua",
            "startup",
            "lib/json.lua",
            "a b/c.txt",
            "data.json",
            "config.lua",
            "README.md",
            "image.nfp",
            "Farm/Main.LUA",
            "agents.lua",
            "lib/settings.lua",
            "recipes.json",
            "build.lua",
            "console.lua",
        ] {
            assert_eq!(unsafe_here(fine), None, "{fine}");
        }
        for bad in [
            ".git/hooks/pre-commit",
            "a/.envrc",
            ".vscode/tasks.json",
            "Makefile",
            "makefile",
            "sub/GNUmakefile",
            "Dockerfile",
            "Justfile",
            "package.json",
            "Package.JSON",
            "package-lock.json",
            "tsconfig.build.json",
            "run.sh",
            "a.bat",
            "a.PS1",
            "a.exe",
            "a.py",
            "a.js",
            "a.command",
            "a.desktop",
            "a.lnk",
            "CLAUDE.md",
            "AGENTS.md",
            "agents.override.md",
            "claude.local.md",
            "copilot-instructions.md",
            "babel.config.json",
            "con",
            "CON.lua",
            "nul.txt",
            "com1.lua",
            "LPT9",
            "git~1/config",
            "HEAD",
            "config",
            "a/../b.lua",
            "a.lua.",
            "a.lua ",
            "a:b.lua",
            "\u{e9}.lua",
            "a//b",
            "zshrc",
            "setup.cfg",
            "requirements.txt",
            "a\\b.lua",
            "bashrc",
            "xmake.lua",
            "cdk.json",
            "sub/cdk.context.json",
            "deno.json",
            "devbox.json",
            "rescript.json",
            "dub.json",
            "lefthook.json",
            "compile_commands.json",
            "compile_flags.txt",
            "CMakeCache.txt",
            "tauri.conf.json",
            "dev-requirements.txt",
            "rust-toolchain",
            "dune",
            "dune-project",
            "PKGBUILD",
            "APKBUILD",
            "Kbuild",
            "Jamroot",
            "BUCK",
            "Eask",
            "ansible.cfg",
            "lit.cfg",
            "package.lua",
            "tlconfig.lua",
            "AGENT.md",
            "replit.md",
        ] {
            assert!(unsafe_here(bad).is_some(), "{bad}");
        }
        for run in [b"#!/bin/sh".as_slice(), b"MZ\x90", b"\x7fELF\x02"] {
            assert!(unsafe_contents(run).is_some());
        }
        assert_eq!(unsafe_contents(b"-- a program of the game\n"), None);
        assert_eq!(unsafe_contents(b""), None);
    }

    #[test]
    fn a_folder_of_the_game_has_one_way_to_be_written() {
        for path in ["/a/b", "a/b/", "//a/./b"] {
            assert_eq!(game_folder(path).unwrap(), "/a/b");
        }
        assert_eq!(game_folder("").unwrap(), "/");
        assert!(game_folder("/a/../b").is_err() && game_folder("/a:b").is_err());
    }
}
