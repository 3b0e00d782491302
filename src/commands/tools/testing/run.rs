//! Runs one example.

use std::{
    future::ready,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::timeout;

use super::{
    call::call,
    judge::{Miss, judge},
    test::{Outcome, Test},
    world::World,
};
use crate::{
    base::byte_text,
    settings::LinkConfig,
    tools::{Catalogue, Level, Listener, Printed, Step, legible},
};

/// How long after its time a tool may say that it was up.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How much of what is printed is kept, in bytes.
const KEPT: usize = 64 * 1024;

async fn world(test: &Test, link: &LinkConfig) -> anyhow::Result<World> {
    let example = &test.example;
    let namespace = test.namespace.as_deref();
    World::of(&example.computers, &example.provided, namespace, link).await
}

/// Runs an example in a world of its own.
pub async fn run(test: &Test, catalogue: &Catalogue, link: &LinkConfig) -> Outcome {
    let start = Instant::now();
    let heard = Heard::default();
    let (came, misses) = match world(test, link).await {
        Ok(world) => {
            let longest = test.time + LAST_WORDS;
            let came = timeout(
                longest,
                call(&test.item, &test.example.given, catalogue, &world, &heard),
            )
            .await;
            world.end();
            match came {
                Ok(came) => {
                    let misses = judge(&test.example.expected, &came);
                    (Some(came), misses)
                }
                Err(_) => {
                    let miss = format!("an answer within {} s", longest.as_secs());
                    (None, vec![Miss::of(miss)])
                }
            }
        }
        Err(problem) => (
            None,
            vec![Miss::of(format!("its computers, but {problem:#}"))],
        ),
    };
    Outcome {
        came,
        misses,
        printed: heard.all(),
        took: start.elapsed(),
    }
}

/// Keeps what is printed and logged while an example runs, for whoever looks why it failed.
#[derive(Default)]
struct Heard(Mutex<Vec<u8>>);

impl Heard {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        let room = KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn all(&self) -> String {
        legible::text(&byte_text::of(&self.lock())).into_owned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        // Nothing that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Heard {
    fn listens(&self) -> bool {
        true
    }

    fn tell(&self, _: Step) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    fn log(&self, level: Level, _: &str, text: String) -> BoxFuture<'_, ()> {
        self.add(format!("{level:?}: {text}\n").as_bytes());
        ready(()).boxed()
    }

    fn wants_output(&self) -> bool {
        true
    }

    fn print(&self, printed: Printed<'_>) {
        self.add(&byte_text::to_bytes(printed.text));
    }
}
