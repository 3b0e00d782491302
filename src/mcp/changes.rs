//! Tells clients that a list has changed, in both eras: once for a burst of changes, and not of what they know already.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use rmcp::{
    ErrorData, RoleServer, ServiceError,
    model::ResourceUpdatedNotificationParam,
    service::{Peer, SubscriptionContext, SubscriptionSendError},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use crate::tools::{
    Catalogue, Client, Snapshot, View,
    snapshot::Revisions,
    updates::{Followed, Updates},
};

/// How long a burst of changes may last that is told of once.
const BURST: Duration = Duration::from_millis(150);

/// How long a client may take to read a notification; one that takes longer is not told any more.
const TELL_TIME: Duration = Duration::from_secs(5);

/// Clients whose models go by the first list of tools for as long as the session lasts, whatever later ones hold: Claude
/// Desktop (anthropics/claude-ai-mcp#960).
const KEEP_THEIR_FIRST_LIST: [&str; 1] = ["claude-ai"];

/// How many subscriptions may be about to begin.
const BEGINNING: usize = 64;

/// How many resources a session may subscribe to.
const SUBSCRIPTIONS: usize = 1000;

/// One client, as far as it is told of changes: what it knows already, and what it wants to hear of.
pub struct Subscriber {
    follow: watch::Receiver<Arc<Snapshot>>,
    /// What others tell of the resources that a client of the era with `initialize` wants to hear of.
    updates: Updates,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the client has seen of each list: it has fetched it, or was told that it changed.
    seen: Seen,
    /// The revision of the list of tools by which the client goes, if it was sent one.
    sent: Option<u64>,
    /// What there was when a subscription was granted that has not begun yet.
    granted: VecDeque<Arc<Snapshot>>,
    /// The resources whose changes it wants to be told, each with what has others tell of them.
    resources: BTreeMap<String, Option<Followed>>,
    /// What tells a client of the era with `initialize`. It ends with this, and with that its hold of the session.
    telling: Option<AbortOnDropHandle<()>>,
}

#[derive(Default)]
struct Seen {
    tools: Option<u64>,
    prompts: Option<u64>,
    resources: Option<u64>,
}

/// A list that clients can fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources, or their templates.
    Resources,
}

impl Subscriber {
    /// One that begins now.
    pub fn new(catalogue: &Catalogue) -> Self {
        Self {
            follow: catalogue.follow(),
            updates: Updates::default(),
            state: Mutex::default(),
        }
    }

    /// Notes that the client has fetched a list.
    pub fn fetched(&self, list: List, revisions: Revisions) {
        let seen = &mut self.lock().seen;
        match list {
            List::Tools => seen.tools = seen.tools.max(Some(revisions.tools)),
            List::Prompts => seen.prompts = seen.prompts.max(Some(revisions.prompts)),
            List::Resources => seen.resources = seen.resources.max(Some(revisions.resources)),
        }
    }

    /// Notes that a client of a session was sent its list of tools.
    pub fn note_sent(&self, revisions: Revisions, client: &str) {
        let sent = &mut self.lock().sent;
        if KEEP_THEIR_FIRST_LIST.contains(&client) {
            sent.get_or_insert(revisions.tools);
        } else {
            *sent = Some(revisions.tools);
        }
    }

    /// The revision of the list of tools by which the client goes, if it was sent one.
    pub fn sent(&self) -> Option<u64> {
        self.lock().sent
    }

    /// Notes that the client begins anew, and knows no list.
    pub fn forget_sent(&self) {
        self.lock().sent = None;
    }

    /// Subscribes to a resource, of those that the client has by this view.
    ///
    /// # Errors
    /// There are too many subscriptions, or whoever has the resource does not tell of its changes.
    pub async fn subscribe(&self, uri: &str, view: &View) -> Result<(), ErrorData> {
        if !self.lock().has_room_for(uri) {
            return Err(too_many());
        }
        let followed = match view.resource(uri) {
            Some(resource) => resource.follow(uri, self.updates.clone()).await?,
            None => None,
        };
        let mut state = self.lock();
        if !state.has_room_for(uri) {
            return Err(too_many());
        }
        // What held it before ends only now, so that its server has a follower all the time.
        let before = state.resources.insert(uri.to_owned(), followed);
        drop((state, before));
        Ok(())
    }

