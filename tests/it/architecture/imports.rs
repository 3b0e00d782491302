//! Which file of `src/` needs which other one, read from its syntax: what `use` lines and paths name, and where that
//! stands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItem, Item, Lit, Meta, UseTree};

/// The crate as `src/main.rs` and the integration tests call it.
const CRATE: &str = "mcp_bridge";

/// How often a name may lead to another import before it is taken for one that leads in a circle.
const HOPS: usize = 16;

/// One file that needs another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The file, as a path below `src/`.
    pub file: String,
    pub line: usize,
    /// What it names there, as written.
    pub path: String,
    /// The file where that stands.
    pub target: String,
    /// The top folders whose names were needed to get there: that of the target, and those of re-exports.
    pub floors: Vec<String>,
}

/// Whether what is compiled for tests only is read too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    Read,
    Skipped,
}

/// All that files of `src/` need of each other, each pair of lines and files once.
pub fn read(source: &Path, tests: Tests) -> Vec<Import> {
    let mut house = House {
        source: source.to_owned(),
        tests,
        modules: Vec::new(),
    };
    let library = house.add_root("lib.rs");
    let program = house.add_root("main.rs");
    house.modules[program]
        .children
        .insert(CRATE.to_owned(), library);
    let mut imports: Vec<Import> = (0..house.modules.len())
        .flat_map(|at| {
            let names = house.modules[at].names.iter();
            names
                .filter_map(|name| house.import(at, name))
                .collect::<Vec<_>>()
        })
        .collect();
    imports.sort();
    imports.dedup_by(|a, b| (&a.file, a.line, &a.target) == (&b.file, b.line, &b.target));
    imports
}

/// The top folder of a file below `src/`, or the file itself where it stands in none.
pub fn floor(file: &str) -> &str {
    file.split('/').next().unwrap_or(file)
}

/// A path somewhere in a module's code.
struct Name {
    segments: Vec<String>,
    line: usize,
}

#[derive(Default)]
struct Module {
    /// Below `src/`, with `/` on every system.
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// What is defined in it.
    items: Vec<String>,
    /// What `use` lines bring in, by the name they give it. One name can stand for a function and for a module.
    imported: Vec<(String, Vec<String>)>,
    /// What `use …::*` lines bring in.
    globs: Vec<Vec<String>>,
    /// Everything that its code names.
    names: Vec<Name>,
}

/// Where a path leads to.
enum Found {
    Module(usize),
    /// Something that is defined in that module.
    Item(usize),
}

struct House {
    source: PathBuf,
    tests: Tests,
    modules: Vec<Module>,
}

impl House {
    fn add_root(&mut self, file: &str) -> usize {
        let folder = self.source.clone();
        self.add_file(None, self.source.join(file), folder)
    }

    /// Adds the module in `path` and all those below it, whose files stand in `folder`.
    fn add_file(&mut self, parent: Option<usize>, path: PathBuf, folder: PathBuf) -> usize {
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
        let parsed = syn::parse_file(&text)
            .unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
        let file = path
            .strip_prefix(&self.source)
            .expect("a module's file stands below `src/`")
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect::<Vec<_>>()
            .join("/");
        self.add_module(parent, file, &path, &folder, &parsed.items)
    }

    fn add_module(
        &mut self,
        parent: Option<usize>,
        file: String,
        path: &Path,
        folder: &Path,
        items: &[Item],
    ) -> usize {
        let at = self.modules.len();
        self.modules.push(Module {
            file: file.clone(),
            parent,
            ..Module::default()
        });
        let mut reader = Reader {
            tests: self.tests,
            module: Module::default(),
        };
        for item in items {
            reader.visit_item(item);
            if let Some(name) = item_name(item) {
                reader.module.items.push(name);
            }
            if let Item::Macro(call) = item {
                reader.module.items.extend(types_made_by(call));
            }
            let Item::Mod(module) = item else { continue };
            if skipped(self.tests, &module.attrs) {
                continue;
            }
            let name = module.ident.unraw().to_string();
            let below = folder.join(&name);
            let child = match &module.content {
                Some((_, items)) => self.add_module(Some(at), file.clone(), path, &below, items),
                None => {
                    let beside = path.parent().unwrap_or(folder);
                    let path = match path_attribute(&module.attrs) {
                        Some(name) => beside.join(name),
                        None if below.join("mod.rs").is_file() => below.join("mod.rs"),
                        None => below.with_extension("rs"),
                    };
                    self.add_file(Some(at), path, below)
                }
            };
            self.modules[at].children.insert(name, child);
        }
        let Module {
            items,
            imported,
            globs,
            names,
            ..
        } = reader.module;
        let module = &mut self.modules[at];
        (module.items, module.imported) = (items, imported);
        (module.globs, module.names) = (globs, names);
        at
    }

