//! The native `os` functions: identity, clock, timers, events and power.

use std::rc::Rc;

use super::convert::event_from_lua;
use super::host::{Host, Power};
use super::section::Section;
use crate::simulator::clock::{Clock, TICK_SECONDS};
use crate::simulator::keys;
use crate::simulator::shared::lock;
use crate::simulator::state::ProgramState;

pub(super) fn add(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    add_identity(section, host)?;
    add_events(section, host)?;
    add_time(section, host)?;
    add_power(section, host)
}

fn add_identity(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let options = &host.options;
    section.set("host", options.version.host())?;
    section.set("version", options.version.to_string())?;
    section.set("kind", options.kind.name())?;
    section.set("advanced", options.is_advanced())?;
    section.set("id", options.id as f64)?;
    let keys = keys::all(options.version.lwjgl2_keys());
    section.set("keys", section.lua.create_table_from(keys)?)?;
    section.set("program", host.program.as_str())?;
    let version = options.version.clone();
    // atLeast(major, minor, patch): whether this version has what that one brought.
    section.add("atLeast", move |_, args| {
        let part = |n| {
            if args.is_nil(n) {
                Ok(0)
            } else {
                args.integer(n).map(|part| part as u32)
            }
        };
        Ok(version.at_least(part(1)?, part(2)?, part(3)?))
    })?;
    let owner = Rc::clone(host);
    section.add("getLabel", move |lua, _| {
        let label = lock(&owner.shared.label).clone();
        Ok(label.map(|label| lua.create_string(label)).transpose()?)
    })?;
    let owner = Rc::clone(host);
    section.add("setLabel", move |_, args| {
        let label = if args.is_nil(1) {
            None
        } else {
            Some(args.bytes(1)?)
        };
        // The game keeps what a name tag can hold.
        let clean = |label: Vec<u8>| {
            let kept = label
                .into_iter()
                .filter(|&byte| byte >= b' ' && byte != 0xa7)
                .take(32);
            kept.collect::<Vec<u8>>()
        };
        *lock(&owner.shared.label) = label.map(clean);
        Ok(())
    })?;
    let owner = Rc::clone(host);
    // programState("running" | "ended", ok): what became of the program given to the computer.
    section.add("programState", move |_, args| {
        owner.shared.set_program(match args.text(1)?.as_str() {
            "running" => ProgramState::Running,
            _ => ProgramState::Ended { ok: args.truthy(2) },
        });
        Ok(())
    })
}

fn add_events(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let owner = Rc::clone(host);
    section.add("queueEvent", move |_, args| {
        let name = args.bytes(1)?;
        let values = args.0.into_iter().skip(1).collect();
        owner.events.push(event_from_lua(name, values)?);
        Ok(())
    })?;
    let owner = Rc::clone(host);
    section.add("startTimer", move |_, args| {
        Ok(owner.events.start_timer(args.finite(1)?) as f64)
    })?;
    let owner = Rc::clone(host);
    section.add("setAlarm", move |_, args| {
        let hour = args.finite(1)?;
        if !(0.0..24.0).contains(&hour) {
            return Err("Number out of range".into());
        }
        Ok(owner.events.set_alarm(hour) as f64)
    })?;
    for name in ["cancelTimer", "cancelAlarm"] {
        let owner = Rc::clone(host);
        section.add(name, move |_, args| {
            owner.events.cancel(args.integer(1)?.max(0) as u64);
            Ok(())
        })?;
    }
    Ok(())
}

fn add_time(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let read = |name: &str, read: fn(&Clock) -> f64| {
        let host = Rc::clone(host);
        section.add(name, move |_, _| Ok(host.events.clock(read)))
    };
    read("clock", |clock| clock.tick() as f64 * TICK_SECONDS)?;
    read("time", Clock::hour)?;
    read("day", |clock| clock.day() as f64)?;
    read("epoch", Clock::epoch_ms)
}

fn add_power(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    for (name, power) in [("shutdown", Power::Off), ("reboot", Power::Reboot)] {
        let owner = Rc::clone(host);
        section.add(name, move |_, _| {
            owner.power.set(Some(power));
            Ok(())
        })?;
    }
    Ok(())
}
