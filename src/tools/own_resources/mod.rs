//! The bridge's own resources: the computers, what one is, its screen, and its files, by URIs of the scheme `cc`.
//!
//! What they show, tools show too, and a resource is refused where the tool is that shows the same: so no way round a
//! policy leads through here.

mod address;
mod alone;
pub mod completing;
mod files;
mod json;
mod listing;
mod looks;
mod own;
mod permission;
mod reading;
mod watching;

use std::sync::Arc;

use super::{Offer, Source, source::fixed};
use crate::computers::Fleet;

/// The source of them, whose list follows the computers. To be called in the runtime.
pub fn source(fleet: &Arc<Fleet>) -> Box<dyn Source> {
    Box::new(listing::Listing::of(fleet.clone()))
}

/// The same without a list of computers, for whoever knows what they look for.
pub fn unlisted() -> Box<dyn Source> {
    fixed(Offer {
        resources: listing::resources(&Arc::default(), &[]),
        ..Offer::default()
    })
}
