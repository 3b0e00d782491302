//! What a computer's folder has, and what of it is not synced.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::peer::{Peer, ROOM, list, no_answer, read};
use crate::{
    base::text::one_line,
    sync::{
        entry::{Entry, LARGEST, LARGEST_IN_ALL, MOST_FILES, TOO_LARGE},
        names::{self, without_twins},
    },
};

/// How many answers tell of one folder at most: each but the last has [`ROOM`] of names.
const PAGES: usize = 64;

/// Why a file is left out of which there is another on the computer, but for capital letters.
const TWIN: &str =
    "the computer has another of the same name but for capital letters: rename one of them there";

/// What a computer's folder has.
#[derive(Debug, Default)]
pub struct Survey {
    /// Its files, by their paths below it.
    pub files: BTreeMap<String, Entry>,
    /// What is not synced, and why, as a sentence's end.
    pub left: BTreeMap<String, String>,
    /// Bytes that are free there, where the game tells.
    pub free: Option<u64>,
    /// Whether it can't be written.
    pub read_only: bool,
    /// Whether there is no such folder.
    pub missing: bool,
    /// What tells whether it has changed, by a quick look; empty where the game can't tell.
    pub digest: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    same: bool,
    #[serde(default)]
    files: Value,
    free: Option<f64>,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    missing: bool,
    #[serde(default)]
    digest: String,
    next: Option<u64>,
}

#[derive(Deserialize)]
struct Found {
    path: String,
    size: Option<u64>,
    hash: Option<String>,
    problem: Option<String>,
}

/// Looks into a folder; none if it is as it was when it had this digest.
///
/// # Errors
/// It can't be looked at; why, in whole sentences.
pub async fn survey(
    peer: &dyn Peer,
    folder: &str,
    unless: Option<&str>,
) -> Result<Option<Survey>, String> {
    let mut survey = Survey::default();
    let mut from = 1;
    let too_much = |what: &str| {
        Err(format!(
            "{folder} of computer {} has more than {what}: name a folder in it.",
            peer.name()
        ))
    };
    for _ in 0..PAGES {
        // What comes later belongs to what was seen before.
        let unless = unless.filter(|_| from == 1);
        let request = json!({
            "what": "survey", "folder": folder, "from": from, "room": ROOM, "unless": unless,
        });
        let page: Page = read(peer, request).await?;
        if page.same {
            return Ok(None);
        }
        survey.free = page.free.map(|free| free.max(0.0) as u64);
        (survey.read_only, survey.missing) = (page.read_only, page.missing);
        survey.digest = page.digest;
        for found in list::<Found>(peer, page.files)? {
            add(&mut survey, found);
        }
        let bytes: u64 = survey.files.values().map(|entry| entry.size).sum();
        if survey.files.len() > MOST_FILES {
            return too_much(&format!("{MOST_FILES} files"));
        }
        if bytes > LARGEST_IN_ALL {
            return too_much(&format!("{} MiB", LARGEST_IN_ALL / 1024 / 1024));
        }
        match page.next {
            Some(next) if next > from => from = next,
            _ => {
                without_twins(&mut survey.files, &mut survey.left, TWIN);
                return Ok(Some(survey));
            }
        }
    }
    Err(no_answer(peer))
}

fn add(survey: &mut Survey, found: Found) {
    let path = found.path;
    if let Some(why) = names::unfit(&path) {
        survey
            .left
            .insert(one_line(&path).into_owned(), why.to_owned());
        return;
    }
    if path.split('/').any(names::is_passed_over) {
        return;
    }
    match (found.size, found.hash) {
        (Some(size), _) if size > LARGEST => {
            survey.left.insert(path, TOO_LARGE.to_owned());
        }
        (Some(size), Some(hash)) => {
            survey.files.insert(path, Entry { size, hash });
        }
        _ => {
            let problem = found
                .problem
                .unwrap_or_else(|| "it can't be read".to_owned());
            survey.left.insert(path, one_line(&problem).into_owned());
        }
    }
}
