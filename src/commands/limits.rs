//! The system's limits on this process.

/// Raises the limit on open files as far as this user may: each linked computer holds one.
#[cfg(unix)]
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    // macOS reports no maximum, but refuses to set none: its own bound stands in.
    const PLENTY: u64 = 65_536;
    let wanted = limit
        .maximum
        .unwrap_or(PLENTY)
        .min(PLENTY)
        .max(limit.current.unwrap_or(PLENTY));
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        },
    ) {
        tracing::warn!(
            %error,
            limit = limit.current,
            "the limit on open files can't be raised; it bounds how many computers can link"
        );
    }
}

/// Windows has no limit on open files worth raising.
#[cfg(not(unix))]
pub fn raise_open_files() {}
