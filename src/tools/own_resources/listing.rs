//! The list of the bridge's own resources: it follows the computers, and does not change too often.

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, SystemTime},
};

use rmcp::model::{Resource as Definition, ResourceTemplate};
use tokio::{sync::watch, time::sleep};

use super::{
    address::{self, COMPUTER, COMPUTERS, FILE, PREFIX, SCREEN},
    own::OwnResource,
    reading::Reader,
    watching::Watching,
};
use crate::{
    base::excerpt::shortened,
    computers::{ComputerKey, Fleet, Presence},
    tools::{Offer, Source, manifest::Shown, resource::Resource, wording::name_of},
};

/// Of how many computers resources are listed: a list is one page, which clients show whole. All of them can be read.
const MOST: usize = 50;

/// For how long a computer that has left stays in the list: most have only started anew.
const STAYS: Duration = Duration::from_secs(60);

/// How long after one change of the list the next one comes.
const PAUSE: Duration = Duration::from_millis(500);

/// The longest name of a computer in the list, in characters.
const LONGEST_NAME: usize = 100;

/// A computer in the list: its number, and its name with that.
type Listed = (ComputerKey, String);

/// The source.
pub struct Listing(watch::Receiver<Arc<Offer>>);

impl Listing {
    /// One that follows these computers, for as long as anybody follows it.
    pub fn of(fleet: Arc<Fleet>) -> Self {
        let couriers = Arc::default();
        let watching = Watching::new(fleet.clone(), Arc::clone(&couriers));
        let reader = Arc::new(Reader {
            couriers,
            watching: Some(watching),
        });
        let (sender, offers) = watch::channel(Arc::new(offer(&reader, &[])));
        tokio::spawn(follow(fleet, reader, sender));
        Self(offers)
    }
}

impl Source for Listing {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        self.0.clone()
    }
}

async fn follow(fleet: Arc<Fleet>, reader: Arc<Reader>, sender: watch::Sender<Arc<Offer>>) {
    let mut changes = fleet.changes();
    let mut last = Vec::new();
    loop {
        changes.borrow_and_update();
        let (listed, leaves) = listed(&fleet, SystemTime::now());
        if listed != last {
            sender.send_replace(Arc::new(offer(&reader, &listed)));
            last = listed;
        }
        tokio::select! {
            () = sender.closed() => return,
            () = sleep(PAUSE) => {}
        }
        let next_leaves = async {
            match leaves {
                Some(time) => sleep(time).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = sender.closed() => return,
            () = next_leaves => {}
            changed = changes.changed() => if changed.is_err() {
                return;
            },
        }
    }
}

/// The computers to list, in order of their numbers; and how long it takes at most until one of them is to go.
fn listed(fleet: &Fleet, now: SystemTime) -> (Vec<Listed>, Option<Duration>) {
    let mut leaves: Option<Duration> = None;
    let known = fleet.known();
    let listed = known.iter().filter(|computer| match computer.presence() {
        Presence::Linked(_) => true,
        Presence::Left { since, .. } => {
            let gone = now.duration_since(since).unwrap_or_default();
            let Some(stays) = STAYS.checked_sub(gone).filter(|stays| !stays.is_zero()) else {
                return false;
            };
            leaves = Some(leaves.map_or(stays, |least| least.min(stays)));
            true
        }
    });
    let listed = listed.take(MOST).map(|computer| {
        let name = name_of(&computer.facts());
        (computer.key, shortened(&name, LONGEST_NAME).into_owned())
    });
    (listed.collect(), leaves)
}

fn offer(reader: &Arc<Reader>, computers: &[Listed]) -> Offer {
    Offer {
        resources: resources(reader, computers),
        is_ready: true,
        ..Offer::default()
    }
}

/// All of them, where these computers are listed.
pub fn resources(reader: &Arc<Reader>, computers: &[Listed]) -> Vec<Arc<dyn Resource>> {
    let make = |uri: &str, shown: Option<Shown>| -> Arc<dyn Resource> {
        Arc::new(OwnResource {
            uri: uri.to_owned(),
            shown,
            reader: reader.clone(),
        })
    };
    let one = |uri: &str, [name, title, description, mime_type]: [&str; 4]| {
        let mut one = Definition::new(uri, name);
        one.title = Some(title.to_owned());
        one.description = Some(description.to_owned());
        one.mime_type = Some(mime_type.to_owned());
        make(uri, Some(Shown::One(one)))
    };
    let template = |uri: &str, [name, title, description]: [&str; 3], mime_type: Option<&str>| {
        let mut template = ResourceTemplate::new(uri, name);
        template.title = Some(title.to_owned());
        template.description = Some(description.to_owned());
        template.mime_type = mime_type.map(str::to_owned);
        make(uri, Some(Shown::Template(template)))
    };
    let mut all = vec![
        make(PREFIX, None),
        one(
            COMPUTERS,
            [
                "computers",
                "Computers",
                "The computers of the game that are linked, or were: what each is, and the URI of each.",
                "application/json",
            ],
        ),
        template(
            COMPUTER,
            [
                "computer",
                "A computer",
                "What a computer is, by its number or label, with the URIs of its screen and files.",
            ],
            Some("application/json"),
        ),
        template(
            SCREEN,
            [
                "computer-screen",
                "A computer's screen",
                "What the player sees there, as text and as a picture.",
            ],
            None,
        ),
        template(
            FILE,
            [
                "computer-file",
                "A computer's file or folder",
                "A file's contents, or what is in a folder. Large ones come in parts, each with the URI of the next.",
            ],
            None,
        ),
    ];
    for (key, name) in computers {
        all.push(one(
            &address::of_computer(*key),
            [
                &format!("computer-{key}"),
                &format!("Computer {name}"),
                "What it is, with the URIs of its screen and files.",
                "application/json",
            ],
        ));
        all.push(one(
            &address::of_screen(*key),
            [
                &format!("computer-{key}-screen"),
                &format!("Screen of computer {name}"),
                "What its player sees, as text and as a picture.",
                "text/plain",
            ],
        ));
    }
    all
}
