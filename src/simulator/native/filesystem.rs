//! The native `fs` functions, and the handles of open files.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{AnyUserData, IntoLua, Lua, MultiValue, Value};

use super::host::Host;
use super::section::{Args, Problem, Section};
use crate::simulator::clock::Clock;
use crate::simulator::filesystem::{Content, Drive, FileSystem, normalise};
use crate::simulator::shared::lock;

/// How many files may be open at once.
const OPEN_LIMIT: usize = 128;

/// An open file. Dropping it closes it, as the game's collector does.
struct FileHandle {
    path: String,
    content: Content,
    position: Cell<usize>,
    writable: bool,
    append: bool,
    /// Whether text is transcoded, as it was before 1.109.
    transcode: bool,
    open: Cell<bool>,
    open_files: Rc<Cell<usize>>,
}

impl FileHandle {
    fn close(&self) {
        if self.open.replace(false) {
            self.open_files.set(self.open_files.get() - 1);
        }
    }
}

impl Drop for FileHandle {
    fn drop(&mut self) {
        self.close();
    }
}

fn path(args: &Args, n: usize) -> Result<String, Problem> {
    Ok(normalise(&args.text(n)?)?)
}

pub(super) fn add(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    add_questions(section, host)?;
    add_changes(section, host)?;
    add_open(section, host)?;
    add_handles(section, host)
}

fn add_questions(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    fn ask<R: mlua::IntoLuaMulti + 'static>(
        section: &Section<'_>,
        host: &Rc<Host>,
        name: &str,
        question: fn(&FileSystem, &str) -> Result<R, String>,
    ) -> mlua::Result<()> {
        let host = Rc::clone(host);
        section.add(name, move |_, args| {
            Ok(question(&lock(&host.shared.disk), &path(&args, 1)?)?)
        })
    }
    ask(section, host, "list", |disk, path| disk.list(path))?;
    // A path that leads out of the disk is simply not there.
    let owner = Rc::clone(host);
    section.add("exists", move |_, args| {
        let path = normalise(&args.text(1)?);
        Ok(path.is_ok_and(|path| lock(&owner.shared.disk).exists(&path)))
    })?;
    let owner = Rc::clone(host);
    section.add("isDir", move |_, args| {
        let path = normalise(&args.text(1)?);
        Ok(path.is_ok_and(|path| lock(&owner.shared.disk).is_folder(&path)))
    })?;
    ask(section, host, "isReadOnly", |disk, path| {
        Ok(disk.is_read_only(path))
    })?;
    ask(section, host, "getSize", |disk, path| {
        Ok(disk.attributes(path)?.size as f64)
    })?;
    ask(section, host, "getFreeSpace", |disk, path| {
        Ok(if disk.is_read_only(path) {
            0.0
        } else {
            disk.free(path) as f64
        })
    })?;
    ask(section, host, "getCapacity", |disk, path| {
        Ok((!disk.is_read_only(path)).then(|| disk.capacity(path) as f64))
    })?;
    let owner = Rc::clone(host);
    section.add("getDrive", move |_, args| {
        let path = path(&args, 1)?;
        let disk = lock(&owner.shared.disk);
        if !disk.exists(&path) {
            return Ok(None);
        }
        Ok(Some(match disk.drive(&path) {
            Drive::Own => "hdd".to_owned(),
            Drive::Rom => "rom".to_owned(),
            Drive::Floppy => owner.land.drive(owner.options.id).unwrap_or_default(),
        }))
    })?;
    let owner = Rc::clone(host);
    section.add("hasFloppy", move |_, _| {
        Ok(lock(&owner.shared.disk).has_floppy())
    })?;
    // The drive let go of the floppy.
    let owner = Rc::clone(host);
    section.add("removeFloppy", move |_, _| {
        lock(&owner.shared.disk).remove_floppy();
        Ok(())
    })?;
    ask(section, host, "normalise", |_, path| Ok(path.to_owned()))?;
    let owner = Rc::clone(host);
    section.add("paths", move |_, _| Ok(lock(&owner.shared.disk).paths()))?;
    let owner = Rc::clone(host);
    section.add("attributes", move |lua, args| {
        let found = lock(&owner.shared.disk).attributes(&path(&args, 1)?)?;
        let table = lua.create_table()?;
        table.set("size", found.size as f64)?;
        table.set("isDir", found.is_folder)?;
        table.set("isReadOnly", found.is_read_only)?;
        table.set("created", found.created_ms)?;
        table.set("modified", found.modified_ms)?;
        table.set("modification", found.modified_ms)?;
        Ok(table)
    })
}

