//! `mcp-bridge tools run`.

use anyhow::bail;
use clap::Args;

use super::{house::House, prompt, read, terminal::Terminal};
use crate::{
    commands::{arguments::Arguments, console::note},
    settings::{Config, FlagsOf, Folders},
    tools::{
        Client, Found, Notes,
        arguments::{names, no_such},
    },
};

/// Run a tool as a client would, and print what comes back
#[derive(Debug, Args)]
pub struct Run {
    /// Its name
    name: String,

    #[command(flatten)]
    arguments: Arguments,

    #[command(flatten)]
    settings: FlagsOf<Config>,
}

impl Run {
    /// Runs it; tells whether it did what it was to do.
    pub fn run(self, folders: &Folders) -> anyhow::Result<bool> {
        House::used(&self.settings.given, folders, async |house| {
            let name = &self.name;
            let others = house.catalogue.open_for(Client::Anyone);
            let view = others.awaiting(name).await.map_err(anyhow::Error::msg)?;
            let tool = match view.find(name).await {
                Found::Tool(tool) => tool,
                Found::Refused(refusal) => bail!("{}", refusal.of(name)),
                Found::Nothing if view.prompt(name).is_some() => {
                    note(&format!(
                        "{name} is a prompt: `mcp-bridge tools prompt` is for these."
                    ));
                    return prompt::show(house, name, &self.arguments).await;
                }
                Found::Nothing if view.resource(name).is_some() => {
                    note(&format!(
                        "{name} is a resource: `mcp-bridge tools read` is for these."
                    ));
                    return read::show(house, name).await;
                }
                Found::Nothing => {
                    bail!("there is no tool {name}; `mcp-bridge tools list` names all")
                }
            };
            let schema = &tool.definition().input_schema;
            let arguments = self.arguments.read(schema)?;
            for unknown in self.arguments.unknown(schema) {
                note(&no_such("argument", unknown, &names(schema)));
            }
            let (terminal, notes) = (Terminal::default(), Notes::default());
            let context = house.context(&others, &terminal, &notes);
            let result = tool.call(context, arguments).await;
            let result = notes.on(result);
            terminal.say_result(&result);
            Ok(result.is_error != Some(true))
        })
    }
}
