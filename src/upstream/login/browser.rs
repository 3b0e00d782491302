//! The person's browser.

use reqwest::Url;

/// Whether a page may be opened: one that nobody on the way can read or change. What a server names is anything.
pub fn may_open(page: &Url) -> bool {
    match page.scheme() {
        "https" => page.host().is_some(),
        "http" => match page.host_str() {
            Some("localhost" | "[::1]") => true,
            Some(host) => host
                .parse()
                .is_ok_and(|address: std::net::Ipv4Addr| address.is_loopback()),
            None => false,
        },
        _ => false,
    }
}

/// Opens a page that [`may_open`]; no shell sees its address. Tells whether a browser could be started.
pub fn open(page: &Url) -> bool {
    may_open(page) && open::that_detached(page.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_safe_on_its_way_is_opened() {
        let may = |page: &str| may_open(&page.parse().unwrap());
        for page in [
            "https://login.example/authorize?x=1",
            "http://127.0.0.1:8080/authorize",
            "http://localhost/",
            "http://[::1]:1/",
        ] {
            assert!(may(page), "{page}");
        }
        for page in [
            "http://login.example/authorize",
            "http://127.0.0.1.example/",
            "http://10.0.0.1/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "vscode://open",
        ] {
            assert!(!may(page), "{page}");
        }
    }
}
