//! What there may be to see and use: a tool, a prompt and resources that something may keep from a client.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::{FutureExt, future::BoxFuture};
use mcp_bridge::tools::{
    Client, Context, Offer, Pause, Source, Tool,
    completion::Begun,
    host::Workers,
    kit::{Author, Item, Kit},
    manifest::{self, ResourceSpec, Shown},
    policy::Policy,
    prompt::Prompt,
    resource::Resource,
    source::Withheld,
};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, CompleteResult, ContentBlock, GetPromptResult, JsonObject,
        Prompt as PromptDefinition, ReadResourceResult, Tool as Definition,
    },
};
use serde_json::json;
use tokio::sync::watch;

/// What keeps a thing from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nothing does.
    Not,
    /// It is not in the list by itself.
    FromTheList,
    /// The bridge is read-only, and the thing may change something.
    ByReadOnly,
    /// A person has paused, and the thing may change something.
    ByPause,
    /// Other sets were chosen.
    BySets,
    /// Other tools were chosen.
    ByNames,
    /// Something is wrong with it.
    BeingWithheld,
    /// The client has it by itself.
    FromItsOwner,
    /// Its source offers it no more.
    BeingGone,
    /// No source ever had it.
    BeingUnknown,
}

impl Kept {
    pub fn policy(self) -> Policy {
        let only = |name: &str| Some([name.to_owned()].into());
        match self {
            Self::ByReadOnly => Policy {
                read_only: true,
                ..Policy::default()
            },
            Self::BySets => Policy {
                sets: only("core"),
                ..Policy::default()
            },
            Self::ByPause => Policy {
                pause: Pause::of(&paused()),
                ..Policy::default()
            },
            Self::ByNames => Policy {
                names: only("run-script"),
                ..Policy::default()
            },
            _ => Policy::default(),
        }
    }

    /// What the source offers, at the first time or after a change of everything in it.
    pub fn offer(self, version: u8) -> Offer {
        let thing = Thing {
            owner: (self == Self::FromItsOwner).then_some(Client::Opencode),
            is_listed: self != Self::FromTheList,
        };
        let mut offer = Offer {
            is_ready: true,
            ..Offer::default()
        };
        for item in items(version) {
            match item {
                // It tells that all before it was told.
                Item::Resource(marker) if marker.uri() == MARKER => offer.resources.push(marker),
                _ if matches!(self, Self::BeingGone | Self::BeingUnknown) => {}
                Item::Prompt(prompt) => offer.prompts.push(Arc::new(ThingPrompt(prompt, thing))),
                Item::Resource(resource) => {
                    offer
                        .resources
                        .push(Arc::new(ThingResource(resource, thing)));
                }
                Item::Tool(_) => unreachable!("the manifest has none"),
            }
        }
        match self {
            Self::BeingGone | Self::BeingUnknown => {}
            Self::BeingWithheld => offer.withheld.push(Withheld {
                name: "thing".to_owned(),
                reason: format!("it is odd, for the time no. {version}"),
                owner: None,
            }),
            _ => offer.tools.push(Arc::new(ThingTool {
                definition: Definition::new(
                    "thing",
                    format!("Number {version}."),
                    Arc::new(
                        json!({"type": "object", "properties": {"computerId": {"type": "integer"}}})
                            .as_object()
                            .unwrap()
                            .clone(),
                    ),
                ),
                thing,
            })),
        }
        offer
    }
}

/// A folder of a user who has paused, at a moment that isn't known.
fn paused() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("paused");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("paused.json"), "{}").unwrap();
    folder
}

/// A resource that everybody sees and that changes each time.
pub const MARKER: &str = "zz://marker";

/// Entries of a user's own: a prompt, a resource, a template and the marker.
fn items(version: u8) -> Vec<Item> {
    let text = format!(
        "entries:
  - name: prompt
    kind: prompt
    meta:
      mcp.prompt.name: thing
      mcp.prompt.description: Number {version}.
      mcp.prompt.text: Hello
      mcp.prompt.arguments: [{{ name: word, values: [one, other] }}]
  - {{ name: one, kind: resource, meta: {{ mcp.uri: 'thing://one', mcp.text: 'Number {version}', mcp.title: '{version}' }} }}
  - {{ name: all, kind: resource, meta: {{ mcp.uri: 'things://{{x}}', mcp.text: 'All of {version}' }} }}
  - {{ name: marker, kind: resource, meta: {{ mcp.uri: '{MARKER}', mcp.text: 'Number {version}' }} }}
"
    );
    let manifest = manifest::read(&text, Path::new("_index.yaml"), false).unwrap();
    assert_eq!(manifest.broken.len(), 0, "{:?}", manifest.broken);
    let kit = Kit::new(workers());
    manifest
        .entries
        .iter()
        .map(|entry| kit.make(&entry.what, Author::User, String::new()).unwrap())
        .collect()
}

pub fn workers() -> Arc<Workers> {
    Workers::of(PathBuf::from(env!("CARGO_BIN_EXE_mcp-bridge")))
}

/// Whose a thing is, and whether it is in the list.
#[derive(Clone, Copy)]
struct Thing {
    owner: Option<Client>,
    is_listed: bool,
}

struct ThingTool {
    definition: Definition,
    thing: Thing,
}

impl Tool for ThingTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn set(&self) -> &str {
        "things"
    }

    fn is_listed(&self) -> bool {
        self.thing.is_listed
    }

    fn owner(&self) -> Option<Client> {
        self.thing.owner
    }

    fn origin(&self) -> String {
        "here".to_owned()
    }

    fn call<'a>(&'a self, _: Context<'a>, _: JsonObject) -> BoxFuture<'a, CallToolResult> {
        async { CallToolResult::success(vec![ContentBlock::text("done")]) }.boxed()
    }
}

struct ThingPrompt(Arc<dyn Prompt>, Thing);

impl Prompt for ThingPrompt {
    fn definition(&self) -> &PromptDefinition {
        self.0.definition()
    }

    fn is_listed(&self) -> bool {
        self.1.is_listed
    }

    fn owner(&self) -> Option<Client> {
        self.1.owner
    }

    fn get<'a>(
        &'a self,
        context: Context<'a>,
        arguments: Option<JsonObject>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ErrorData>> {
        self.0.get(context, arguments)
    }

    fn complete<'a>(
        &'a self,
        context: Context<'a>,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        self.0.complete(context, begun)
    }
}

struct ThingResource(Arc<dyn Resource>, Thing);

impl Resource for ThingResource {
    fn uri(&self) -> &str {
        self.0.uri()
    }

    fn shown(&self) -> Option<&Shown> {
        self.1.is_listed.then(|| self.0.shown()).flatten()
    }

    fn owner(&self) -> Option<Client> {
        self.1.owner
    }

    fn matches(&self, uri: &str) -> bool {
        self.0.matches(uri)
    }

    fn read<'a>(
        &'a self,
        context: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>> {
        self.0.read(context, uri)
    }

    fn spec(&self) -> Option<&ResourceSpec> {
        self.0.spec()
    }
}

/// A source that offers what it is told to.
pub struct Told(pub watch::Receiver<Arc<Offer>>);

impl Source for Told {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        self.0.clone()
    }
}
