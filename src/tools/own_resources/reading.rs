//! What the bridge's own resources hold at this moment.

use std::{sync::Arc, time::SystemTime};

use rmcp::{
    ErrorData,
    model::{CallToolResult, JsonObject, ResourceContents},
};
use serde_json::{Value, json};
use thiserror::Error;

use super::{
    address::{self, Address, COMPUTER, COMPUTERS, FILE, SCREEN},
    files::{self, FileError},
    json::in_json,
    looks::Watched,
    permission::{LIST_COMPUTERS, LIST_FILES, NotPermitted, READ_FILE, READ_SCREEN, permitted},
    watching::{TooMany, Watching},
};
use crate::{
    base::{
        excerpt::{LONGEST_NAME, shortened},
        hidden::secrets,
    },
    computers::{Computer, ComputerKey, Fleet, Unreachable},
    tools::{
        choosing::{ChoiceError, named},
        couriers::Couriers,
        legible,
        native::in_fields,
        screen::asking::{NoScreen, can_show},
        text_of,
        tool::{Context, Tool},
        updates::{Followed, Updates},
        wording::linked_names,
    },
};

/// How many computers are shown at once.
const AT_ONCE: usize = 500;

/// Reads them.
#[derive(Default)]
pub struct Reader {
    pub couriers: Arc<Couriers>,
    /// What follows them; none where nobody could be told.
    pub watching: Option<Arc<Watching>>,
}

