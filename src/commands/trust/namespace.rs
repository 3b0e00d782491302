//! `mcp-bridge trust --namespace`: the user's agreement to what tools of a folder ask for beside Lua.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use super::agreeing::{agrees, cant_write};
use crate::{
    base::text::one_line,
    commands::{console, startup},
    settings::{Config, Flags, Folders},
    tools::{
        self, builtin,
        folder::{self, Root},
        kit::Kit,
        manifest::Namespace,
        namespace::{Grant, SECRET_VARIABLE, SECRETS_FILE, is_allowed},
    },
};

/// Shows what the handlers of a namespace ask for, and allows it if the user says yes.
pub fn allow(folders: &Folders, name: &str, folder: Option<PathBuf>, yes: bool) -> ExitCode {
    let roots = match roots(folders, folder) {
        Ok(roots) => roots,
        Err(problem) => {
            console::note(&problem);
            return ExitCode::FAILURE;
        }
    };
    let places: Vec<_> = roots
        .iter()
        .map(|root| root.path.display().to_string())
        .collect();
    let all = namespaces(roots);
    let wanted: Vec<_> = all.iter().filter(|one| one.name() == name).collect();
    if wanted.is_empty() {
        let mut names: Vec<_> = all.iter().map(|one| one_line(one.name())).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        names.dedup();
        console::note(&format!(
            "There is no manifest of the namespace {} in {}. {} Another folder is named by --folder DIR.",
            one_line(name),
            places.join(", "),
            match names.is_empty() {
                true => "There is none at all.".to_owned(),
                false => format!("There are: {}.", names.join(", ")),
            }
        ));
        return ExitCode::FAILURE;
    }
    let mut is_well = true;
    for namespace in wanted {
        is_well &= allow_one(folders, namespace, yes);
    }
    match is_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn roots(folders: &Folders, folder: Option<PathBuf>) -> Result<Vec<Root>, String> {
    match folder {
        Some(folder) => Ok(tools::roots(None, &[folder])),
        None => match Config::load(&Flags::default(), startup::variable, folders) {
            Ok(config) => Ok(tools::roots(
                folders.own_tools(),
                &config.tools.chosen.folders,
            )),
            Err(error) => Err(error.to_string()),
        },
    }
}

fn namespaces(roots: Vec<Root>) -> Vec<Arc<Namespace>> {
    let kit = Kit::default();
    let built_in = builtin::offer(&kit, std::time::Duration::from_secs(2));
    let mut look = folder::Folders::new(roots, kit, &built_in).look();
    look.namespaces
        .dedup_by(|one, other| one.manifest == other.manifest);
    look.namespaces
}

/// Shows and allows what one manifest asks for; tells whether it is allowed now.
fn allow_one(folders: &Folders, namespace: &Namespace, yes: bool) -> bool {
    let manifest = namespace.manifest.display();
    if !namespace.spec.wants_something() {
        console::say(&format!(
            "{manifest} asks for nothing that has to be allowed."
        ));
        return true;
    }
    // What is noted is what there is before it is shown: a change meanwhile is one that was not allowed.
    let grant = match Grant::of(namespace) {
        Ok(grant) => grant,
        Err(error) => {
            console::note(&format!("{manifest}: {error}"));
            return false;
        }
    };
    if is_allowed(&folders.shared, &grant) {
        console::say(&format!("{manifest} is allowed what it asks for."));
        return true;
    }
    console::say(&shown(namespace, folders.config.as_deref()));
    if !agrees("Allow this, until the manifest or its Lua changes?", yes) {
        return false;
    }
    if let Err(error) = grant.save(&folders.shared) {
        cant_write(folders, &error);
        return false;
    }
    // It is looked up at each call, so bridges that run know it at once.
    console::say(&format!("{} is allowed this.", one_line(namespace.name())));
    true
}

/// All that a namespace asks for: whoever says yes must have seen everything.
fn shown(namespace: &Namespace, config: Option<&Path>) -> String {
    let mut lines = vec![format!(
        "The tools of {} (namespace {}) ask to",
        one_line(&namespace.manifest.to_string_lossy()),
        one_line(namespace.name())
    )];
    for host in &namespace.spec.hosts {
        lines.push(format!(
            "  make requests to {host}{}",
            match host.is_private {
                true => ", also where that is this machine or a private network",
                false => "",
            }
        ));
    }
    for secret in &namespace.spec.secrets {
        let place = config.map_or_else(
            || SECRETS_FILE.to_owned(),
            |folder| folder.join(SECRETS_FILE).display().to_string(),
        );
        lines.push(format!(
            "  read the secret {secret}, of {place} or the variable {SECRET_VARIABLE}{secret}"
        ));
    }
    lines.push(
        "for as long as the manifest, and the Lua that runs, are what they are now.".to_owned(),
    );
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::manifest::{HostSpec, NamespaceSpec};

    #[test]
    fn everything_that_is_asked_for_is_shown() {
        let host = |name: &str, is_private| HostSpec {
            name: name.to_owned(),
            port: None,
            is_private,
        };
        let namespace = Namespace {
            spec: NamespaceSpec {
                name: Some("farm\u{1b}[2K".to_owned()),
                hosts: vec![host("*.example.com", false), host("nas.lan", true)],
                secrets: ["KEY".to_owned()].into(),
            },
            manifest: "t/_index.yaml".into(),
            hash: String::new(),
            root: "t".into(),
        };
        let text = shown(&namespace, None);
        for part in [
            "requests to *.example.com\n",
            "requests to nas.lan, also where that is this machine",
            "read the secret KEY, of secrets.toml or the variable MCP_BRIDGE_SECRET_KEY",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
