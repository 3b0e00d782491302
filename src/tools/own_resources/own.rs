//! One of the bridge's own resources, as all resources are known.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{ErrorData, model::ReadResourceResult};

use super::reading::Reader;
use crate::tools::{manifest::Shown, resource::Resource, tool::Context};

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
}
