//! Finds tools by words, as a model writes them: "dig a tunnel" finds what says "digging tunnels". Pure.
//!
//! The [`Index`] is made of a [`Document`] for each tool, once for each state of the catalogue. `words` makes words of
//! texts: of names and arguments too, however they are written.

mod document;
mod finder;
mod index;
mod words;

pub use document::{Document, Part};
pub use finder::{Finder, Searched, words_of};
pub use index::{Hit, Index};
