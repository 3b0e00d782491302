//! What a manifest says of all its handlers together: their namespace, and what they want of the host beside Lua.

use std::{
    collections::BTreeSet,
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
};

use super::{
    fields::{Fields, text_of},
    meant,
    tree::{Node, NodeKind},
    wrong::Wrong,
};
use crate::base::text::one_line;

/// How long a namespace's name may be, in bytes.
const LONGEST_NAME: usize = 100;

/// How many hosts or secrets a manifest may name.
const MOST: usize = 100;

/// The key of the hosts.
const HOSTS: &str = "mcp.http";

/// The key of the secrets.
const SECRETS: &str = "mcp.secrets";

/// What a manifest says of all its handlers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespaceSpec {
    /// The namespace.
    pub name: Option<String>,
    /// The hosts that its handlers make requests to.
    pub hosts: Vec<HostSpec>,
    /// The names of the secrets that its handlers read.
    pub secrets: BTreeSet<String>,
}

impl NamespaceSpec {
    /// Whether its handlers want what a person has to allow.
    pub fn wants_something(&self) -> bool {
        !self.hosts.is_empty() || !self.secrets.is_empty()
    }
}

/// What all handlers of a manifest share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// What the manifest says of it.
    pub spec: NamespaceSpec,
    /// The manifest's file.
    pub manifest: PathBuf,
    /// The hash of its text.
    pub hash: String,
    /// The folder of tools that it is in.
    pub root: PathBuf,
}

impl Namespace {
    /// The folder of its manifest.
    pub fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new(""))
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        self.spec.name.as_deref().unwrap_or_default()
    }
}

/// A host that handlers make requests to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSpec {
    /// Its name or address, in small letters; one that begins with `*.` is every name that ends so.
    pub name: String,
    /// The only port; none: the one that the scheme has by itself.
    pub port: Option<u16>,
    /// Whether its name may lead to an address of this machine or of a private network.
    pub is_private: bool,
}

impl HostSpec {
    /// Whether it is this host. `port` is none if it is the one that the scheme has by itself.
    pub fn is(&self, host: &str, port: Option<u16>) -> bool {
        let is_name = match (self.name.strip_prefix('*'), address_in(&self.name)) {
            (Some(end), _) => host.len() > end.len() && host.ends_with(end),
            (None, Some(address)) => address_in(host) == Some(address),
            (None, None) => host == self.name,
        };
        is_name && self.port == port
    }
}

/// The address that a host is named by, if it is one; one of IPv6 stands in brackets.
fn address_in(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

impl fmt::Display for HostSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        Ok(())
    }
}

/// Reads it.
pub fn read(root: &Fields<'_>) -> Result<NamespaceSpec, Wrong> {
    let name = root.text("namespace")?.filter(|name| !name.is_empty());
    if let Some(name) = &name
        && (name.len() > LONGEST_NAME || name.chars().any(char::is_control))
    {
        return Err(Wrong {
            line: root.line_of("namespace"),
            reason: format!(
                "`namespace` must be a name of {LONGEST_NAME} bytes at most, without control characters"
            ),
        });
    }
    // What is no map is another program's.
    let Some(meta) = root.map("meta").ok().flatten() else {
        return Ok(NamespaceSpec {
            name,
            ..NamespaceSpec::default()
        });
    };
    meant::no_slip(&meta, meant::OF_MANIFEST_META)?;
    let spec = NamespaceSpec {
        name,
        hosts: items(&meta, HOSTS)?
            .iter()
            .map(host)
            .collect::<Result<_, _>>()?,
        secrets: items(&meta, SECRETS)?
            .iter()
            .map(secret)
            .collect::<Result<_, _>>()?,
    };
    if spec.name.is_none() && spec.wants_something() {
        let key = if spec.hosts.is_empty() {
            SECRETS
        } else {
            HOSTS
        };
        return Err(Wrong {
            line: meta.line_of(key),
            reason: format!(
                "`{HOSTS}` and `{SECRETS}` are allowed to a namespace: give the manifest one, such as `namespace: weather`"
            ),
        });
    }
    Ok(spec)
}

fn items<'a>(meta: &Fields<'a>, key: &str) -> Result<&'a [Node], Wrong> {
    let items = meta.list(key)?.unwrap_or_default();
    if items.len() > MOST {
        return Err(Wrong {
            line: meta.line_of(key),
            reason: format!("`{key}` has {} entries; it may have {MOST}", items.len()),
        });
    }
    Ok(items)
}

fn host(node: &Node) -> Result<HostSpec, Wrong> {
    let (text, is_private) = match &node.kind {
        NodeKind::Map(_) => {
            let fields = Fields::of(node, "a host")?;
            meant::only(&fields, meant::OF_HOST, "a host")?;
            let text = fields
                .text("host")?
                .ok_or_else(|| fields.wrong("a host that is written as a map needs `host`"))?;
            (text, fields.flag("private")?.unwrap_or(false))
        }
        _ => (text_of(node, HOSTS)?, false),
    };
    let wrong = |why: &str| Wrong {
        line: node.line,
        reason: format!(
            "`{HOSTS}` names hosts such as api.example.com, *.example.com or nas.local:8080; {} {why}",
            one_line(&text)
        ),
    };
    if text.contains("://") || text.contains('/') && !text.contains(']') {
        return Err(wrong("is a URL: leave out its scheme and its path"));
    }
    let (name, port) = split(&text).ok_or_else(|| wrong("has a port that is none"))?;
    let name = name.to_ascii_lowercase();
    let address = address_in(&name);
    let labels = name.strip_prefix("*.").unwrap_or(&name);
    let is_name = labels.split('.').all(|label| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    });
    // What ends in a number is an address to whoever reads URLs, and this is none.
    let is_name = is_name
        && !(labels.rsplit('.').next())
            .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    // `*.com` would be half of the world.
    let is_too_wide = name.starts_with('*') && !labels.contains('.');
    if is_too_wide {
        return Err(wrong(
            "is too much: name what stands before it, as in *.example.com",
        ));
    }
    if address.is_none() && (!is_name || name.len() > 253) {
        return Err(wrong("is no name of one"));
    }
    Ok(HostSpec {
        // Whoever names an address, or this machine, means it.
        is_private: is_private || address.is_some() || name == "localhost",
        name,
        port,
    })
}

