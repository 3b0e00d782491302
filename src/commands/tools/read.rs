//! `mcp-bridge tools read`.

use std::io::{self, IsTerminal};

use anyhow::{Context as _, bail};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use clap::Args;
use rmcp::model::ResourceContents;

use super::{
    house::{House, count},
    terminal::Terminal,
};
use crate::{
    base::text::in_shell,
    commands::console::{show as show_text, show_bytes},
    settings::{Config, FlagsOf, Folders},
    tools::{Client, Notes},
};

/// Read a resource as a client would, and print what it holds
#[derive(Debug, Args)]
pub struct Read {
    /// Its URI
    uri: String,

    #[command(flatten)]
    settings: FlagsOf<Config>,
}

impl Read {
    /// Reads it; tells whether it could be read.
    pub fn run(self, folders: &Folders) -> anyhow::Result<bool> {
        House::used(&self.settings.given, folders, async |house| {
            show(house, &self.uri).await
        })
    }
}

/// Reads a resource, and prints what it holds: text as it is, and bytes where no terminal would have to show them.
///
/// # Errors
/// There is no such resource, it can't be read, or it is no text and standard output is a terminal.
pub async fn show(house: &House, uri: &str) -> anyhow::Result<bool> {
    let others = house.catalogue.open_for(Client::Anyone);
    let view = others.now();
    let Some(resource) = view.resource(uri) else {
        bail!("there is no resource {uri}; `mcp-bridge tools list` names all");
    };
    let (terminal, notes) = (Terminal::default(), Notes::default());
    let context = house.context(&others, &terminal, &notes);
    let read = resource.read(context, uri).await;
    terminal.end();
    let contents = match read {
        Ok(read) => read.contents,
        Err(error) => bail!("{}", error.message),
    };
    for content in contents {
        match content {
            ResourceContents::BlobResourceContents {
                blob, mime_type, ..
            } => {
                let bytes = BASE64.decode(blob).context("its bytes are no base64")?;
                if io::stdout().is_terminal() {
                    bail!(
                        "{uri} is no text: it is {} of {}. Write them to a file: mcp-bridge tools read {} > FILE",
                        count(bytes.len(), "byte"),
                        mime_type.as_deref().unwrap_or("no kind that it names"),
                        in_shell(uri),
                    );
                }
                show_bytes(&bytes);
            }
            ResourceContents::TextResourceContents { text, .. } => {
                let is_open = io::stdout().is_terminal() && !text.ends_with('\n');
                show_text(&text);
                // A shell's prompt would stand behind it.
                if is_open {
                    show_text("\n");
                }
            }
            other => {
                show_text(&serde_json::to_string(&other).unwrap_or_default());
            }
        }
    }
    Ok(true)
}
