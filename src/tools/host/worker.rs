//! The worker's side: a process that runs one handler after the other, and ends with the bridge.

use std::{
    cell::RefCell,
    io::{self, BufRead, BufReader, Write},
    process::ExitCode,
    rc::Rc,
    sync::mpsc,
};

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    natives::Outside,
    protocol::{Answer, Done, End, FromWorker, MAX_LINE, ToWorker},
    sandbox::Sandbox,
};
use crate::tools::Level;

/// How much address space the process may take, in bytes. Lua's own limit is far below; this one is for what is outside
/// of Lua's allocator.
#[cfg(unix)]
const ADDRESS_SPACE: u64 = 2 * 1024 * 1024 * 1024;

/// Serves calls until standard input ends.
pub fn run() -> ExitCode {
    give_up_what_is_not_needed();
    std::panic::set_hook(Box::new(|panic| {
        let fault = FromWorker::Fault {
            message: panic.to_string(),
        };
        // A panic while a line was written would leave half of it: this one starts on a new line.
        if let Ok(line) = serde_json::to_string(&fault) {
            let _ = writeln!(io::stdout(), "\n{line}");
        }
        std::process::exit(1);
    }));
    let bridge = Rc::new(Bridge {
        lines: listen(),
        asked: RefCell::new(0),
    });
    loop {
        let sandbox = match Sandbox::new(bridge.clone()) {
            Ok(sandbox) => sandbox,
            Err(error) => {
                say(&FromWorker::Fault {
                    message: error.to_string(),
                });
                return ExitCode::FAILURE;
            }
        };
        say(&FromWorker::Ready {
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        let done = loop {
            match bridge.lines.recv() {
                Ok(ToWorker::Call(order)) => break sandbox.run(&order),
                Ok(ToWorker::Load(order)) => break sandbox.load(&order),
                Ok(ToWorker::Answer { .. }) => {}
                Err(mpsc::RecvError) => return ExitCode::SUCCESS,
            }
        };
        say(&FromWorker::Done(done));
        // Only now: finalizers may take as long as they like, and the answer is on its way.
        drop(sandbox);
    }
}

/// Reads lines on a thread of its own, which ends the process when there will be no more: the bridge is gone then, and
/// whatever the handler is doing, nobody waits for it.
fn listen() -> mpsc::Receiver<ToWorker> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut input = BufReader::new(io::stdin());
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => std::process::exit(0),
                Ok(_) => {}
            }
            match serde_json::from_slice(&line) {
                Ok(message) => {
                    if sender.send(message).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    say(&FromWorker::Fault {
                        message: format!("a line of the bridge can't be read: {error}"),
                    });
                    std::process::exit(1);
                }
            }
        }
    });
    receiver
}

/// Writes a line. A bridge that is gone is noticed by the reading thread.
fn say(message: &impl Serialize) {
    let mut line = match serde_json::to_vec(message) {
        Ok(line) if line.len() < MAX_LINE => line,
        Ok(line) => too_long(line.len()),
        Err(error) => failed(&error.to_string()),
    };
    line.push(b'\n');
    let mut output = io::stdout().lock();
    let _ = output.write_all(&line).and_then(|()| output.flush());
}

fn too_long(size: usize) -> Vec<u8> {
    failed(&format!(
        "The result takes {size} bytes, and {MAX_LINE} is as much as it may."
    ))
}

fn failed(problem: &str) -> Vec<u8> {
    let done = FromWorker::Done(Done {
        untold: 0,
        end: End::Failed(problem.to_owned()),
    });
    serde_json::to_vec(&done).unwrap_or_default()
}

/// The bridge, as a handler reaches it.
struct Bridge {
    lines: mpsc::Receiver<ToWorker>,
    /// The number of the last question.
    asked: RefCell<u64>,
}

/// A question, whose text is JSON already.
#[derive(Serialize)]
struct Ask {
    r#type: &'static str,
    ask: u64,
    what: Box<RawValue>,
}

impl Outside for Bridge {
    fn ask(&self, question: Box<RawValue>) -> Answer {
        let number = {
            let mut asked = self.asked.borrow_mut();
            *asked += 1;
            *asked
        };
        say(&Ask {
            r#type: "ask",
            ask: number,
            what: question,
        });
        loop {
            match self.lines.recv() {
                Ok(ToWorker::Answer { ask, answer }) if ask == number => return answer,
                Ok(_) => {}
                // The reading thread is about to end the process.
                Err(mpsc::RecvError) => std::process::exit(0),
            }
        }
    }

    fn log(&self, level: Level, text: String) {
        say(&FromWorker::Log { level, text });
    }

    fn printed(&self, text: String, is_cut: bool) {
        say(&FromWorker::Printed { text, is_cut });
    }

    fn progress(&self, message: String, done: Option<f64>, total: Option<f64>) {
        say(&FromWorker::Progress {
            message,
            done,
            total,
        });
    }
}

/// Lowers this process's limits to what Lua needs: no file may grow, none be opened, no core be dumped.
#[cfg(unix)]
fn give_up_what_is_not_needed() {
    use rustix::process::{Resource, Rlimit, setrlimit};

    for (resource, most) in [
        (Resource::As, ADDRESS_SPACE),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 3),
    ] {
        // A system that knows no such limit still has Lua's own.
        let _ = setrlimit(
            resource,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        );
    }
}

/// Windows has no such limits; Lua's own holds.
#[cfg(not(unix))]
fn give_up_what_is_not_needed() {}
