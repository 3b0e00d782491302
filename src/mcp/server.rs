//! What an MCP client can ask of the bridge, in both eras of the protocol.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
#[expect(deprecated, reason = "clients of today still ask for log messages")]
use rmcp::model::SetLevelRequestParams;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
        Reference, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
        Tool, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;
use tracing::Instrument;

use super::{
    bounds::{bounded, small_enough},
    changes::{List, Subscriber},
    cursor::first_page,
    hearing::Ear,
    instructions,
    listener::{Waiting, attached, level_from},
    mends::mended,
};
use crate::{
    base::excerpt::{LONGEST_NAME, shortened},
    computers::Fleet,
    tools::{
        self, Beside, Catalogue, Client, ClientCatalogue, Context, Found, Notes, Others, View,
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
    catalogue: Arc<Catalogue>,
    subscriber: Arc<Subscriber>,
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
            subscriber: Arc::new(Subscriber::new(&catalogue)),
            ear: Arc::default(),
            fleet,
            catalogue,
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
            ..Self::new(self.fleet.clone(), self.catalogue.clone()).noting(self.calls.clone())
        }
    }

    /// What there is for whoever sent a request.
    fn catalogue_for(&self, context: &RequestContext<RoleServer>) -> ClientCatalogue<'_> {
        // Requests of the stateless era are nobody's: over HTTP each may be another client's.
        let sent = (!is_stateless(context))
            .then(|| self.subscriber.sent())
            .flatten();
        self.catalogue
            .open_for(client_of(context))
            .having_sent(sent)
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
    fn waiting(&self, context: &RequestContext<RoleServer>) -> Waiting {
        if is_stateless(context) {
            // Nothing may be sent to whoever did not ask with this very request.
            let asked_for = context.meta.log_level();
            return Waiting::new(context, asked_for.map(level_from), asked_for);
        }
        Waiting::new(context, Some(self.ear.level()), None)
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
    fn wrong_arguments(
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
        let view = self.catalogue_for(context).now();
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

    fn at_hand<'a>(
        &'a self,
        others: &'a dyn Others,
        listener: &'a Waiting,
        notes: &'a Notes,
        call: &'a Call,
    ) -> Context<'a> {
        Context {
            fleet: &self.fleet,
            others,
            listener,
            notes,
            call: Some(call),
            depth: 0,
        }
    }
}

/// What the client calls itself.
fn name_of_client(context: &RequestContext<RoleServer>) -> String {
    let client = context.client_info();
    client.map(|client| client.name).unwrap_or_default()
}

/// The client that sent a request.
fn client_of(context: &RequestContext<RoleServer>) -> Client {
    let client = context.client_info();
    Client::named(client.as_ref().map_or("", |client| &client.name))
}

/// Whether a request is of the era without `initialize`.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
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
    let CallToolResponse::Complete(answer) = answer else {
        return Err(bug("the answer is no result".to_owned()));
    };
    let mut answer = serde_json::to_value(answer).map_err(|error| bug(error.to_string()))?;
    if let (Value::Object(fields), false) = (&mut answer, is_stateless) {
        fields.shift_remove("resultType");
    }
    Ok(CustomResult::new(answer))
}

