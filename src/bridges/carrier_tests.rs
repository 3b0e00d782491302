//! What bridges promise each other, whatever carries their messages: each test runs over every carrier there is.

mod fake_agent;

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    runtime::Runtime,
    sync::{Notify, watch},
    time::timeout,
};

use self::fake_agent::Agent;
use super::{
    carrier::Carrier, guests::Guests, in_memory::MeetingPlace, one_machine::OneMachine, role::Role,
};
use crate::{
    base::host_and_port::HostPort,
    commands,
    computers::{
        About, Answer, Ask, Cancelled, Computer, ComputerKey, End, Fleet, Method, Presence, Waited,
        reach::Reach, registry::Registry,
    },
    settings::LinkConfig,
    wire::names::ComputerId,
};

/// The longest that anything here takes, unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// A way for bridges to reach each other, to be tested.
trait Ground: Send + Sync {
    /// What carries the messages of a bridge with these computers.
    fn carrier(
        &self,
        state: &Path,
        registry: &Arc<Registry>,
        reach: &watch::Receiver<Reach>,
    ) -> Box<dyn Carrier>;

    /// Takes note of what the first owner tells of itself.
    fn owned(&self, _reach: &Reach) {}
}

impl Ground for MeetingPlace {
    fn carrier(&self, _: &Path, _: &Arc<Registry>, _: &watch::Receiver<Reach>) -> Box<dyn Carrier> {
        Box::new(self.clone())
    }
}

/// A link port of this machine: any free one for the first bridge, and the same for the others.
#[derive(Default)]
struct LinkPort(Mutex<u16>);

impl Ground for LinkPort {
    fn carrier(
        &self,
        state: &Path,
        registry: &Arc<Registry>,
        reach: &watch::Receiver<Reach>,
    ) -> Box<dyn Carrier> {
        Box::new(OneMachine {
            place: HostPort {
                host: "127.0.0.1".to_owned(),
                port: *self.0.lock().unwrap(),
            },
            state: Some(state.to_owned()),
            serve: commands::computers::link_port(&config(), registry.clone(), reach.clone()),
        })
    }

    fn owned(&self, reach: &Reach) {
        if let Reach::Here { owner, .. } = reach {
            *self.0.lock().unwrap() = owner.address.port();
        }
    }
}

fn config() -> LinkConfig {
    LinkConfig {
        host: "127.0.0.1".to_owned(),
        port: 0,
        token: None,
        names: Vec::new(),
    }
}

/// A bridge with a runtime of its own, so that all of it ends at once.
struct Bridge {
    runtime: Option<Runtime>,
    fleet: Arc<Fleet>,
    registry: Arc<Registry>,
    reach: watch::Receiver<Reach>,
}

impl Bridge {
    fn start(ground: &dyn Ground, state: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let guests = Arc::new(Guests::default());
        let registry = Arc::new(Registry::followed_by(vec![guests.clone()]));
        let (report, reach) = watch::channel(Reach::Unknown);
        let wanted = Arc::new(Notify::new());
        let role = Role {
            carrier: ground.carrier(state, &registry, &reach),
            state: Some(state.to_owned()),
            remembered: None,
            registry: registry.clone(),
            guests,
            reach: Arc::new(report),
        };
        runtime.spawn(role.play(wanted.clone()));
        let fleet = Arc::new(Fleet::new(registry.clone(), reach.clone(), wanted));
        fleet.want();
        Self {
            runtime: Some(runtime),
            fleet,
            registry,
            reach,
        }
    }

    /// Waits until computers are reached so.
    async fn until(&self, what: &str, reached: impl Fn(&Reach) -> bool) -> Reach {
        let mut reach = self.reach.clone();
        let known = reach.wait_for(reached);
        match timeout(PATIENCE, known).await {
            Ok(Ok(reach)) => reach.clone(),
            _ => panic!("it took too long: {what}; it is {:?}", self.reach.borrow()),
        }
    }

    async fn is_owner_of(&self, bridges: usize) -> Reach {
        self.until(
            "it owns the place",
            |reach| matches!(reach, Reach::Here { bridges: count, .. } if *count == bridges),
        )
        .await
    }

