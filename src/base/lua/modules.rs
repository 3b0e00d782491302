//! What Lua that leaves as one text, to a computer, requires: each module that it names stands behind it in that text, once,
//! and only if it is needed.
//!
//! The text begins with the program itself, and each module is a chunk of its own: whatever goes wrong is told with the
//! file and the line where it stands. Where the agent is put together (`link/agent.rs`) it is done likewise, in fewer
//! bytes and by names of its own.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{
    literal::{level, push_string},
    tokens::{Kind, Tokens},
};

/// How many modules may stand behind a program.
pub const MOST: usize = 100;

/// How many bytes a program may have with all of them: as many as an agent keeps.
pub const MOST_BYTES: usize = 1024 * 1024;

/// The names that a handler has besides. An agent that gives it none has them from locals around the whole.
const HELPERS: [&str; 3] = ["json", "log", "progress"];

/// What finds the modules: a chunk of its own behind them, which gets `sources` (what each is called in errors, and its text)
/// and the computer's own `require`, to which a name that is not there goes. Whoever called this one is blamed then.
const REQUIRE: &str = r#"local sources,outer{helpers}=...
local loaded,loading={},{}
local function require(name)
  local module=sources[name]
  if not module then
    if not outer then error("there is no module '"..tostring(name).."'",2) end
    local done,value=pcall(outer,name)
    if not done then error(value,2) end
    return value
  end
  if loaded[name]~=nil then return loaded[name] end
  if loading[name] then error("the module '"..name.."' requires itself, by way of others or not",2) end
  local made,wrong=load("local require{helpers}=... return function(...) "..module[2].."\nend","="..module[1],"t",_ENV or getfenv())
  if not made then error(wrong,0) end
  loading[name]=true
  local value=made(require{helpers})(name)
  loading[name]=nil
  if value==nil then value=true end
  loaded[name]=value
  return value
end
return require"#;

/// The end of it all: the program runs.
const RUN: &str =
    "return main(load(R,\"=require\",\"t\",_ENV or getfenv())(S,require{helpers}),...)";

/// A module that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// What it is called in errors.
    pub chunk: String,
    /// Its Lua.
    pub source: String,
}

/// A module that is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its name.
    pub name: &'a str,
    /// What the module that requires it is called in errors; none: it is the program.
    pub by: Option<&'a str>,
    /// The line where it is required, from 1.
    pub line: usize,
}

/// A program has more behind it than may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TooMuch {
    /// Modules.
    #[error("it requires more than {MOST} modules, by way of others or not")]
    Modules,
    /// Bytes.
    #[error("it has {0} bytes with the modules that it requires; it may have {MOST_BYTES}")]
    Bytes(usize),
}

