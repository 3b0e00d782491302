//! What is made of the lines of the table: structs that read themselves from all sources.

use std::path::Path;

use super::{
    error::ConfigError,
    folders::Folders,
    setting::Setting,
    sources::{Flags, Sources},
};

/// Settings that belong together.
pub trait Group: Sized {
    /// Its lines of the table.
    fn settings() -> Vec<Setting>;

    /// Reads it.
    fn read(sources: &Sources<'_>) -> Result<Self, ConfigError>;

    /// Reads it from `flags`, the environment through `variable`, and the `text` of the configuration `file`, which may
    /// have the key of any of the `known` settings.
    fn resolve(
        flags: &Flags,
        variable: impl Fn(&str) -> Option<String>,
        file: &Path,
        text: &str,
        known: &[Setting],
    ) -> Result<Self, ConfigError> {
        Self::read(&Sources::open(flags, &variable, file, text, known)?)
    }

    /// The same, with the configuration file that is in `folders`, if there is one.
    fn load(
        flags: &Flags,
        variable: impl Fn(&str) -> Option<String>,
        folders: &Folders,
        known: &[Setting],
    ) -> Result<Self, ConfigError> {
        let (file, text) = folders.configuration()?;
        Self::resolve(flags, variable, &file, &text, known)
    }
}

/// Makes of each struct in the table, whose fields are lines or groups, the struct itself and its [`Group`].
macro_rules! table {
    ($(
        $(#[doc = $about:literal])+
        pub struct $group:ident {$(
            $(#[doc = $help:literal])+
            $name:ident: $field:ty $(= $($line:tt),+)?;
        )+}
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub struct $group {$(
            $(#[doc = $help])+
            pub $name: $field,
        )+}

        impl $group {
            /// Reads all sources: `flags`, the environment through `variable`, and the configuration file if there is
            /// one.
            ///
            /// # Errors
            /// A value that does not fit, or a configuration file that can't be read.
            pub fn load(
                flags: &Flags,
                variable: impl Fn(&str) -> Option<String>,
                folders: &Folders,
            ) -> Result<Self, ConfigError> {
                Group::load(flags, variable, folders, &all())
            }

            /// As `load`, with the configuration file's text at hand.
            ///
            /// # Errors
            /// As `load`.
            pub fn resolve(
                flags: &Flags,
                variable: impl Fn(&str) -> Option<String>,
                file: &Path,
                text: &str,
            ) -> Result<Self, ConfigError> {
                Group::resolve(flags, variable, file, text, &all())
            }
        }

        impl Group for $group {
            fn settings() -> Vec<Setting> {
                let mut settings = Vec::new();
                $(settings.extend(table!(@settings [$($help)+] $field $(= $($line),+)?));)+
                settings
            }

            fn read(sources: &Sources<'_>) -> Result<Self, ConfigError> {
                Ok(Self {$(
                    $name: table!(@read sources, [$($help)+] $field $(= $($line),+)?)?,
                )+})
            }
        }
    )+};

    // A field that is a group…
    (@settings [$($help:literal)+] $group:ty) => {
        <$group as Group>::settings()
    };
    (@read $sources:ident, [$($help:literal)+] $group:ty) => {
        <$group as Group>::read($sources)
    };
    // … and one that is a line.
    (@settings [$($help:literal)+] $field:ty = $($line:tt),+) => {
        [table!(@setting [$($help)+] $($line),+)]
    };
    (@read $sources:ident, [$($help:literal)+] $field:ty = $kind:ident, $($line:tt),+) => {
        $sources.read(&table!(@setting [$($help)+] $kind, $($line),+), &kinds::$kind)
    };
    (@setting [$($help:literal)+]
        $kind:ident, $flag:literal, $variable:literal, $key:literal, $default:tt) => {
        Setting {
            flag: $flag,
            variable: $variable,
            key: $key,
            default: table!(@default $default),
            help: concat!($($help),+),
            form: kinds::$kind.form,
        }
    };
    (@default none) => { None };
    (@default $default:literal) => { Some($default) };
}
pub(super) use table;
