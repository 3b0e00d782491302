//! All that the servers offer, under public names: what a client is shown, and what each name leads to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, Prompt, Resource,
    ResourceTemplate, Tool,
};
use thiserror::Error;

use super::{
    config::selection::Selection,
    entry::Origin,
    lint::{Fit, Renamed, Unfit, under_own_names},
    names,
    offers::Offers,
    trouble::has_changed,
};

/// One server, as far as it counts for the listing.
#[derive(Debug, Clone)]
pub struct View {
    /// Its id, which public names begin with.
    pub id: String,
    /// Its name, as the user wrote it.
    pub name: String,
    /// Whose configuration it is of.
    pub origin: Origin,
    /// Which of its tools are offered.
    pub selection: Selection,
    /// Whether what it offers is shown now. What is not shown can still be called by who knows it.
    pub shown: bool,
    /// What it offers.
    pub offers: Arc<Offers>,
    /// Tools whose definition is not the accepted one.
    pub changed: Arc<BTreeSet<String>>,
}

/// What public names lead to. Two listings that are equal look the same to a client.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// Tools by public name, or why each is withheld.
    pub tools: BTreeMap<String, Listed<Result<Tool, WhyWithheld>>>,
    /// Prompts by public name.
    pub prompts: BTreeMap<String, Listed<Prompt>>,
    /// Resources by public URI.
    pub resources: BTreeMap<String, Listed<Resource>>,
    /// Resource templates by public URI.
    pub templates: BTreeMap<String, Listed<ResourceTemplate>>,
    /// Servers by what stands before the public URIs of their resources.
    pub schemes: BTreeMap<String, (String, Origin)>,
    /// How many tools of each server (by name) are offered.
    pub counts: BTreeMap<String, usize>,
}

/// Why a tool is withheld.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum WhyWithheld {
    /// Some client would refuse it.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// It is not one of the protocol's; why not.
    #[error("{0}")]
    Unreadable(String),
    /// It is not what was accepted of the server of this name.
    #[error("{}", has_changed(.0))]
    Changed(String),
}

/// One thing with a public name.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// The server's id.
    pub server: String,
    /// Whose configuration the server is of.
    pub origin: Origin,
    /// What the server itself calls it.
    pub own_name: String,
    /// Those of its arguments that go by another name here.
    pub renamed: Renamed,
    /// It, under its public name.
    pub shown: T,
    /// Whether it is shown now.
    pub listed: bool,
}

impl Listing {
    /// The listing of these servers.
    pub fn of(views: &[View]) -> Self {
        let mut listing = Self::default();
        for view in views {
            listing.add(view);
        }
        listing
    }

    fn add(&mut self, view: &View) {
        let mut count = 0;
        for (tool, checked) in view.offers.tools.iter().zip(view.offers.checked_tools()) {
            let own_name = tool.name.as_ref();
            if !view.selection.has(own_name) {
                continue;
            }
            let name = free_name(&self.tools, &view.id, own_name);
            let shown = shown_tool(view, own_name, checked, &name);
            count += usize::from(shown.is_ok());
            let mut tool = listed(view, own_name, shown);
            if let Ok(fit) = checked {
                tool.renamed = fit.renamed.clone();
            }
            self.tools.insert(name, tool);
        }
        for (own_name, reason) in &view.offers.unreadable {
            if view.selection.has(own_name) {
                let name = free_name(&self.tools, &view.id, own_name);
                let why = WhyWithheld::Unreadable(reason.clone());
                self.tools.insert(name, listed(view, own_name, Err(why)));
            }
        }
        self.counts.insert(view.name.clone(), count);
        for prompt in &view.offers.prompts {
            let name = free_name(&self.prompts, &view.id, &prompt.name);
            let mut shown = prompt.clone();
            shown.name = name.clone();
            self.prompts.insert(name, listed(view, &prompt.name, shown));
        }
        let scheme = names::scheme(&view.id);
        for resource in &view.offers.resources {
            let mut shown = resource.clone();
            shown.uri = format!("{scheme}{}", resource.uri);
            self.resources
                .insert(shown.uri.clone(), listed(view, &resource.uri, shown));
        }
        for template in &view.offers.templates {
            let mut shown = template.clone();
            shown.uri_template = format!("{scheme}{}", template.uri_template);
            self.templates.insert(
                shown.uri_template.clone(),
                listed(view, &template.uri_template, shown),
            );
        }
        self.schemes.insert(scheme, (view.id.clone(), view.origin));
    }

    /// The tools of a server, by its id, that are withheld: each by the server's own name, with the reason.
    pub fn withheld(&self, server: &str) -> Vec<(String, String)> {
        let of_server = self.tools.values().filter(|listed| listed.server == server);
        of_server
            .filter_map(|listed| {
                let reason = listed.shown.as_ref().err()?;
                Some((listed.own_name.clone(), reason.to_string()))
            })
            .collect()
    }

