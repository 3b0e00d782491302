//! This program and its own files: which one it is, its settings, its folders, its log, and what users add to it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    check::{Check, Group},
    chosen::unmet,
    finding::{Finding, Verdict},
    fix::Fix,
    log,
    patient::Patient,
};
use crate::{
    base::{
        files, private,
        text::{in_shell, one_line},
    },
    bridges::secret::{Secret, SecretError},
    tools::{self, builtin, folder, kit::Kit, wording::time_between},
    upstream::{
        sources,
        status::{self, Row},
        trouble::printed,
    },
};

/// The file of the secret of a user's bridges, in the state folder.
const SECRET: &str = "bridges.secret";

/// The largest program that is compared with this one, in bytes.
const LARGEST: u64 = 512 * 1024 * 1024;

/// The checks of this group.
pub const CHECKS: &[Check] = &[
    Check {
        id: "version",
        group: Group::Program,
        about: "Which mcp-bridge this is, and where it is",
        look: version,
    },
    Check {
        id: "copies",
        group: Group::Program,
        about: "Whether another mcp-bridge is on the PATH",
        look: copies,
    },
    Check {
        id: "settings",
        group: Group::Program,
        about: "Whether config.toml, the flags and the variables can be used",
        look: settings,
    },
    Check {
        id: "state",
        group: Group::Program,
        about: "Whether the state folder can be written, and is for its user alone",
        look: state,
    },
    Check {
        id: "log",
        group: Group::Program,
        about: "The errors in the log of the last day",
        look: errors,
    },
    Check {
        id: "tools",
        group: Group::Program,
        about: "Whether tools of your own can be used",
        look: own_tools,
    },
    Check {
        id: "servers",
        group: Group::Program,
        about: "Whether the MCP servers that bridges manage work",
        look: servers,
    },
];

fn version(patient: &Patient) -> Vec<Finding> {
    let words = format!(
        "mcp-bridge {}, {}",
        env!("CARGO_PKG_VERSION"),
        patient.machine.program.display()
    );
    vec![Finding::ok(words).at(&patient.machine.program)]
}

/// Other programs of our name that are found by it.
fn copies(patient: &Patient) -> Vec<Finding> {
    let Some(path) = patient.machine.variable("PATH") else {
        return Vec::new();
    };
    let name = format!("mcp-bridge{}", env::consts::EXE_SUFFIX);
    let canonical = |path: &Path| fs::canonicalize(path).ok();
    let own = canonical(&patient.machine.program);
    let found = env::split_paths(path).map(|folder| folder.join(&name));
    let mut found: Vec<_> = found.filter(|file| file.is_file()).collect();
    found.dedup();
    let is_own = |file: &PathBuf| own.is_some() && canonical(file) == own;
    let first_is_own = found.first().is_none_or(is_own);
    let others: Vec<_> = found.iter().filter(|file| !is_own(file)).collect();
    let differing: Vec<_> = others
        .iter()
        .filter(|file| !is_same(file, &patient.machine.program))
        .map(|file| file.display().to_string())
        .collect();
    if differing.is_empty() {
        return vec![Finding::ok("no other mcp-bridge is on the PATH")];
    }
    let them = differing.join(", ");
    let first = if first_is_own {
        ""
    } else {
        ", and a terminal starts that one before this one"
    };
    vec![
        Finding::warning(format!("another mcp-bridge is on the PATH: {them}{first}"))
            .because("Of two versions one may be started by a client and the other by you, and what you mend in one stays broken in the other.")
            .mended_by(format!("delete the one that you don't want, or put this one in its place: {}", patient.machine.program.display())),
    ]
}

fn is_same(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| fs::metadata(path).map(|facts| facts.len()).ok();
    let bytes = |path: &Path| files::read(path, LARGEST).ok();
    length(one) == length(other) && bytes(one).is_some() && bytes(one) == bytes(other)
}

