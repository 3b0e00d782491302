//! How a call of a tool, a prompt or a resource goes, from its request to its answer.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse,
        JsonObject, ReadResourceRequestParams, ReadResourceResponse,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    bounds::{bounded, small_enough},
    cancelled::cancelled,
    mends::mended,
    questions::{Again, Answer, Line},
    seat::Seat,
    server::{Server, name_of_client},
};
use crate::{
    base::excerpt::{LONGEST_NAME, shortened},
    tools::{
        self, Found, Notes, View,
        calls::{Call, Kind, Outcome},
        coercion::as_object,
        policy::CALL_TOOL,
        prompt, resource,
    },
};

impl Server {
    /// Does what a request asks for. If its client can be asked things, and by answers only, that goes on beside it: it may
    /// be answered with questions, and come `again` with what answers them.
    pub(super) async fn answered(
        &self,
        context: RequestContext<RoleServer>,
        again: Again,
        begin: impl FnOnce(Self, Request) -> BoxFuture<'static, Result<Answer, ErrorData>>,
    ) -> Result<Answer, ErrorData> {
        let seat = self.seat(&context).await;
        let token = context.meta.get_progress_token();
        let server = self.clone();
        let Some(questions) = seat.questions.clone() else {
            let line = Arc::new(Line::new(token));
            return begin(
                server,
                Request {
                    seat,
                    context,
                    line,
                },
            )
            .await;
        };
        let gone = context.ct.clone();
        let mut context = context;
        // It outlives the request that it began with.
        context.ct = CancellationToken::new();
        let begin = |line| {
            begin(
                server,
                Request {
                    seat,
                    context,
                    line,
                },
            )
        };
        questions.answered(again, token, &gone, begin).await
    }

