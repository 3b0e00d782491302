//! Lua as text: what it is made of, how a text stands in it, the modules that it requires, and the Lua of our own tools.

pub mod literal;
pub mod modules;
pub mod own;
pub mod tokens;