fn settings(patient: &Patient) -> Vec<Finding> {
    let file = patient
        .folders
        .config
        .as_ref()
        .map(|f| f.join("config.toml"));
    let at_file = |finding: Finding| match &file {
        Some(file) => finding.at(file),
        None => finding,
    };
    if let Ok(config) = patient.config() {
        let unmet = unmet(config, &patient.folders, &patient.machine.here);
        if !unmet.is_empty() {
            let finding = Finding::problem(unmet.join("; "))
                .because("A client has only the tools that the settings name, so it may have none.")
                .mended_by("correct `tools`, `toolsets` or `list`, as the flag, the variable or in config.toml; `mcp-bridge tools list` names all tools and sets");
            return vec![at_file(finding)];
        }
    }
    let finding = match patient.config() {
        Ok(_) => {
            let used = match file.as_ref().filter(|file| file.exists()) {
                Some(file) => format!("the settings can be used; {} is read", file.display()),
                None => "the settings can be used; there is no config.toml, and none is needed"
                    .to_owned(),
            };
            Finding::ok(used)
        }
        Err(error) => Finding::problem(error.to_string())
            .because(
                "No bridge starts with settings that it can't use, and its client shows no tools.",
            )
            .mended_by("correct what is named there; `mcp-bridge --help` lists the settings"),
    };
    vec![at_file(finding)]
}

fn state(patient: &Patient) -> Vec<Finding> {
    let (state, shared) = (&patient.folders.state, &patient.folders.shared);
    let mut findings: Vec<_> = [Some(state), (shared != state).then_some(shared)]
        .into_iter()
        .flatten()
        .map(|folder| writable(folder))
        .collect();
    if findings
        .iter()
        .any(|finding| finding.verdict == Verdict::Problem)
    {
        return findings;
    }
    let file = shared.join(SECRET);
    if !file.exists() {
        return findings;
    }
    let why = "Bridges of several clients share the link port by it; without it only one of them reaches the computers.";
    match Secret::load(shared) {
        Ok(_) => {}
        Err(error @ SecretError::Damaged(_)) => findings.push(
            Finding::problem(error.to_string())
                .because(why)
                .fixed_by(
                    format!("delete {}", file.display()),
                    Fix::Delete(file.clone()),
                )
                .at(file),
        ),
        Err(error) => findings.push(
            Finding::problem(error.to_string())
                .because(why)
                .mended_by(format!("make {} a file that you may read", file.display()))
                .at(file),
        ),
    }
    findings
}

/// Whether files can be made in a folder, and others are kept out of it.
fn writable(folder: &Path) -> Finding {
    let made = private::make_folder(folder).and_then(|()| {
        tempfile::Builder::new()
            .prefix(".doctor-")
            .tempfile_in(folder)
            .map(drop)
    });
    let place = folder.display();
    if let Err(error) = made {
        return Finding::problem(format!("the state folder {place} can't be written: {error}"))
            .because("There is no log, and bridges of several clients can't share the link port: only one of them reaches the computers.")
            .mended_by("let your user write there, free some of its disk, or set MCP_BRIDGE_STATE_DIR to a folder that can be written")
            .at(folder);
    }
    match open_to_others(folder) {
        None => Finding::ok(format!(
            "the state folder {place} can be written, and is yours alone"
        ))
        .at(folder),
        Some(mode) => Finding::warning(format!(
            "the state folder {place} is open to other users (mode {mode:04o})"
        ))
        .because("The log and the bridges' secret lie there.")
        .fixed_by(format!("chmod go= {place}"), Fix::Close(folder.to_owned()))
        .at(folder),
    }
}

/// The rights to a folder if others have some.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(folder).ok()?.permissions().mode() & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

/// None: on Windows the user's profile keeps others out.
#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Option<u32> {
    None
}

fn errors(patient: &Patient) -> Vec<Finding> {
    let lines = log::of_the_last_day(patient);
    let errors: Vec<_> = lines.iter().filter(|line| line.level == "ERROR").collect();
    let Some(last) = errors.last() else {
        return vec![Finding::ok("no error is in the log of the last day")];
    };
    let count = match errors.len() {
        1 => "1 error is".to_owned(),
        count => format!("{count} errors are"),
    };
    vec![
        Finding::warning(format!(
            "{count} in the log of the last day, the last at {}: {}",
            last.time,
            last.shown()
        ))
        .mended_by("`mcp-bridge logs -n 100` shows what came before"),
    ]
}

