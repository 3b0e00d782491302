//! Files and folders of a computer, as resources show them.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use rmcp::model::{MetaObject, ResourceContents};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::{address, json::in_json};
use crate::{
    base::{byte_text, lua::own, text::one_line},
    computers::{Computer, ComputerKey},
    tools::{
        choosing::{ChoiceError, choose},
        computer::RunError,
        content,
        couriers::Couriers,
        manifest::TIME,
        plain_chunk::Piece,
        tool::Context,
    },
    wire::text,
};

/// The Lua of the tools that read files, which the agent may run even where it runs no other.
static SOURCE: LazyLock<String> =
    LazyLock::new(|| own::handler("computer-files/reading.lua").unwrap_or_default());

/// Why one can't be shown.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("There is no {} on computer {computer}.", one_line(.path))]
    Missing {
        /// Where it was looked for.
        computer: ComputerKey,
        /// Its path.
        path: String,
    },
    #[error(transparent)]
    NotChosen(#[from] ChoiceError),
    #[error(transparent)]
    NotRun(#[from] RunError),
    /// In the computer's words.
    #[error("{0}")]
    Refused(String),
    #[error("computer {0} answered something that is neither a file nor a folder")]
    Odd(ComputerKey),
}

impl FileError {
    /// Whether there is no such thing.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// How long a computer has to stamp a file.
const TO_STAMP: Duration = Duration::from_secs(20);

/// How long somebody waits for a computer.
#[derive(Clone, Copy)]
pub struct Patience {
    pub time: Duration,
    /// Whether it is worth a place in lists of jobs.
    pub is_listed: bool,
}

impl Patience {
    /// That of a client that reads.
    const OF_A_CALL: Self = Self {
        time: TIME,
        is_listed: true,
    };

    /// That of whoever looks by the way.
    pub const fn by_the_way(time: Duration) -> Self {
        Self {
            time,
            is_listed: false,
        }
    }
}

/// What a computer tells of a file or folder. Numbers may come as floats, and an empty list as an object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Told {
    missing: bool,
    /// Of a file in bytes, of a folder in entries.
    size: f64,
    /// The last byte that is here.
    last: f64,
    text: Option<String>,
    /// Whether the text stands in the file by the game's character set.
    latin: bool,
    base64: Option<String>,
    entries: Option<Value>,
    /// Bytes.
    free: Option<f64>,
    /// See [`stamp`].
    stamp: String,
}

/// An entry of a folder.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// Byte by byte.
    pub name: String,
    /// In bytes; none: it is a folder.
    pub size: Option<u64>,
}

impl Told {
    /// How many bytes or entries there are.
    pub fn total(&self) -> u64 {
        whole(self.size)
    }

    /// The entries, if it is a folder.
    pub fn entries(&self) -> Option<Vec<Entry>> {
        let entries = self.entries.as_ref()?.as_array();
        let entries = entries.into_iter().flatten().filter_map(|entry| {
            let name = entry.get(0)?.as_str()?.to_owned();
            let size = entry.get(1)?.as_f64().map(whole);
            Some(Entry { name, size })
        });
        Some(entries.collect())
    }
}

/// A count that Lua told.
fn whole(number: f64) -> u64 {
    // A count of bytes on a disk is far below what the conversion keeps.
    number.max(0.0) as u64
}

/// Asks a computer for what has this path, from a byte or entry on.
///
/// # Errors
/// It can't be asked, or there is nothing.
pub async fn ask(
    couriers: &Couriers,
    context: Context<'_>,
    computer: &Arc<Computer>,
    (path, from): (&str, u64),
    patience: Patience,
) -> Result<Told, FileError> {
    let told = ask_once(couriers, context, computer, (path, from), patience).await?;
    if !told.missing {
        return Ok(told);
    }
    // Programs of the game write é as one byte, and clients as two.
    if let Some(latin) = in_latin(path) {
        let told = ask_once(couriers, context, computer, (&latin, from), patience).await?;
        if !told.missing {
            return Ok(told);
        }
    }
    Err(FileError::Missing {
        computer: computer.key,
        path: text::read(path).into_owned(),
    })
}

