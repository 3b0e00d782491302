//! What is part of the product: each folder of `lua/tools/` is a set of tools, prompts and resources, with its manifest
//! and the Lua that this names.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use include_dir::Dir;

use super::{
    Catalogue, Offer,
    entry::Natives,
    host::Workers,
    kit::{Author, Item, Kit},
    manifest::{self, Entry, Manifest, Node, Problem},
    native,
    policy::Policy,
    source::fixed,
};
use crate::base::lua::own::{Files, TOOLS};

/// What they are part of, in messages.
pub const ITSELF: &str = "mcp-bridge itself";

/// A catalogue of them alone, where no handler runs that needs a process of its own: for tests of what stands before
/// the tools.
pub fn catalogue(probe_time: Duration) -> Arc<Catalogue> {
    let kit = Kit::new(Workers::of(PathBuf::from("no-such-program")));
    let built_in = fixed(offer(&kit, probe_time));
    Catalogue::start(vec![built_in], Policy::default())
}

/// What they offer. A computer has `probe_time` to answer a probe.
pub fn offer(kit: &Kit, probe_time: Duration) -> Offer {
    Entries::read().offer(kit, probe_time)
}

/// What a folder of such sets offers, and what of it can't be used.
pub fn offer_of(sets: &'static Dir<'_>, kit: &Kit, probe_time: Duration) -> (Offer, Vec<Problem>) {
    Entries::of(sets).made(kit, probe_time)
}

/// The product's own manifests by their sets, as `build.rs` parsed them.
const PARSED: &str = include_str!(concat!(env!("OUT_DIR"), "/own_manifests.json"));

/// What the manifests say, with the Lua that it names: all that can be known before it is known what for.
pub struct Entries(Vec<Set>);

impl Entries {
    /// Reads those of the product.
    pub fn read() -> Self {
        let files = Files::of(&TOOLS);
        let parsed: BTreeMap<&'static str, Node> = match serde_json::from_str(PARSED) {
            Ok(parsed) => parsed,
            // A test has seen that it can be read.
            Err(error) => {
                tracing::error!(%error, "what is built in can't be read");
                BTreeMap::new()
            }
        };
        let sets = parsed.into_iter().map(|(name, root)| {
            Set::read(name, &files, |file| {
                manifest::read_parsed(&root, file, true)
            })
        });
        Self(sets.collect())
    }

    fn of(sets: &'static Dir<'_>) -> Self {
        let files = Files::of(sets);
        let sets = names(sets).map(|name| {
            Set::read(name, &files, |file| {
                let text = files.text(&format!("{name}/{}", manifest::FILE));
                let text = text.map_err(|error| Problem {
                    file: file.to_path_buf(),
                    line: None,
                    reason: error.to_string(),
                })?;
                manifest::read(text, file, true)
            })
        });
        Self(sets.collect())
    }

    /// What they offer. A computer has `probe_time` to answer a probe.
    pub fn offer(self, kit: &Kit, probe_time: Duration) -> Offer {
        let (offer, problems) = self.made(kit, probe_time);
        for problem in problems {
            tracing::error!("{problem}");
        }
        offer
    }

    fn made(self, kit: &Kit, probe_time: Duration) -> (Offer, Vec<Problem>) {
        let natives = native::all(kit, probe_time);
        let mut offer = Offer {
            is_ready: true,
            ..Offer::default()
        };
        let mut problems = Vec::new();
        for made in self.0.into_iter().flat_map(|set| set.make(kit, &natives)) {
            match made {
                Ok(item) => item.add_to(&mut offer),
                Err(problem) => problems.push(problem),
            }
        }
        (offer, problems)
    }
}

/// The sets: the folders that have a manifest. Others have what handlers share.
fn names(sets: &'static Dir<'_>) -> impl Iterator<Item = &'static str> {
    let folders = sets.dirs().map(|folder| folder.path());
    let folders = folders.filter(|path| sets.get_file(path.join(manifest::FILE)).is_some());
    folders.filter_map(Path::to_str)
}

