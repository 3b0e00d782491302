//! Where tools, prompts and resources come from: a source says what it offers now, and tells of a change of that.

use std::{
    future::ready,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::watch;

use super::{
    asked::Asked, client::Client, hearer::Hearer, prompt::Prompt, resource::Resource, tool::Tool,
};

/// How long the first list waits for a source that is still being read: about what a folder of tools takes.
const FIRST_LOOK: Duration = Duration::from_millis(250);

/// Something that offers tools, prompts or resources: the program itself, folders of a user's own, MCP servers.
pub trait Source: Send + Sync {
    /// What it offers, to be followed. Called once, in the runtime. The last offer of a source that has ended stays.
    fn follow(&self) -> watch::Receiver<Arc<Offer>>;

    /// Says that a client asks what there is or uses it: a source may put off its work until then. Called at every
    /// request, so it returns at once.
    fn wanted(&self, _: Client) {}

    /// Whether prompts or resources may come of it without anybody's doing, once it has looked: not those that a person
    /// may yet write.
    fn may_bring_more(&self) -> bool {
        false
    }

    /// Whether a tool of this name, which it does not offer yet, comes of it once it has looked closer, for this client.
    /// Waits for that. Such a tool is then in its offer, or is on its way there.
    ///
    /// # Errors
    /// Why that can't be told now, in a sentence for whoever called the tool.
    fn brings<'a>(&'a self, _: Client, _: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        ready(Ok(false)).boxed()
    }

    /// Says that a client has begun a session, and hears from now on what is logged, for as long as it is there.
    fn heard_by(&self, _: Weak<dyn Hearer>) {}

    /// Says that such a client asked for more or less of that. Waits until whoever logs knows, but not long.
    fn heed(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    /// The same source for a client that can be asked things, where it has something of its own for such a one: whatever is
    /// begun for it ends when that is dropped.
    fn for_asked(&self, _: Arc<dyn Asked>) -> BoxFuture<'_, Option<Box<dyn Source>>> {
        ready(None).boxed()
    }

    /// Says that such a client has other roots now.
    fn has_other_roots(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    /// How long a client's question waits for its first look. One that takes longer is told of by a change of the list.
    fn patience(&self) -> Duration {
        FIRST_LOOK
    }
}

/// What one source offers at one moment.
#[derive(Clone, Default)]
pub struct Offer {
    /// Its tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Names of sets that tools of it belong to, or will when it has any.
    pub sets: Vec<String>,
    /// Tools that it has and must not offer.
    pub withheld: Vec<Withheld>,
    /// Its prompts, and the templates that prompts extend.
    pub prompts: Vec<Arc<dyn Prompt>>,
    /// Its resources and resource templates.
    pub resources: Vec<Arc<dyn Resource>>,
    /// Whether it has looked for the first time: a source that is still being read offers nothing yet.
    pub is_ready: bool,
}

/// A tool that nobody may call, whatever the policy says, since something is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// The name that it would have.
    pub name: String,
    /// Why, and what to do, in words that follow `is withheld: `.
    pub reason: String,
    /// See [`Tool::owner`].
    pub owner: Option<Client>,
}

/// A source whose offer never changes.
pub fn fixed(offer: Offer) -> Box<dyn Source> {
    Box::new(Fixed(Offer {
        is_ready: true,
        ..offer
    }))
}

struct Fixed(Offer);

impl Source for Fixed {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        watch::channel(Arc::new(self.0.clone())).1
    }
}