async fn ask_once(
    couriers: &Couriers,
    context: Context<'_>,
    computer: &Arc<Computer>,
    (path, from): (&str, u64),
    patience: Patience,
) -> Result<Told, FileError> {
    let arguments = json!({ "path": path, "from": from, "raw": true });
    asked(couriers, context, computer, arguments, patience).await
}

async fn asked(
    couriers: &Couriers,
    context: Context<'_>,
    computer: &Arc<Computer>,
    arguments: Value,
    patience: Patience,
) -> Result<Told, FileError> {
    let piece = Piece {
        name: "reading.lua",
        source: &SOURCE,
        method: Some("read"),
        arguments: &[arguments],
        exclusive: false,
        is_kept: true,
        pauses: false,
        is_listed: patience.is_listed,
    };
    let ran = couriers.run(context, computer, piece, patience.time).await;
    let mut values = ran.end?;
    if let [Value::Null, problem, ..] = values.as_slice() {
        let problem = text::read(&content::shown(problem)).into_owned();
        return Err(FileError::Refused(problem));
    }
    let odd = FileError::Odd(computer.key);
    match values.is_empty() {
        true => Err(odd),
        false => serde_json::from_value(values.swap_remove(0)).map_err(|_| odd),
    }
}

/// What is another one when what has this path has changed; a path in the game's own characters counts too.
///
/// # Errors
/// The computer can't be asked.
pub async fn stamp(
    couriers: &Couriers,
    context: Context<'_>,
    computer: &Arc<Computer>,
    path: &str,
) -> Result<String, FileError> {
    let mut stamp = String::new();
    for path in [Some(path.to_owned()), in_latin(path)]
        .into_iter()
        .flatten()
    {
        let arguments = json!({ "path": path, "from": "stamp", "raw": true });
        let patience = Patience::by_the_way(TO_STAMP);
        let told = asked(couriers, context, computer, arguments, patience).await?;
        stamp.push_str(&told.stamp);
        stamp.push('\n');
    }
    Ok(stamp)
}

/// A path in the game's character set, where that is another.
fn in_latin(path: &str) -> Option<String> {
    if path.is_ascii() || byte_text::holds_bytes(path) {
        return None;
    }
    let bytes: Option<Vec<u8>> = path.chars().map(|c| u8::try_from(c).ok()).collect();
    bytes.map(byte_text::from_bytes)
}

/// What a resource shows of a path.
///
/// # Errors
/// It can't be asked for, or there is nothing.
pub async fn read(
    couriers: &Couriers,
    context: Context<'_>,
    computer: &Arc<Computer>,
    path: &str,
    from: u64,
    uri: &str,
) -> Result<Vec<ResourceContents>, FileError> {
    let computer = choose(Some(computer.key), context.fleet).await?;
    let told = ask(
        couriers,
        context,
        &computer,
        (path, from),
        Patience::OF_A_CALL,
    )
    .await?;
    let key = computer.key;
    if let Some(entries) = told.entries() {
        return Ok(vec![in_json(
            &folder(key, path, from, &told, &entries),
            uri,
        )]);
    }
    let content = match (&told.text, &told.base64) {
        (Some(text), _) => {
            let text = String::from_utf8_lossy(&byte_text::to_bytes(text)).into_owned();
            ResourceContents::text(text, uri)
        }
        (None, Some(base64)) => ResourceContents::blob(base64.clone(), uri),
        (None, None) => return Err(FileError::Odd(key)),
    };
    let content = content.with_mime_type(mime_type(path, told.text.is_some()));
    let (size, last) = (told.total(), whole(told.last));
    let mut notes = MetaObject::new();
    notes.insert("mcp-bridge/size".to_owned(), json!(size));
    if told.latin {
        notes.insert("mcp-bridge/encoding".to_owned(), json!("latin-1"));
    }
    if from == 1 && last >= size {
        return Ok(vec![content.with_meta(notes)]);
    }
    notes.insert("mcp-bridge/bytes".to_owned(), json!([from, last]));
    let mut contents = Vec::new();
    let mut part = format!("Bytes {from} to {last} of {size}.");
    let mut named = uri.to_owned();
    if last < size {
        named = address::of_rest(key, path, last + 1);
        notes.insert("mcp-bridge/next".to_owned(), json!(named));
        part = format!("{part} {named} has what follows.");
    }
    contents.push(content.with_meta(notes));
    contents.push(ResourceContents::text(part, named));
    Ok(contents)
}