    /// Ends that.
    pub fn unsubscribe(&self, uri: &str) {
        let followed = self.lock().resources.remove(uri);
        drop(followed);
    }

    /// Tells a client of the era with `initialize` of every change since `view`, which is its, until it or this is gone.
    pub fn tell(self: &Arc<Self>, peer: Peer<RoleServer>, view: View) {
        // That is what the client is about to fetch, unless it already has.
        self.new_to(view.revisions());
        let telling = tokio::spawn(tell_session(
            Arc::downgrade(self),
            (self.follow.clone(), self.updates.clone()),
            peer,
            view,
        ));
        self.lock().telling = Some(AbortOnDropHandle::new(telling));
    }

    /// A subscription of the stateless era is about to be granted: what changes from now on is told.
    pub fn grant(&self) {
        let now = self.follow.borrow().clone();
        let granted = &mut self.lock().granted;
        if granted.len() >= BEGINNING {
            granted.pop_front();
        }
        granted.push_back(now);
    }

    /// Serves this client's subscription until it is cancelled.
    pub async fn listen(&self, subscription: &SubscriptionContext, client: Client) {
        let mut follow = self.follow.clone();
        // Of several that begin at once each takes the oldest, which can only make it tell too much.
        let granted = self.lock().granted.pop_front();
        let granted = granted.unwrap_or_else(|| follow.borrow().clone());
        let mut last = granted.for_client(client);
        let updates = Updates::only_of_followed();
        let wanted = subscription.accepted().resource_subscriptions.iter();
        let mut wanted: BTreeSet<_> = wanted.flatten().take(SUBSCRIPTIONS).cloned().collect();
        // Asked of those that have them, and then held.
        let mut asked = FuturesUnordered::new();
        let mut held: Vec<Followed> = Vec::new();
        loop {
            let now = follow.borrow_and_update().for_client(client);
            let telling = tell_subscriber(subscription, &last, &now);
            if !matches!(timeout(TELL_TIME, telling).await, Ok(Ok(()))) {
                return;
            }
            last = now;
            // Some may be of a server that is not known yet.
            let found = wanted.iter().filter(|uri| last.resource(uri).is_some());
            for uri in found.cloned().collect::<Vec<_>>() {
                wanted.remove(&uri);
                let (resource, updates) = (last.resource(&uri).cloned(), updates.clone());
                asked.push(async move {
                    match resource {
                        Some(resource) => resource.follow(&uri, updates).await,
                        None => Ok(None),
                    }
                });
            }
            loop {
                tokio::select! {
                    () = subscription.cancelled() => return,
                    changed = follow.changed() => match changed {
                        Ok(()) => break,
                        // There will be no change: the subscription is as good as any.
                        Err(_) => return subscription.cancelled().await,
                    },
                    Some(followed) = asked.next() => match followed {
                        Ok(followed) => held.extend(followed),
                        Err(error) => tracing::debug!(%error, "a resource is not followed"),
                    },
                    uri = updates.next() => {
                        let telling = subscription.sink().notify_resource_updated(uri);
                        if !matches!(timeout(TELL_TIME, telling).await, Ok(Ok(()))) {
                            return;
                        }
                    }
                }
            }
            sleep(BURST).await;
        }
    }

    /// Notes what there is for lists that the client has not seen yet.
    fn new_to(&self, now: Revisions) {
        let seen = &mut self.lock().seen;
        seen.tools.get_or_insert(now.tools);
        seen.prompts.get_or_insert(now.prompts);
        seen.resources.get_or_insert(now.resources);
    }