/// Why one can't be read.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("There are {COMPUTERS}, {COMPUTER}, {SCREEN} and {FILE}.")]
    Unknown,
    #[error("No computer {computer} has linked. {linked}")]
    NoComputer {
        /// Its number.
        computer: ComputerKey,
        /// Which are linked.
        linked: String,
    },
    #[error(transparent)]
    NotChosen(#[from] ChoiceError),
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    #[error("The path leads out of the computer's disk.")]
    Outside,
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
    #[error(transparent)]
    File(#[from] FileError),
    /// In a tool's words.
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    OldAgent(#[from] NoScreen),
    #[error(transparent)]
    TooMany(#[from] TooMany),
}

impl ReadError {
    /// Whether there is no such thing, or it is not told which is meant.
    fn is_missing(&self) -> bool {
        match self {
            Self::Unknown | Self::NoComputer { .. } | Self::Outside => true,
            Self::NotChosen(choice) => matches!(
                choice,
                ChoiceError::NoLabel { .. } | ChoiceError::OfSeveral { .. }
            ),
            Self::File(file) => file.is_missing(),
            _ => false,
        }
    }

    /// The same for the client that asked for this URI.
    pub fn told(&self, uri: &str) -> ErrorData {
        let problem = legible::told(&self.to_string());
        let problem = secrets().hidden(&problem).into_owned();
        if !self.is_missing() {
            return ErrorData::internal_error(problem, None);
        }
        let uri = shortened(uri, LONGEST_NAME);
        ErrorData::resource_not_found(
            format!("Unknown resource: {uri}. {problem}"),
            Some(json!({ "uri": uri })),
        )
    }
}

impl Reader {
    /// What stands behind a URI.
    ///
    /// # Errors
    /// There is no such thing, or it can't be shown.
    pub async fn read(
        &self,
        context: Context<'_>,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, ReadError> {
        let mut contents = match Address::of(uri).ok_or(ReadError::Unknown)? {
            Address::Computers { offset } => vec![computers(context, uri, offset).await?],
            Address::Computer(name) => {
                permitted(context, LIST_COMPUTERS).await?;
                let computer = find(context.fleet, &name).await?;
                vec![in_json(&of_computer(&computer), uri)]
            }
            Address::Screen(name) => {
                let tool = permitted(context, READ_SCREEN).await?;
                let computer = find(context.fleet, &name).await?;
                screen(context, tool.as_ref(), computer.key, uri).await?
            }
            Address::File {
                computer,
                path,
                from,
            } => {
                permitted(context, LIST_FILES).await?;
                permitted(context, READ_FILE).await?;
                let path = path.ok_or(ReadError::Outside)?;
                let computer = find(context.fleet, &computer).await?;
                files::read(&self.couriers, context, &computer, &path, from, uri).await?
            }
        };
        for content in &mut contents {
            if let ResourceContents::TextResourceContents { text, .. } = content {
                *text = secrets().hidden(text).into_owned();
            }
        }
        Ok(contents)
    }

    /// Has `updates` told of changes of what stands behind a URI; none where nobody could be told.
    ///
    /// # Errors
    /// There is no such thing, or it can't be followed.
    pub async fn follow(&self, uri: &str, updates: Updates) -> Result<Option<Followed>, ReadError> {
        let Some(watching) = &self.watching else {
            return Ok(None);
        };
        let fleet = watching.fleet();
        let watched = match Address::of(uri).ok_or(ReadError::Unknown)? {
            Address::Computers { .. } => Watched::Computers,
            Address::Computer(name) => Watched::Computer(find(fleet, &name).await?.key),
            Address::Screen(name) => {
                let computer = find(fleet, &name).await?;
                can_show(&computer)?;
                Watched::Screen(computer.key)
            }
            Address::File { computer, path, .. } => {
                let path = path.ok_or(ReadError::Outside)?;
                Watched::File(find(fleet, &computer).await?.key, path)
            }
        };
        Ok(Some(watching.follow(watched, uri, updates).await?))
    }
}

/// The computer that is called so, linked or not.
async fn find(fleet: &Fleet, name: &str) -> Result<Arc<Computer>, ReadError> {
    let key = named(name, fleet).await?;
    if let Some(computer) = fleet.computer(key).await? {
        return Ok(computer);
    }
    let linked = match linked_names(&fleet.computers().await?) {
        none if none.is_empty() => "None is linked now.".to_owned(),
        names => format!("Linked now: {names}."),
    };
    Err(ReadError::NoComputer {
        computer: key,
        linked,
    })
}

/// A page of all computers.
async fn computers(
    context: Context<'_>,
    uri: &str,
    offset: usize,
) -> Result<ResourceContents, ReadError> {
    let tool = permitted(context, LIST_COMPUTERS).await?;
    let arguments = json!({ "limit": AT_ONCE, "offset": offset });
    let result = called(context, tool.as_ref(), arguments).await?;
    let mut fields = result.structured_content.unwrap_or_default();
    if let Some(Value::Array(computers)) = fields.get_mut("computers") {
        for computer in computers {
            if let Some(key) = ComputerKey::from_json(&computer["computerId"]) {
                computer["uri"] = json!(address::of_computer(key));
            }
        }
    }
    if let Some(next) = fields.get("nextOffset").and_then(Value::as_u64) {
        fields["next"] = json!(address::of_computers(next));
    }
    Ok(in_json(&fields, uri))
}

/// What a computer is.
fn of_computer(computer: &Computer) -> Value {
    let mut fields = in_fields(computer, SystemTime::now());
    fields["screen"] = json!(address::of_screen(computer.key));
    fields["files"] = json!(address::of_file(computer.key, "/"));
    fields
}

/// What the player of a computer sees, in words and as a picture.
async fn screen(
    context: Context<'_>,
    tool: &dyn Tool,
    computer: ComputerKey,
    uri: &str,
) -> Result<Vec<ResourceContents>, ReadError> {
    let arguments = json!({ "computerId": computer, "as": "image" });
    let result = called(context, tool, arguments).await?;
    let shown = result.content.iter().filter_map(|block| {
        let text = block
            .as_text()
            .map(|block| ResourceContents::text(block.text.clone(), uri));
        text.or_else(|| {
            let image = block.as_image()?;
            let blob = ResourceContents::blob(image.data.clone(), uri);
            Some(blob.with_mime_type(image.mime_type.clone()))
        })
    });
    Ok(shown.collect())
}

/// What a tool of ours answers.
async fn called(
    context: Context<'_>,
    tool: &dyn Tool,
    arguments: Value,
) -> Result<CallToolResult, ReadError> {
    let arguments: JsonObject = serde_json::from_value(arguments).unwrap_or_default();
    let result = tool.call(context, arguments).await;
    if result.is_error == Some(true) {
        return Err(ReadError::Failed(text_of(&result)));
    }
    Ok(result)
}
