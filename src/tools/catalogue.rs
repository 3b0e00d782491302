//! All tools, prompts and resources there are now: a snapshot that is replaced as a whole when a source changes.
//!
//! A source is a [`watch::Receiver`] of what it offers. The catalogue puts the sources' offers together in their order,
//! applies the [`Policy`], and publishes the result. Whoever holds a snapshot goes on with it, so that a change never
//! touches a call that is under way.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::model::{Prompt as PromptDefinition, Tool as Definition};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    Tool,
    policy::{Policy, Verdict},
    prompt::Prompt,
    resource::{Names, Resource},
};

/// How long the first list waits for sources that are being read: about what a folder of tools takes.
const FIRST_LOOK: Duration = Duration::from_millis(250);

/// How long it waits for the first source, which is part of the program: without it there is next to nothing. It takes
/// a millisecond; this only counts on a machine that hardly moves.
const FIRST_SOURCE: Duration = Duration::from_secs(20);

/// How long changes are collected before they become one new snapshot.
const BURST: Duration = Duration::from_millis(60);

/// What one source offers at one moment.
#[derive(Clone, Default)]
pub struct Offer {
    /// Its tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Its prompts.
    pub prompts: Vec<Arc<Prompt>>,
    /// Its resources.
    pub resources: Vec<Arc<Resource>>,
    /// Whether it has looked for the first time: a source that is still being read offers nothing yet.
    pub is_ready: bool,
}

/// A source of tools, prompts and resources: what it offers now, and a change of that.
pub type Source = watch::Receiver<Arc<Offer>>;

/// A source whose offer never changes.
pub fn fixed(offer: Offer) -> Source {
    watch::channel(Arc::new(Offer {
        is_ready: true,
        ..offer
    }))
    .1
}

/// Everything there is at one moment, under the policy.
#[derive(Default)]
pub struct Snapshot {
    tools: BTreeMap<String, Listing>,
    prompts: BTreeMap<String, Arc<Prompt>>,
    resources: BTreeMap<String, Arc<Resource>>,
    definitions: Vec<Definition>,
    /// How often each list has changed.
    pub revisions: Revisions,
    /// Whether the first source has looked, and whether all have.
    has_first: bool,
    is_ready: bool,
}

/// A tool and what the policy says of it.
struct Listing {
    tool: Arc<dyn Tool>,
    verdict: Verdict,
}

/// How often each list of a catalogue has changed since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisions {
    /// The tools that are listed.
    pub tools: u64,
    /// The prompts.
    pub prompts: u64,
    /// The resources and resource templates.
    pub resources: u64,
}

/// What there is of a tool of some name.
pub enum Found<'a> {
    /// It may be called.
    Tool(&'a Arc<dyn Tool>),
    /// It exists, but the policy keeps it from being called; why.
    Refused(&'static str),
    /// There is none.
    Nothing,
}

impl Snapshot {
    /// The tool of this name.
    pub fn find(&self, name: &str) -> Found<'_> {
        match self.tools.get(name) {
            Some(Listing {
                tool,
                verdict: Verdict::Listed | Verdict::Reachable,
            }) => Found::Tool(tool),
            Some(Listing {
                verdict: Verdict::Refused(why),
                ..
            }) => Found::Refused(why),
            None => Found::Nothing,
        }
    }

    /// Whether every source has looked for the first time.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// What a client is shown, in order of name.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// All tools that may be called, in order of name, those that are not listed included.
    pub fn reachable(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools
            .values()
            .filter(|listing| !matches!(listing.verdict, Verdict::Refused(_)))
            .map(|listing| &listing.tool)
    }

    /// All tools, and what the policy says of each.
    pub fn all(&self) -> impl Iterator<Item = (&Arc<dyn Tool>, &Verdict)> {
        self.tools
            .values()
            .map(|listing| (&listing.tool, &listing.verdict))
    }

    /// A prompt by its name; templates too, which only other prompts use.
    pub fn prompt(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.get(name)
    }

    /// The prompts that a client is shown, in order of name.
    pub fn prompts(&self) -> impl Iterator<Item = &PromptDefinition> {
        self.prompts
            .values()
            .filter(|prompt| !prompt.is_template)
            .map(|prompt| &prompt.definition)
    }

    /// The resource that a URI is of, and what the names of its template stand for.
    pub fn resource(&self, uri: &str) -> Option<(&Arc<Resource>, Names)> {
        // One that is named wins over templates.
        let named = self
            .resources
            .get(uri)
            .map(|resource| (resource, Vec::new()));
        named.or_else(|| {
            self.resources
                .values()
                .find_map(|resource| Some((resource, resource.matches(uri)?)))
        })
    }

    /// The resources, in order of their URIs.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }
}

