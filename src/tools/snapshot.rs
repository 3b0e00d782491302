//! All tools, prompts and resources at one moment, and the view that a client has of them.
//!
//! What there is for a client is decided here and nowhere else. Nothing in a [`Snapshot`] can be reached but through the
//! [`View`] that [`Snapshot::for_client`] gives, so that no way to a tool, prompt or resource can forget to ask.

mod search;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, OnceLock},
};

use rmcp::model::{
    Prompt as PromptDefinition, Resource as ResourceDefinition, ResourceTemplate,
    Tool as Definition,
};

use super::{
    client::Client,
    hold::{Hold, Pause},
    manifest::{PromptSpec, Shown},
    policy::{Policy, Verdict},
    prompt::Prompt,
    refusal::Refusal,
    resource::Resource,
    search::Finder,
    source::{Offer, Withheld},
    tool::{Found, Tool},
};

/// Everything there is at one moment, under the policy.
#[derive(Default)]
pub struct Snapshot {
    tools: BTreeMap<String, Listing>,
    /// Names of sets that may get their tools yet.
    sets: BTreeSet<String>,
    withheld: BTreeMap<String, Withheld>,
    prompts: Shelf<dyn Prompt>,
    resources: Shelf<dyn Resource>,
    /// Of each client, in the order of [`Client::ALL`], which is that of their numbers.
    lists: [Lists; Client::ALL.len()],
    is_read_only: bool,
    pause: Pause,
    /// Whether each source has looked for the first time.
    looked: Vec<bool>,
    /// All tools by their words; made when somebody searches for the first time.
    finder: OnceLock<Finder>,
}

/// A tool and what the policy says of it.
struct Listing {
    tool: Arc<dyn Tool>,
    verdict: Verdict,
    /// It as clients are shown it.
    shown: Arc<Definition>,
    /// Whether a person's pause keeps it from being called.
    pauses: bool,
}

/// What a client gets when it lists.
#[derive(Clone, Default)]
struct Lists {
    tools: Arc<[Definition]>,
    revisions: Revisions,
}

/// How often each list of a client has changed since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisions {
    /// The tools that are listed.
    pub tools: u64,
    /// The prompts.
    pub prompts: u64,
    /// The resources and resource templates.
    pub resources: u64,
}

impl Snapshot {
    /// What these sources offer together, an earlier one winning over a later one where their names clash. `last` is the
    /// snapshot that it replaces.
    pub fn of(offers: &[Arc<Offer>], policy: &Policy, last: &Self) -> Self {
        let mut next = Self {
            is_read_only: policy.read_only,
            pause: policy.pause.clone(),
            looked: offers.iter().map(|offer| offer.is_ready).collect(),
            ..Self::default()
        };
        // What URIs begin with that no later source may have.
        let mut reserved = Vec::new();
        for offer in offers {
            for tool in &offer.tools {
                next.tools
                    .entry(tool.definition().name.to_string())
                    .or_insert_with(|| Listing {
                        verdict: policy.judge(tool.as_ref()),
                        shown: Arc::new(policy.shown(tool.as_ref())),
                        pauses: policy.may_change(tool.as_ref()),
                        tool: tool.clone(),
                    });
            }
            next.sets.extend(offer.sets.iter().cloned());
            for withheld in &offer.withheld {
                next.withheld
                    .entry(withheld.name.clone())
                    .or_insert_with(|| withheld.clone());
            }
            next.prompts
                .add(&offer.prompts, |prompt| &prompt.definition().name);
            let mut resources = offer.resources.clone();
            resources.retain(|resource| {
                let is_free = |prefix: &String| !resource.uri().starts_with(prefix);
                reserved.iter().all(is_free)
            });
            next.resources.add(&resources, |resource| resource.uri());
            let reserves = resources.iter().filter_map(|one| one.reserves());
            reserved.extend(reserves.map(str::to_owned));
        }
        next.lists = next.lists_after(last);
        next
    }

    /// What this client may see and use.
    pub fn for_client(self: &Arc<Self>, client: Client) -> View {
        View {
            snapshot: self.clone(),
            client,
        }
    }

    /// Whether every source has looked for the first time.
    pub fn is_ready(&self) -> bool {
        self.looked.iter().all(|looked| *looked)
    }

    /// Whether the source of this number, from 0, has.
    pub(super) fn has_looked(&self, source: usize) -> bool {
        self.looked.get(source).is_none_or(|looked| *looked)
    }

