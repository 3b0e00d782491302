//! `mcp-bridge tools`: for whoever writes tools of their own.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use futures_util::{FutureExt, future::BoxFuture};

use super::{
    arguments::Arguments,
    computers,
    console::{self, note, say},
    startup,
};
use crate::{
    settings::{Config, Flags, FlagsOf, Folders, ToolsConfig},
    tools::{
        self, Catalogue, Client, Context, Found, Level, Listener, Notes, Offer, Pause, Step,
        builtin,
        folder::{self, Look},
        kit::Kit,
        manifest::FILE,
        policy::{Policy, Verdict},
        source::fixed,
    },
};

/// Write, check and try tools of your own
#[derive(Debug, Args)]
pub struct Tools {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools, prompts and resources there are
    List {
        #[command(flatten)]
        settings: FlagsOf<ToolsConfig>,
    },

    /// Check a folder of tools, or all that are set, and say what is wrong in which file and line
    Check {
        /// The folder
        folder: Option<PathBuf>,

        #[command(flatten)]
        settings: FlagsOf<ToolsConfig>,
    },

    /// Write a new tool to begin with
    New {
        /// Its name
        name: String,

        /// The folder of tools to write it into [default: the one in the configuration folder]
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,

        /// Make it one that runs on a computer in the game
        #[arg(long)]
        computer: bool,
    },

    /// Run a tool as a client would, and print what comes back
    Run {
        /// Its name
        name: String,

        #[command(flatten)]
        arguments: Arguments,

        #[command(flatten)]
        settings: FlagsOf<Config>,
    },
}

impl Tools {
    pub fn run(self, folders: &Folders) -> ExitCode {
        let all_is_well = match self.action {
            Action::List { settings } => list(&settings.given, folders),
            Action::Check { folder, settings } => check(folder, &settings.given, folders),
            Action::New {
                name,
                folder,
                computer,
            } => write_new(&name, folder, computer, folders).map(|()| true),
            Action::Run {
                name,
                arguments,
                settings,
            } => run(&name, &arguments, &settings.given, folders),
        };
        match all_is_well {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                note(&format!("mcp-bridge: {error:#}"));
                ExitCode::FAILURE
            }
        }
    }
}

/// Lists all there is.
fn list(flags: &Flags, folders: &Folders) -> anyhow::Result<bool> {
    in_runtime(async {
        let config = load(flags, folders)?;
        let (mut own, built_in) = own(&config, folders);
        let look = own.look_closely().await;
        let (catalogue, problems) = put_together(&config, folders, built_in, look);
        let view = catalogue.now().for_client(Client::Anyone);
        for (tool, verdict) in view.all() {
            let state = match verdict {
                Verdict::Listed => "",
                Verdict::Reachable => " (not listed, but found by find-tools)",
                Verdict::Refused(_) => " (switched off)",
            };
            say(&format!(
                "tool      {}  [{}]  {}{state}",
                tool.definition().name,
                tool.set(),
                tool.origin()
            ));
        }
        for prompt in view.prompts() {
            say(&format!("prompt    {}", prompt.name));
        }
        for resource in view.shown() {
            say(&format!("resource  {}", resource.uri()));
        }
        let unmet = catalogue.policy().unmet(view.all().map(|(tool, _)| tool));
        for problem in problems.iter().chain(&unmet) {
            note(problem);
        }
        Ok(problems.is_empty() && unmet.is_empty())
    })
}

/// Checks folders of tools.
fn check(folder: Option<PathBuf>, flags: &Flags, folders: &Folders) -> anyhow::Result<bool> {
    in_runtime(async {
        let config = load(flags, folders)?;
        let kit = Kit::default();
        let built_in = builtin::offer(&kit, config.probe_timeout);
        let roots = match folder {
            Some(folder) => tools::roots(None, &[folder]),
            None => tools::roots(folders.own_tools(), &config.tools.chosen.folders),
        };
        for root in &roots {
            say(&format!("{}", root.path.display()));
        }
        let mut folders = folder::Folders::new(roots, kit, &built_in);
        let look = folders.look_closely().await;
        for problem in &look.problems {
            say(&problem.to_string());
        }
        let Offer {
            tools,
            prompts,
            resources,
            ..
        } = &look.offer;
        say(&format!(
            "{} and {} and {} can be used; {}.",
            count(tools.len(), "tool"),
            count(prompts.len(), "prompt"),
            count(resources.len(), "resource"),
            match look.problems.len() {
                0 => "nothing is wrong".to_owned(),
                problems => count(problems, "problem"),
            }
        ));
        Ok(look.problems.is_empty())
    })
}

