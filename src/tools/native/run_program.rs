//! `run-program`: runs a command line on one computer as its shell does, and shows what came of it.

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::json;

use super::{
    running::{Manner, Place, Run, RunError},
    typed::Native,
};
use crate::{
    base::lua::literal::push_string,
    computers::{About, ComputerKey, Method},
    tools::{Context, choosing::choose, outcome::OLD_AGENT, text},
};

/// What an agent tells in its hello that runs command lines itself.
const PROGRAMS: &str = "programs";

pub struct RunProgram;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    computer_id: Option<ComputerKey>,
    command: String,
    width: Option<u32>,
    height: Option<u32>,
    #[serde(flatten)]
    manner: Manner,
}

impl Native for RunProgram {
    const NAME: &'static str = "run-program";
    type Arguments = Arguments;
    type Error = RunError;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, RunError> {
        let Arguments {
            computer_id,
            command,
            width,
            height,
            manner,
        } = arguments;
        if manner.place == Place::Screen && (width.is_some() || height.is_some()) {
            return Err(RunError::SizedScreen);
        }
        let computer = choose(computer_id, context.fleet).await?;
        let facts = computer.facts();
        let (method, mut params, note) = match facts.can(PROGRAMS) {
            true => (Method::RunProgram, json!({ "command": command }), None),
            false => {
                let note = format!(
                    "\n\nRun by `shell.run`, which does not tell where a program fails, and on a terminal of the computer's \
                     size: {OLD_AGENT}"
                );
                let params = json!({ "code": by_shell_run(&command) });
                (Method::ExecLua, params, Some(note))
            }
        };
        // An agent of version 1 is sent nothing that it doesn't know.
        if facts.boot.is_some() {
            params["where"] = json!(manner.place);
        }
        if method == Method::RunProgram {
            for (name, cells) in [("width", width), ("height", height)] {
                if let Some(cells) = cells {
                    params[name] = json!(cells);
                }
            }
        }
        let run = Run {
            method,
            params: &params,
            about: About::listed(&command, false),
            note,
        };
        manner.run(context, &computer, run).await.map(text)
    }
}

/// Lua that runs a command line, for an agent that only runs Lua.
fn by_shell_run(command: &str) -> String {
    let mut code =
        "if not shell then error(\"there is no shell there\", 0) end\nif not shell.run(".to_owned();
    push_string(&mut code, command);
    code.push_str(") then error(\"the program did not end well\", 0) end");
    code
}

#[cfg(test)]
mod tests {
    use mlua::Lua;

    use super::*;

    #[test]
    fn a_command_line_reaches_the_shell_as_it_is() {
        let lua = Lua::new();
        let shell = "shell = { run = function(line) given = line return line ~= 'bad' end }";
        lua.load(shell).exec().unwrap();
        for line in ["say \"a b\" \\n ]] é\n", "ls"] {
            lua.load(by_shell_run(line)).exec().unwrap();
            assert_eq!(lua.globals().get::<String>("given").unwrap(), line);
        }
        let failed = lua.load(by_shell_run("bad")).exec().unwrap_err();
        assert!(failed.to_string().contains("the program did not end well"));
    }
}
