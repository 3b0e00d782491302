//! The table of settings. To add one, add its line; what it sets is then a field of the struct that the line stands in.
//!
//! A line's first part, above it, is its help. Then come the field and its type; the kind of values ([`kinds`]); the
//! flag, the environment variable and the key in the configuration file; and the default, as it would be written
//! there. A field without these is a group of settings of its own.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::base::token::Token;

use super::{
    error::ConfigError,
    folders::Folders,
    groups::{Group, table},
    kinds::{self, ChosenTools},
    setting::Setting,
    sources::{Flags, Sources},
};

table! {
    /// Settings of the link port.
    pub struct LinkConfig {
        /// Address to listen on for computers
        host: String = HOST, "--link-host", "CC_LINK_HOST", "link_host", "0.0.0.0";
        /// Port to listen on for computers; 0 means any free one
        port: u16 = PORT, "--link-port", "CC_LINK_PORT", "link_port", "3001";
        /// Token that every computer must show; needed for links over the internet
        token: Option<Token> = TOKEN, "--link-token", "CC_LINK_TOKEN", "link_token", none;
        /// Names by which this machine is reached, with commas between
        names: Vec<String> = NAMES, "--link-names", "CC_LINK_NAMES", "link_names", none;
    }

    /// Settings of every bridge, however clients reach it.
    pub struct Config {
        /// Where computers link to.
        link: LinkConfig;
        /// How long a computer has to answer a probe, in milliseconds
        probe_timeout: Duration = MILLISECONDS, "--probe-timeout-ms", "CC_PROBE_TIMEOUT_MS", "probe_timeout_ms", "2000";
        /// Whether to manage the MCP servers configured on this machine and offer their tools: on or off
        upstream: bool = ON_OFF, "--upstream", "MCP_UPSTREAM", "upstream", "on";
        /// Whether to keep a log of calls, which `mcp-bridge log calls` shows: on or off
        call_log: bool = ON_OFF, "--call-log", "MCP_BRIDGE_CALL_LOG", "call_log", "on";
        /// Which tools there are.
        tools: ToolsConfig;
        /// What the tool sync-folder may reach.
        sync: SyncConfig;
    }

    /// Settings of tools.
    pub struct ToolsConfig {
        /// Folders of your own tools, or the names of the only tools there are to be; more than once, or with commas
        /// between
        chosen: ChosenTools = TOOLS, "--tools", "MCP_BRIDGE_TOOLS", "tools", none;
        /// The only sets of tools there are to be, with commas between, such as core,custom; an MCP server is one of
        /// its name; all means every one
        sets: Option<BTreeSet<String>> = SETS, "--toolsets", "MCP_BRIDGE_TOOLSETS", "toolsets", none;
        /// The sets and tools that are listed, with commas between, such as core; find-tools finds the others, and
        /// call-tool calls them
        listed: Option<BTreeSet<String>> = LISTED, "--list", "MCP_BRIDGE_LIST", "list", none;
        /// Allow only tools that promise to change nothing
        read_only: bool = SWITCH, "--read-only", "MCP_BRIDGE_READ_ONLY", "read_only", none;
    }

    /// Folders that the tool `sync-folder` may reach.
    pub struct SyncConfig {
        /// Folders whose files the tool sync-folder may send to computers; more than once, or with commas between
        push: Vec<PathBuf> = FOLDERS, "--sync-push", "MCP_BRIDGE_SYNC_PUSH", "sync_push", none;
        /// Folders where it may write files of computers too; more than once, or with commas between
        pull: Vec<PathBuf> = FOLDERS, "--sync-pull", "MCP_BRIDGE_SYNC_PULL", "sync_pull", none;
    }

    /// Where MCP is served over HTTP. Only `mcp-bridge serve` reads it: these variables are other programs' too, and
    /// what they mean by them must not keep a bridge on standard input from starting.
    pub struct McpConfig {
        /// Address to serve MCP at; others than this machine's own need a token
        host: String = HOST, "--mcp-host", "MCP_HOST", "mcp_host", "127.0.0.1";
        /// Port to serve MCP at; 0 means any free one
        port: u16 = PORT, "--mcp-port", "MCP_PORT", "mcp_port", "3000";
        /// Token that every client must show
        token: Option<Token> = BEARER_TOKEN, "--mcp-token", "MCP_TOKEN", "mcp_token", none;
    }
}

/// The whole table, in the order in which it is shown. A configuration file may have any of its keys.
pub fn all() -> Vec<Setting> {
    [Config::settings(), McpConfig::settings()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_settings_share_a_name() {
        for name in [
            |setting: &Setting| setting.flag,
            |setting: &Setting| setting.variable,
            |setting: &Setting| setting.key,
        ] {
            let all = all();
            let names: BTreeSet<_> = all.iter().map(name).collect();
            assert_eq!(names.len(), all.len(), "{names:?}");
        }
    }
}
