//! What belongs to no floor: text for people, bytes as text, tokens, HTTP as both ports speak it, failures of WebSockets,
//! excerpts of texts, files of others, small stores, what processes ask each other by files, the log, what is written
//! beside, Lua as text, the size of JSON, JSON Schema, what clients refuse, arguments in headers, bounds that many share,
//! memory that was freed.

pub mod budget;
pub mod byte_text;
pub mod client_rules;
pub mod colour;
pub mod excerpt;
pub mod files;
pub mod freed_memory;
pub mod hidden;
pub mod host_and_port;
pub mod http;
pub mod inbox;
pub mod json;
pub mod late;
pub mod log_files;
mod log_flood;
pub mod log_tail;
pub mod logging;
pub mod lua;
pub mod mirrored;
pub mod private;
pub mod schema;
pub mod scribe;
pub mod stderr;
pub mod store;
pub mod text;
pub mod token;
pub mod websocket;
