//! The machine as `setup` sees it: its system, its folders, its environment. Read once; tests make one up.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

/// An operating system, by which programs put their files in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum System {
    /// Linux, and what else follows the XDG rules.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// The one that this program runs on.
    pub const fn here() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// A machine, as one user sees it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its system.
    pub system: System,
    /// The user's home folder.
    pub home: PathBuf,
    /// The folder that the command was started in.
    pub here: PathBuf,
    /// This program, by the name that stays when it is updated.
    pub program: PathBuf,
    /// The environment.
    pub variables: BTreeMap<String, String>,
}

impl Machine {
    /// This machine; none if it knows no home folder or can't name this program.
    pub fn this() -> Option<Self> {
        // Variables that are no text name nothing that is looked for.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let variables: BTreeMap<_, _> = env::vars_os().filter_map(text).collect();
        Some(Self {
            system: System::here(),
            home: directories::BaseDirs::new()?.home_dir().to_path_buf(),
            here: env::current_dir().ok()?,
            program: own_program()?,
            variables,
        })
    }

    /// A variable of the environment that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// A folder that a variable names, if it does so by a whole path.
    pub fn folder(&self, variable: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.variable(variable)?);
        // Tests look at Windows paths on other systems.
        let is_whole = path.is_absolute() || self.system == System::Windows;
        is_whole.then_some(path)
    }

    /// `XDG_CONFIG_HOME`, or `~/.config`: also on macOS and Windows, for programs that keep to it there.
    pub fn xdg_config(&self) -> PathBuf {
        self.folder("XDG_CONFIG_HOME")
            .unwrap_or_else(|| self.home.join(".config"))
    }

    /// `XDG_DATA_HOME`, or `~/.local/share`.
    pub fn xdg_data(&self) -> PathBuf {
        self.folder("XDG_DATA_HOME")
            .unwrap_or_else(|| self.home.join(".local/share"))
    }

    /// `~/Library/Application Support` of macOS.
    pub fn application_support(&self) -> PathBuf {
        self.home.join("Library/Application Support")
    }

    /// `%APPDATA%` of Windows.
    pub fn app_data(&self) -> PathBuf {
        self.folder("APPDATA")
            .unwrap_or_else(|| self.home.join("AppData/Roaming"))
    }

    /// `%LOCALAPPDATA%` of Windows.
    pub fn local_app_data(&self) -> PathBuf {
        self.folder("LOCALAPPDATA")
            .unwrap_or_else(|| self.home.join("AppData/Local"))
    }

    /// Where programs with a window keep the user's settings: `%APPDATA%`, `~/Library/Application Support`, or
    /// [`Self::xdg_config`].
    pub fn settings(&self) -> PathBuf {
        match self.system {
            System::Linux => self.xdg_config(),
            System::MacOs => self.application_support(),
            System::Windows => self.app_data(),
        }
    }

    /// A program that `PATH` leads to. On Windows it is looked for with the usual endings.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let endings: &[&str] = match self.system {
            System::Windows => &[".exe", ".cmd", ".bat"],
            _ => &[""],
        };
        let folders = self.variable("PATH").or_else(|| self.variable("Path"))?;
        env::split_paths(folders)
            .filter(|folder| folder.is_absolute())
            .flat_map(|folder| {
                endings
                    .iter()
                    .map(move |ending| folder.join(format!("{name}{ending}")))
            })
            .find(|path| is_program(path))
    }
}

/// This program by the name that it was started by, if that leads to it: a link, which an update leaves alone, is better
/// than what it leads to today.
fn own_program() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let called = PathBuf::from(env::args_os().next()?);
    let called = if called.components().count() > 1 {
        std::path::absolute(called).ok()
    } else {
        let path = env::var_os("PATH")?;
        env::split_paths(&path)
            .map(|folder| folder.join(&called))
            .find(|path| path.is_absolute() && is_program(path))
    };
    let is_it = |path: &Path| path.canonicalize().ok() == program.canonicalize().ok();
    Some(called.filter(|path| is_it(path)).unwrap_or(program))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(system: System, variables: &[(&str, &str)]) -> Machine {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Machine {
            system,
            home: "/home/me".into(),
            here: "/work".into(),
            program: "/bin/mcp-bridge".into(),
            variables: variables.iter().map(own).collect(),
        }
    }

    #[test]
    fn each_system_has_its_folder_of_settings() {
        let of = |system, variables: &[(&str, &str)]| machine(system, variables).settings();
        let whole = if cfg!(windows) { "C:/c" } else { "/c" };
        assert_eq!(of(System::Linux, &[]), Path::new("/home/me/.config"));
        assert_eq!(
            of(System::Linux, &[("XDG_CONFIG_HOME", whole)]),
            Path::new(whole)
        );
        assert_eq!(
            of(System::Linux, &[("XDG_CONFIG_HOME", "")]),
            Path::new("/home/me/.config")
        );
        assert_eq!(
            of(System::Linux, &[("XDG_CONFIG_HOME", "c")]),
            Path::new("/home/me/.config")
        );
        let mac = "/home/me/Library/Application Support";
        assert_eq!(of(System::MacOs, &[]), Path::new(mac));
        assert_eq!(
            of(System::Windows, &[]),
            Path::new("/home/me/AppData/Roaming")
        );
        assert_eq!(
            of(System::Windows, &[("APPDATA", "D:\\R")]),
            Path::new("D:\\R")
        );
    }

    #[test]
    fn this_machine_names_the_program_that_runs() {
        let machine = Machine::this().unwrap();
        assert!(machine.program.is_absolute() && machine.program.is_file());
    }
}
