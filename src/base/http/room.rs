//! Room for connections. When there is none left, one that does nothing makes way for the next: whoever only holds places
//! keeps nobody out.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes},
    http::Request,
};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// How long a request may take to come, before its connection is one that makes way.
const SLOW_AFTER: Duration = Duration::from_secs(10);

/// Where somebody comes from, as far as an address tells: what all those of one origin hold is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This machine, where all programs have one address.
    Here,
    /// Another one; an IPv6 address stands for its network of 64 bits, which one machine has to itself.
    At(IpAddr),
}

impl Origin {
    /// The origin of this address.
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        match address {
            _ if address.is_loopback() => Self::Here,
            IpAddr::V4(_) => Self::At(address),
            IpAddr::V6(v6) => {
                let network = v6.to_bits() & !u128::from(u64::MAX);
                Self::At(Ipv6Addr::from_bits(network).into())
            }
        }
    }

    /// How many places those of this origin may hold, where another machine may hold `others` and all together `most`.
    pub fn share(self, most: usize, others: usize) -> usize {
        match self {
            Self::Here => most,
            Self::At(_) => others.min(most),
        }
    }
}

/// All places of a port.
#[derive(Debug)]
pub struct Room {
    most: usize,
    /// The most that one other machine may hold.
    most_of_one: usize,
    next: AtomicU64,
    places: Mutex<HashMap<u64, Occupant>>,
    freed: Notify,
}

#[derive(Debug)]
struct Occupant {
    origin: Origin,
    state: State,
    /// When it came into this state.
    since: Instant,
    told_to_close: CancellationToken,
}

/// What a connection does. The first of those that make way comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// It never sent a whole head of a request, or became a WebSocket on which nobody said who they are.
    New,
    /// It sends a request.
    Asking,
    /// It could send the next one.
    Idle,
    /// It is answered. It keeps its place.
    Answered,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
    number: u64,
    told_to_close: CancellationToken,
}

