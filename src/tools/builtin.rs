//! The product's own tools, which are part of the program: `lua/tools/`.

use std::{path::Path, time::Duration};

use super::{
    Offer,
    kit::{From, Kit},
    manifest::{self, Manifest, What},
    native,
};

/// What they are called in messages.
pub const FILE: &str = "mcp-bridge's own lua/tools/_index.yaml";

const MANIFEST: &str = include_str!("../../lua/tools/_index.yaml");

/// Reads the manifest.
fn manifest() -> Manifest {
    manifest::read(MANIFEST, Path::new(FILE), true).unwrap_or_else(|problem| {
        tracing::error!("{problem}");
        Manifest::default()
    })
}

/// What they offer. A computer has `probe_time` to answer a probe.
pub fn offer(kit: &Kit, probe_time: Duration) -> Offer {
    let manifest = manifest();
    for (_, problem) in &manifest.broken {
        tracing::error!("{problem}");
    }
    let mut offer = Offer {
        is_ready: true,
        ..Offer::default()
    };
    for entry in manifest.entries {
        let What::Tool(spec) = entry.what else {
            continue;
        };
        let origin = format!("{FILE}:{}", entry.line);
        match kit.tool(spec, From::Product, origin, |name| {
            native::handler(name, kit, probe_time)
        }) {
            Ok(tool) => offer.tools.push(tool),
            Err(problem) => tracing::error!("{FILE}:{}: {problem}", entry.line),
        }
    }
    offer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::lint;

    #[test]
    fn every_entry_becomes_a_tool_that_all_clients_take() {
        let manifest = manifest();
        assert_eq!(manifest.broken.len(), 0, "{:?}", manifest.broken);
        let offer = offer(&Kit::default(), Duration::from_secs(2));
        assert_eq!(offer.tools.len(), manifest.entries.len());
        for tool in offer.tools {
            let definition = tool.definition();
            assert_eq!(lint::check(definition), [""; 0], "{}", definition.name);
            assert_eq!(
                definition.input_schema.get("additionalProperties"),
                Some(&false.into()),
                "{}",
                definition.name
            );
            let description = definition.description.as_deref().unwrap();
            assert!(description.ends_with('.'), "{description}");
        }
    }
}
