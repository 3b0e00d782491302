//! Where in the stack of calls a program is, with the rom's own functions left out.

use mlua::Lua;

/// The chunk whose functions stand for native ones; they are left out of tracebacks, as Java's are.
pub(super) const HIDDEN: &str = "[native]";

/// What stands at a level of the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// A Lua function of the rom that stands for a native one.
    Hidden,
    C,
    Lua,
}

fn frame(lua: &Lua, level: usize) -> Option<Frame> {
    lua.inspect_stack(level, |frame| {
        let source = frame.source();
        match source.short_src.as_deref() {
            Some(HIDDEN) => Frame::Hidden,
            _ if source.what == "C" => Frame::C,
            _ => Frame::Lua,
        }
    })
}

/// The real stack level of what a program counts as `level` (1: the function that called us). What stands for a
/// native function doesn't count.
pub(super) fn visible(lua: &Lua, level: i64) -> Option<usize> {
    let mut remaining = level.max(1);
    for real in 1.. {
        if frame(lua, real)? != Frame::Hidden {
            remaining -= 1;
            if remaining == 0 {
                return Some(real);
            }
        }
    }
    None
}

/// `file:line: ` of the nearest function of a program, which is where the game places a native function's error.
pub(super) fn place(lua: &Lua) -> String {
    for level in 1.. {
        match frame(lua, level) {
            Some(Frame::Lua) => {
                let found = lua.inspect_stack(level, |frame| {
                    Some((
                        frame.source().short_src?.into_owned(),
                        frame.current_line()?,
                    ))
                });
                return found
                    .flatten()
                    .map_or_else(String::new, |(source, line)| format!("{source}:{line}: "));
            }
            Some(_) => {}
            None => break,
        }
    }
    String::new()
}