    async fn is_guest_among(&self, bridges: usize) {
        self.until(
            "it is a guest",
            |reach| matches!(reach, Reach::Through { bridges: count, .. } if *count == bridges),
        )
        .await;
    }

    /// Waits until a computer is there, or gone, as `presence` tells.
    async fn computer(&self, number: u64, presence: impl Fn(&Presence) -> bool) -> Arc<Computer> {
        soon("the computer is known", async {
            loop {
                if let Some(computer) = self.registry.get(key(number))
                    && presence(&computer.presence())
                {
                    return computer;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    /// Runs code on a computer, and waits for its end in the background; tells the answer and what it printed.
    fn exec(&self, number: u64, code: &str) -> BoxFuture<'static, (Answer, String)> {
        let (fleet, registry) = (self.fleet.clone(), self.registry.clone());
        let params = json!({ "code": code });
        let running = self.runtime().spawn(async move {
            let computer = registry.get(key(number)).unwrap();
            let about = About::listed(params["code"].as_str().unwrap(), false);
            let ask = Ask {
                method: Method::ExecLua,
                params: Some(&params),
                about,
                gate: None,
            };
            let job = fleet.begin(&computer, ask).unwrap();
            let waited = fleet.run(&computer, &job, ask, PATIENCE).await;
            assert_eq!(waited, Waited::Ended);
            job.look(|progress| match progress.end.as_deref() {
                Some(End::Answered(answer)) => (answer.clone(), progress.read(0, usize::MAX).text),
                other => panic!("{other:?}"),
            })
        });
        async { soon("the call's end", running).await.unwrap() }.boxed()
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().unwrap()
    }

    /// Ends it as a kill does: nothing of it goes on.
    fn end(self) {
        drop(self);
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // To wait for a runtime is not allowed in another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn key(number: u64) -> ComputerKey {
    ComputerId(number).into()
}

fn linked(presence: &Presence) -> bool {
    matches!(presence, Presence::Linked(_))
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("it took too long: {what}"),
    }
}

fn state() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// An owner and its guest.
async fn two(ground: &dyn Ground, state: &Path) -> (Bridge, Bridge) {
    let owner = Bridge::start(ground, state);
    ground.owned(&owner.is_owner_of(1).await);
    let guest = Bridge::start(ground, state);
    guest.is_guest_among(2).await;
    owner.is_owner_of(2).await;
    (owner, guest)
}

async fn one_owns_the_place_and_the_next_is_its_guest(ground: &dyn Ground) {
    let state = state();
    let (owner, guest) = two(ground, state.path()).await;
    let third = Bridge::start(ground, state.path());
    third.is_guest_among(3).await;
    guest.is_guest_among(3).await;
    third.end();
    guest.is_guest_among(2).await;
    owner.is_owner_of(2).await;
    guest.end();
    owner.is_owner_of(1).await;
    owner.end();
}

async fn a_guest_knows_the_computers_that_link_to_the_owner(ground: &dyn Ground) {
    let state = state();
    let owner = Bridge::start(ground, state.path());
    ground.owned(&owner.is_owner_of(1).await);
    let early = Agent::new(1);
    let mut gone = Agent::new(2);
    early.link(&owner).await;
    gone.link(&owner).await;
    gone.leave().await;
    owner.computer(2, |presence| !linked(presence)).await;
    let guest = Bridge::start(ground, state.path());
    guest.computer(1, linked).await;
    let is_closed = |presence: &Presence| matches!(presence, Presence::Left { why, .. } if why.contains("closed"));
    guest.computer(2, is_closed).await;
    let mut late = Agent::new(3);
    late.link(&owner).await;
    guest.computer(3, linked).await;
    late.leave().await;
    guest.computer(3, is_closed).await;
    owner.end();
    guest.end();
}

async fn a_guests_call_runs_once_and_is_answered_with_what_it_printed(ground: &dyn Ground) {
    let state = state();
    let (owner, guest) = two(ground, state.path()).await;
    let agent = Agent::new(7);
    agent.link(&owner).await;
    guest.computer(7, linked).await;
    let (answer, printed) = guest.exec(7, "short").await;
    assert_eq!(answer.result.unwrap()["length"], 5);
    assert_eq!(printed, "5 bytes\n");
    assert_eq!(agent.runs("short"), 1);
    soon(
        "the guest says that it has the answer",
        agent.acknowledged("short"),
    )
    .await;
    // Longer than one message, and not ASCII.
    let long = "é".repeat(100_000);
    let (answer, _) = guest.exec(7, &long).await;
    assert_eq!(answer.result.unwrap()["length"], 200_000);
    assert_eq!(agent.runs(&long), 1);
    let (answer, _) = owner.exec(7, "the owner's own").await;
    assert_eq!(answer.result.unwrap()["length"], 15);
    owner.end();
    guest.end();
}

async fn jobs_of_others_are_listed_read_and_stopped(ground: &dyn Ground) {
    let state = state();
    let (owner, guest) = two(ground, state.path()).await;
    let agent = Agent::new(7);
    agent.link(&owner).await;
    guest.computer(7, linked).await;
    for (asks, looks) in [(&owner, &guest), (&guest, &owner)] {
        let call = asks.exec(7, "hold");
        soon("the agent runs it", agent.holds("hold")).await;
        let (_, job) = soon("the job is listed", async {
            loop {
                let jobs = looks.fleet.jobs().await.unwrap();
                let found = jobs.into_iter().find(|(_, job)| !job.has_ended());
                if let Some(found) = found {
                    return found;
                }
            }
        })
        .await;
        assert_eq!(job.code, "hold");
        let (_, job) = looks
            .fleet
            .job(&job.id, 0, PATIENCE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(job.look(|progress| progress.read(0, 100).text), "held\n");
        let ((_, job), how) = looks
            .fleet
            .cancel(&job.id, PATIENCE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(how, Cancelled::Ended);
        assert!(job.has_ended());
        let (answer, _) = call.await;
        assert_eq!(answer.error.unwrap().kind.as_str(), "cancelled");
    }
    assert_eq!(agent.runs("hold"), 2);
    owner.end();
    guest.end();
}

async fn a_guests_call_lives_through_the_end_of_the_owner(ground: &dyn Ground) {
    let state = state();
    let (owner, guest) = two(ground, state.path()).await;
    let agent = Agent::new(7);
    agent.link(&owner).await;
    guest.computer(7, linked).await;
    let call = guest.exec(7, "hold");
    soon("the agent runs it", agent.holds("hold")).await;
    owner.end();
    guest.is_owner_of(1).await;
    agent.link(&guest).await;
    guest.computer(7, linked).await;
    agent.finish("hold");
    let (answer, printed) = call.await;
    assert_eq!(answer.result.unwrap()["length"], 4);
    assert_eq!(printed, "held\n4 bytes\n");
    assert_eq!(agent.runs("hold"), 1);
    guest.end();
}

async fn a_bridge_with_another_secret_is_told_so(ground: &dyn Ground) {
    let (state, other) = (state(), self::state());
    let owner = Bridge::start(ground, state.path());
    ground.owned(&owner.is_owner_of(1).await);
    let stranger = Bridge::start(ground, other.path());
    let reach = stranger
        .until("it is refused", |reach| matches!(reach, Reach::Blocked(_)))
        .await;
    assert!(
        matches!(&reach, Reach::Blocked(blocked) if blocked.reason.contains("of another user")),
        "{reach:?}"
    );
    owner.is_owner_of(1).await;
    owner.end();
    stranger.end();
}

/// Makes a test of each promise over each ground.
macro_rules! over {
    (on [$($carrier:ident: $ground:ty,)+] each $promises:tt) => {
        $(mod $carrier { over!(@ $ground, $promises); })+
    };
    (@ $ground:ty, { $($promise:ident,)+ }) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                super::$promise(&<$ground>::default()).await;
            }
        )+
    };
}

over! {
    on [
        in_memory: crate::bridges::in_memory::MeetingPlace,
        one_machine: crate::bridges::carrier_tests::LinkPort,
    ]
    each {
        one_owns_the_place_and_the_next_is_its_guest,
        a_guest_knows_the_computers_that_link_to_the_owner,
        a_guests_call_runs_once_and_is_answered_with_what_it_printed,
        jobs_of_others_are_listed_read_and_stopped,
        a_guests_call_lives_through_the_end_of_the_owner,
        a_bridge_with_another_secret_is_told_so,
    }
}
