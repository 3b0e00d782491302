//! One of the bridge's own resources, as all resources are known.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData,
    model::{CompleteResult, ReadResourceResult},
};

use super::{
    completing::{self, Beginning},
    reading::Reader,
};
use crate::tools::{
    completion::{Begun, of_values},
    manifest::{Choices, Shown},
    resource::Resource,
    tool::Context,
    updates::{Followed, Updates},
};

/// One of them as clients are shown it; or, shown to nobody, all of their URIs.
pub struct OwnResource {
    /// Its URI, the template of its URIs, or what they begin with.
    pub uri: String,
    pub shown: Option<Shown>,
    pub reader: Arc<Reader>,
}

impl Resource for OwnResource {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn shown(&self) -> Option<&Shown> {
        self.shown.as_ref()
    }

    fn reserves(&self) -> Option<&str> {
        self.shown.is_none().then_some(&self.uri)
    }

    fn matches(&self, uri: &str) -> bool {
        match self.shown {
            // What fits a template is among all URIs.
            Some(_) => uri == self.uri,
            None => uri.starts_with(&self.uri),
        }
    }

    fn read<'a>(
        &'a self,
        context: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>> {
        async move {
            match self.reader.read(context, uri).await {
                Ok(contents) => Ok(ReadResourceResult::new(contents)),
                Err(problem) => Err(problem.told(uri)),
            }
        }
        .boxed()
    }

    fn complete<'a>(
        &'a self,
        context: Context<'a>,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        async move {
            let choices = match begun.argument.name.as_str() {
                "id" if self.uri.contains("{id}") => Choices::Computers,
                "path" if self.uri.contains("{+path}") => Choices::Paths,
                _ => return Ok(of_values(Vec::new())),
            };
            let given = begun.context.as_ref();
            let computer = given.and_then(|given| given.get_argument("id"));
            let beginning = Beginning {
                text: &begun.argument.value,
                computer: computer.map(String::as_str),
            };
            let couriers = &self.reader.couriers;
            let fitting = completing::choices(&choices, couriers, context, beginning).await;
            Ok(of_values(fitting))
        }
        .boxed()
    }

    fn follow<'a>(
        &'a self,
        uri: &'a str,
        updates: Updates,
    ) -> BoxFuture<'a, Result<Option<Followed>, ErrorData>> {
        async move {
            let followed = self.reader.follow(uri, updates).await;
            followed.map_err(|problem| problem.told(uri))
        }
        .boxed()
    }
}