/// The error of a request that was cancelled, which nobody is to be sent. rmcp drops it by itself, unless the client has
/// used the request's id again meanwhile.
pub const CANCELLED: ErrorCode = ErrorCode(-32800);

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
/// [`CANCELLED`]: nobody waits for it any more.
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
        () = context.ct.cancelled() => Err(ErrorData::new(CANCELLED, "cancelled", None)),
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
        self.subscriber.forget_sent();
        let client = Client::named(&request.client_info.name);
        let mut result = self.negotiate_initialize(&request)?;
        context.peer.set_peer_info(request);
        self.ear.open(client, &self.catalogue);
        let info = self.info_for(self.catalogue.open_for(client).beside().await);
        result.capabilities = info.capabilities;
        result.instructions = info.instructions;
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let beside = self.catalogue_for(&context).beside().await;
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
        let view = self.catalogue.open_for(client).ready().await;
        self.ear.tell(context.peer.clone());
        self.subscriber.tell(context.peer, view);
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        first_page(request)?;
        let view = self.catalogue_for(&context).ready().await;
        self.subscriber.fetched(List::Tools, view.revisions());
        if !is_stateless(&context) {
            self.subscriber
                .note_sent(view.revisions(), &name_of_client(&context));
        }
        // One page: several clients never ask for a second one.
        Ok(ListToolsResult::with_all_items(view.tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // rmcp checks the headers of a call over HTTP by the tool's schema, and does not say whose call it is.
        let view = self.catalogue.now().for_client(Client::Anyone);
        match view.find(name) {
            Found::Tool(tool) => Some(tool.definition().clone()),
            Found::Refused(_) | Found::Nothing => None,
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let catalogue = self.catalogue_for(&context);
        let name = &request.name;
        let mut view = catalogue.now();
        if matches!(view.find(name), Found::Nothing) {
            // It may be among those that are still being read, or of a server that is still being started.
            let awaited = tokio::select! {
                awaited = catalogue.awaiting(name) => awaited,
                () = context.ct.cancelled() => return Err(ErrorData::new(CANCELLED, "cancelled", None)),
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
        let listener = self.waiting(&context);
        let notes = Notes::default();
        let call = tool.call(
            self.at_hand(&catalogue, &listener, &notes, &noted.call),
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
                (bounded(name, notes.on(result)), outcome)
            }
            Err(Unfinished { why, outcome }) => (tools::failure(why), outcome),
        };
        noted.ends(outcome);
        Ok(mended(&name_of_client(&context), result).into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        first_page(request)?;
        let view = self.catalogue_for(&context).ready().await;
        self.subscriber.fetched(List::Prompts, view.revisions());
        let prompts = view.prompts().cloned().collect();
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let catalogue = self.catalogue_for(&context);
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
        let listener = self.waiting(&context);
        let notes = Notes::default();
        let at_hand = self.at_hand(&catalogue, &listener, &notes, &noted.call);
        let call = prompt.get(at_hand, request.arguments);
        let got = guarded(name, listener.during(call), &noted.call, &context).await?;
        noted.ends(outcome_of(&got));
        small_enough(name, got??).map(Into::into)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        first_page(request)?;
        let view = self.catalogue_for(&context).ready().await;
        self.subscriber.fetched(List::Resources, view.revisions());
        let resources = view.resources().cloned().collect();
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        first_page(request)?;
        let view = self.catalogue_for(&context).ready().await;
        self.subscriber.fetched(List::Resources, view.revisions());
        let templates = view.templates().cloned().collect();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let catalogue = self.catalogue_for(&context);
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
        let listener = self.waiting(&context);
        let notes = Notes::default();
        let call = resource.read(
            self.at_hand(&catalogue, &listener, &notes, &noted.call),
            uri,
        );
        let read = guarded(uri, listener.during(call), &noted.call, &context).await?;
        noted.ends(outcome_of(&read));
        small_enough(uri, read??).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let view = self.catalogue_for(&context).ready().await;
        self.subscriber.subscribe(&request.uri, &view).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriber.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.subscriber.grant();
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let client = client_of(context.request_context());
        self.subscriber.listen(&context, client).await;
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let view = self.catalogue_for(&context).ready().await;
        let begun = Begun {
            argument: request.argument,
            context: request.context,
            attached: attached(&context.meta),
        };
        let completed = async {
            match &request.r#ref {
                Reference::Prompt(prompt) => match view.prompt(&prompt.name) {
                    Some(prompt) => prompt.complete(&begun).await,
                    None => Ok(of_values(Vec::new())),
                },
                Reference::Resource(template) => match view.resource(&template.uri) {
                    Some(resource) => resource.complete(&begun).await,
                    None => Ok(of_values(Vec::new())),
                },
                _ => Ok(of_values(Vec::new())),
            }
        };
        tokio::select! {
            completed = completed => completed,
            () = context.ct.cancelled() => Err(ErrorData::new(CANCELLED, "cancelled", None)),
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
        self.catalogue.heed().await;
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
        if let Some(wrong) = self.wrong_arguments(&method, request.params.as_ref(), &context) {
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
