//! What each method of the protocol does, in both eras.

use std::sync::Arc;

use futures_util::FutureExt;
#[expect(deprecated, reason = "clients of today still ask for log messages")]
use rmcp::model::SetLevelRequestParams;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, Reference,
        ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;

use super::{
    asked::Session,
    cancelled::cancelled,
    changes::List,
    cursor::first_page,
    instructions,
    listener::attached,
    questions::{Again, Answer, Line},
    seat::{client_of, is_stateless},
    server::{Server, name_of_client},
};
use crate::tools::{
    Client, Notes,
    asked::{Asked, askable},
    coercion::as_object,
    completion::{Begun, of_values},
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

impl Server {
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
        view.definition(name).cloned()
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