fn add_changes(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let change = |name: &str, change: fn(&mut FileSystem, &Args, f64) -> Result<(), Problem>| {
        let host = Rc::clone(host);
        section.add(name, move |_, args| {
            let now_ms = host.events.clock(Clock::epoch_ms);
            change(&mut lock(&host.shared.disk), &args, now_ms)
        })
    };
    change("makeDir", |disk, args, now| {
        Ok(disk.make_folder(&path(args, 1)?, now)?)
    })?;
    change("delete", |disk, args, _| Ok(disk.delete(&path(args, 1)?)?))?;
    change("copy", |disk, args, now| {
        Ok(disk.copy(&path(args, 1)?, &path(args, 2)?, now)?)
    })?;
    change("move", |disk, args, now| {
        Ok(disk.rename(&path(args, 1)?, &path(args, 2)?, now)?)
    })
}

/// `open(path, mode)`: a handle, or nil and why not.
fn add_open(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let host = Rc::clone(host);
    let open_files = Rc::new(Cell::new(0));
    section.add("open", move |lua, args| {
        let written = args.text(1)?;
        let mode = args.text(2)?;
        let (kind, binary) = match mode.strip_suffix('b') {
            Some(kind) => (kind, true),
            None => (mode.as_str(), false),
        };
        let both_ways = host.options.version.raw_text();
        let (readable, writable) = match kind {
            "r" => (true, false),
            "w" | "a" => (false, true),
            "r+" | "w+" | "a+" if both_ways => (true, true),
            _ => return Err("Unsupported mode".into()),
        };
        let Ok(path) = normalise(&written) else {
            return refuse(
                lua,
                &format!("/{}: Invalid Path", written.trim_start_matches('/')),
            );
        };
        if open_files.get() >= OPEN_LIMIT {
            return refuse(lua, "Too many files already open");
        }
        let now_ms = host.events.clock(Clock::epoch_ms);
        let mut disk = lock(&host.shared.disk);
        let opened = match kind {
            "r" => disk.content(&path),
            "r+" if disk.is_read_only(&path) => Err(format!("/{path}: Access denied")),
            "r+" => disk.content(&path),
            _ => disk.create(&path, kind.starts_with('a'), now_ms),
        };
        drop(disk);
        let mut content = match opened {
            Ok(content) => content,
            // Before 1.109 a folder was no file that could be read.
            Err(problem) if !both_ways => {
                return refuse(lua, &problem.replace("Not a file", "No such file"));
            }
            Err(problem) => return refuse(lua, &problem),
        };
        let transcode = !binary && !host.options.version.raw_text();
        if transcode && readable {
            let text = decoded(&lock(&content));
            content = Arc::new(std::sync::Mutex::new(text));
        }
        open_files.set(open_files.get() + 1);
        let handle = FileHandle {
            path,
            content,
            position: Cell::new(0),
            writable,
            append: kind.starts_with('a'),
            transcode,
            open: Cell::new(true),
            open_files: Rc::clone(&open_files),
        };
        let handle = lua.create_any_userdata(handle)?;
        Ok(MultiValue::from_vec(vec![
            handle.into_lua(lua)?,
            binary.into_lua(lua)?,
            readable.into_lua(lua)?,
            writable.into_lua(lua)?,
        ]))
    })
}

fn refuse(lua: &Lua, why: &str) -> Result<MultiValue, Problem> {
    Ok(MultiValue::from_vec(vec![Value::Nil, why.into_lua(lua)?]))
}

/// UTF-8 read into the game's single bytes.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
        .collect()
}