/// The tools, prompts and resources of this bridge, whichever source they come from.
pub struct Catalogue {
    snapshot: watch::Sender<Arc<Snapshot>>,
    sources: Vec<Source>,
    policy: Policy,
    /// What makes sources begin, until somebody wants to know what there is.
    begin: Mutex<Option<Begin>>,
}

/// Makes sources begin.
pub type Begin = Box<dyn FnOnce() + Send>;

impl Catalogue {
    /// The same as [`Catalogue::start`], of sources that `begin` makes begin once somebody wants to know what there is: a
    /// client's first question is not about tools, and some never ask about them.
    pub fn start_when_wanted(sources: Vec<Source>, policy: Policy, begin: Begin) -> Arc<Self> {
        Self::start_with(sources, policy, Some(begin))
    }

    /// A catalogue of these sources, an earlier one winning over a later one where their names clash. It follows them
    /// for as long as it lives.
    pub fn start(sources: Vec<Source>, policy: Policy) -> Arc<Self> {
        Self::start_with(sources, policy, None)
    }

    fn start_with(sources: Vec<Source>, policy: Policy, begin: Option<Begin>) -> Arc<Self> {
        let catalogue = Arc::new(Self {
            snapshot: watch::Sender::default(),
            sources,
            policy,
            begin: Mutex::new(begin),
        });
        catalogue.renew();
        for source in &catalogue.sources {
            let (mut source, held) = (source.clone(), Arc::downgrade(&catalogue));
            tokio::spawn(async move {
                // The last offer of a source that has ended stays.
                let mut first = true;
                while source.changed().await.is_ok() {
                    // The first offer is waited for by lists; the others may come in bursts.
                    if !std::mem::take(&mut first) {
                        sleep(BURST).await;
                    }
                    let Some(catalogue) = held.upgrade() else {
                        return;
                    };
                    source.borrow_and_update();
                    catalogue.renew();
                }
            });
        }
        catalogue
    }

    /// What there is now.
    pub fn now(&self) -> Arc<Snapshot> {
        self.snapshot.borrow().clone()
    }

    /// What there is, once every source has looked for the first time, or has taken too long to.
    pub async fn ready(&self) -> Arc<Snapshot> {
        // Nothing that holds the lock can panic.
        let begin = self
            .begin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(begin) = begin {
            begin();
        }
        let mut follow = self.snapshot.subscribe();
        let _ = timeout(FIRST_SOURCE, follow.wait_for(|snapshot| snapshot.has_first)).await;
        // Another source that takes longer is told of by a change of the list.
        let _ = timeout(FIRST_LOOK, follow.wait_for(|snapshot| snapshot.is_ready)).await;
        self.now()
    }

    /// Follows the catalogue: the receiver is told of every new snapshot.
    pub fn follow(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshot.subscribe()
    }

    /// What may be called, and what is listed.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    fn renew(&self) {
        // Offers are read inside, so that of two changes at once the later snapshot has both.
        self.snapshot.send_modify(|current| {
            let offers: Vec<_> = self
                .sources
                .iter()
                .map(|source| source.borrow().clone())
                .collect();
            *current = Arc::new(assemble(&offers, &self.policy, current));
        });
    }
}

fn assemble(offers: &[Arc<Offer>], policy: &Policy, last: &Snapshot) -> Snapshot {
    let mut next = Snapshot {
        has_first: offers.first().is_none_or(|offer| offer.is_ready),
        is_ready: offers.iter().all(|offer| offer.is_ready),
        ..Snapshot::default()
    };
    for offer in offers {
        for tool in &offer.tools {
            next.tools
                .entry(tool.definition().name.to_string())
                .or_insert_with(|| Listing {
                    verdict: policy.judge(tool.as_ref()),
                    tool: tool.clone(),
                });
        }
        for prompt in &offer.prompts {
            next.prompts
                .entry(prompt.definition.name.clone())
                .or_insert_with(|| prompt.clone());
        }
        for resource in &offer.resources {
            next.resources
                .entry(resource.uri().to_owned())
                .or_insert_with(|| resource.clone());
        }
    }
    next.definitions = next
        .tools
        .values()
        .filter(|listing| matches!(listing.verdict, Verdict::Listed))
        .map(|listing| policy.shown(listing.tool.as_ref()))
        .collect();
    let step = |changed: bool| u64::from(changed);
    next.revisions = Revisions {
        tools: last.revisions.tools + step(next.definitions != last.definitions),
        prompts: last.revisions.prompts + step(!next.prompts().eq(last.prompts())),
        resources: last.revisions.resources
            + step(
                !next
                    .resources()
                    .map(|resource| &resource.definition)
                    .eq(last.resources().map(|resource| &resource.definition)),
            ),
    };
    next
}
