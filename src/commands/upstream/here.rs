//! The folder that the command runs in, as a bridge there would see it.

use crate::{settings::Folders, upstream::Settings};

/// Where a bridge here would find what is configured.
pub fn settings(folders: &Folders) -> Settings {
    Settings {
        folder: std::env::current_dir().unwrap_or_default(),
        config: folders.config.clone(),
        state: folders.shared.clone(),
        own_port: None,
    }
}