/// Runs a tool.
fn run(
    name: &str,
    arguments: &Arguments,
    flags: &Flags,
    folders: &Folders,
) -> anyhow::Result<bool> {
    in_runtime(async {
        let config = load(flags, folders)?;
        let (mut own, built_in) = own(&config, folders);
        // What is wrong with a handler is told when it is called.
        let look = own.look();
        let (catalogue, problems) = put_together(&config, folders, built_in, look);
        for problem in &problems {
            note(problem);
        }
        let fleet = computers::start(&config.link, Some(&folders.shared));
        let others = catalogue.open_for(Client::Anyone);
        let tool = match others.now().find(name) {
            Found::Tool(tool) => tool,
            Found::Refused(refusal) => bail!("{}", refusal.of(name)),
            Found::Nothing => bail!("there is no tool {name}; `mcp-bridge tools list` names all"),
        };
        let arguments = arguments.read(&tool.definition().input_schema)?;
        fleet.want();
        let notes = Notes::default();
        let context = Context {
            fleet: &fleet,
            others: &others,
            listener: &Terminal,
            notes: &notes,
            call: None,
            depth: 0,
        };
        let result = tool.call(context, arguments).await;
        let result = notes.on(result);
        console::say_result(&result);
        Ok(result.is_error != Some(true))
    })
}

/// A person at a terminal, who is told on standard error.
struct Terminal;

impl Listener for Terminal {
    fn listens(&self) -> bool {
        true
    }

    fn tell(&self, step: Step) -> BoxFuture<'_, ()> {
        note(&step.message);
        std::future::ready(()).boxed()
    }

    fn log(&self, level: Level, logger: &str, text: String) -> BoxFuture<'_, ()> {
        note(&format!("{level:?} {logger}: {text}"));
        std::future::ready(()).boxed()
    }
}

fn load(flags: &Flags, folders: &Folders) -> anyhow::Result<Config> {
    Ok(Config::load(flags, startup::variable, folders)?)
}

/// The folders of tools that are set, and what is built in.
fn own(config: &Config, folders: &Folders) -> (folder::Folders, Offer) {
    let kit = Kit::default();
    let built_in = builtin::offer(&kit, config.probe_timeout);
    let roots = tools::roots(folders.own_tools(), &config.tools.chosen.folders);
    (folder::Folders::new(roots, kit, &built_in), built_in)
}

/// All tools there are, and what is wrong with those that were looked at.
fn put_together(
    config: &Config,
    folders: &Folders,
    built_in: Offer,
    look: Look,
) -> (Arc<Catalogue>, Vec<String>) {
    let problems = look.problems.iter().map(ToString::to_string).collect();
    let sources = vec![fixed(built_in), fixed(look.offer)];
    let policy = Policy::of(&config.tools, Pause::of(&folders.shared));
    (Catalogue::start(sources, policy), problems)
}

fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("the runtime can't be started")?
        .block_on(work)
}

fn count(number: usize, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        number => format!("{number} {word}s"),
    }
}

fn write_new(
    name: &str,
    folder: Option<PathBuf>,
    computer: bool,
    folders: &Folders,
) -> anyhow::Result<()> {
    let own = folders.own_tools();
    let Some(root) = folder.or_else(|| own.clone()) else {
        bail!("there is no configuration folder here; say where with --folder DIR");
    };
    let tool = root.join(name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && name.len() <= 47;
    if !is_name {
        bail!(
            "a tool's name begins with a letter and has only letters, digits, _ and -, 47 at most, not {name}"
        );
    }
    if tool.exists() {
        bail!("{} is there already; nothing was written", tool.display());
    }
    if let Some(origin) = taken(name, own.clone(), &root) {
        bail!("there is a tool {name} already, in {origin}; nothing was written");
    }
    fs::create_dir_all(&tool).with_context(|| format!("{} can't be made", tool.display()))?;
    let (kind, handler) = if computer {
        ("computer.lua", ON_COMPUTER)
    } else {
        ("function.lua", ON_HOST)
    };
    let fill = |text: &str| text.replace("NAME", name).replace("KIND", kind);
    write(&tool.join(FILE), &fill(MANIFEST))?;
    write(&tool.join(format!("{name}.lua")), &fill(handler))?;
    say(&format!("Written: {}", tool.display()));
    let given = if own.is_some_and(|own| own == root) {
        String::new()
    } else {
        format!(" --tools \"{}\"", root.display())
    };
    say(&format!(
        "Try it: mcp-bridge tools run {name}{given} --arg text=hello"
    ));
    say("A bridge that runs has it within a second.");
    Ok(())
}

/// Where a tool of this name stands, if there is one: built in, or in these folders.
fn taken(name: &str, own: Option<PathBuf>, root: &Path) -> Option<String> {
    let kit = Kit::default();
    let built_in = builtin::offer(&kit, Duration::ZERO);
    let roots = tools::roots(own, &[root.to_path_buf()]);
    let found = folder::Folders::new(roots, kit, &built_in).look();
    let all = built_in.tools.iter().chain(&found.offer.tools);
    let mut of_this_name = all.filter(|tool| tool.definition().name == name);
    of_this_name.next().map(|tool| tool.origin())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("{} can't be written", file.display());
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).open(file);
    let mut opened = opened.with_context(failed)?;
    io::Write::write_all(&mut opened, text.as_bytes()).with_context(failed)
}

const MANIFEST: &str = include_str!("../../lua/new-tool/_index.yaml");
const ON_HOST: &str = include_str!("../../lua/new-tool/on-host.lua");
const ON_COMPUTER: &str = include_str!("../../lua/new-tool/on-computer.lua");
