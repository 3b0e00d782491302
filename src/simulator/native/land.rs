//! The native functions for what is around the computer: turtles, peripherals, redstone.

use std::rc::Rc;
use std::sync::Arc;

use mlua::{IntoLua, Lua, MultiValue, Value};

use super::convert::{event_from_lua, event_to_lua};
use super::host::Host;
use super::section::{Args, Problem, Section};
use crate::simulator::events::{Outcome, Task};
use crate::simulator::land::{Datum, Done, Side, carried};

pub(super) fn add(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    add_turtle(section, host)?;
    add_peripherals(section, host)?;
    add_redstone(section, host)
}

/// The arguments from the n-th on; those that are no plain values are nil.
fn data(args: &Args, n: usize) -> Vec<Datum> {
    let datum = |value: &Value| match value {
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Integer(number) => Datum::Number(*number as f64),
        Value::Number(number) => Datum::Number(*number),
        Value::String(text) => Datum::Text(text.as_bytes().to_vec()),
        Value::Table(_) => Datum::Table(Vec::new()),
        _ => Datum::Nil,
    };
    args.0.iter().skip(n - 1).map(datum).collect()
}

/// The values as Lua's, without the name of the event that carries them.
fn values(lua: &Lua, data: Vec<Datum>) -> mlua::Result<MultiValue> {
    let mut values = event_to_lua(lua, carried("", data))?;
    values.pop_front();
    Ok(values)
}

fn add_turtle(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let owner = Rc::clone(host);
    // act(action, ...): begins it; `turtle_response` with the number returned tells what came of it.
    section.add("act", move |_, args| {
        let (land, id) = (Arc::clone(&owner.land), owner.options.id);
        let (action, given) = (args.text(1)?, data(&args, 2));
        let task = Task::new(move || {
            let (Done { ticks, values }, after) = land.act(id, &action, &given);
            Outcome {
                ticks,
                told: carried("", values),
                after,
            }
        });
        let number = owner.events.start_turtle_action(task);
        Ok(number.map(|number| number as f64))
    })?;
    let owner = Rc::clone(host);
    // read(question, slot): what needs no waiting. The slot counts from 1.
    section.add("read", move |lua, args| {
        let slot = match args.is_nil(2) {
            true => None,
            false => Some((args.integer(2)? - 1).clamp(0, 15) as usize),
        };
        let told = owner
            .land
            .read_turtle(owner.options.id, &args.text(1)?, slot);
        Ok(values(lua, vec![told.unwrap_or(Datum::Nil)])?)
    })
}

fn add_peripherals(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let owner = Rc::clone(host);
    section.add("names", move |_, _| Ok(owner.land.names(owner.options.id)))?;
    let owner = Rc::clone(host);
    // describe(name): its kinds and its methods, or nil if there is no such peripheral.
    section.add("describe", move |_, args| {
        let found = owner.land.peripheral(owner.options.id, &args.text(1)?);
        Ok(found.map_or((None, None), |(types, methods)| {
            (Some(types), Some(methods))
        }))
    })?;
    let owner = Rc::clone(host);
    // call(name, method, ...): the number of a task that `task_complete` tells of; or nil, whether it went well, and
    // its results or what is wrong.
    section.add("call", move |lua, args| {
        let (land, id) = (Arc::clone(&owner.land), owner.options.id);
        let (name, method) = (args.text(1)?, args.text(2)?);
        let given = data(&args, 3);
        if land.takes_a_tick(id, &name, &method) {
            let task = Task::new(move || Outcome {
                ticks: 0,
                told: carried("", settled(land.call(id, &name, &method, &given).result)),
                after: Vec::new(),
            });
            let number = owner.events.start_task(task);
            let number = number.ok_or("Task limit exceeded")?;
            return Ok(MultiValue::from_vec(vec![(number as f64).into_lua(lua)?]));
        }
        let result = match method.as_str() {
            "transmit" => transmit(&owner, &name, &args),
            _ => land.call(id, &name, &method, &given).result,
        };
        let mut all = vec![Datum::Nil];
        all.extend(settled(result));
        Ok(values(lua, all)?)
    })
}

/// Whether it went well, then its results or what is wrong.
fn settled(result: Result<Vec<Datum>, String>) -> Vec<Datum> {
    match result {
        Ok(mut values) => {
            values.insert(0, true.into());
            values
        }
        Err(problem) => vec![false.into(), problem.into()],
    }
}

/// `transmit(channel, reply channel, message)` of a modem: the message may be any value.
fn transmit(host: &Host, name: &str, args: &Args) -> Result<Vec<Datum>, String> {
    let side = Side::named(name).ok_or("No peripheral attached")?;
    let number = |n: usize| match args.get(n) {
        Value::Integer(number) => Ok(*number),
        Value::Number(number) => Ok(*number as i64),
        other => Err(format!(
            "bad argument #{} (number expected, got {})",
            n - 2,
            other.type_name()
        )),
    };
    let (channel, reply) = (number(3)?, number(4)?);
    let message = event_from_lua(b"modem_message".to_vec(), vec![args.get(5).clone()])
        .map_err(|problem| problem.to_string())?;
    host.land
        .transmit(host.options.id, side, channel, reply, &message)?;
    Ok(Vec::new())
}

fn add_redstone(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let side = |args: &Args| -> Result<Side, Problem> {
        let name = args.text(1)?;
        Side::named(&name).ok_or_else(|| format!("bad argument #1 (unknown option {name})").into())
    };
    let owner = Rc::clone(host);
    // redstoneIn(side), redstoneOut(side): the power, and what bundled cables carry.
    section.add("redstoneIn", move |_, args| {
        let (power, bundled) = owner.land.redstone_in(owner.options.id, side(&args)?);
        Ok((f64::from(power), f64::from(bundled)))
    })?;
    let owner = Rc::clone(host);
    section.add("redstoneOut", move |_, args| {
        let (power, bundled) = owner.land.redstone_out(owner.options.id, side(&args)?);
        Ok((f64::from(power), f64::from(bundled)))
    })?;
    let owner = Rc::clone(host);
    // putRedstone(side, power, bundled): what is nil stays as it is.
    section.add("putRedstone", move |_, args| {
        let number = |n| match args.is_nil(n) {
            true => Ok(None),
            false => args.integer(n).map(Some),
        };
        let power = number(2)?.map(|power| power.clamp(0, 15) as u8);
        let bundled = number(3)?.map(|bundled| bundled.clamp(0, 0xffff) as u16);
        owner
            .land
            .put_redstone(owner.options.id, side(&args)?, power, bundled);
        Ok(())
    })
}
