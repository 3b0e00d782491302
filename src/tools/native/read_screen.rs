//! `read-screen`: what a screen of a computer shows, in words or as a picture.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::task::JoinError;

use super::typed::Native;
use crate::{
    computers::{About, ComputerKey, Method},
    tools::{
        Context,
        screen::{
            asking::{ANSWER_TIME, AskError, Heading, Question},
            beside::Beside,
            cells::Screen,
            picture::{self, PictureError},
            target::{Target, TargetError},
            words,
        },
        text,
        wording::name_of,
    },
};

pub struct ReadScreen {
    /// Where screens are put into words and drawn.
    pub beside: Arc<Beside>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    computer_id: Option<ComputerKey>,
    target: Option<String>,
    #[serde(rename = "as")]
    form: Form,
    since_version: Option<u64>,
    wait_ms: u64,
}

/// How a screen is shown.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    Text,
    Styled,
    /// With the text, which is all that some clients show a model.
    Image,
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error("The screen could not be shown: {0}.")]
    Failed(#[from] JoinError),
}

impl Native for ReadScreen {
    const NAME: &'static str = "read-screen";
    type Arguments = Arguments;
    type Error = ReadError;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, ReadError> {
        let target = arguments.target.as_deref();
        let target = Target::find(target, arguments.computer_id, context.fleet).await?;
        let params = json!({
            "target": target.name, "since": arguments.since_version, "waitMs": arguments.wait_ms,
        });
        let question = Question {
            target: &target,
            method: Method::ReadScreen,
            params: &params,
            time: Duration::from_millis(arguments.wait_ms) + ANSWER_TIME,
            about: About::unlisted(),
            pauses: false,
            unknown: "It may be busy: list-jobs shows with what.",
        };
        let told = question.ask(context).await?;
        if told.get("unchanged") == Some(&Value::Bool(true)) {
            return Ok(text(format!("{} is unchanged.", Heading(&target))));
        }
        let (heading, name) = (
            Heading(&target).to_string(),
            name_of(&target.computer.facts()),
        );
        let work = move || shown(&told, &heading, name, arguments.form);
        self.beside.run(work).await?
    }
}

/// What an agent told of a screen, in the form that was asked for. `heading` says which screen, `name` whose it is.
fn shown(
    told: &Value,
    heading: &str,
    name: String,
    form: Form,
) -> Result<CallToolResult, ReadError> {
    let screen = Screen::read(told).ok_or(AskError::Odd(name))?;
    let above = words::above(heading, &screen, told);
    Ok(match form {
        Form::Text => text(above + &words::text(&screen)),
        Form::Styled => text(above + &words::styled(&screen)),
        Form::Image => {
            let image = STANDARD.encode(picture::png(&screen)?);
            CallToolResult::success(vec![
                ContentBlock::text(above + &words::text(&screen)),
                ContentBlock::image(image, "image/png"),
            ])
        }
    })
}
