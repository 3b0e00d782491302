//! What programs draw on monitors.

use super::data::{Datum, Given};
use crate::simulator::terminal::Terminal;

/// What a monitor can do.
pub(super) const METHODS: &[&str] = &[
    "setTextScale",
    "getTextScale",
    "write",
    "blit",
    "clear",
    "clearLine",
    "scroll",
    "setCursorPos",
    "getCursorPos",
    "setCursorBlink",
    "getCursorBlink",
    "getSize",
    "isColour",
    "isColor",
    "setTextColour",
    "setTextColor",
    "getTextColour",
    "getTextColor",
    "setBackgroundColour",
    "setBackgroundColor",
    "getBackgroundColour",
    "getBackgroundColor",
    "setPaletteColour",
    "setPaletteColor",
    "getPaletteColour",
    "getPaletteColor",
];

/// The colour's number from 0, of a power of two as programs write colours.
fn colour(args: Given<'_>, n: usize) -> Result<u8, String> {
    let value = args.integer(n)?;
    u32::try_from(value)
        .ok()
        .and_then(u32::checked_ilog2)
        .and_then(|number| u8::try_from(number).ok())
        .filter(|number| *number < 16)
        .ok_or_else(|| "Colour out of range".to_owned())
}

fn written(number: u8) -> Datum {
    (1u32 << number).into()
}

/// What a method of the terminal does.
pub(super) fn call(
    terminal: &mut Terminal,
    method: &str,
    args: Given<'_>,
) -> Result<Vec<Datum>, String> {
    match method {
        "write" => terminal.write(&args.written(1)),
        "blit" => {
            let (text, foreground, background) = (args.bytes(1)?, args.bytes(2)?, args.bytes(3)?);
            if text.len() != foreground.len() || text.len() != background.len() {
                return Err("Arguments must be the same length".to_owned());
            }
            terminal.blit(&text, &foreground, &background);
        }
        "clear" => terminal.clear(),
        "clearLine" => terminal.clear_line(),
        "scroll" => terminal.scroll(args.integer(1)?),
        "setCursorPos" => terminal.set_cursor(args.integer(1)?, args.integer(2)?),
        "setCursorBlink" => terminal.set_cursor_blink(args.boolean(1)?),
        "getCursorPos" => {
            let (x, y, _) = terminal.cursor();
            return Ok(vec![(x as f64).into(), (y as f64).into()]);
        }
        "getCursorBlink" => return Ok(vec![terminal.cursor().2.into()]),
        "getSize" => {
            let (width, height) = terminal.size();
            return Ok(vec![(width as f64).into(), (height as f64).into()]);
        }
        "setTextColour" | "setTextColor" => terminal.set_foreground(colour(args, 1)?),
        "setBackgroundColour" | "setBackgroundColor" => terminal.set_background(colour(args, 1)?),
        "getTextColour" | "getTextColor" => return Ok(vec![written(terminal.colours().0)]),
        "getBackgroundColour" | "getBackgroundColor" => {
            return Ok(vec![written(terminal.colours().1)]);
        }
        "setPaletteColour" | "setPaletteColor" => {
            let which = colour(args, 1)?;
            let value = if args.is_nil(3) {
                args.integer(2)? as u32
            } else {
                let part = |n| Ok::<u32, String>((args.number(n)?.clamp(0.0, 1.0) * 255.0) as u32);
                part(2)? << 16 | part(3)? << 8 | part(4)?
            };
            terminal.set_palette(which, value);
        }
        "getPaletteColour" | "getPaletteColor" => {
            let value = terminal.palette()[usize::from(colour(args, 1)?)];
            let part = |shift: u32| Datum::Number(f64::from((value >> shift) & 0xff) / 255.0);
            return Ok(vec![part(16), part(8), part(0)]);
        }
        _ => {}
    }
    Ok(Vec::new())
}
