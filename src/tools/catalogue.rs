//! All tools, prompts and resources there are now: a snapshot that is replaced as a whole when a source changes.
//!
//! The catalogue puts the offers of its sources together in their order, applies the [`Policy`], and publishes the
//! result. Clients reach it through [`Catalogue::open_for`].

use std::{
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt, TryFutureExt,
    future::{BoxFuture, join_all},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    asked::Asked,
    client::Client,
    hearer::Hearer,
    hold::Hold,
    manifest::PromptSpec,
    policy::Policy,
    search::Searched,
    snapshot::{Snapshot, View},
    source::{Offer, Source},
    tool::{Found, Others},
};

/// How long changes are collected before they become one new snapshot.
const BURST: Duration = Duration::from_millis(60);

/// How long it may take to say what there is where that is to be said at once.
const AT_ONCE: Duration = Duration::from_millis(200);

/// How long a tool that a source has found may take to come into the catalogue.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

/// The tools, prompts and resources of this bridge, whichever source they come from.
pub struct Catalogue {
    snapshot: watch::Sender<Arc<Snapshot>>,
    sources: Vec<Followed>,
    policy: Policy,
    /// What follows the sources; it ends with this.
    following: OnceLock<Vec<AbortOnDropHandle<()>>>,
}

/// A source, and what it offers.
#[derive(Clone)]
struct Followed {
    source: Arc<dyn Source>,
    offers: watch::Receiver<Arc<Offer>>,
}

impl From<Box<dyn Source>> for Followed {
    fn from(source: Box<dyn Source>) -> Self {
        Self {
            offers: source.follow(),
            source: source.into(),
        }
    }
}

impl Catalogue {
    /// A catalogue of these sources, an earlier one winning over a later one where their names clash. It follows them
    /// for as long as it lives. To be called in the runtime.
    pub fn start(sources: Vec<Box<dyn Source>>, policy: Policy) -> Arc<Self> {
        Self::of(sources.into_iter().map(Followed::from).collect(), policy)
    }

    fn of(sources: Vec<Followed>, policy: Policy) -> Arc<Self> {
        let catalogue = Arc::new(Self {
            snapshot: watch::Sender::default(),
            sources,
            policy,
            following: OnceLock::new(),
        });
        catalogue.renew();
        let follow = |followed: &Followed| {
            let (mut offers, held) = (followed.offers.clone(), Arc::downgrade(&catalogue));
            AbortOnDropHandle::new(tokio::spawn(async move {
                let mut first = true;
                while offers.changed().await.is_ok() {
                    // The first offer is waited for by lists; the others may come in bursts.
                    if !std::mem::take(&mut first) {
                        sleep(BURST).await;
                    }
                    let Some(catalogue) = held.upgrade() else {
                        return;
                    };
                    offers.borrow_and_update();
                    catalogue.renew();
                }
            }))
        };
        let following = catalogue.sources.iter().map(follow).collect();
        // It was empty.
        let _ = catalogue.following.set(following);
        catalogue
    }

    /// The catalogue for a client that can be asked things: where a source has something of its own for it, with that in
    /// its place. None if none has.
    pub async fn for_asked(&self, asked: &Arc<dyn Asked>) -> Option<Arc<Self>> {
        let mut sources = self.sources.clone();
        let mut has_own = false;
        for followed in &mut sources {
            if let Some(own) = followed.source.for_asked(asked.clone()).await {
                *followed = own.into();
                has_own = true;
            }
        }
        has_own.then(|| Self::of(sources, self.policy.clone()))
    }

    /// Tells the sources that the client whose catalogue it is has other roots now.
    pub async fn has_other_roots(&self) {
        let told = self
            .sources
            .iter()
            .map(|followed| followed.source.has_other_roots());
        join_all(told).await;
    }

    /// Opens it for a client that asks what there is or uses it, and lets the sources know.
    pub fn open_for(&self, client: Client) -> ClientCatalogue<'_> {
        for Followed { source, .. } in &self.sources {
            source.wanted(client);
        }
        ClientCatalogue {
            catalogue: self,
            client,
            sent: None,
        }
    }

    /// What there is now, whoever asks.
    pub fn now(&self) -> Arc<Snapshot> {
        self.snapshot.borrow().clone()
    }

    /// Follows the catalogue: the receiver is told of every new snapshot.
    pub fn follow(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshot.subscribe()
    }

    /// Lets a client with a session hear what the sources' servers log, for as long as it is there.
    pub fn heard_by(&self, hearer: &Weak<dyn Hearer>) {
        for Followed { source, .. } in &self.sources {
            source.heard_by(hearer.clone());
        }
    }

    /// Has the sources take note that such a client asked for more or less of that.
    pub async fn heed(&self) {
        join_all(self.sources.iter().map(|followed| followed.source.heed())).await;
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
                .map(|followed| followed.offers.borrow().clone())
                .collect();
            *current = Arc::new(Snapshot::of(&offers, &self.policy, current));
        });
    }
}