/// One folder of `lua/tools/` with a manifest.
struct Set {
    name: &'static str,
    /// Where users are told that its tools come from, on every system.
    file: PathBuf,
    entries: Vec<Result<Entry, Problem>>,
}

impl Set {
    fn read(
        name: &'static str,
        files: &Files<'_>,
        manifest: impl FnOnce(&Path) -> Result<Manifest, Problem>,
    ) -> Self {
        let file = PathBuf::from(format!(
            "mcp-bridge's own lua/tools/{name}/{}",
            manifest::FILE
        ));
        let entries = match manifest(&file) {
            Ok(manifest) => {
                let broken = manifest.broken.into_iter().map(|(_, problem)| Err(problem));
                let whole = manifest.entries.into_iter().map(|mut entry| {
                    if let Some(handler) = entry.what.handler_mut() {
                        // With the modules that it requires, once for all calls.
                        let source = files.handler(&format!("{name}/{}", handler.file)).map_err(
                            |error| Problem {
                                file: file.clone(),
                                line: Some(entry.line),
                                reason: error.to_string(),
                            },
                        )?;
                        handler.source = Some(source.into());
                    }
                    Ok(entry)
                });
                broken.chain(whole).collect()
            }
            Err(problem) => vec![Err(problem)],
        };
        Self {
            name,
            file,
            entries,
        }
    }

