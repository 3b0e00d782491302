//! The tests of the whole: the real binary, started and spoken to as its users and peers do, and what holds for any input.
//!
//! They are one program, so that the library is linked once and no test waits for the end of another file's.

mod agent;
mod architecture;
mod as_a_model;
mod assistants;
mod batches;
mod both_ways;
mod bounded;
mod bounded_answers;
mod bridges;
mod bytes;
mod catalogue;
mod chaos;
mod choosing;
mod clients;
mod commands;
mod common;
mod conformance;
mod conformity;
mod doctor;
mod errors;
mod examples;
mod finding;
#[cfg(target_os = "linux")]
mod first_time;
mod for_people;
mod hands;
mod hosting;
mod http;
mod http_manners;
mod http_sessions;
mod identity;
#[cfg(unix)]
mod install;
mod installing;
mod instructions;
mod jobs;
mod large_handlers;
mod leaving;
mod link;
mod lists;
mod live_resources;
mod load;
mod long_jobs;
mod many_at_once;
mod memory;
mod mixed_load;
mod much_output;
mod namespaces;
mod older_agents;
mod older_bridges;
mod on_computers;
mod one_agent;
mod own_events;
#[cfg(unix)]
mod own_files;
mod own_resources;
mod own_tools;
mod papers;
#[cfg(unix)]
mod picture;
mod policy;
mod printing;
mod programs;
mod properties;
mod readme;
mod requiring;
mod sandbox;
mod screens;
mod scripts;
mod setup_client;
mod setup_game;
#[cfg(unix)]
mod setup_service;
mod simulator;
mod stdio;
mod syncing;
mod taken;
mod tasks;
mod telling;
#[cfg(unix)]
mod terminal_view;
mod tool_list;
mod tools;
mod truth;
mod trying;
mod turtles;
#[cfg(target_os = "linux")]
mod unread;
mod update;
mod upstream;
mod upstream_asking;
mod upstream_bad;
mod upstream_commands;
mod upstream_http;
mod upstream_import;
mod upstream_login;
mod upstream_odd;
#[cfg(unix)]
mod upstream_processes;
mod upstream_real;
mod upstream_rude;
mod upstream_through;
mod upstream_trust;
mod weight;
mod windows;