/// The catalogue as one client has it.
#[derive(Clone, Copy)]
pub struct ClientCatalogue<'a> {
    catalogue: &'a Catalogue,
    client: Client,
    /// The revision of the list of tools that the client was sent and goes by, if that is known.
    sent: Option<u64>,
}

/// What there is for a client beside the tools in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// Prompts, or what may yet bring some.
    pub prompts: bool,
    /// Resources or their templates, or what may yet bring some.
    pub resources: bool,
    /// Tools that can be called and are in no list, or what may yet bring some.
    pub tools: bool,
}

impl ClientCatalogue<'_> {
    /// The same for a client that goes by the list of tools of this revision, if by any.
    pub fn having_sent(self, sent: Option<u64>) -> Self {
        Self { sent, ..self }
    }

    /// What there is for the client beside the tools in its list, once every source has looked, or after 200 ms.
    pub async fn beside(&self) -> Beside {
        let _ = timeout(AT_ONCE, self.ready()).await;
        let view = self.now();
        let mut sources = self.catalogue.sources.iter().enumerate();
        let may_come = sources
            .any(|(number, followed)| !view.has_looked(number) || followed.source.may_bring_more());
        Beside {
            prompts: may_come || view.prompts().next().is_some(),
            resources: may_come || view.shown().next().is_some(),
            // What comes later is not listed either, where a person chose what is.
            tools: view.has_unlisted() || may_come && self.catalogue.policy.listed.is_some(),
        }
    }

    /// What there is now.
    pub fn now(&self) -> View {
        self.catalogue.now().for_client(self.client)
    }

    /// What there is, once every source has looked for the first time, or has taken too long to.
    pub async fn ready(&self) -> View {
        let mut follow = self.catalogue.snapshot.subscribe();
        for (number, Followed { source, .. }) in self.catalogue.sources.iter().enumerate() {
            let looked = follow.wait_for(|snapshot| snapshot.has_looked(number));
            // One that takes longer is told of by a change of the list.
            let _ = timeout(source.patience(), looked).await;
        }
        self.now()
    }
}

impl ClientCatalogue<'_> {
    /// What there is, once whatever may yet bring a tool of this name was asked for it.
    ///
    /// # Errors
    /// Why it is unknown whether there is such a tool, in a sentence.
    pub async fn awaiting(&self, tool: &str) -> Result<View, String> {
        let is_there = |view: &View| view.knows(tool);
        let view = self.ready().await;
        if is_there(&view) {
            return Ok(view);
        }
        let mut follow = self.catalogue.snapshot.subscribe();
        for Followed { source, .. } in &self.catalogue.sources {
            if source.brings(self.client, tool).await? {
                let renewed = follow.wait_for(|now| is_there(&now.for_client(self.client)));
                let _ = timeout(ON_ITS_WAY, renewed).await;
            }
        }
        Ok(self.now())
    }
}

impl Others for ClientCatalogue<'_> {
    fn wait(&self) -> BoxFuture<'_, ()> {
        self.ready().map(|_| ()).boxed()
    }

    fn wait_for<'a>(&'a self, tool: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.awaiting(tool).map_ok(|_| ()).boxed()
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Found> {
        async move { self.now().find(name).await }.boxed()
    }

    fn reachable(&self) -> Vec<String> {
        let view = self.now();
        let reachable = view.reachable();
        reachable.map(|tool| tool.name.to_string()).collect()
    }

    fn search<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Searched> {
        let view = self.now();
        // Of a list that has changed since, nobody knows what the client makes of it.
        let knows_its_list = self.sent == Some(view.revisions().tools);
        async move { view.search(query, knows_its_list).await }.boxed()
    }

    fn extended(&self, name: &str) -> Option<PromptSpec> {
        self.now().extended(name).cloned()
    }

    fn is_read_only(&self) -> bool {
        self.now().is_read_only()
    }

    fn paused(&self) -> BoxFuture<'_, Option<Hold>> {
        async move { self.now().paused().await }.boxed()
    }
}