impl Room {
    /// Room for so many, and for so many of one other machine.
    pub fn new(most: usize, most_of_one: usize) -> Self {
        Self {
            most,
            most_of_one,
            next: AtomicU64::new(0),
            places: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// A place for a connection of this origin; none if all those that are in its way are answered just now.
    pub fn take(self: &Arc<Self>, origin: Origin) -> Option<Place> {
        let mut places = self.lock();
        let of_origin = places.values().filter(|other| other.origin == origin);
        let crowded = of_origin.count() >= origin.share(self.most, self.most_of_one);
        if crowded || places.len() >= self.most {
            make_way(&mut places, crowded.then_some(origin))?;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let told_to_close = CancellationToken::new();
        places.insert(
            number,
            Occupant {
                origin,
                state: State::New,
                since: Instant::now(),
                told_to_close: told_to_close.clone(),
            },
        );
        Some(Place {
            room: self.clone(),
            number,
            told_to_close,
        })
    }

    /// Lets the connection go that is in the way the most, if there is one; tells whether.
    pub fn make_way(&self) -> bool {
        make_way(&mut self.lock(), None).is_some()
    }

    /// Waits until a connection has ended. One that ends between a look and this is noticed too.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Occupant>> {
        // What is locked is never left half changed.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends one that does nothing: of that origin, or else of the one that has the most.
fn make_way(places: &mut HashMap<u64, Occupant>, origin: Option<Origin>) -> Option<()> {
    let mut held: HashMap<Origin, usize> = HashMap::new();
    for occupant in places.values() {
        *held.entry(occupant.origin).or_default() += 1;
    }
    let makes_way = |occupant: &Occupant| match occupant.state {
        State::New | State::Idle => true,
        State::Asking => occupant.since.elapsed() >= SLOW_AFTER,
        State::Answered => false,
    };
    let (_, number) = places
        .iter()
        .filter(|(_, occupant)| origin.is_none_or(|origin| origin == occupant.origin))
        .filter(|(_, occupant)| makes_way(occupant))
        .map(|(number, occupant)| {
            let least = usize::MAX - held[&occupant.origin];
            ((least, occupant.state, occupant.since), *number)
        })
        .min()?;
    places.remove(&number)?.told_to_close.cancel();
    Some(())
}

impl Place {
    /// The only place of a room.
    pub fn alone() -> Self {
        let room = Arc::new(Room::new(1, 1));
        Self {
            room,
            number: 0,
            told_to_close: CancellationToken::new(),
        }
    }

    /// The place of the connection that a request came on, to whoever answers it.
    pub fn of<B>(request: &Request<B>) -> Option<Arc<Self>> {
        let Beside(place) = request.extensions().get()?;
        place.upgrade()
    }

    /// Leaves word of it beside a request.
    pub fn beside<B>(self: &Arc<Self>, request: &mut Request<B>) {
        let place = Beside(Arc::downgrade(self));
        request.extensions_mut().insert(place);
    }

    /// It became a WebSocket, which does nothing until its peer says who they are.
    pub fn waits_for_greeting(&self) {
        self.set(|_| State::New);
    }

    /// Done when it makes way for another.
    pub async fn lost(&self) {
        self.told_to_close.cancelled().await;
    }

    /// Follows a request that comes in: this connection asks until all of the body is here.
    pub fn asks<B>(self: &Arc<Self>, body: B) -> Body
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        if body.is_end_stream() {
            self.set(|_| State::Answered);
            return Body::new(body);
        }
        self.set(|_| State::Asking);
        Body::new(Followed {
            body: Body::new(body),
            then: Some(Then(self.clone(), State::Asking, State::Answered)),
        })
    }

    /// Follows an answer that goes out: this connection is answered until all of it has gone.
    pub fn is_answered(self: &Arc<Self>, body: Body) -> Body {
        self.set(|_| State::Answered);
        Body::new(Followed {
            body,
            then: Some(Then(self.clone(), State::Answered, State::Idle)),
        })
    }

    fn set(&self, next: impl FnOnce(State) -> State) {
        if let Some(occupant) = self.room.lock().get_mut(&self.number) {
            occupant.state = next(occupant.state);
            occupant.since = Instant::now();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.lock().remove(&self.number);
        self.room.freed.notify_one();
    }
}

/// A place, which its connection alone keeps: a request may be kept for longer than that.
#[derive(Debug, Clone)]
struct Beside(Weak<Place>);

/// A body whose end changes what its connection does.
struct Followed {
    body: Body,
    then: Option<Then>,
}

/// The state that follows another when this is dropped.
struct Then(Arc<Place>, State, State);

impl Drop for Then {
    fn drop(&mut self) {
        let Self(place, from, to) = self;
        place.set(|state| if state == *from { *to } else { state });
    }
}

impl HttpBody for Followed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) || self.body.is_end_stream() {
            self.then = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(last: u8) -> Origin {
        Origin::of([192, 0, 2, last].into())
    }

    fn has(place: &Place) -> bool {
        !place.told_to_close.is_cancelled()
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_nothing_makes_way_and_who_is_answered_never_does() {
        let room = Arc::new(Room::new(4, 2));
        let take = || room.take(Origin::Here).map(Arc::new);
        let [answered, idle, asking, new] = [(); 4].map(|()| take().unwrap());
        let answer = answered.is_answered(Body::from("answer"));
        drop(idle.is_answered(Body::empty()));
        let _body = asking.asks(Body::from("request"));
        // The one that never asked anything, though the others came before it.
        let second = take().unwrap();
        assert!(!has(&new) && has(&idle) && has(&asking));
        let _second = second.is_answered(Body::from("answer"));
        let third = take().unwrap();
        assert!(!has(&idle) && has(&asking));
        let _third = third.is_answered(Body::from("answer"));
        assert!(take().is_none());
        tokio::time::advance(SLOW_AFTER).await;
        let fourth = take().unwrap();
        assert!(!has(&asking));
        let _fourth = fourth.is_answered(Body::from("answer"));
        assert!(take().is_none());
        // Its answer has gone.
        drop(answer);
        assert!(take().is_some());
        assert!(!has(&answered) && has(&second) && has(&third) && has(&fourth));
    }

    #[tokio::test]
    async fn whoever_holds_the_most_makes_way_first_and_none_holds_all() {
        let room = Arc::new(Room::new(4, 2));
        let near = room.take(Origin::Here).unwrap();
        let far: Vec<_> = (0..2).map(|_| room.take(at(1)).unwrap()).collect();
        let other = room.take(at(2)).unwrap();
        // One too many of that address: its own oldest.
        let third = room.take(at(1)).unwrap();
        assert!(!has(&far[0]) && has(&far[1]) && has(&near) && has(&other));
        // One too many of all.
        let fourth = room.take(at(2)).unwrap();
        assert!(!has(&far[1]) && has(&third) && has(&near) && has(&other));
        let fifth = room.take(Origin::Here).unwrap();
        assert!(!has(&other) && has(&fourth) && has(&near) && has(&fifth));
    }

    #[test]
    fn an_origin_is_what_an_address_tells() {
        let of = |address: &str| Origin::of(address.parse().unwrap());
        assert_eq!(of("127.0.0.1"), of("::1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::"));
        assert_ne!(of("2001:db8:1:2::"), of("2001:db8:1:3::"));
        assert_eq!(of("::1").share(10, 5), 10);
        assert_eq!(of("192.0.2.1").share(10, 5), 5);
        assert_eq!(of("192.0.2.1").share(10, 20), 10);
    }

    #[tokio::test]
    async fn a_place_is_free_once_its_connection_ends() {
        let room = Arc::new(Room::new(1, 1));
        let place = Arc::new(room.take(Origin::Here).unwrap());
        let answer = place.is_answered(Body::from("answer"));
        assert!(room.take(Origin::Here).is_none());
        drop((answer, place));
        room.freed().await;
        assert!(room.take(Origin::Here).is_some());
    }
}
