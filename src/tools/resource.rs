//! Resources: texts and bytes that a client reads by their URI.

use std::{collections::BTreeMap, future::ready, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData,
    model::{CompleteResult, ReadResourceResult, ResourceContents},
};
use serde_json::{Value, json};
use thiserror::Error;

use super::{
    client::Client,
    completion::{Begun, of_values},
    content::{ContentError, resource_contents},
    host::{Code, HostHandler, NotWell, Rights},
    legible,
    manifest::{ResourceSpec, Shown, TIME, Text},
    placeholders::{Room, TooLong, filled},
    tool::Context,
    updates::{Followed, Updates},
    uri_template::{Names, Template},
};
use crate::base::excerpt::{LONGEST_NAME, shortened};

/// A resource, or all resources whose URIs fit something.
pub trait Resource: Send + Sync {
    /// Its URI, the template of its URIs, or what they begin with.
    fn uri(&self) -> &str;

    /// What clients are shown of it; none: it is not in the list, and can still be read.
    fn shown(&self) -> Option<&Shown>;

    /// The client that has it without us too, if there is one.
    fn owner(&self) -> Option<Client> {
        None
    }

    /// Whether this URI is its.
    fn matches(&self, uri: &str) -> bool;

    /// What the URIs begin with that are its alone: what later sources have under such a one is left out.
    fn reserves(&self) -> Option<&str> {
        None
    }

    /// The contents of a URI that is its.
    ///
    /// # Errors
    /// What keeps them from being made.
    fn read<'a>(
        &'a self,
        context: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>>;

    /// What a name of its template can be that was begun.
    ///
    /// # Errors
    /// Somebody else's, who was asked.
    fn complete<'a>(
        &'a self,
        _: Context<'a>,
        _: &'a Begun,
    ) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        ready(Ok(of_values(Vec::new()))).boxed()
    }

    /// Has somebody else tell `updates` of changes of a URI that is its; none: nobody else can.
    ///
    /// # Errors
    /// Whoever could tell refuses to.
    fn follow<'a>(
        &'a self,
        _uri: &'a str,
        _updates: Updates,
    ) -> BoxFuture<'a, Result<Option<Followed>, ErrorData>> {
        ready(Ok(None)).boxed()
    }

    /// What it is made of, by which a change of its contents is seen; none: such a change can't be seen here.
    fn spec(&self) -> Option<&ResourceSpec> {
        None
    }
}

/// The error of a resource that there is not.
pub fn unknown(uri: &str) -> ErrorData {
    let uri = shortened(uri, LONGEST_NAME);
    ErrorData::resource_not_found(
        format!("Unknown resource: {uri}"),
        Some(json!({ "uri": uri })),
    )
}

/// Why a resource has no contents.
#[derive(Debug, Error)]
enum ResourceError {
    #[error("its handler was not read")]
    NotRead,
    #[error(transparent)]
    Failed(#[from] NotWell),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// A resource of a manifest, or all resources of a template of its.
pub struct EntryResource {
    spec: ResourceSpec,
    /// The template of its URIs, if it has one.
    template: Option<Template>,
    code: Option<Code>,
    host: Arc<HostHandler>,
}

impl EntryResource {
    /// A resource whose handler, if it has one, is this code.
    pub fn new(spec: ResourceSpec, code: Option<Code>, host: Arc<HostHandler>) -> Self {
        let template = match &spec.definition {
            Shown::One(_) => None,
            // A manifest with another was refused.
            Shown::Template(template) => Template::parse(&template.uri_template).ok(),
        };
        Self {
            spec,
            template,
            code,
            host,
        }
    }

    /// Whether this URI is its, and what the template's names stand for in it.
    fn names(&self, uri: &str) -> Option<Names> {
        match &self.spec.definition {
            Shown::One(one) => (one.uri == uri).then(Vec::new),
            Shown::Template(_) => self.template.as_ref()?.names_in(uri),
        }
    }

    async fn contents(
        &self,
        context: Context<'_>,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, ResourceError> {
        let names = self.names(uri).unwrap_or_default();
        let mime_type = match &self.spec.definition {
            Shown::One(one) => one.mime_type.as_deref(),
            Shown::Template(template) => template.mime_type.as_deref(),
        };
        let values = match (&self.spec.text, &self.code) {
            (Text::Fixed(text), _) => {
                let all = self.template.iter().flat_map(Template::names);
                let mut values: BTreeMap<_, _> =
                    all.map(|name| (name.to_owned(), String::new())).collect();
                values.extend(names);
                let text = filled(text, &values, &mut Room::default())?;
                vec![json!({ "text": text })]
            }
            (Text::Bytes(bytes), _) => vec![json!({ "blob": bytes })],
            (Text::Handler(_), Some(code)) => {
                let mut arguments = json!({ "uri": uri });
                for (name, value) in names {
                    arguments[name] = Value::String(value);
                }
                let run = self
                    .host
                    .run(context, code, Rights::OfItsAuthor, arguments, TIME);
                run.await.end?
            }
            (Text::Handler(_), None) => return Err(ResourceError::NotRead),
        };
        Ok(resource_contents(values, uri, mime_type)?)
    }
}

impl Resource for EntryResource {
    fn uri(&self) -> &str {
        self.spec.definition.uri()
    }

    fn shown(&self) -> Option<&Shown> {
        Some(&self.spec.definition)
    }

    fn matches(&self, uri: &str) -> bool {
        self.names(uri).is_some()
    }

    fn read<'a>(
        &'a self,
        context: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>> {
        async move {
            match self.contents(context, uri).await {
                Ok(contents) => Ok(ReadResourceResult::new(contents)),
                Err(problem) => {
                    let problem = legible::told(&problem.to_string());
                    Err(ErrorData::internal_error(problem, None))
                }
            }
        }
        .boxed()
    }

    fn follow<'a>(
        &'a self,
        uri: &'a str,
        updates: Updates,
    ) -> BoxFuture<'a, Result<Option<Followed>, ErrorData>> {
        let live = &self.host.keeper().live;
        let followed = live.follow(uri, self.spec.watch, updates);
        ready(Ok(Some(followed))).boxed()
    }

    fn spec(&self) -> Option<&ResourceSpec> {
        Some(&self.spec)
    }
}
