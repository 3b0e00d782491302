//! What the Lua library lacks without its unsafe parts: tracebacks, call information, environments.

use mlua::{Error, Function, Lua, MultiValue, Table, Value};

use super::section::{Args, Problem, Section};
use super::stack::{HIDDEN, place, visible};
use crate::simulator::budget::Halt;

/// A function of the simulator's own that no traceback shows.
const HIDDEN_CALL: &str = "'guarded_xpcall'";

pub(super) fn add(section: &Section<'_>) -> mlua::Result<()> {
    // describe(value): for an error raised by the host, whether it ends the machine, and its text; else nil.
    section.add("describe", |_, args| match args.get(1) {
        Value::Error(error) => {
            let (halts, text) = describe(error);
            Ok((Some(halts), Some(text)))
        }
        _ => Ok((None, None)),
    })?;
    section.add("place", |lua, _| Ok(place(lua)))?;
    // lift(function, pcall): a native function that calls it. Unlike a Lua function it leaves its caller on the
    // stack when it is called last; it can't yield.
    section.add("lift", |lua, args| {
        let (inner, pcall) = (function(&args, 1)?.clone(), function(&args, 2)?.clone());
        let lifted = lua.create_function(move |_, mut values: MultiValue| {
            values.push_front(Value::Function(inner.clone()));
            let mut results: MultiValue = pcall.call(values)?;
            match (results.pop_front(), results.front()) {
                (Some(Value::Boolean(true)), _) => Ok(results),
                (_, Some(Value::Error(error))) => Err((**error).clone()),
                (_, Some(problem)) => Err(Error::runtime(problem.to_string()?)),
                (_, None) => Err(Error::runtime("nil")),
            }
        })?;
        Ok(lifted)
    })?;
    section.add("traceback", |lua, args| traceback(lua, args.integer(1)?))?;
    section.add("getinfo", |lua, args| info(lua, &args))?;
    section.add("function", |lua, args| {
        let level = visible(lua, args.integer(1)?);
        Ok(level.and_then(|level| lua.inspect_stack(level, |frame| frame.function())))
    })?;
    section.add("getfenv", |_, args| Ok(function(&args, 1)?.environment()))?;
    section.add("setfenv", |_, args| match args.get(2) {
        Value::Table(environment) => Ok(function(&args, 1)?.set_environment(environment.clone())?),
        _ => Err(args.wrong(2, "table")),
    })?;
    // keep(name, function): puts a function where the host finds it.
    section.add("keep", |lua, args| {
        Ok(lua.set_named_registry_value(
            &format!("simulator.{}", args.text(1)?),
            args.get(2).clone(),
        )?)
    })
}

fn function(args: &Args, n: usize) -> Result<&Function, Problem> {
    match args.get(n) {
        Value::Function(function) => Ok(function),
        _ => Err(args.wrong(n, "function")),
    }
}

/// Whether an error ends the machine, and its text without the host's own traceback.
pub(in crate::simulator) fn describe(error: &Error) -> (bool, String) {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => describe(cause),
        Error::ExternalError(cause) => (cause.is::<Halt>(), cause.to_string()),
        Error::RuntimeError(text) | Error::MemoryError(text) => (false, text.clone()),
        other => (false, other.to_string()),
    }
}

fn traceback(lua: &Lua, level: i64) -> Result<String, Problem> {
    const TITLE: &str = "stack traceback:";
    let Some(level) = visible(lua, level) else {
        return Ok(TITLE.to_owned());
    };
    let full = lua.traceback(None, level)?.to_string_lossy();
    let mut shown: Vec<String> = Vec::new();
    for line in full.lines() {
        let Some(rest) = line.trim_start().strip_prefix(HIDDEN) else {
            if !line.contains(HIDDEN_CALL) {
                shown.push(line.to_owned());
            }
            continue;
        };
        // What stands for a native function is shown as one, once.
        if let Some((_, name)) = rest.split_once("in function '") {
            let native = format!("\t[C]: in function '{name}");
            if shown.last() != Some(&native) {
                shown.push(native);
            }
        }
    }
    Ok(shown.join("\n"))
}

/// `getinfo(level or function)`: what `debug.getinfo` tells, or nil beyond the end of the stack.
fn info(lua: &Lua, args: &Args) -> Result<Option<Table>, Problem> {
    let table = lua.create_table()?;
    if let Value::Function(function) = args.get(1) {
        let info = function.info();
        table.set("func", function.clone())?;
        table.set("what", info.what)?;
        table.set("source", info.source)?;
        table.set("short_src", info.short_src)?;
        table.set("linedefined", line(info.line_defined))?;
        table.set("lastlinedefined", line(info.last_line_defined))?;
        table.set("currentline", -1.0)?;
        table.set("nups", f64::from(info.num_upvalues))?;
        table.set("nparams", f64::from(info.num_params))?;
        table.set("isvararg", info.is_vararg)?;
        table.set("namewhat", "")?;
        return Ok(Some(table));
    }
    let Some(level) = visible(lua, args.integer(1)?) else {
        return Ok(None);
    };
    let filled = lua.inspect_stack(level, |frame| {
        let (names, source, stack) = (frame.names(), frame.source(), frame.stack());
        table.set("func", frame.function())?;
        table.set("name", names.name.as_deref())?;
        table.set("namewhat", names.name_what.unwrap_or(""))?;
        table.set("what", source.what)?;
        table.set("source", source.source.as_deref())?;
        table.set("short_src", source.short_src.as_deref())?;
        table.set("linedefined", line(source.line_defined))?;
        table.set("lastlinedefined", line(source.last_line_defined))?;
        table.set("currentline", line(frame.current_line()))?;
        table.set("istailcall", frame.is_tail_call())?;
        table.set("nups", f64::from(stack.num_upvalues))?;
        table.set("nparams", f64::from(stack.num_params))?;
        table.set("isvararg", stack.is_vararg)
    });
    filled.transpose()?;
    Ok(Some(table))
}

fn line(number: Option<usize>) -> f64 {
    number.map_or(-1.0, |number| number as f64)
}