/// A host and its port. The address of IPv6 stands in brackets.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    let end = text.rfind(']').map_or(0, |end| end + 1);
    match text[end..].rfind(':') {
        Some(colon) => {
            let port = text[end + colon + 1..]
                .parse()
                .ok()
                .filter(|port| *port != 0)?;
            Some((&text[..end + colon], Some(port)))
        }
        None => Some((text, None)),
    }
}

fn secret(node: &Node) -> Result<String, Wrong> {
    let name = text_of(node, SECRETS)?;
    let is_name = name.len() <= 64
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        return Ok(name);
    }
    Err(Wrong {
        line: node.line,
        reason: format!(
            "`{SECRETS}` has names of letters, digits and _ such as WEATHER_KEY, not {}; their values stand in secrets.toml",
            node.what()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::manifest::tree;

    fn spec(text: &str) -> Result<NamespaceSpec, (usize, String)> {
        let root = tree::parse(text).unwrap().unwrap();
        let fields = Fields::of(&root, "the manifest").unwrap();
        read(&fields).map_err(|wrong| (wrong.line, wrong.reason))
    }

    #[test]
    fn what_handlers_want_is_read() {
        let text = "namespace: weather\nmeta:\n  mcp.http:\n    - API.example.com\n    - '*.example.org:8443'\n    - \
                    host: nas.lan\n      private: true\n    - localhost:8080\n    - '[::1]:80'\n    - 10.0.0.5\n  \
                    mcp.secrets: [KEY, _other2]\n";
        let spec = spec(text).unwrap();
        assert_eq!(spec.name.as_deref(), Some("weather"));
        let hosts: Vec<_> = spec
            .hosts
            .iter()
            .map(|host| (host.to_string(), host.is_private))
            .collect();
        let expected = [
            ("api.example.com", false),
            ("*.example.org:8443", false),
            ("nas.lan", true),
            ("localhost:8080", true),
            ("[::1]:80", true),
            ("10.0.0.5", true),
        ];
        assert_eq!(
            hosts,
            expected.map(|(host, private)| (host.to_owned(), private))
        );
        assert!(spec.secrets.contains("KEY") && spec.secrets.contains("_other2"));
        assert!(spec.hosts[0].is("api.example.com", None));
        assert!(!spec.hosts[0].is("api.example.com", Some(8080)));
        assert!(!spec.hosts[0].is("evil-api.example.com", None));
        assert!(spec.hosts[1].is("a.b.example.org", Some(8443)));
        assert!(!spec.hosts[1].is("example.org", Some(8443)));
        assert!(!spec.hosts[1].is("evilexample.org", Some(8443)));
        assert!(spec.hosts[4].is("[0:0::1]", Some(80)) && spec.hosts[5].is("10.0.0.5", None));
    }

    #[test]
    fn what_can_not_be_wanted_is_refused_with_its_line() {
        for (text, line, said) in [
            (
                "namespace: a\nmeta:\n  mcp.http: [https://x.y]",
                3,
                "is a URL",
            ),
            (
                "namespace: a\nmeta:\n  mcp.http: ['*.com']",
                3,
                "is too much",
            ),
            (
                "namespace: a\nmeta:\n  mcp.http: ['127.1']",
                3,
                "127.1 is no name of one",
            ),
            (
                "namespace: a\nmeta:\n  mcp.http: [5]",
                3,
                "5 is no name of one",
            ),
            (
                "namespace: a\nmeta:\n  mcp.http: ['x y']",
                3,
                "is no name of one",
            ),
            (
                "namespace: a\nmeta:\n  mcp.http: ['x:99999']",
                3,
                "a port that is none",
            ),
            ("namespace: a\nmeta:\n  mcp.http: x.y", 3, "must be a list"),
            (
                "namespace: a\nmeta:\n  mcp.secrets: [a-b]",
                3,
                "not \"a-b\"",
            ),
            (
                "namespace: a\nmeta:\n  mcp.secret: [A]",
                3,
                "did you mean `mcp.secrets`?",
            ),
            ("meta:\n  mcp.secrets: [A]", 2, "give the manifest one"),
            (
                "namespace: a\nmeta:\n  mcp.http:\n    - hots: x\n",
                4,
                "did you mean `host`?",
            ),
        ] {
            let (at, reason) = spec(text).unwrap_err();
            assert!(reason.contains(said), "{text}: {reason}");
            assert_eq!(at, line, "{text}");
        }
        assert_eq!(spec("meta: other").unwrap(), NamespaceSpec::default());
    }
}
