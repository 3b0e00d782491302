//! Who asks: what of a client decides which tools, prompts and resources there are for it.

/// A kind of client. What a client is capable of decides nothing that is offered, so its name is all that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// A client that has nothing by itself that we offer; also a person at the command line, who asks without a client.
    Anyone,
    /// opencode, which starts the MCP servers of its own configuration by itself.
    Opencode,
}

impl Client {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Anyone, Self::Opencode];

    /// The client that calls itself so; an empty name is that of one that does not say.
    pub fn named(name: &str) -> Self {
        if name.eq_ignore_ascii_case("opencode") {
            Self::Opencode
        } else {
            Self::Anyone
        }
    }

    /// Whether it may see what `owner` has by itself: a client is not handed its own things a second time.
    pub fn may_see(self, owner: Option<Self>) -> bool {
        owner != Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_not_handed_its_own_servers() {
        let opencode = Client::named("OpenCode");
        assert!(!opencode.may_see(Some(Client::Opencode)) && opencode.may_see(None));
        for other in [Client::named("claude-code"), Client::named("")] {
            assert!(other.may_see(Some(Client::Opencode)) && other.may_see(None));
        }
    }
}
