//! What a person sees who writes tools: what came of the last change, and a form for calls.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use tokio::time::timeout;

use super::{form::Form, snippet};
use crate::{
    base::{excerpt::shortened, text::one_line},
    commands::{
        console::{say, show, show_painted},
        tools::{
            house::found,
            terminal::Terminal,
            testing::{
                call::call,
                report::{self, Tally},
                suite::{Suite, Suites},
                world::World,
            },
        },
    },
    tools::{kit::Item, manifest::What},
};

/// How many tools and the like are listed.
const LISTED: usize = 30;

/// How much of a line about one is shown, in characters.
const LINE: usize = 100;

/// How long after its time a tool may say that it was up.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Where a person works.
pub struct Desk {
    suites: Suites,
    /// What there was at the last look.
    suite: Option<Suite>,
    /// The form that is being filled in.
    form: Option<Form>,
    /// Whether somebody can be asked.
    pub is_asking: bool,
}

impl Desk {
    /// One at which nothing was looked at yet.
    pub fn new(suites: Suites, is_asking: bool) -> Self {
        Self {
            suites,
            suite: None,
            form: None,
            is_asking,
        }
    }

    /// Looks anew, runs all examples, and shows what came of it.
    pub async fn round(&mut self) {
        let is_first = self.suite.is_none();
        if !is_first {
            say("");
        }
        let start = Instant::now();
        let suite = self.suites.look().await;
        for problem in &suite.look.problems {
            show_painted(&format!("✗ {problem}\n"));
        }
        say(&found(&suite.look));
        let mut tally = Tally::default();
        let mut results = Box::pin(suite.run(&suite.tests));
        while let Some((test, outcome)) = results.next().await {
            tally.count(&outcome);
            if !outcome.has_passed() {
                show_painted(&format!("{}\n", report::told(test, &outcome)));
            }
        }
        drop(results);
        if tally == Tally::default() {
            say("There are no examples yet: they stand in an entry's `meta`, as `mcp.examples`.");
        } else {
            let mark = if tally.failed == 0 { "✓" } else { "✗" };
            show_painted(&format!("{mark} {}\n", tally.told(start.elapsed())));
        }
        if let Some(form) = self.form.take() {
            let (kind, name) = (form.item.kind(), form.item.name());
            let is_it = |(_, item): &&(What, Item)| item.kind() == kind && item.name() == name;
            match suite.things.iter().find(is_it) {
                Some((what, item)) => self.form = Some(form.renewed(what, item)),
                None => say(&format!("There is no {kind} {name} any more.")),
            }
        }
        self.suite = Some(suite);
        if is_first && self.is_asking {
            self.list();
        }
    }

    /// Asks what comes next.
    pub fn ask(&self) {
        if !self.is_asking {
            return;
        }
        match self.form.as_ref().and_then(Form::question) {
            Some(question) => show(&question),
            None => show("Call which? (number or name, Enter: test again, ?: list, q: quit) "),
        };
    }

    /// Takes what was typed; tells whether to go on.
    pub async fn take(&mut self, line: &str) -> ControlFlow<()> {
        let Some(mut form) = self.form.take() else {
            match line {
                "q" | "quit" | "exit" => return ControlFlow::Break(()),
                "" => self.round().await,
                "?" => self.list(),
                name => self.pick(name),
            }
            return self.go_on().await;
        };
        if let Err(problem) = form.answer(line) {
            show_painted(&format!("✗ {problem}\n"));
        }
        self.form = Some(form);
        self.go_on().await
    }

    /// Does the call, once the form is filled in.
    async fn go_on(&mut self) -> ControlFlow<()> {
        if let Some(form) = self.form.take_if(|form| form.question().is_none()) {
            self.call(form).await;
        }
        ControlFlow::Continue(())
    }

    fn list(&self) {
        let things = self.suite.iter().flat_map(|suite| &suite.things);
        let mut all = things.enumerate();
        for (index, (what, item)) in all.by_ref().take(LISTED) {
            let about = match what {
                What::Tool(tool) => tool.definition.description.as_deref(),
                What::Prompt(prompt) => prompt.definition.description.as_deref(),
                What::Resource(_) => None,
            };
            let line = format!(
                "{:3}  {:8}  {}  {}",
                index + 1,
                item.kind(),
                item.name(),
                one_line(about.unwrap_or_default())
            );
            say(shortened(&line, LINE).trim_end());
        }
        match all.count() {
            0 => {}
            more => say(&format!("     and {more} more, by their names")),
        }
    }

    fn pick(&mut self, name: &str) {
        let things = self.suite.iter().flat_map(|suite| &suite.things);
        let number = name.parse::<usize>().ok();
        let found = things
            .enumerate()
            .find(|(index, (_, item))| number == Some(index + 1) || item.name() == name);
        match found {
            Some((_, (what, item))) => self.form = Some(Form::of(what, item)),
            None => say(&format!("There is no {}; ? lists all.", one_line(name))),
        }
    }

    async fn call(&self, form: Form) {
        let Some(suite) = &self.suite else { return };
        let (item, longest) = (form.item.clone(), form.what.time() + LAST_WORDS);
        let (what, provided) = (form.what.clone(), form.provided());
        let (given, computers) = form.filled();
        let start = Instant::now();
        let world = match World::of(&computers, &provided, what.namespace(), &suite.link).await {
            Ok(world) => world,
            Err(problem) => return show_painted(&format!("✗ {problem:#}\n")),
        };
        let terminal = Terminal::default();
        let call = call(&item, &given, &suite.catalogue, &world, &terminal);
        let came = timeout(longest, call).await;
        world.end();
        terminal.end();
        let Ok(came) = came else {
            let seconds = longest.as_secs();
            return show_painted(&format!("✗ no answer came within {seconds} s\n"));
        };
        say(came.text.trim_end());
        let took = start.elapsed().as_millis();
        show_painted(&match came.is_error {
            false => format!("✓ answered in {took} ms\n"),
            true => format!("✗ an error, in {took} ms\n"),
        });
        if let Some(example) = snippet::of(&given, &computers, &came) {
            say(&format!("As an example, below `mcp.examples`:\n{example}"));
        }
    }
}
