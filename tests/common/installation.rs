//! Programs from npm and PyPI that tests drive, at pinned versions: installed below the target folder, once for each
//! state of the pins. What is missing for that is a failure, not a reason to skip a test.

// Each test file uses its own part of this module.
#![allow(dead_code)]

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{fs, process::Command, time::timeout};

/// How long the installation from one registry may take.
const INSTALLATION_TIME: Duration = Duration::from_secs(10 * 60);

const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

const NPM_WANTED: &str = "Programs under test come from npm: install Node.js 20 or newer with npm (on Debian \
    `apt-get install nodejs npm`).";
const PYTHON_WANTED: &str = "Programs under test come from PyPI and need Python 3.11 or newer with venv (on Debian \
    `apt-get install python3 python3-venv`).";

/// The folder whose `node_modules` holds what the `package.json` and `package-lock.json` in `pins` name.
pub async fn from_npm(pins: &Path) -> Result<PathBuf, String> {
    let pins = ["package.json", "package-lock.json"].map(|name| pins.join(name));
    let mut key = String::new();
    for pin in &pins {
        key += &fs::read_to_string(pin).await.map_err(told(pin))?;
    }
    installed("node", &key, async |folder| {
        for pin in &pins {
            fs::copy(pin, folder.join(pin.file_name().unwrap_or_default()))
                .await
                .map_err(told(pin))?;
        }
        let mut npm = Command::new(NPM);
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(folder);
        printed(npm, NPM_WANTED).await.map(drop)
    })
    .await
}

/// The folder of the programs of a Python environment that holds what the file `requirements` names, Python among them.
pub async fn from_pypi(requirements: &Path) -> Result<PathBuf, String> {
    let pins = fs::read_to_string(requirements)
        .await
        .map_err(told(requirements))?;
    let mut python = Command::new(PYTHON);
    python.args([
        "-c",
        "import sys; assert sys.version_info >= (3, 11), sys.version; print(sys.version, sys.base_prefix)",
    ]);
    let version = printed(python, PYTHON_WANTED).await?;
    // An environment works only with the Python that made it.
    let folder = installed("python", &(pins + &version), async |folder| {
        let mut venv = Command::new(PYTHON);
        venv.args(["-m", "venv"]).arg(folder);
        printed(venv, PYTHON_WANTED).await?;
        let mut pip = Command::new(programs(folder).join("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--only-binary", ":all:"])
            .arg("--requirement")
            .arg(requirements);
        printed(pip, "pip could not install the pinned packages.")
            .await
            .map(drop)
    })
    .await?;
    Ok(programs(&folder))
}

fn programs(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" })
}

/// A folder that `install` has filled, now or in an earlier run with this `key`. It gets its name only when it is
/// complete, so neither a run that was stopped nor one at the same time can leave or meet half of it.
async fn installed(
    kind: &str,
    key: &str,
    install: impl AsyncFnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let folder = root.join(format!("{kind}-{:016x}", hasher.finish()));
    if folder.exists() {
        return Ok(folder);
    }
    fs::create_dir_all(&root).await.map_err(told(&root))?;
    let scratch = tempfile::tempdir_in(&root).map_err(told(&root))?;
    install(scratch.path()).await?;
    match fs::rename(scratch.path(), &folder).await {
        Err(error) if !folder.exists() => Err(told(&folder)(error)),
        _ => Ok(folder),
    }
}

/// What a command printed; if it can't be run or fails, why, and what is wanted.
pub async fn printed(mut command: Command, wanted: &str) -> Result<String, String> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = match timeout(INSTALLATION_TIME, command.output()).await {
        Err(_) => return Err(format!("no end after {INSTALLATION_TIME:?}: {command:?}")),
        Ok(Err(error)) => return Err(format!("{wanted}\n{command:?} can't be run: {error}")),
        Ok(Ok(output)) => output,
    };
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    if output.status.success() {
        return Ok(stdout.into_owned());
    }
    Err(format!(
        "{wanted}\n{command:?} failed: {}\n{stdout}\n{stderr}",
        output.status
    ))
}

/// An error with the path it is about.
fn told(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}
