//! Whether what a resource shows may be shown: where the tool is refused that shows the same, the resource is too.

use std::sync::Arc;

use thiserror::Error;

use crate::tools::tool::{Context, Found, Tool};

/// The tools that show the same.
pub const LIST_COMPUTERS: &str = "list-computers";
pub const READ_SCREEN: &str = "read-screen";
pub const LIST_FILES: &str = "list-files";
pub const READ_FILE: &str = "read-file";
pub const LIST_PERIPHERALS: &str = "list-peripherals";

/// It may not.
#[derive(Debug, Error)]
pub enum NotPermitted {
    #[error("{0}. A resource is refused where the tool is that shows the same.")]
    Refused(String),
    #[error("There is no tool {0}, which shows the same.")]
    NoTool(&'static str),
}

/// The tool of this name, which shows the same.
///
/// # Errors
/// It must not be called.
pub async fn permitted(
    context: Context<'_>,
    name: &'static str,
) -> Result<Arc<dyn Tool>, NotPermitted> {
    match context.others.find(name).await {
        Found::Tool(tool) => Ok(tool),
        Found::Refused(refusal) => {
            context.note_refused();
            Err(NotPermitted::Refused(refusal.of(name)))
        }
        Found::Nothing => Err(NotPermitted::NoTool(name)),
    }
}
