//! What a person sees of the bridges that run, and does with them, from outside: a command leaves a question in the
//! folder that all bridges of a user share, each bridge answers there, and nobody else can read or write it.

pub mod desk;
pub mod mailbox;
pub mod message;