    /// The lists that are newer than what the client has seen; from now on it has seen them.
    fn lists_new_to(&self, now: Revisions) -> Vec<List> {
        let seen = &mut self.lock().seen;
        [
            (List::Tools, &mut seen.tools, now.tools),
            (List::Prompts, &mut seen.prompts, now.prompts),
            (List::Resources, &mut seen.resources, now.resources),
        ]
        .into_iter()
        .filter_map(|(list, seen, now)| {
            let is_new = seen.is_none_or(|seen| seen < now);
            *seen = (*seen).max(Some(now));
            is_new.then_some(list)
        })
        .collect()
    }

    fn updated(&self, last: &View, now: &View) -> Vec<String> {
        let state = self.lock();
        let wanted = state.resources.keys();
        wanted
            .filter(|uri| has_changed(last, now, uri))
            .cloned()
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room_for(&self, uri: &str) -> bool {
        self.resources.len() < SUBSCRIPTIONS || self.resources.contains_key(uri)
    }
}

fn too_many() -> ErrorData {
    ErrorData::invalid_params("too many resources are subscribed to", None)
}

/// Tells the client of a session of every change since `last`, until it can't be told, or its subscriber is gone.
async fn tell_session(
    subscriber: Weak<Subscriber>,
    (mut follow, updates): (watch::Receiver<Arc<Snapshot>>, Updates),
    peer: Peer<RoleServer>,
    mut last: View,
) {
    let update = async |uri| {
        let update = ResourceUpdatedNotificationParam::new(uri);
        peer.notify_resource_updated(update).await
    };
    loop {
        tokio::select! {
            changed = follow.changed() => if changed.is_err() {
                return;
            },
            uri = updates.next() => {
                if !matches!(timeout(TELL_TIME, update(uri)).await, Ok(Ok(()))) {
                    return;
                }
                continue;
            }
        }
        sleep(BURST).await;
        let now = follow.borrow_and_update().for_client(last.client());
        let Some((changed, updated)) = subscriber
            .upgrade()
            .map(|it| (it.lists_new_to(now.revisions()), it.updated(&last, &now)))
        else {
            return;
        };
        let telling = async {
            if changed.contains(&List::Tools) {
                peer.notify_tool_list_changed().await?;
            }
            if changed.contains(&List::Prompts) {
                peer.notify_prompt_list_changed().await?;
            }
            if changed.contains(&List::Resources) {
                peer.notify_resource_list_changed().await?;
            }
            for uri in updated {
                update(uri).await?;
            }
            Ok::<_, ServiceError>(())
        };
        if !matches!(timeout(TELL_TIME, telling).await, Ok(Ok(()))) {
            tracing::debug!("a client can't be told of changes any more");
            return;
        }
        last = now;
    }
}

/// Tells a subscriber of what it wanted to know of and is another now.
async fn tell_subscriber(
    subscription: &SubscriptionContext,
    last: &View,
    now: &View,
) -> Result<(), SubscriptionSendError> {
    let sink = subscription.sink();
    let wanted = subscription.accepted();
    let (was, is) = (last.revisions(), now.revisions());
    if wanted.tools_list_changed == Some(true) && was.tools != is.tools {
        sink.notify_tool_list_changed().await?;
    }
    if wanted.prompts_list_changed == Some(true) && was.prompts != is.prompts {
        sink.notify_prompt_list_changed().await?;
    }
    if wanted.resources_list_changed == Some(true) && was.resources != is.resources {
        sink.notify_resource_list_changed().await?;
    }
    for uri in wanted.resource_subscriptions.iter().flatten() {
        if has_changed(last, now, uri) {
            sink.notify_resource_updated(uri.clone()).await?;
        }
    }
    Ok(())
}

/// Whether what stands behind a URI is another than before, as far as that can be seen.
fn has_changed(last: &View, now: &View, uri: &str) -> bool {
    let (last, now) = (last.resource(uri), now.resource(uri));
    last.and_then(|last| last.spec()) != now.and_then(|now| now.spec())
}
