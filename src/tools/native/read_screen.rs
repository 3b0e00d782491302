//! `read-screen`: what a screen of a computer shows, in words or as a picture.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::typed::Native;
use crate::{
    computers::{About, ComputerKey, Method},
    tools::{
        Context,
        screen::{
            asking::{ANSWER_TIME, AskError, Heading, Question},
            cells::Screen,
            picture::{self, PictureError},
            target::{Target, TargetError},
            words,
        },
        text,
        wording::name_of,
    },
};

pub struct ReadScreen;

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
        let odd = || AskError::Odd(name_of(&target.computer.facts()));
        let screen = Screen::read(&told).ok_or_else(odd)?;
        let heading = words::above(&Heading(&target), &screen, &told);
        Ok(match arguments.form {
            Form::Text => text(heading + &words::text(&screen)),
            Form::Styled => text(heading + &words::styled(&screen)),
            Form::Image => {
                let image = STANDARD.encode(picture::png(&screen)?);
                CallToolResult::success(vec![
                    ContentBlock::text(heading + &words::text(&screen)),
                    ContentBlock::image(image, "image/png"),
                ])
            }
        })
    }
}