/// What is in a folder.
fn folder(computer: ComputerKey, path: &str, from: u64, told: &Told, entries: &[Entry]) -> Value {
    let within = if path == "/" { "" } else { path };
    let shown = entries.iter().map(|entry| {
        // Bytes that are no text of their own may be part of one with what stands before them: so both are put together
        // as bytes.
        let mut whole = byte_text::to_bytes(within).into_owned();
        whole.push(b'/');
        whole.extend_from_slice(&byte_text::to_bytes(&entry.name));
        let uri = address::of_file(computer, &byte_text::from_bytes(whole));
        let name = text::read(&entry.name);
        match entry.size {
            Some(size) => json!({ "name": name, "size": size, "uri": uri }),
            None => json!({ "name": name, "folder": true, "uri": uri }),
        }
    });
    let mut fields = json!({
        "path": text::read(path),
        "total": told.total(),
        "entries": shown.collect::<Vec<_>>(),
    });
    let last = from - 1 + entries.len() as u64;
    if last < told.total() {
        fields["next"] = json!(address::of_rest(computer, path, last + 1));
    }
    if let Some(free) = told.free {
        fields["freeBytes"] = json!(whole(free));
    }
    fields
}

/// The media type of a file, by its name.
fn mime_type(path: &str, is_text: bool) -> &'static str {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    match (ending.to_ascii_lowercase().as_str(), is_text) {
        ("lua", true) => "text/x-lua",
        ("json", true) => "application/json",
        ("md", true) => "text/markdown",
        ("html" | "htm", true) => "text/html",
        ("csv", true) => "text/csv",
        ("xml", true) => "application/xml",
        ("yaml" | "yml", true) => "application/yaml",
        (_, true) => "text/plain",
        ("png", false) => "image/png",
        ("gif", false) => "image/gif",
        ("jpg" | "jpeg", false) => "image/jpeg",
        ("wav", false) => "audio/wav",
        ("ogg", false) => "audio/ogg",
        ("mp3", false) => "audio/mpeg",
        (_, false) => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::names::ComputerId;

    #[test]
    fn a_folder_is_shown_with_the_uris_of_what_is_in_it_and_of_the_rest() {
        let told: Told = serde_json::from_value(json!({
            "size": 3.0, "free": 12.0,
            "entries": [["a b", 7.0], [byte_text::from_bytes(vec![0xe9]), true]],
        }))
        .unwrap();
        let entries = told.entries().unwrap();
        assert_eq!(
            folder(ComputerId(1).into(), "/lib", 1, &told, &entries),
            json!({
                "path": "/lib", "total": 3, "freeBytes": 12,
                "entries": [
                    {"name": "a b", "size": 7, "uri": "cc://computer/1/fs/lib/a%20b"},
                    {"name": "é", "folder": true, "uri": "cc://computer/1/fs/lib/%E9"},
                ],
                "next": "cc://computer/1/fs/lib?from=3",
            })
        );
        let empty: Told = serde_json::from_value(json!({"entries": {}})).unwrap();
        assert_eq!(empty.entries(), Some(Vec::new()));
        assert_eq!(Told::default().entries(), None);
    }

    #[test]
    fn a_name_is_also_looked_for_in_the_games_own_characters() {
        assert_eq!(
            in_latin("/café"),
            Some(byte_text::from_bytes(b"/caf\xe9".to_vec()))
        );
        for path in ["/cafe", "/€", &byte_text::from_bytes(vec![0xff])] {
            assert_eq!(in_latin(path), None, "{path}");
        }
    }

    #[test]
    fn a_files_media_type_goes_by_its_name_and_by_whether_it_is_text() {
        for (path, is_text, kind) in [
            ("/a.LUA", true, "text/x-lua"),
            ("/a.lua", false, "application/octet-stream"),
            ("/startup", true, "text/plain"),
            ("/a.png", false, "image/png"),
        ] {
            assert_eq!(mime_type(path, is_text), kind, "{path}");
        }
    }
}
