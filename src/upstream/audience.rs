//! Which client may see what comes of which configuration: none is handed back its own servers.

use super::entry::Origin;

/// Whether a client that calls itself so is opencode.
pub fn is_opencode(client: &str) -> bool {
    client.eq_ignore_ascii_case("opencode")
}

/// Whether a client may see what comes of this configuration: opencode starts the servers of its own file itself.
pub fn is_for(opencode: bool, origin: Origin) -> bool {
    !(opencode && origin == Origin::Opencode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_not_handed_its_own_servers() {
        let opencode = is_opencode("opencode");
        assert!(!is_for(opencode, Origin::Opencode));
        assert!(is_for(opencode, Origin::User) && is_for(opencode, Origin::Bridge));
        assert!(is_for(is_opencode("claude-code"), Origin::Opencode));
    }
}
