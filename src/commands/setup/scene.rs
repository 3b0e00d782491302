//! What each part of `setup` is given.

use crate::{
    settings::Folders,
    setup::{asking::Asking, machine::Machine},
};

/// What a part is given beside its own arguments.
pub struct Scene<'a, 'b> {
    pub machine: &'a Machine,
    pub folders: &'a Folders,
    /// Whether what was added is to be taken out.
    pub remove: bool,
    pub asking: &'a mut Asking<'b>,
}