    /// What naming that in that module makes its file need; `None` if it is nothing of this crate, or in the file
    /// itself, or a module, of which nothing is needed as long as nothing in it is named.
    fn import(&self, at: usize, name: &Name) -> Option<Import> {
        let mut floors = Vec::new();
        let Some(Found::Item(target)) = self.resolve(at, &name.segments, &mut floors, 0) else {
            return None;
        };
        let file = &self.modules[at].file;
        let target = &self.modules[target].file;
        floors.push(floor(target).to_owned());
        floors.sort();
        floors.dedup();
        (file != target).then(|| Import {
            file: file.clone(),
            line: name.line,
            path: name.segments.join("::"),
            target: target.clone(),
            floors,
        })
    }

    /// Where a path leads that stands in the module `at`. The top folders it goes through are added to `floors`.
    fn resolve(
        &self,
        at: usize,
        segments: &[String],
        floors: &mut Vec<String>,
        hops: usize,
    ) -> Option<Found> {
        let (first, rest) = segments.split_first()?;
        let start = match first.as_str() {
            "crate" => Found::Module(self.root(at)),
            "self" => Found::Module(at),
            "super" => Found::Module(self.modules[at].parent?),
            name => self.look_up(at, name, rest.is_empty(), floors, hops)?,
        };
        rest.iter().enumerate().try_fold(start, |found, (n, name)| {
            let Found::Module(module) = found else {
                // A variant, or a function of a type.
                return Some(found);
            };
            if name == "super" {
                return Some(Found::Module(self.modules[module].parent?));
            }
            if self.modules[module].parent.is_some() {
                floors.push(floor(&self.modules[module].file).to_owned());
            }
            self.look_up(module, name, n + 1 == rest.len(), floors, hops)
        })
    }

    /// What a name stands for in a module. Where it stands for a module and for something else, it is the module
    /// unless it is the `last` of its path.
    fn look_up(
        &self,
        at: usize,
        name: &str,
        last: bool,
        floors: &mut Vec<String>,
        hops: usize,
    ) -> Option<Found> {
        if hops > HOPS {
            return None;
        }
        let module = &self.modules[at];
        let child = module.children.get(name).copied().map(Found::Module);
        if child.is_some() && !last {
            return child;
        }
        if module.items.iter().any(|item| item == name) {
            return Some(Found::Item(at));
        }
        let named = module.imported.iter().filter(|(alias, _)| alias == name);
        let named = named.map(|(_, path)| path.clone());
        let globbed = module.globs.iter().map(|path| {
            let mut path = path.clone();
            path.push(name.to_owned());
            path
        });
        // A path of a `use` line names what its first segment is outside of that line.
        let leads_on = |path: &Vec<String>| {
            path.first()
                .is_some_and(|first| first != name || path.len() == 1)
        };
        let mut modules = child;
        for path in named.chain(globbed) {
            if !leads_on(&path) && !module.children.contains_key(name) {
                continue;
            }
            let mut passed = Vec::new();
            match self.resolve(at, &path, &mut passed, hops + 1) {
                Some(found @ Found::Item(_)) => {
                    floors.append(&mut passed);
                    return Some(found);
                }
                Some(found) if modules.is_none() => modules = Some(found),
                _ => {}
            }
        }
        modules
    }