    /// The arguments of a call in short. What `call-tool` is given for another tool is shown as that one's.
    fn in_short(&self, view: &View, name: &str, arguments: &JsonObject) -> Value {
        let schema = |name| {
            let definition = view.definition(name)?;
            Some(definition.input_schema.as_ref())
        };
        let secrets = &self.calls.secrets;
        let mut short = secrets.short(schema(name), arguments);
        if name == CALL_TOOL
            && let Some(inner) = arguments.get("name").and_then(Value::as_str)
            && let Some(given) = arguments.get("arguments").and_then(as_object)
        {
            short["arguments"] = secrets.short(schema(inner), &given);
        }
        short
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        Request {
            seat,
            context,
            line,
        }: Request,
    ) -> Result<CallToolResponse, ErrorData> {
        let catalogue = seat.catalogue_for(&context);
        let name = &request.name;
        let mut view = catalogue.now();
        if !view.knows(name) {
            // It may be among those that are still being read, or of a server that is still being started.
            let awaited = tokio::select! {
                awaited = catalogue.awaiting(name) => awaited,
                () = context.ct.cancelled() => return Err(cancelled()),
            };
            view = match awaited {
                Ok(view) => view,
                Err(why) => return Ok(tools::failure(why).into()),
            };
        }
        let arguments = request.arguments.unwrap_or_default();
        let short = self.in_short(&view, name, &arguments);
        let caller = self.caller(&context);
        let noted = self.calls.begin(caller, Kind::Tool, name, short);
        let found = tokio::select! {
            found = view.find(name) => found,
            () = context.ct.cancelled() => return Err(cancelled()),
        };
        let tool = match found {
            Found::Tool(tool) => tool,
            Found::Refused(refusal) => {
                noted.ends(Outcome::Refused);
                return Ok(tools::failure(format!("{}.", refusal.of(name))).into());
            }
            Found::Nothing => {
                noted.ends(Outcome::Unknown);
                let message = format!("Unknown tool: {}", shortened(name, LONGEST_NAME));
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let listener = self.waiting(&context, line);
        let notes = Notes::default();
        let call = tool.call(
            self.at_hand(&catalogue, &listener, &notes, Some(&noted.call)),
            arguments,
        );
        let span = tracing::debug_span!("call", client = name_of_client(&context), tool = %name);
        let result = guarded(name, listener.during(call), &noted.call, &context)
            .instrument(span)
            .await?;
        self.ear.quiet().await;
        if let Some(refusal) = notes.refusal() {
            noted.ends(Outcome::Error);
            return Err(small_enough(name, refusal)?);
        }
        let (result, outcome) = match result {
            Ok(result) => {
                let failed = result.is_error == Some(true);
                let outcome = if failed { Outcome::Error } else { Outcome::Ok };
                (
                    bounded(name, tools::without_secrets(notes.on(result))),
                    outcome,
                )
            }
            Err(Unfinished { why, outcome }) => (tools::failure(why), outcome),
        };
        noted.ends(outcome);
        Ok(mended(&name_of_client(&context), result).into())
    }

    /// Fills a prompt in.
    pub(super) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        Request {
            seat,
            context,
            line,
        }: Request,
    ) -> Result<GetPromptResponse, ErrorData> {
        let catalogue = seat.catalogue_for(&context);
        let view = catalogue.ready().await;
        let name = &request.name;
        let arguments = request.arguments.as_ref();
        let short = arguments.map_or(Value::Null, |given| self.calls.secrets.short(None, given));
        let caller = self.caller(&context);
        let noted = self.calls.begin(caller, Kind::Prompt, name, short);
        let Some(prompt) = view.prompt(name) else {
            noted.ends(Outcome::Unknown);
            return Err(prompt::unknown(name));
        };
        let listener = self.waiting(&context, line);
        let notes = Notes::default();
        let at_hand = self.at_hand(&catalogue, &listener, &notes, Some(&noted.call));
        let call = prompt.get(at_hand, request.arguments);
        let got = guarded(name, listener.during(call), &noted.call, &context).await?;
        noted.ends(outcome_of(&got));
        small_enough(name, got??).map(Into::into)
    }

    /// Reads a resource.
    pub(super) async fn read(
        &self,
        request: ReadResourceRequestParams,
        Request {
            seat,
            context,
            line,
        }: Request,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let catalogue = seat.catalogue_for(&context);
        let view = catalogue.ready().await;
        let uri = &request.uri;
        let caller = self.caller(&context);
        let shown = self.calls.secrets.text(uri);
        let noted = self
            .calls
            .begin(caller, Kind::Resource, &shown, Value::Null);
        let Some(resource) = view.resource(uri) else {
            noted.ends(Outcome::Unknown);
            return Err(resource::unknown(uri));
        };
        let listener = self.waiting(&context, line);
        let notes = Notes::default();
        let call = resource.read(
            self.at_hand(&catalogue, &listener, &notes, Some(&noted.call)),
            uri,
        );
        let read = guarded(uri, listener.during(call), &noted.call, &context).await?;
        noted.ends(outcome_of(&read));
        small_enough(uri, read??).map(Into::into)
    }
}

/// A request, and what it is answered from.
pub struct Request {
    seat: Arc<Seat>,
    context: RequestContext<RoleServer>,
    /// The way to whoever waits for its answer.
    line: Arc<Line>,
}

/// A call that did not come to its end.
struct Unfinished {
    /// Why, for whoever asks.
    why: String,
    outcome: Outcome,
}

impl From<Unfinished> for ErrorData {
    fn from(unfinished: Unfinished) -> Self {
        Self::internal_error(unfinished.why, None)
    }
}

/// Keeps a call going until it ends; a panic of its is an error of `what`, and its end from outside one of its own.
///
/// # Errors
/// [`cancelled`]: nobody waits for it any more.
async fn guarded<T>(
    what: &str,
    call: impl Future<Output = T>,
    noted: &Call,
    context: &RequestContext<RoleServer>,
) -> Result<Result<T, Unfinished>, ErrorData> {
    // rmcp never answers a call whose handler panicked.
    let call = AssertUnwindSafe(call).catch_unwind();
    tokio::select! {
        // Where the call itself knows of its stop, it says more.
        biased;
        result = call => Ok(result.map_err(|_| Unfinished {
            why: format!("{what} failed inside mcp-bridge; this is a bug. `mcp-bridge logs` shows what happened."),
            outcome: Outcome::Error,
        })),
        () = noted.stopped() => Ok(Err(Unfinished {
            why: noted.told_of_its_stop(),
            outcome: Outcome::Stopped,
        })),
        () = context.ct.cancelled() => Err(cancelled()),
    }
}

/// How a prompt or a resource came out.
fn outcome_of<T>(came: &Result<Result<T, ErrorData>, Unfinished>) -> Outcome {
    match came {
        Ok(Ok(_)) => Outcome::Ok,
        Ok(Err(_)) => Outcome::Error,
        Err(unfinished) => unfinished.outcome,
    }
}