    /// The server's id and its own URI that this public URI stands for. Any URI may be read, not only listed ones: most
    /// come of templates, or of links in answers.
    pub fn resource<'a>(&self, uri: &'a str) -> Option<(&str, &'a str)> {
        let scheme = names::scheme_of(uri)?;
        let (server, _) = self.schemes.get(scheme)?;
        Some((server, &uri[scheme.len()..]))
    }
}

impl Listed<Result<Tool, WhyWithheld>> {
    /// The request that calls this tool.
    pub fn call(&self, arguments: JsonObject) -> ClientRequest {
        let mut params = CallToolRequestParams::new(self.own_name.clone());
        params.arguments = Some(under_own_names(arguments, &self.renamed));
        ClientRequest::CallToolRequest(CallToolRequest::new(params))
    }
}

fn listed<T>(view: &View, own_name: &str, shown: T) -> Listed<T> {
    Listed {
        server: view.id.clone(),
        origin: view.origin,
        own_name: own_name.to_owned(),
        renamed: Renamed::new(),
        shown,
        listed: view.shown,
    }
}

/// The public name, with a hash if it is already another's.
fn free_name<T>(taken: &BTreeMap<String, T>, server: &str, own_name: &str) -> String {
    let name = names::public(server, own_name);
    if taken.contains_key(&name) {
        names::hashed(server, own_name)
    } else {
        name
    }
}

fn shown_tool(
    view: &View,
    own_name: &str,
    checked: &Result<Fit, Unfit>,
    name: &str,
) -> Result<Tool, WhyWithheld> {
    if view.changed.contains(own_name) {
        return Err(WhyWithheld::Changed(view.name.clone()));
    }
    let mut shown = checked.clone()?.tool;
    shown.name = name.to_owned().into();
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(id: &str, offers: serde_json::Value) -> View {
        View {
            id: id.to_owned(),
            name: id.to_owned(),
            origin: Origin::User,
            selection: Selection::default(),
            shown: true,
            offers: Arc::new(serde_json::from_value(offers).unwrap()),
            changed: Arc::default(),
        }
    }

    fn tool(name: &str) -> serde_json::Value {
        json!({"name": name, "inputSchema": {"type": "object"}})
    }

    #[test]
    fn every_tool_has_a_public_name_of_its_own_that_leads_back_to_it() {
        let everything = json!({"tools": [tool("a"), tool("b.c"), tool("b/c"), tool("a")]});
        let listing = Listing::of(&[view("one", everything.clone()), view("two", everything)]);
        assert_eq!(listing.tools.len(), 8);
        for (name, listed) in &listing.tools {
            assert_eq!(listed.shown.as_ref().unwrap().name.as_ref(), name);
            assert!(name.starts_with(&format!("{}__", listed.server)));
            assert!(["a", "b.c", "b/c"].contains(&listed.own_name.as_str()));
        }
        assert_eq!(listing.tools["one__a"].own_name, "a");
        assert_eq!(listing.counts["two"], 4);
    }

    #[test]
    fn what_is_withheld_is_known_with_its_reason_and_not_counted() {
        let mut view = view(
            "x",
            json!({"tools": [tool("good"), tool("new"), {"name": "bad", "inputSchema": {"type": "string"}}, tool("other")],
                "unreadable": [["odd", "it has no name"], ["another", "nor this"]]}),
        );
        view.changed = Arc::new(["new".to_owned()].into());
        view.selection.only = Some(["good", "new", "bad", "odd"].map(str::to_owned).into());
        let listing = Listing::of(&[view]);
        let reason = |name: &str| listing.tools[name].shown.clone().unwrap_err().to_string();
        assert_eq!(reason("x__odd"), "it has no name");
        assert!(reason("x__new").contains("mcp-bridge trust --server x"));
        assert!(reason("x__bad").contains("input schema"));
        assert_eq!((listing.tools.len(), listing.counts["x"]), (4, 1));
    }

    #[test]
    fn prompts_and_resources_stand_under_the_same_prefix() {
        let offers = json!({
            "prompts": [{"name": "p"}],
            "resources": [{"uri": "file:///a+b", "name": "f"}],
            "templates": [{"uriTemplate": "x://{id}", "name": "t"}],
        });
        let listing = Listing::of(&[view("docs", offers)]);
        assert_eq!(listing.prompts["docs__p"].shown.name, "docs__p");
        assert!(listing.resources.contains_key("docs+file:///a+b"));
        assert!(listing.templates.contains_key("docs+x://{id}"));
        assert_eq!(
            listing.resource("docs+file:///a+b"),
            Some(("docs", "file:///a+b"))
        );
        assert_eq!(listing.resource("docs+x://7"), Some(("docs", "x://7")));
        assert_eq!(
            (listing.resource("other+x://7"), listing.resource("x://7")),
            (None, None)
        );
    }
}