    /// Each entry made into what it is.
    fn make<'a>(
        self,
        kit: &'a Kit,
        natives: &'a Natives,
    ) -> impl Iterator<Item = Result<Item, Problem>> + 'a {
        let Self {
            name,
            file,
            entries,
        } = self;
        entries.into_iter().map(move |entry| {
            let entry = entry?;
            let author = Author::Product { set: name, natives };
            let origin = format!("{}:{}", file.display(), entry.line);
            kit.make(&entry.what, author, origin)
                .map_err(|error| Problem {
                    file: file.clone(),
                    line: Some(entry.line),
                    reason: error.to_string(),
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use futures_util::{FutureExt, future::BoxFuture};
    use rmcp::model::JsonObject;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        base::lua::own,
        commands::computers,
        settings::{Config, Flags},
        tools::{
            Client, Context, Level, Listener, Notes, Step, Tool, arguments,
            bounds::MaxChars,
            lint,
            manifest::{Given, RunsOn, What},
            policy::OWN_SETS,
            text_of,
            validation::Validator,
        },
    };

    fn own() -> Offer {
        let kit = Kit::new(Workers::of(PathBuf::from("no-such-program")));
        let (offer, problems) = offer_of(&TOOLS, &kit, Duration::from_secs(2));
        assert_eq!(problems, []);
        offer
    }

    #[test]
    fn what_was_parsed_when_it_was_built_is_what_stands_in_the_manifests() {
        let told = |entries: Entries| {
            let sets = entries.0.into_iter();
            sets.map(|set| (set.name, set.entries))
                .collect::<BTreeMap<_, _>>()
        };
        let built = told(Entries::read());
        assert!(!built.is_empty());
        assert_eq!(built, told(Entries::of(&TOOLS)));
    }

    #[test]
    fn each_folder_is_a_set_that_nothing_from_elsewhere_gets_into() {
        for name in names(&TOOLS) {
            assert!(OWN_SETS.contains(&name), "{name}");
        }
    }

    fn entries() -> impl Iterator<Item = Entry> {
        let manifests = names(&TOOLS).map(|name| {
            let text = own::text(&format!("{name}/{}", manifest::FILE)).unwrap();
            manifest::read(text, Path::new(""), true).unwrap()
        });
        manifests.flat_map(|manifest| manifest.entries)
    }

    /// The entries of tools that are written in Rust: the handler's name, and the tool's.
    fn native_entries() -> BTreeSet<(String, String)> {
        entries()
            .filter_map(|entry| match entry.what {
                What::Tool(tool) => match tool.runs_on {
                    RunsOn::Bridge(handler) => Some((handler, tool.definition.name.to_string())),
                    RunsOn::Host(_) | RunsOn::Computer(_) => None,
                },
                What::Prompt(_) | What::Resource(_) => None,
            })
            .collect()
    }

    #[test]
    fn what_each_example_gives_is_what_its_tool_takes() {
        let mut checked = 0;
        for entry in entries() {
            let What::Tool(tool) = &entry.what else {
                continue;
            };
            let validator = Validator::new(&tool.definition.input_schema).unwrap();
            for example in entry.what.examples() {
                let Given::Arguments(arguments) = &example.given else {
                    panic!("{}", example.name);
                };
                let fits = validator.check(&Value::Object(arguments.clone()));
                assert_eq!(fits, Ok(()), "{}: {}", entry.name, example.name);
                checked += 1;
            }
        }
        assert!(checked > 0);
    }

    fn natives() -> Vec<Arc<dyn Tool>> {
        let entries = native_entries();
        let mut tools = own().tools;
        tools.retain(|tool| {
            let name = &tool.definition().name;
            entries.iter().any(|(_, tool)| tool == name)
        });
        tools
    }

    fn arguments_of(schema: &JsonObject) -> impl Iterator<Item = (&String, &Value)> {
        schema["properties"].as_object().unwrap().iter()
    }

    #[test]
    fn every_entry_becomes_a_tool_that_all_clients_take() {
        let mut names = BTreeSet::new();
        for tool in own().tools {
            let definition = tool.definition();
            assert_eq!(lint::check(definition), [""; 0], "{}", definition.name);
            assert_eq!(
                definition.input_schema.get("additionalProperties"),
                Some(&false.into()),
                "{}",
                definition.name
            );
            let description = definition.description.as_deref().unwrap();
            assert!(description.ends_with('.'), "{description}");
            assert!(
                names.insert(definition.name.to_string()),
                "there are two {}",
                definition.name
            );
        }
    }

    #[test]
    fn the_embedded_sets_are_those_of_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/tools");
        let there: BTreeSet<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| PathBuf::from(entry.unwrap().file_name()))
            .collect();
        let embedded: BTreeSet<_> = TOOLS
            .dirs()
            .map(|folder| folder.path().to_path_buf())
            .collect();
        assert_eq!(embedded, there);
    }

    #[test]
    fn every_native_handler_stands_behind_an_entry() {
        let handlers = native::all(&Kit::default(), Duration::from_secs(2));
        let handlers: BTreeSet<_> = handlers.into_keys().map(str::to_owned).collect();
        let entries: BTreeSet<_> = native_entries().into_iter().map(|(one, _)| one).collect();
        assert_eq!(handlers, entries);
    }

    #[test]
    fn every_word_of_a_native_tools_schema_is_checked() {
        for tool in natives() {
            let definition = tool.definition();
            assert_eq!(
                arguments::unchecked(&definition.input_schema),
                [""; 0],
                "{}: teach tools/arguments.rs",
                definition.name
            );
        }
    }

    #[test]
    fn the_default_that_a_description_names_is_the_one_of_the_schema() {
        for tool in own().tools {
            for (name, argument) in arguments_of(&tool.definition().input_schema) {
                // One that is as in another tool may say nothing, or just that.
                let description = argument["description"].as_str();
                let Some(description) = description.filter(|said| !said.starts_with("As in "))
                else {
                    continue;
                };
                let named = match argument.get("default") {
                    None | Some(Value::Bool(false)) => {
                        !description.to_lowercase().contains("default")
                    }
                    Some(Value::String(word)) => {
                        description.contains(&format!("({word}, the default)"))
                    }
                    Some(default) => description.ends_with(&format!(" Default {default}.")),
                };
                assert!(named, "{}, {name}: {argument}", tool.definition().name);
            }
        }
    }

    #[test]
    fn an_answer_is_as_long_by_default_wherever_that_can_be_changed() {
        let tools = own().tools;
        let bounds: Vec<_> = tools
            .iter()
            .filter_map(|tool| tool.definition().input_schema["properties"].get("maxChars"))
            .collect();
        assert!(bounds.len() > 2, "{bounds:?}");
        for bound in bounds {
            assert_eq!(bound["default"], MaxChars::default().0, "{bound}");
        }
    }

    /// A client that is told nothing.
    struct Nobody;

    impl Listener for Nobody {
        fn listens(&self) -> bool {
            false
        }

        fn tell(&self, _: Step) -> BoxFuture<'_, ()> {
            std::future::ready(()).boxed()
        }

        fn log(&self, _: Level, _: &str, _: String) -> BoxFuture<'_, ()> {
            std::future::ready(()).boxed()
        }
    }

    /// What an object must have by this schema.
    fn least_of(schema: &Value) -> JsonObject {
        let required = schema["required"].as_array().unwrap().iter();
        required
            .map(|name| {
                let name = name.as_str().unwrap();
                let property = &schema["properties"][name];
                (name.to_owned(), let_through(property).remove(0))
            })
            .collect()
    }

    /// Values that an argument's schema lets through, its bounds among them.
    fn let_through(argument: &Value) -> Vec<Value> {
        let bound = |keyword: &str| argument.get(keyword).cloned();
        if let Some(words) = argument.get("enum") {
            return words.as_array().unwrap().clone();
        }
        match argument["type"].as_str().unwrap() {
            "string" => vec![json!("x")],
            "integer" => {
                let least = bound("minimum").unwrap_or(json!(0));
                let as_float = json!(least.as_f64());
                let most = bound("maximum").unwrap_or(json!(1_u64 << 53));
                vec![least, most, as_float]
            }
            "boolean" => vec![json!(true)],
            "object" => vec![json!({"a": [null]})],
            "array" => {
                let items = &argument["items"];
                let one = match items["type"] == "object" {
                    true => Value::Object(least_of(items)),
                    false => let_through(items).remove(0),
                };
                vec![json!([one])]
            }
            other => panic!("{other}"),
        }
    }

    #[tokio::test]
    async fn every_native_tool_reads_what_its_schema_lets_through() {
        let file = "link_host = '127.0.0.1'\nlink_port = 0";
        let config =
            Config::resolve(&Flags::default(), |_| None, "config.toml".as_ref(), file).unwrap();
        let fleet = computers::start(&config.link, None);
        fleet.want();
        let catalogue = catalogue(config.probe_timeout);
        let others = catalogue.open_for(Client::Anyone);
        let context = Context {
            fleet: &fleet,
            others: &others,
            listener: &Nobody,
            notes: &Notes::default(),
            call: None,
            stand_in: None,
            depth: 0,
        };
        for tool in natives() {
            let schema = &tool.definition().input_schema;
            let required = schema.get("required").and_then(Value::as_array);
            let least: JsonObject = arguments_of(schema)
                .filter(|(name, _)| required.is_some_and(|all| all.contains(&json!(name))))
                .map(|(name, argument)| (name.clone(), let_through(argument).remove(0)))
                .collect();
            let with_one = arguments_of(schema).flat_map(|(name, argument)| {
                let_through(argument).into_iter().map(|value| {
                    let mut with_one = least.clone();
                    with_one.insert(name.clone(), value);
                    with_one
                })
            });
            for given in with_one.chain([least.clone()]) {
                let shown = json!(given);
                let answer = text_of(&tool.call(context, given).await);
                assert!(
                    !answer.contains("can't read its arguments") && !answer.contains(" must be "),
                    "{} {shown}: {answer}",
                    tool.definition().name
                );
            }
        }
    }
}