fn own_tools(patient: &Patient) -> Vec<Finding> {
    let Ok(config) = patient.config() else {
        return Vec::new();
    };
    let kit = Kit::default();
    let built_in = builtin::offer(&kit, config.probe_timeout);
    let roots = tools::roots(patient.folders.own_tools(), &config.tools.chosen.folders);
    let look = folder::Folders::new(roots, kit, &built_in).look();
    if look.problems.is_empty() {
        return match look.offer.tools.len() {
            0 => Vec::new(),
            1 => vec![Finding::ok("your own tool can be used")],
            count => vec![Finding::ok(format!("your own {count} tools can be used"))],
        };
    }
    let problems = look.problems.iter().map(|problem| {
        Finding::problem(one_line(&problem.to_string()))
            .because("That tool is missing, or is what it was before.")
            .mended_by("correct that file; `mcp-bridge tools check` looks again")
            .at(&problem.file)
    });
    problems.collect()
}

/// What a server printed that is no message, in words that follow its name.
fn prints(row: &Row) -> Option<String> {
    let (count, last) = row.rubbish.as_ref()?;
    Some(printed(*count, last))
}

fn servers(patient: &Patient) -> Vec<Finding> {
    if !patient.config().is_ok_and(|config| config.upstream) {
        return Vec::new();
    }
    let here = &patient.machine.here;
    let found = sources::resolve(
        &sources::read(here, patient.folders.config.as_deref()),
        None,
    );
    let mut findings: Vec<_> = found
        .problems
        .iter()
        .map(|problem| {
            let (file, text) = (problem.file.display(), one_line(&problem.text));
            Finding::problem(format!("{file}: {text}"))
                .because("The MCP servers of that file are not offered.")
                .mended_by("correct that file; `mcp-bridge upstream list` looks again")
                .at(&problem.file)
        })
        .collect();
    let running = status::running(&patient.folders.shared);
    let rows: Vec<_> = running.iter().flat_map(|report| &report.servers).collect();
    let mut failed: Vec<_> = rows.iter().filter(|row| row.state == "failed").collect();
    failed.sort_by_key(|row| &row.name);
    failed.dedup_by_key(|row| &row.name);
    findings.extend(failed.iter().map(|row| {
        let error = row.error.as_deref().unwrap_or("it does not say why");
        let name = one_line(&row.name);
        let typed = in_shell(&row.name);
        let more = prints(row).map_or_else(String::new, |prints| format!("; it {prints}"));
        let failed = format!("the MCP server {name} failed: {}{more}", one_line(error));
        Finding::warning(failed)
            .because("Its tools are missing.")
            .mended_by(format!(
                "`mcp-bridge upstream logs {typed}` shows what it wrote; `mcp-bridge upstream restart {typed}` starts it anew"
            ))
            .at(&row.file)
    }));
    let is_odd = |row: &&&Row| row.state == "starting" && row.rubbish.is_some();
    let mut starting: Vec<_> = rows.iter().filter(is_odd).collect();
    starting.sort_by_key(|row| &row.name);
    starting.dedup_by_key(|row| &row.name);
    findings.extend(starting.iter().filter_map(|row| {
        let prints = prints(row)?;
        let name = one_line(&row.name);
        let time = time_between(row.since, SystemTime::now());
        let file = row.file.display();
        Some(
            Finding::warning(format!(
                "the MCP server {name} has been starting for {time}, and {prints}"
            ))
            .because("Its tools are missing until it answers. On standard output an MCP server prints messages alone.")
            .mended_by(format!(
                "if it goes on so, look in {file} whether its `command` and `args` start an MCP server on standard input \
                 and output"
            ))
            .at(&row.file),
        )
    }));
    if findings.is_empty() && !found.servers.is_empty() {
        let count = match found.servers.len() {
            1 => "1 MCP server is".to_owned(),
            count => format!("{count} MCP servers are"),
        };
        findings.push(Finding::ok(format!(
            "{count} configured for bridges, and nothing is wrong"
        )));
    }
    findings
}
