//! A task's calls, made as a model would make them: with what it can know, and with tools that it can know of.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Value, json};

use super::{
    base::Base,
    task::{Call, Task},
};
use crate::common::{
    kept::{Kept, filled, filled_value, keep},
    until,
};

/// Tools that take code: a task is to show what there is besides.
const BARRED: [&str; 2] = ["exec-lua", "run-script"];

/// Does a task, and looks at the world before and after.
pub async fn carry_out(task: &Task) {
    let mut base = Base::of(task).await;
    let held: Vec<_> = task
        .check
        .iter()
        .map(|check| check.look(&base, None).is_ok())
        .collect();
    assert!(
        held.contains(&false),
        "{}: all is so before anything is done, so nothing is shown by that it is so afterwards",
        task.name
    );
    let mut model = Model::new(&mut base, task).await;
    for (number, call) in task.call.iter().enumerate() {
        model.make(&mut base, number + 1, call).await;
    }
    for check in &task.check {
        let what = format!("{}: {check:?} after `{}`", task.name, model.answers);
        until(&what, async || check.look(&base, Some(&model.answers))).await;
    }
    base.bridge.leave().await;
}

/// What a model knows meanwhile.
struct Model<'a> {
    task: &'a Task,
    /// The tools that its client has listed.
    listed: BTreeSet<String>,
    /// What `find-tools` has shown it.
    found: String,
    /// All that was said to it: the sentence, then answers.
    told: String,
    /// All answers.
    answers: String,
    kept: Kept,
}

impl<'a> Model<'a> {
    async fn new(base: &mut Base, task: &'a Task) -> Self {
        let list = base.bridge.request("tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap().iter();
        let host = base.host.path().to_str().unwrap().to_owned();
        let kept = Kept::from([("host".to_owned(), host)]);
        Self {
            task,
            listed: tools
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect(),
            found: String::new(),
            told: filled(&task.sentence, &kept),
            answers: String::new(),
            kept,
        }
    }

    /// Makes a call, and learns of its answer.
    async fn make(&mut self, base: &mut Base, number: usize, call: &Call) {
        let name = &self.task.name;
        let arguments = filled_value(&call.arguments, &self.kept);
        self.must_know(call, &arguments);
        let id = base.bridge.start_call(&call.tool, arguments.clone()).await;
        let answer = base.bridge.slow_answer(id).await;
        let told = format!(
            "{name}, call {number}, {} {arguments:.2000} answered: {:.4000}",
            call.tool, answer.text
        );
        assert_eq!(answer.is_error, call.fails, "{told}");
        for pattern in &call.shows {
            assert!(
                Regex::new(pattern).unwrap().is_match(&answer.text),
                "no `{pattern}`: {told}"
            );
        }
        keep(&mut self.kept, &call.keeps, &answer.text, &told);
        if call.tool == "find-tools" {
            self.found.push_str(&answer.text);
        }
        for all in [&mut self.told, &mut self.answers] {
            all.push('\n');
            all.push_str(&answer.text);
        }
    }

    /// Fails where a call has what nobody has said to the model.
    fn must_know(&self, call: &Call, arguments: &Value) {
        let name = &self.task.name;
        let mut tools = vec![call.tool.as_str()];
        assert!(
            self.listed.contains(&call.tool),
            "{name}: {} is not listed",
            call.tool
        );
        if call.tool == "call-tool" {
            let inner = arguments["name"].as_str().unwrap();
            let is_found = Regex::new(&format!("(?m)^{}[: ]", regex::escape(inner))).unwrap();
            assert!(
                self.listed.contains(inner) || is_found.is_match(&self.found),
                "{name}: no list and no find-tools has told of {inner}"
            );
            tools.push(inner);
        }
        for tool in tools {
            assert!(!BARRED.contains(&tool), "{name}: {tool} is barred");
        }
        let text = arguments.to_string();
        // The names of peripherals, and the numbers of computers.
        for found in Regex::new(r"\b[a-z0-9_]+:[a-z0-9_]+_\d+\b")
            .unwrap()
            .find_iter(&text)
        {
            self.must_have_been_told(found.as_str());
        }
        for arguments in [arguments, &arguments["arguments"]] {
            let one = &arguments["computerId"];
            let all = arguments["computers"].as_array().into_iter().flatten();
            for number in all.chain((!one.is_null()).then_some(one)) {
                self.must_have_been_told(number.to_string().trim_matches('"'));
            }
        }
    }

    fn must_have_been_told(&self, what: &str) {
        let there = Regex::new(&format!(r"(^|\W){}($|\W)", regex::escape(what))).unwrap();
        assert!(
            there.is_match(&self.told),
            "{}: nobody has told of {what}: {}",
            self.task.name,
            self.told
        );
    }
}
