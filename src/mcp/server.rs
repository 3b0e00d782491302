//! What an MCP client can ask of the bridge, in both eras of the protocol.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
#[expect(deprecated, reason = "clients of today still ask for log messages")]
use rmcp::model::SetLevelRequestParams;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, Reference,
        ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    asked::Session,
    bounds::{bounded, small_enough},
    cancelled::cancelled,
    changes::List,
    cursor::first_page,
    hearing::Ear,
    instructions,
    listener::{Waiting, attached, level_from},
    mends::mended,
    questions::{Again, Answer, Line},
    seat::{Seat, Seats, client_of, is_stateless},
};
use crate::{
    base::excerpt::{LONGEST_NAME, shortened},
    computers::Fleet,
    tools::{
        self, Beside, Catalogue, Client, Context, Found, Notes, Others, View,
        asked::{Asked, askable},
        calls::{Call, Caller, Calls, Kind, Outcome},
        coercion::as_object,
        completion::{Begun, of_values},
        policy::CALL_TOOL,
        prompt, resource,
    },
};

/// Methods that rmcp knows. A request of one of them that arrives as a custom request had parameters of a wrong shape.
const KNOWN_METHODS: [&str; 15] = [
    "initialize",
    "server/discover",
    "ping",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// Methods among them that the stateless era (2026-07-28) does not have.
const REMOVED_METHODS: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// One client's view of the bridge. Cheap to clone: all clients share what stands behind it.
#[derive(Clone)]
pub struct Server {
    fleet: Arc<Fleet>,
    seats: Arc<Seats>,
    /// Whether the client of a session has said that it is ready.
    is_open: Arc<watch::Sender<bool>>,
    /// What the client hears of what is logged, in the era with `initialize`.
    ear: Arc<Ear>,
    /// The calls of all clients.
    calls: Arc<Calls>,
    /// Whether the client is one over HTTP.
    over_http: bool,
}

impl Server {
    /// A server of these tools over these computers, for one client.
    pub fn new(fleet: Arc<Fleet>, catalogue: Arc<Catalogue>) -> Self {
        Self {
            seats: Arc::new(Seats::new(catalogue)),
            is_open: Arc::new(watch::Sender::new(false)),
            ear: Arc::default(),
            fleet,
            calls: Arc::default(),
            over_http: false,
        }
    }

    /// The same, which notes its calls there.
    pub fn noting(self, calls: Arc<Calls>) -> Self {
        Self { calls, ..self }
    }

    /// The same for another client, over HTTP, which has seen and asked for nothing yet.
    pub fn for_another(&self) -> Self {
        Self {
            over_http: true,
            ..Self::new(self.fleet.clone(), self.seats.shared().clone()).noting(self.calls.clone())
        }
    }

    /// Where whoever sent a request sits.
    async fn seat(&self, context: &RequestContext<RoleServer>) -> Arc<Seat> {
        self.seats.of(context, !self.over_http).await
    }

    /// Does what a request asks for. If its client can be asked things, and by answers only, that goes on beside it: it may
    /// be answered with questions, and come `again` with what answers them.
    async fn answered(
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

    /// What is said of this server as a whole to a client for which there is this beside the tools in its list.
    fn info_for(&self, beside: Beside) -> ServerConfig {
        let mut info = self.get_info();
        info.instructions = Some(instructions::with(beside.tools));
        // A list that is always empty is asked for in vain, again and again by some. What is not said now can't be
        // said later in the same session; the lists are there all the same, and their changes are told.
        if !beside.prompts {
            info.capabilities.prompts = None;
        }
        if !beside.resources {
            info.capabilities.resources = None;
        }
        if !beside.prompts && !beside.resources {
            info.capabilities.completions = None;
        }
        info
    }

    /// Whoever sent a request.
    fn waiting(&self, context: &RequestContext<RoleServer>, line: Arc<Line>) -> Waiting {
        if is_stateless(context) {
            // Nothing may be sent to whoever did not ask with this very request.
            let asked_for = context.meta.log_level();
            return Waiting::new(context, line, asked_for.map(level_from), asked_for);
        }
        Waiting::new(context, line, Some(self.ear.level()), None)
    }

    /// Who sent a request.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        let client = context.client_info();
        let (name, version) =
            client.map_or_else(Default::default, |client| (client.name, client.version));
        Caller {
            name,
            version,
            over_http: self.over_http,
        }
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

    /// What is said of a call whose arguments are no object, nor can be taken for one.
    async fn wrong_arguments(
        &self,
        method: &str,
        params: Option<&Value>,
        context: &RequestContext<RoleServer>,
    ) -> Option<String> {
        let params = params.filter(|_| method == "tools/call")?;
        let (name, given) = (params.get("name")?.as_str()?, params.get("arguments")?);
        let kind = match given {
            Value::String(_) => "a text that is no JSON object",
            Value::Array(_) => "a list",
            Value::Number(_) => "a number",
            Value::Bool(_) => "a boolean",
            Value::Object(_) | Value::Null => return None,
        };
        let view = self.seat(context).await.catalogue_for(context).now();
        let schema = view.definition(name).map(|tool| tool.input_schema.clone());
        let properties = schema
            .as_ref()
            .and_then(|schema| schema.get("properties")?.as_object());
        let names: Vec<_> = properties
            .into_iter()
            .flatten()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let there_are = match names.is_empty() {
            true => String::new(),
            false => format!(" Its arguments are {}.", names.join(", ")),
        };
        Some(format!(
            "tools/call: `arguments` must be an object, such as {{\"name\": \"value\"}}, not {kind}.{there_are}"
        ))
    }

    /// Calls a tool.
    async fn call(
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
        if matches!(view.find(name), Found::Nothing) {
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
        let tool = match view.find(name) {
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
    async fn prompt(
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
    async fn read(
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

    fn at_hand<'a>(
        &'a self,
        others: &'a dyn Others,
        listener: &'a Waiting,
        notes: &'a Notes,
        call: Option<&'a Call>,
    ) -> Context<'a> {
        Context {
            fleet: &self.fleet,
            others,
            listener,
            notes,
            call,
            stand_in: None,
            depth: 0,
        }
    }
}

/// What the client calls itself.
fn name_of_client(context: &RequestContext<RoleServer>) -> String {
    let client = context.client_info();
    client.map(|client| client.name).unwrap_or_default()
}

/// The call that a request means which rmcp can't read as one: its `arguments` are an object in another form.
fn call_meant(method: &str, params: Option<&Value>) -> Option<CallToolRequestParams> {
    if method != "tools/call" {
        return None;
    }
    let mut params = params?.clone();
    let arguments = params.get_mut("arguments")?;
    *arguments = Value::Object(as_object(arguments)?);
    serde_json::from_value(params).ok()
}

/// An answer to such a request, which rmcp does not look at as it does at others: earlier eras know no `resultType`.
fn custom(answer: CallToolResponse, is_stateless: bool) -> Result<CustomResult, ErrorData> {
    let bug = |what: String| ErrorData::internal_error(what, None);
    let answer = match answer {
        CallToolResponse::Complete(answer) => serde_json::to_value(answer),
        CallToolResponse::InputRequired(asked) => serde_json::to_value(asked),
        _ => return Err(bug("the answer is no result".to_owned())),
    };
    let mut answer = answer.map_err(|error| bug(error.to_string()))?;
    if let (Value::Object(fields), false) = (&mut answer, is_stateless) {
        fields.shift_remove("resultType");
    }
    Ok(CustomResult::new(answer))
}

/// The error of a request that comes again as another than it was.
fn another() -> ErrorData {
    ErrorData::invalid_params(
        "This `requestState` is that of a request of another kind.",
        None,
    )
}

/// A request, and what it is answered from.
struct Request {
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

#[expect(
    deprecated,
    reason = "log messages and subscriptions by session are for clients of the era with initialize"
)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
                    .with_title("ComputerCraft bridge"),
            )
            .with_instructions(instructions::with(true))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let client = Client::named(&request.client_info.name);
        let mut result = self.negotiate_initialize(&request)?;
        let asked = askable(&request.capabilities).map(|askable| {
            let session = Session::new(askable, context.peer.clone(), self.is_open.subscribe());
            Arc::new(session) as Arc<dyn Asked>
        });
        context.peer.set_peer_info(request);
        let seat = self.seats.seat(asked).await;
        seat.subscriber.forget_sent();
        self.ear.open(client, &seat.catalogue);
        let info = self.info_for(seat.catalogue.open_for(client).beside().await);
        result.capabilities = info.capabilities;
        result.instructions = info.instructions;
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let seat = self.seat(&context).await;
        let beside = seat.catalogue_for(&context).beside().await;
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(
            versions,
            self.info_for(beside),
        ))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let client = context.peer.peer_info();
        let client = Client::named(
            client
                .as_deref()
                .map_or("", |client| &client.client_info.name),
        );
        // What is still being read is no change for a client that has not seen anything yet.
        self.is_open.send_replace(true);
        let seat = self.seats.of_session();
        let view = seat.catalogue.open_for(client).ready().await;
        self.ear.tell(context.peer.clone());
        seat.subscriber.tell(context.peer, view);
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.seats.of_session().catalogue.has_other_roots().await;
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        first_page(request)?;
        let seat = self.seat(&context).await;
        let view = seat.catalogue_for(&context).ready().await;
        seat.subscriber.fetched(List::Tools, view.revisions());
        if !is_stateless(&context) {
            seat.subscriber
                .note_sent(view.revisions(), &name_of_client(&context));
        }
        // One page: several clients never ask for a second one.
        Ok(ListToolsResult::with_all_items(view.tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // rmcp checks the headers of a call over HTTP by the tool's schema, and does not say whose call it is.
        let view = self.seats.of_session().catalogue.now();
        let view = view.for_client(Client::Anyone);
        match view.find(name) {
            Found::Tool(tool) => Some(tool.definition().clone()),
            Found::Refused(_) | Found::Nothing => None,
        }
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let again = Again {
            state: request.request_state.take(),
            answers: request.input_responses.take(),
        };
        let begin = |server: Self, with| {
            async move { server.call(request, with).await.map(Answer::Tool) }.boxed()
        };
        match self.answered(context, again, begin).await? {
            Answer::Tool(answer) => Ok(answer),
            Answer::Asked(asked) => Ok(asked.into()),
            Answer::Prompt(_) | Answer::Resource(_) => Err(another()),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        first_page(request)?;
        let seat = self.seat(&context).await;
        let view = seat.catalogue_for(&context).ready().await;
        seat.subscriber.fetched(List::Prompts, view.revisions());
        let prompts = view.prompts().cloned().collect();
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let again = Again {
            state: request.request_state.take(),
            answers: request.input_responses.take(),
        };
        let begin = |server: Self, with| {
            async move { server.prompt(request, with).await.map(Answer::Prompt) }.boxed()
        };
        match self.answered(context, again, begin).await? {
            Answer::Prompt(answer) => Ok(answer),
            Answer::Asked(asked) => Ok(asked.into()),
            Answer::Tool(_) | Answer::Resource(_) => Err(another()),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        first_page(request)?;
        let seat = self.seat(&context).await;
        let view = seat.catalogue_for(&context).ready().await;
        seat.subscriber.fetched(List::Resources, view.revisions());
        let resources = view.resources().cloned().collect();
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        first_page(request)?;
        let seat = self.seat(&context).await;
        let view = seat.catalogue_for(&context).ready().await;
        seat.subscriber.fetched(List::Resources, view.revisions());
        let templates = view.templates().cloned().collect();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        mut request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let again = Again {
            state: request.request_state.take(),
            answers: request.input_responses.take(),
        };
        let begin = |server: Self, with| {
            async move { server.read(request, with).await.map(Answer::Resource) }.boxed()
        };
        match self.answered(context, again, begin).await? {
            Answer::Resource(answer) => Ok(answer),
            Answer::Asked(asked) => Ok(asked.into()),
            Answer::Tool(_) | Answer::Prompt(_) => Err(another()),
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let seat = self.seat(&context).await;
        let view = seat.catalogue_for(&context).ready().await;
        seat.subscriber.subscribe(&request.uri, &view).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.seats.of_session().subscriber.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.seats.grant();
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let client = client_of(context.request_context());
        let seat = self.seat(context.request_context()).await;
        seat.subscriber.listen(&context, client).await;
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let seat = self.seat(&context).await;
        let view = seat.catalogue_for(&context).ready().await;
        let begun = Begun {
            argument: request.argument,
            context: request.context,
            attached: attached(&context.meta),
        };
        let catalogue = seat.catalogue_for(&context);
        let listener = self.waiting(&context, Arc::new(Line::new(None)));
        let notes = Notes::default();
        // Whoever completes asks at each letter: such calls are not worth a note.
        let at_hand = self.at_hand(&catalogue, &listener, &notes, None);
        let completed = async {
            match &request.r#ref {
                Reference::Prompt(prompt) => match view.prompt(&prompt.name) {
                    Some(prompt) => prompt.complete(at_hand, &begun).await,
                    None => Ok(of_values(Vec::new())),
                },
                Reference::Resource(template) => match view.resource(&template.uri) {
                    Some(resource) => resource.complete(at_hand, &begun).await,
                    None => Ok(of_values(Vec::new())),
                },
                _ => Ok(of_values(Vec::new())),
            }
        };
        tokio::select! {
            completed = completed => completed,
            () = context.ct.cancelled() => Err(cancelled()),
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless(&context) {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                "logging/setLevel",
                None,
            ));
        }
        self.ear.ask_for(request.level);
        self.seats.of_session().catalogue.heed().await;
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.clone();
        if let Some(call) = call_meant(&method, request.params.as_ref()) {
            let is_stateless = is_stateless(&context);
            let answer = self.call_tool(call, context).await?;
            return custom(answer, is_stateless);
        }
        let removed = REMOVED_METHODS.contains(&method.as_str())
            && context
                .protocol_version()
                .is_some_and(|version| !version.has_initialize());
        let wrong = self.wrong_arguments(&method, request.params.as_ref(), &context);
        if let Some(wrong) = wrong.await {
            return Err(ErrorData::invalid_params(wrong, None));
        }
        if KNOWN_METHODS.contains(&method.as_str()) && !removed {
            return Err(ErrorData::invalid_params(
                format!("{method}: `params` are missing or not of the right shape"),
                None,
            ));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("Unknown method: {method}"),
            None,
        ))
    }
}
