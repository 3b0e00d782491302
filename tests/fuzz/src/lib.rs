//! What each fuzz target does with one input, and what must hold then.
//!
//! A target's program in `fuzz_targets` only calls these functions, and so do the product's own tests (`tests/it/properties`)
//! with the seeds in `corpus` and with inputs of their own.

pub mod agent_json;
mod bridge;
pub mod config;
pub mod link_frames;
pub mod link_http;
pub mod link_session;
pub mod mcp_http;
pub mod parts;
pub mod stdin_lines;
mod websocket;

/// `data` cut into pieces whose lengths follow from `seed`; in one piece if that is 0.
fn pieces(data: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let mut state = u32::from(seed);
    let mut rest = data;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // A linear congruential generator: short pieces, most of them of one to sixteen bytes.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = match (seed, state >> 28) {
            (0, _) => rest.len(),
            (_, 15) => 1_000,
            (_, length) => length as usize + 1,
        };
        let (piece, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        Some(piece)
    })
}
