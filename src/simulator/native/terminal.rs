//! The native `term` functions: they draw on the screen's cells.

use std::rc::Rc;

use mlua::Lua;

use super::host::Host;
use super::section::{Args, Problem, Section};
use crate::simulator::shared::lock;
use crate::simulator::terminal::{DEFAULT_PALETTE, Terminal};

/// The colour's number from 0, of a power of two as programs write colours.
fn colour(args: &Args, n: usize) -> Result<u8, Problem> {
    let value = args.integer(n)?;
    if value <= 0 {
        return Err("Colour out of range".into());
    }
    let number = 63 - value.leading_zeros();
    if number > 15 {
        Err("Colour out of range".into())
    } else {
        Ok(number as u8)
    }
}

fn rgb(colour: u32) -> (f64, f64, f64) {
    let part = |shift: u32| f64::from(((colour >> shift) & 0xff) as f32 / 255.0);
    (part(16), part(8), part(0))
}

fn text_of(args: &Args, n: usize) -> Result<Vec<u8>, Problem> {
    match args.get(n) {
        mlua::Value::String(text) => Ok(text.as_bytes().to_vec()),
        other => Ok(other.to_string()?.into_bytes()),
    }
}

pub(super) fn add(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let with = |name: &str, change: fn(&mut Terminal, &Args) -> Result<(), Problem>| {
        let host = Rc::clone(host);
        section.add(name, move |_: &Lua, args| {
            change(&mut lock(&host.shared.terminal), &args)
        })
    };
    with("write", |terminal, args| {
        terminal.write(&text_of(args, 1)?);
        Ok(())
    })?;
    with("blit", |terminal, args| {
        let (text, foreground, background) = (args.bytes(1)?, args.bytes(2)?, args.bytes(3)?);
        if text.len() != foreground.len() || text.len() != background.len() {
            return Err("Arguments must be the same length".into());
        }
        terminal.blit(&text, &foreground, &background);
        Ok(())
    })?;
    with("clear", |terminal, _| {
        terminal.clear();
        Ok(())
    })?;
    with("clearLine", |terminal, _| {
        terminal.clear_line();
        Ok(())
    })?;
    with("scroll", |terminal, args| {
        terminal.scroll(args.integer(1)?);
        Ok(())
    })?;
    with("setCursorPos", |terminal, args| {
        terminal.set_cursor(args.integer(1)?, args.integer(2)?);
        Ok(())
    })?;
    with("setCursorBlink", |terminal, args| {
        terminal.set_cursor_blink(args.boolean(1)?);
        Ok(())
    })?;
    for name in ["setTextColour", "setTextColor"] {
        with(name, |terminal, args| {
            terminal.set_foreground(colour(args, 1)?);
            Ok(())
        })?;
    }
    for name in ["setBackgroundColour", "setBackgroundColor"] {
        with(name, |terminal, args| {
            terminal.set_background(colour(args, 1)?);
            Ok(())
        })?;
    }
    for name in ["setPaletteColour", "setPaletteColor"] {
        with(name, |terminal, args| {
            let which = colour(args, 1)?;
            let value = if args.is_nil(3) {
                args.integer(2)? as u32
            } else {
                let part = |n| Ok::<u32, Problem>((args.finite(n)?.clamp(0.0, 1.0) * 255.0) as u32);
                part(2)? << 16 | part(3)? << 8 | part(4)?
            };
            terminal.set_palette(which, value);
            Ok(())
        })?;
    }
    add_readers(section, host)
}

fn add_readers(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let number = |colour: u8| f64::from(1u32 << colour);
    let shared = Rc::clone(host);
    section.add("getSize", move |_, _| {
        let (width, height) = lock(&shared.shared.terminal).size();
        Ok((width as f64, height as f64))
    })?;
    let shared = Rc::clone(host);
    section.add("getCursorPos", move |_, _| {
        let (x, y, _) = lock(&shared.shared.terminal).cursor();
        Ok((x as f64, y as f64))
    })?;
    let shared = Rc::clone(host);
    section.add("getCursorBlink", move |_, _| {
        Ok(lock(&shared.shared.terminal).cursor().2)
    })?;
    for name in ["getTextColour", "getTextColor"] {
        let shared = Rc::clone(host);
        section.add(name, move |_, _| {
            Ok(number(lock(&shared.shared.terminal).colours().0))
        })?;
    }
    for name in ["getBackgroundColour", "getBackgroundColor"] {
        let shared = Rc::clone(host);
        section.add(name, move |_, _| {
            Ok(number(lock(&shared.shared.terminal).colours().1))
        })?;
    }
    for name in ["getPaletteColour", "getPaletteColor"] {
        let shared = Rc::clone(host);
        section.add(name, move |_, args| {
            let which = colour(&args, 1)?;
            Ok(rgb(
                lock(&shared.shared.terminal).palette()[usize::from(which)]
            ))
        })?;
    }
    for name in ["nativePaletteColour", "nativePaletteColor"] {
        section.add(name, |_, args| {
            Ok(rgb(DEFAULT_PALETTE[usize::from(colour(&args, 1)?)]))
        })?;
    }
    let advanced = host.options.is_advanced();
    for name in ["isColour", "isColor"] {
        section.add(name, move |_, _| Ok(advanced))?;
    }
    Ok(())
}
