//! Resources: texts and bytes that a client reads by their URI.

use std::{future::ready, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData,
    model::{CompleteResult, ReadResourceResult, ResourceContents, ResourceTemplate},
};
use serde_json::{Value, json};
use thiserror::Error;

use super::{
    client::Client,
    completion::{Begun, of_values},
    content::{ContentError, resource_contents},
    host::{Code, HostHandler, NotWell, Rights},
    legible,
    manifest::{ResourceSpec, Shown, Text},
    tool::Context,
    updates::{Followed, Updates},
};
use crate::base::excerpt::{LONGEST_NAME, shortened};

/// How long a handler has to make a resource.
const TIME: Duration = Duration::from_secs(20);

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
    fn complete<'a>(&'a self, _: &'a Begun) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
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
}

/// What the names of a template stand for in a URI.
type Names = Vec<(String, String)>;

/// A resource of a manifest, or all resources of a template of its.
pub struct EntryResource {
    spec: ResourceSpec,
    handler: Option<(Code, Arc<HostHandler>)>,
}

impl EntryResource {
    /// A resource whose handler, if it has one, is this code.
    pub fn new(spec: ResourceSpec, handler: Option<(Code, Arc<HostHandler>)>) -> Self {
        Self { spec, handler }
    }

    /// Whether this URI is its, and what the template's names stand for in it.
    fn names(&self, uri: &str) -> Option<Names> {
        match &self.spec.definition {
            Shown::One(one) => (one.uri == uri).then(Vec::new),
            Shown::Template(ResourceTemplate { uri_template, .. }) => matched(uri_template, uri),
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
        let filled = |text: &str| {
            names.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("{{{{{name}}}}}"), value)
            })
        };
        let values = match (&self.spec.text, &self.handler) {
            (Text::Fixed(text), _) => vec![json!({ "text": filled(text) })],
            (Text::Bytes(bytes), _) => vec![json!({ "blob": bytes })],
            (Text::Handler(_), Some((code, host))) => {
                let mut arguments = json!({ "uri": uri });
                for (name, value) in names {
                    arguments[name] = Value::String(value);
                }
                let run = host.run(context, code, Rights::OfItsAuthor, arguments, TIME);
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

    fn spec(&self) -> Option<&ResourceSpec> {
        Some(&self.spec)
    }
}

/// What a template's names stand for in a URI, if it fits: a name stands for one part without a slash.
fn matched(template: &str, uri: &str) -> Option<Names> {
    let mut names = Vec::new();
    let (mut template, mut uri) = (template, uri);
    while let Some((before, after)) = template.split_once('{') {
        let (name, after) = after.split_once('}')?;
        uri = uri.strip_prefix(before)?;
        let fixed = after.split('{').next().unwrap_or_default();
        let end = if fixed.is_empty() {
            uri.len()
        } else {
            uri.find(fixed)?
        };
        let value = &uri[..end];
        if value.is_empty() || value.contains('/') {
            return None;
        }
        names.push((name.to_owned(), value.to_owned()));
        (template, uri) = (after, &uri[end..]);
    }
    (template == uri).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_fits_uris_with_something_in_the_place_of_each_name() {
        let names = |template, uri| {
            matched(template, uri).map(|names| {
                let names: Vec<_> = names.into_iter().map(|(n, v)| format!("{n}={v}")).collect();
                names.join(" ")
            })
        };
        let fits = |names: &str| Some(names.to_owned());
        assert_eq!(names("a://{x}/data", "a://1/data"), fits("x=1"));
        assert_eq!(names("a://{x}/{y}", "a://1/2"), fits("x=1 y=2"));
        assert_eq!(names("a://{x}", "a://1"), fits("x=1"));
        for (template, uri) in [
            ("a://{x}/data", "a:///data"),
            ("a://{x}/data", "a://1/2/data"),
            ("a://{x}", "a://1/2"),
            ("a://{x}", "b://1"),
            ("a://{x}/data", "a://1/data/more"),
        ] {
            assert_eq!(names(template, uri), None, "{template} {uri}");
        }
    }
}