fn with_handle<R>(
    args: &Args,
    work: impl FnOnce(&FileHandle) -> Result<R, Problem>,
) -> Result<R, Problem> {
    let Value::UserData(handle) = args.get(1) else {
        return Err(args.wrong(1, "file handle"));
    };
    let handle: &AnyUserData = handle;
    let handle = handle.borrow::<FileHandle>()?;
    if !handle.open.get() {
        return Err("attempt to use a closed file".into());
    }
    work(&handle)
}

fn add_handles(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    // read(handle, count): up to so many bytes; nil at the end.
    section.add("handleRead", |lua, args| {
        let count = args.integer(2)?;
        if count < 0 {
            return Err("Cannot read a negative number of bytes".into());
        }
        with_handle(&args, |handle| {
            let content = lock(&handle.content);
            let start = handle.position.get();
            if start >= content.len() {
                return Ok(Value::Nil);
            }
            let end = start.saturating_add(count as usize).min(content.len());
            handle.position.set(end);
            Ok(Value::String(lua.create_string(&content[start..end])?))
        })
    })?;
    // handleReadByte(handle): the next byte as a number; nil at the end.
    section.add("handleReadByte", |_, args| {
        with_handle(&args, |handle| {
            let at = handle.position.get();
            let byte = lock(&handle.content).get(at).copied();
            handle.position.set(at + usize::from(byte.is_some()));
            Ok(byte.map(f64::from))
        })
    })?;
    section.add("handleReadAll", |lua, args| {
        with_handle(&args, |handle| {
            let content = lock(&handle.content);
            let start = handle.position.get().min(content.len());
            handle.position.set(content.len());
            Ok(lua.create_string(&content[start..])?)
        })
    })?;
    // readLine(handle, keep): a line, with its end if asked for; nil at the end.
    section.add("handleReadLine", |lua, args| {
        let keep = args.truthy(2);
        with_handle(&args, |handle| {
            let content = lock(&handle.content);
            let start = handle.position.get();
            if start >= content.len() {
                return Ok(Value::Nil);
            }
            let rest = &content[start..];
            let (line, used) = match rest.iter().position(|&byte| byte == b'\n') {
                Some(end) if keep => (&rest[..=end], end + 1),
                Some(end) => (
                    rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]),
                    end + 1,
                ),
                None => (rest, rest.len()),
            };
            handle.position.set(start + used);
            Ok(Value::String(lua.create_string(line)?))
        })
    })?;
    section.add("handleSeek", |_, args| {
        let whence = if args.is_nil(2) {
            "cur".to_owned()
        } else {
            args.text(2)?
        };
        let offset = if args.is_nil(3) { 0 } else { args.integer(3)? };
        with_handle(&args, |handle| {
            let base = match whence.as_str() {
                "set" => 0,
                "cur" => handle.position.get() as i64,
                "end" => lock(&handle.content).len() as i64,
                other => {
                    return Err(
                        format!("bad argument #1 to 'seek' (invalid option '{other}')").into(),
                    );
                }
            };
            match usize::try_from(base.saturating_add(offset)) {
                Ok(position) => {
                    handle.position.set(position);
                    Ok((Some(position as f64), None))
                }
                Err(_) => Ok((None, Some("Position is negative"))),
            }
        })
    })?;
    let owner = Rc::clone(host);
    section.add("handleWrite", move |_, args| {
        let mut bytes = args.bytes(2)?;
        with_handle(&args, |handle| {
            if !handle.writable {
                return Err("attempt to write to a file opened for reading".into());
            }
            if handle.transcode {
                bytes = bytes
                    .iter()
                    .map(|&byte| char::from(byte))
                    .collect::<String>()
                    .into_bytes();
            }
            let length = lock(&handle.content).len();
            let at = if handle.append {
                length
            } else {
                handle.position.get()
            };
            let now_ms = owner.events.clock(Clock::epoch_ms);
            lock(&owner.shared.disk).write(&handle.path, &handle.content, at, &bytes, now_ms)?;
            handle.position.set(at + bytes.len());
            Ok(())
        })
    })?;
    section.add("handleFlush", |_, args| with_handle(&args, |_| Ok(())))?;
    section.add("handleClose", |_, args| {
        with_handle(&args, |handle| {
            handle.close();
            Ok(())
        })
    })
}
