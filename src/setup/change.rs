//! A change of one file: shown as a diff, and written whole or not at all.

use std::{ffi::OsString, fs, io, path::PathBuf};

use similar::TextDiff;

use super::{
    file::{self, BOM, Found, Rights},
    hiding,
    refusal::Refusal,
};

/// Lines that are shown around what changes.
const CONTEXT: usize = 3;

/// What stands after the name of a file that keeps what was there before the first change.
const BACKUP: &str = ".mcp-bridge.bak";

/// A change of one file.
#[derive(Debug, Clone)]
pub struct Change {
    /// The file as it was read. It is written only if it still is so.
    pub before: Found,
    /// What is to be in it, without a byte-order mark; none if the file is to go.
    pub after: Option<String>,
    /// Whether a file that is made is for its user alone. One that is there keeps the rights it has.
    pub is_private: bool,
    /// Whether other users' rights to a file that is there are taken from them.
    pub is_closing: bool,
    /// What no diff may show.
    pub secrets: Vec<String>,
    /// Whether it only takes out what was put in.
    is_removal: bool,
}

impl Change {
    /// A change that puts `after` into the file, or takes the file away.
    pub fn new(before: Found, after: Option<String>) -> Self {
        Self {
            before,
            after,
            is_private: false,
            is_closing: false,
            secrets: Vec::new(),
            is_removal: false,
        }
    }

    /// The same, which only takes out what was put in: nothing has to be kept for that.
    pub fn taking_out(before: Found, after: Option<String>) -> Self {
        Self {
            is_removal: true,
            ..Self::new(before, after)
        }
    }

    /// Whether the file would stay as it is.
    pub fn is_nothing(&self) -> bool {
        self.before.text == self.after
    }

    /// The change as a unified diff, without secrets: neither our own, nor what the file says of other programs.
    pub fn diff(&self) -> String {
        let path = self.before.path.display().to_string();
        let name = |text: &Option<String>| match text {
            Some(_) => path.clone(),
            None => "(no file)".to_owned(),
        };
        // Alike lines with other ends would be no difference that a person sees.
        let plain = |text: Option<&str>| text.unwrap_or_default().replace("\r\n", "\n");
        let (before, after) = (
            plain(self.before.text.as_deref()),
            plain(self.after.as_deref()),
        );
        let diff = TextDiff::from_lines(&before, &after);
        let mut lines = vec![
            format!("--- {}", name(&self.before.text)),
            format!("+++ {}", name(&self.after)),
        ];
        let mut unified = diff.unified_diff();
        let hunks = unified.context_radius(CONTEXT).missing_newline_hint(false);
        for hunk in hunks.iter_hunks() {
            lines.push(hunk.header().to_string());
            for change in hunk.iter_changes() {
                let line = hiding::shown(change.value(), &self.secrets);
                lines.push(format!("{}{line}", change.tag()));
            }
        }
        lines.join("\n")
    }

