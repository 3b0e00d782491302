//! Which servers are configured, read as people and other clients write it.
//!
//! [`sources`] says which files count, `document` takes one apart, `reading` makes an [`entry`] of each server in it, and
//! names what means nothing here: no key is dropped without a word. [`variables`] fills an entry in when it is started.

pub mod document;
pub mod entry;
mod fields;
pub mod foreign;
pub mod itself;
mod reading;
pub mod selection;
pub mod sources;
#[cfg(test)]
mod tests;
pub mod variables;