    /// What each client gets when it lists, which follows what it got of `last`.
    fn lists_after(&self, last: &Self) -> [Lists; Client::ALL.len()] {
        let listed = |may_see: &dyn Fn(&dyn Tool) -> bool| -> Arc<[Definition]> {
            self.tools
                .values()
                .filter(|listing| matches!(listing.verdict, Verdict::Listed))
                .filter(|listing| may_see(listing.tool.as_ref()))
                .map(|listing| listing.shown.as_ref().clone())
                .collect()
        };
        let all = listed(&|_| true);
        let step = |changed: bool| u64::from(changed);
        Client::ALL.map(|client| {
            let has_own = |listing: &Listing| !client.may_see(listing.tool.owner());
            let tools = if self.tools.values().any(has_own) {
                listed(&|tool| client.may_see(tool.owner()))
            } else {
                all.clone()
            };
            let before = &last.lists[client as usize];
            let was = before.revisions;
            let revisions = Revisions {
                tools: was.tools + step(tools != before.tools),
                prompts: was.prompts + step(!self.prompts_for(client).eq(last.prompts_for(client))),
                resources: was.resources + step(!self.shown_for(client).eq(last.shown_for(client))),
            };
            Lists { tools, revisions }
        })
    }

    fn prompts_for(&self, client: Client) -> impl Iterator<Item = &PromptDefinition> {
        self.prompts
            .all
            .iter()
            .filter(move |prompt| {
                prompt.is_listed() && !prompt.is_template() && client.may_see(prompt.owner())
            })
            .map(|prompt| prompt.definition())
    }

    fn shown_for(&self, client: Client) -> impl Iterator<Item = &Shown> {
        self.resources
            .all
            .iter()
            .filter(move |resource| client.may_see(resource.owner()))
            .filter_map(|resource| resource.shown())
    }
}

/// What one client may see and use, at one moment. Whoever holds it goes on with it, so that a change never touches a
/// call that is under way.
#[derive(Clone)]
pub struct View {
    snapshot: Arc<Snapshot>,
    client: Client,
}

impl View {
    /// Whose view it is.
    pub fn client(&self) -> Client {
        self.client
    }

    /// The tool of this name, as a call may have it at this moment.
    pub async fn find(&self, name: &str) -> Found {
        let Some(listing) = self.snapshot.tools.get(name) else {
            return match self.snapshot.withheld.get(name) {
                Some(withheld) if self.client.may_see(withheld.owner) => {
                    Found::Refused(Refusal::Withheld(withheld.reason.clone()))
                }
                _ => Found::Nothing,
            };
        };
        match listing.verdict {
            _ if !self.client.may_see(listing.tool.owner()) => Found::Nothing,
            Verdict::Listed | Verdict::Reachable => {
                if listing.pauses
                    && let Some(hold) = self.paused().await
                {
                    return Found::Refused(Refusal::ByPause(hold.told()));
                }
                Found::Tool(listing.tool.clone())
            }
            Verdict::Refused(why) => Found::Refused(Refusal::ByPolicy(why)),
        }
    }

    /// Whether there is a tool of this name that the client may know of, be it refused. Unlike [`find`](Self::find), this
    /// looks for no pause.
    pub fn knows(&self, name: &str) -> bool {
        match self.snapshot.tools.get(name) {
            Some(listing) => self.client.may_see(listing.tool.owner()),
            None => {
                let withheld = self.snapshot.withheld.get(name);
                withheld.is_some_and(|withheld| self.client.may_see(withheld.owner))
            }
        }
    }

    /// Names of sets that may get their tools yet.
    pub fn sets(&self) -> impl Iterator<Item = &str> {
        self.snapshot.sets.iter().map(String::as_str)
    }