    /// Writes it: into a temporary file in the same folder, which then takes the place of the old one, with its rights and
    /// its owner. What was there before the first change is kept beside it, until the file is as it was again.
    ///
    /// # Errors
    /// The file is not as it was read, or can't be written. It is then as it was.
    pub fn apply(&self) -> Result<(), Refusal> {
        if self.is_nothing() {
            return Ok(());
        }
        if Found::read(&self.before.path)? != self.before {
            return Err(self.refused(
                "was changed by another program meanwhile, so it is left as it is. Try again",
            ));
        }
        let failed = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    ". Another program may hold it open, or it belongs to somebody else"
                }
                _ => "",
            };
            self.refused(format!("can't be written: {error}{hint}"))
        };
        let Some(after) = &self.after else {
            fs::remove_file(&self.before.target).map_err(failed)?;
            // A file that goes was made by us, and so was what was kept of it. It does no harm if it stays.
            let _ = fs::remove_file(self.backup());
            return Ok(());
        };
        let mut bytes = String::with_capacity(after.len() + BOM.len());
        if self.before.has_bom {
            bytes.push_str(BOM);
        }
        bytes.push_str(after);
        self.keeping(|| self.write(bytes.as_bytes()))
            .map_err(failed)?;
        if Found::read(&self.before.path)?.text.as_ref() != Some(after) {
            return Err(self.refused("is not as it was written: another program writes it too"));
        }
        self.tidy(bytes.as_bytes());
        Ok(())
    }

    /// Where what was there before the first change is kept.
    pub fn backup(&self) -> PathBuf {
        let mut name = self
            .before
            .target
            .file_name()
            .map_or_else(OsString::new, OsString::from);
        name.push(BACKUP);
        self.before.target.with_file_name(name)
    }

    /// Does this, and keeps what was there; where it fails nothing was changed, so nothing is kept that was not before.
    fn keeping(&self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let is_kept_now = self.back_up()?;
        let written = write();
        if written.is_err() && is_kept_now {
            let _ = fs::remove_file(self.backup());
        }
        written
    }

    /// Keeps what is there, if there is a file and nothing of it was kept before. Whether it did.
    fn back_up(&self) -> io::Result<bool> {
        if self.is_removal || self.before.text.is_none() || self.backup().exists() {
            return Ok(false);
        }
        // With its rights: it may hold what nobody else should read.
        fs::copy(&self.before.target, self.backup()).map(|_| true)
    }

    /// Takes the backup away once the file is again what was kept.
    fn tidy(&self, now: &[u8]) {
        let kept = fs::read(self.backup()).ok();
        if kept.as_deref() == Some(now) {
            // It does no harm if it stays.
            let _ = fs::remove_file(self.backup());
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let rights = match (&self.before.text, self.is_private) {
            (Some(_), _) if self.is_closing => Rights::Private,
            (Some(_), _) => Rights::Kept,
            (None, true) => Rights::Private,
            (None, false) => Rights::Usual,
        };
        file::replace(&self.before.target, bytes, rights)
    }

    fn refused(&self, reason: impl Into<String>) -> Refusal {
        Refusal::new(reason).of(&self.before.path)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn change(path: &Path, after: Option<&str>) -> Change {
        Change::new(Found::read(path).unwrap(), after.map(str::to_owned))
    }

    #[test]
    fn a_change_is_shown_as_a_diff_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let lines =
            |more: &str| format!("{{\r\n  \"a\": 1,\r\n{more}  \"API_KEY\": \"x\"\r\n}}\r\n");
        fs::write(&path, lines("")).unwrap();
        let mut change = change(&path, Some(&lines("  \"b\": \"s3cret\",\r\n")));
        change.secrets.push("s3cret".to_owned());
        let name = path.display();
        assert_eq!(
            change.diff(),
            format!(
                "--- {name}\n+++ {name}\n@@ -1,4 +1,5 @@\n {{\n   \"a\": 1,\n+  \"b\": \"…\",\n   \"API_KEY\": …\n }}"
            )
        );
        assert!(!change.is_nothing());
    }

    #[test]
    fn what_was_there_is_kept_until_the_file_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "\u{feff}one\r\n").unwrap();
        change(&path, Some("two\r\n")).apply().unwrap();
        let third = change(&path, Some("three\r\n"));
        third.apply().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "\u{feff}three\r\n");
        assert_eq!(
            fs::read_to_string(third.backup()).unwrap(),
            "\u{feff}one\r\n"
        );
        change(&path, Some("one\r\n")).apply().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn of_a_file_that_cannot_be_written_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "one").unwrap();
        let change = change(&path, Some("two"));
        let refused = change.keeping(|| {
            assert!(change.backup().exists());
            Err(io::ErrorKind::PermissionDenied.into())
        });
        assert!(refused.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // What an earlier change kept stays.
        fs::write(change.backup(), "zero").unwrap();
        let refused = change.keeping(|| Err(io::ErrorKind::PermissionDenied.into()));
        assert!(refused.is_err() && change.backup().exists());
    }

    #[test]
    fn a_file_is_made_with_its_folder_and_goes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.json");
        change(&path, Some("{}")).apply().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        change(&path, None).apply().unwrap();
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "one").unwrap();
        let change = change(&path, Some("two"));
        fs::write(&path, "another").unwrap();
        let refusal = change.apply().unwrap_err().to_string();
        assert!(
            refusal.contains("a.json: was changed by another program"),
            "{refusal}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "another");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_rights_stay_and_what_holds_a_token_is_for_its_user_alone() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::create_dir(at("dots")).unwrap();
        fs::write(at("dots/real.json"), "{}").unwrap();
        fs::set_permissions(at("dots/real.json"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("dots/real.json", at("link.json")).unwrap();
        change(&at("link.json"), Some("{ }")).apply().unwrap();
        assert!(fs::symlink_metadata(at("link.json")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at("dots/real.json")).unwrap(), "{ }");
        assert_eq!(mode(&at("dots/real.json")), 0o640);
        assert_eq!(mode(&at("dots/real.json.mcp-bridge.bak")), 0o640);

        let mut new = change(&at("new.json"), Some("{}"));
        new.is_private = true;
        new.apply().unwrap();
        assert_eq!(mode(&at("new.json")), 0o600);
    }
}