/// A program with the modules that it requires, and those that they do, as one text; none if it requires none that is
/// found. `find` is asked once for each name; it gives none for a module that the computer itself has.
///
/// # Errors
/// `find` fails, or it is too much.
pub fn bundle<E: From<TooMuch>>(
    program: &str,
    mut find: impl FnMut(Wanted<'_>) -> Result<Option<Module>, E>,
) -> Result<Option<String>, E> {
    let mut known = BTreeSet::new();
    let mut found: Vec<(String, Module)> = Vec::new();
    let mut bytes = program.len();
    // What is looked through next: the program, then each module in its turn.
    for next in 0_usize.. {
        let (text, by) = match next.checked_sub(1) {
            None => (program, None),
            Some(at) => match found.get(at) {
                Some((_, module)) => (module.source.as_str(), Some(module.chunk.as_str())),
                None => break,
            },
        };
        let mut more = Vec::new();
        for (name, line) in required(text) {
            if !known.insert(name.to_owned()) {
                continue;
            }
            let wanted = Wanted { name, by, line };
            if let Some(module) = find(wanted)? {
                more.push((name.to_owned(), module));
            }
        }
        bytes += more.iter().map(|(_, one)| one.source.len()).sum::<usize>();
        found.extend(more);
        if found.len() > MOST {
            return Err(TooMuch::Modules.into());
        }
        if bytes > MOST_BYTES {
            return Err(TooMuch::Bytes(bytes).into());
        }
    }
    Ok((!found.is_empty()).then(|| written(program, &found)))
}

/// The modules that a text requires by a name that is written there as a text, and the line of each. What is a field of
/// something (`_G.require`) is no `require` of ours; what is no Lua requires nothing.
pub fn required(source: &str) -> Vec<(&str, usize)> {
    // Most files require nothing, and others do so at their beginning.
    let Some((last, _)) = source.match_indices("require").last() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut tokens = Tokens::of(source).map_while(Result::ok).peekable();
    let mut is_field = false;
    while let Some(token) = tokens.next() {
        if token.text.as_ptr().addr() - source.as_ptr().addr() > last {
            break;
        }
        if token.kind == Kind::Name && token.text == "require" && !is_field {
            let has_bracket = tokens.next_if(|next| next.text == "(").is_some();
            let name = tokens.next_if(|next| next.kind == Kind::String);
            let is_whole = !has_bracket || tokens.peek().is_some_and(|next| next.text == ")");
            if let Some(name) = name.filter(|_| is_whole)
                && let Some(content) = content(name.text)
            {
                found.push((content, name.line));
            }
        }
        is_field = matches!(token.text, "." | ":");
    }
    found
}

/// What is in a string of Lua; none where it has escapes, which no module's name needs.
fn content(literal: &str) -> Option<&str> {
    let quotes = match literal.strip_prefix('[') {
        Some(rest) => 2 + rest.len() - rest.trim_start_matches('=').len(),
        None => 1,
    };
    let inside = literal.get(quotes..literal.len().checked_sub(quotes)?)?;
    (!inside.contains('\\')).then_some(inside)
}

fn written(program: &str, modules: &[(String, Module)]) -> String {
    let mut text = format!("local function main(require,...) {program}\nend\nlocal S={{}}\n");
    let mut want_helpers = false;
    for (name, module) in modules {
        let source = &module.source;
        want_helpers |= HELPERS.iter().any(|helper| source.contains(helper));
        let level = level(source);
        text.push_str("S[");
        push_string(&mut text, name);
        text.push_str("]={");
        push_string(&mut text, &module.chunk);
        // Lua passes over a line break right after the bracket; the one before the end keeps brackets apart.
        text.push_str(&format!(",[{level}[\n{source}\n]{level}]}}\n"));
    }
    let helpers = match want_helpers {
        true => format!(",{}", HELPERS.join(",")),
        false => String::new(),
    };
    text.push_str(&format!("local R=[[{REQUIRE}]]\n{RUN}").replace("{helpers}", &helpers));
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mlua::Lua;

    use super::*;

    /// A program with these modules, each called by its name and `.lua`.
    fn bundled(program: &str, modules: &[(&str, &str)]) -> String {
        let modules: BTreeMap<_, _> = modules.iter().copied().collect();
        let find = |wanted: Wanted<'_>| {
            let source = modules.get(wanted.name);
            Ok::<_, TooMuch>(source.map(|source| Module {
                chunk: format!("{}.lua", wanted.name),
                source: (*source).to_owned(),
            }))
        };
        let text = bundle(program, find).unwrap();
        text.unwrap_or_else(|| program.to_owned())
    }

    fn run(text: &str) -> Result<String, String> {
        let lua = Lua::new();
        let ran = lua
            .load(text)
            .set_name("=program.lua")
            .eval::<mlua::Value>();
        let shown = ran.and_then(|value| value.to_string());
        shown.map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_program_requires_stands_behind_it_and_what_those_require() {
        let modules = [
            (
                "a",
                "local b = require 'b'\nreturn { name = 'a' .. b.name }",
            ),
            ("b", "return { name = ... .. ' ]] ]=] -- [[' } -- ["),
            ("never", "error('it is not needed')"),
        ];
        let text = bundled(
            "local a, b = require(\"a\"), require [[b]]\nreturn a.name .. tostring(b == require('b'))",
            &modules,
        );
        assert_eq!(run(&text).unwrap(), "ab ]] ]=] -- [[true");
        assert!(!text.contains("not needed"), "{text}");
        assert_eq!(text.matches("S[\"b\"]").count(), 1);
        assert_eq!(bundled("return 1", &modules), "return 1");
    }

    #[test]
    fn an_error_is_told_with_the_file_and_the_line_where_it_stands() {
        let modules = [
            (
                "deep",
                "local nothing\n\n\nreturn function() return nothing.x end",
            ),
            ("broken", "local nothing\nreturn nothing.x"),
            ("round", "local again = require('round')\nreturn again"),
        ];
        for (program, place) in [
            (
                "local deep = require('deep')\nreturn deep() .. ''",
                "deep.lua:4: ",
            ),
            ("\n\nreturn require('broken')", "broken.lua:2: "),
            ("require('deep')\n\nlocal x = nil + 1", "program.lua:3: "),
            (
                "require('deep')\nlocal deeper = require('dee' .. 'per')",
                "program.lua:2: there is no module 'deeper'",
            ),
            (
                "return require('round')",
                "round.lua:1: the module 'round' requires itself",
            ),
        ] {
            // A computer of the game may have no `require`.
            let text = format!("require = nil {}", bundled(program, &modules));
            let told = run(&text).unwrap_err();
            assert!(told.contains(place), "{program}: {told}");
        }
        let own = "require('deep') return require('cc.' .. 'expect')";
        let own = format!(
            "require = function(name) return name .. ' of the game' end {}",
            bundled(own, &modules)
        );
        assert_eq!(run(&own).unwrap(), "cc.expect of the game");
    }

    #[test]
    fn a_module_has_the_helpers_that_stand_in_locals_around_it_all() {
        let text = bundled("return require('a')", &[("a", "return json.encode(1)")]);
        let around = format!("local json = {{ encode = function() return 'done' end }} {text}");
        assert_eq!(run(&around).unwrap(), "done");
        assert!(!bundled("return require('a')", &[("a", "return 1")]).contains("progress"));
    }

    #[test]
    fn only_a_call_of_require_with_a_name_requires_something() {
        let source = "-- require('comment')\nlocal text = \"require('text')\"\n_G.require('field') x:require 'method'\n\
                      require(name) require('a' .. b) require('esc\\97pe')\nlocal function require(name) end\n\
                      require\n(\n'lib.items')\npcall(require, 'protected')";
        assert_eq!(required(source), [("lib.items", 8)]);
        assert_eq!(required("require('x') ? require('y')"), [("x", 1)]);
    }

    #[test]
    fn there_are_bounds_on_how_much_stands_behind_a_program() {
        let chain = |wanted: Wanted<'_>| {
            let next = wanted.name.len() + 1;
            Ok::<_, TooMuch>(Some(Module {
                chunk: wanted.name.to_owned(),
                source: format!("require('{}')", "x".repeat(next)),
            }))
        };
        assert_eq!(bundle("require('x')", chain), Err(TooMuch::Modules));
        let large = |_: Wanted<'_>| {
            Ok::<_, TooMuch>(Some(Module {
                chunk: String::new(),
                source: "x".repeat(MOST_BYTES),
            }))
        };
        let told = bundle("require('x')", large).unwrap_err().to_string();
        assert_eq!(
            told,
            "it has 1048588 bytes with the modules that it requires; it may have 1048576"
        );
    }
}