    /// What a tool of this name says of itself, if the client may see it, whether or not it may be called.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        let listing = self.snapshot.tools.get(name)?;
        let may_see = self.client.may_see(listing.tool.owner());
        may_see.then(|| listing.tool.definition())
    }

    /// The tools that the client is shown, in order of name.
    pub fn tools(&self) -> &[Definition] {
        &self.lists().tools
    }

    /// All tools that may be called, in order of name and as they are shown, those that are not listed included.
    pub fn reachable(&self) -> impl Iterator<Item = &Definition> {
        self.listings()
            .filter(|listing| !matches!(listing.verdict, Verdict::Refused(_)))
            .map(|listing| listing.shown.as_ref())
    }

    /// Those among them that the client is not shown in its list.
    pub fn unlisted(&self) -> impl Iterator<Item = &Definition> {
        self.listings()
            .filter(|listing| matches!(listing.verdict, Verdict::Reachable))
            .map(|listing| listing.shown.as_ref())
    }

    /// Whether there are any.
    pub fn has_unlisted(&self) -> bool {
        self.unlisted().next().is_some()
    }

    /// Whether the source of this number, from 0, has looked for the first time.
    pub(super) fn has_looked(&self, source: usize) -> bool {
        self.snapshot.has_looked(source)
    }

    /// All tools, and what the policy says of each: for a person who looks at what there is.
    pub fn all(&self) -> impl Iterator<Item = (&Arc<dyn Tool>, &Verdict)> {
        self.listings()
            .map(|listing| (&listing.tool, &listing.verdict))
    }

    fn listings(&self) -> impl Iterator<Item = &Listing> + Clone {
        let all = self.snapshot.tools.values();
        all.filter(|listing| self.client.may_see(listing.tool.owner()))
    }

    /// A prompt that may be got, by its name.
    pub fn prompt(&self, name: &str) -> Option<&Arc<dyn Prompt>> {
        self.any_prompt(name).filter(|prompt| !prompt.is_template())
    }

    /// The prompts that the client is shown, source by source, in order of name within each.
    pub fn prompts(&self) -> impl Iterator<Item = &PromptDefinition> {
        self.snapshot.prompts_for(self.client)
    }

    /// What a prompt that others may extend is made of, by its name; templates too.
    pub(super) fn extended(&self, name: &str) -> Option<&PromptSpec> {
        self.any_prompt(name)?.spec()
    }

    fn any_prompt(&self, name: &str) -> Option<&Arc<dyn Prompt>> {
        self.snapshot
            .prompts
            .get(name)
            .filter(|prompt| self.client.may_see(prompt.owner()))
    }

    /// What a URI is of.
    pub fn resource(&self, uri: &str) -> Option<&Arc<dyn Resource>> {
        let resources = &self.snapshot.resources;
        let is_for = |resource: &&Arc<dyn Resource>| {
            self.client.may_see(resource.owner()) && resource.matches(uri)
        };
        // One that is named wins over templates.
        let named = resources.get(uri).filter(is_for);
        named.or_else(|| resources.all.iter().find(is_for))
    }

    /// The resources that the client is shown, source by source, in order of their URIs within each.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceDefinition> {
        self.shown().filter_map(|shown| match shown {
            Shown::One(one) => Some(one),
            Shown::Template(_) => None,
        })
    }

    /// The resource templates that the client is shown, in the same order.
    pub fn templates(&self) -> impl Iterator<Item = &ResourceTemplate> {
        self.shown().filter_map(|shown| match shown {
            Shown::One(_) => None,
            Shown::Template(template) => Some(template),
        })
    }

    /// Both, in the same order.
    pub fn shown(&self) -> impl Iterator<Item = &Shown> {
        self.snapshot.shown_for(self.client)
    }

    /// Whether only what promises to change nothing may be called.
    pub fn is_read_only(&self) -> bool {
        self.snapshot.is_read_only
    }

    /// Why nothing may begin at this moment that could change something, if so: a person has paused it.
    pub async fn paused(&self) -> Option<Hold> {
        self.snapshot.pause.now().await
    }

    /// How often each of the client's lists has changed.
    pub fn revisions(&self) -> Revisions {
        self.lists().revisions
    }

    fn lists(&self) -> &Lists {
        &self.snapshot.lists[self.client as usize]
    }
}

/// Things by their names, in the order in which they are listed: source by source, and by name within each.
struct Shelf<T: ?Sized> {
    all: Vec<Arc<T>>,
    /// Where each is in `all`.
    by_name: HashMap<String, usize>,
}

impl<T: ?Sized> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            by_name: HashMap::new(),
        }
    }
}

impl<T: ?Sized> Shelf<T> {
    /// Adds what the next source offers. What has the name of something that is there already is left out.
    fn add(&mut self, offered: &[Arc<T>], name: impl Fn(&T) -> &str) {
        let mut offered: Vec<_> = offered.iter().collect();
        offered.sort_by_key(|thing| name(thing));
        for thing in offered {
            let name = name(thing);
            if !self.by_name.contains_key(name) {
                self.by_name.insert(name.to_owned(), self.all.len());
                self.all.push(thing.clone());
            }
        }
    }

    fn get(&self, name: &str) -> Option<&Arc<T>> {
        self.by_name.get(name).map(|&place| &self.all[place])
    }
}