    fn root(&self, at: usize) -> usize {
        match self.modules[at].parent {
            Some(parent) => self.root(parent),
            None => at,
        }
    }
}

/// Reads what one module's own code imports and names.
struct Reader {
    tests: Tests,
    module: Module,
}

impl Reader {
    fn name(&mut self, segments: Vec<String>, line: usize) {
        self.module.names.push(Name { segments, line });
    }

    fn imports(&mut self, prefix: &[String], tree: &UseTree) {
        let with = |ident: &Ident| {
            let mut path = prefix.to_vec();
            path.push(ident.unraw().to_string());
            path
        };
        match tree {
            UseTree::Path(tree) => self.imports(&with(&tree.ident), &tree.tree),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.imports(prefix, tree);
                }
            }
            UseTree::Glob(_) => self.module.globs.push(prefix.to_vec()),
            UseTree::Name(name) if name.ident == "self" => {
                let alias = prefix.last().cloned().unwrap_or_default();
                self.bring_in(alias, prefix.to_vec(), &name.ident);
            }
            UseTree::Name(name) => {
                self.bring_in(
                    name.ident.unraw().to_string(),
                    with(&name.ident),
                    &name.ident,
                );
            }
            UseTree::Rename(tree) if tree.ident == "self" => {
                self.bring_in(tree.rename.to_string(), prefix.to_vec(), &tree.ident);
            }
            UseTree::Rename(tree) => {
                self.bring_in(tree.rename.to_string(), with(&tree.ident), &tree.ident);
            }
        }
    }

    fn bring_in(&mut self, alias: String, path: Vec<String>, at: &Ident) {
        self.name(path.clone(), at.span().start().line);
        self.module.imported.push((alias, path));
    }

    /// The paths among the tokens of a macro's call, whose syntax only that macro knows.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) => {
                    if colons != 2 || path.is_empty() {
                        self.end_of_path(&mut path, line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.unraw().to_string());
                }
                TokenTree::Group(group) => {
                    self.end_of_path(&mut path, line);
                    self.tokens(group.stream());
                }
                _ => self.end_of_path(&mut path, line),
            }
            colons = 0;
        }
        self.end_of_path(&mut path, line);
    }

    fn end_of_path(&mut self, path: &mut Vec<String>, line: usize) {
        if !path.is_empty() {
            self.name(std::mem::take(path), line);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !skipped(self.tests, item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Fn(item) => &item.attrs[..],
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !skipped(self.tests, attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    /// A module of its own, read as one.
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.imports(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let idents = path.segments.iter().map(|segment| &segment.ident);
        let line = idents
            .clone()
            .next()
            .map_or(0, |ident| ident.span().start().line);
        self.name(
            idents.map(|ident| ident.unraw().to_string()).collect(),
            line,
        );
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.tokens(call.tokens.clone());
    }

    /// Attributes name what derives and tools know, and the modules that may see a thing.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn item_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(ident.unraw().to_string())
}

/// The types that the call of a macro makes, as far as they stand there as types do.
fn types_made_by(call: &syn::ItemMacro) -> Vec<String> {
    let is_definition = call.ident.is_some();
    let tokens: Vec<_> = call.mac.tokens.clone().into_iter().collect();
    tokens
        .windows(2)
        .filter_map(|pair| match pair {
            [TokenTree::Ident(word), TokenTree::Ident(name)]
                if !is_definition && (word == "struct" || word == "enum") =>
            {
                Some(name.unraw().to_string())
            }
            _ => None,
        })
        .collect()
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether something is compiled for tests only, and those are not read.
fn skipped(tests: Tests, attributes: &[Attribute]) -> bool {
    let for_tests = |attribute: &Attribute| {
        let parse = Punctuated::<Meta, syn::Token![,]>::parse_terminated;
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args_with(parse)
                .is_ok_and(|meta| meta.iter().any(|meta| meta.path().is_ident("test")))
    };
    tests == Tests::Skipped && attributes.iter().any(for_tests)
}

/// The file that `#[path = "…"]` gives a module.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
                syn::Expr::Lit(value) => match &value.lit {
                    Lit::Str(name) => Some(name.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
}
