//! What a session's client is owed: a stream of messages for each of its requests, and one for all else. No I/O, no
//! clock.
//!
//! A message stays until newer ones need its room, so that a client whose connection broke can ask for what followed
//! the last one it got (MCP 2025-11-25, basic/transports, "Resumability and Redelivery").

use std::{collections::HashMap, sync::Arc, time::Duration};

use rmcp::{
    model::{JsonRpcMessage, ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification},
    transport::streamable_http_server::session::ServerSseMessage,
};

use super::stream::{Next, Stream};
use crate::base::budget::Budget;

/// The stream of what belongs to no request.
pub const STANDALONE: u64 = 0;

/// How long a client should wait before it connects again.
const RETRY: Duration = Duration::from_secs(1);

/// The streams of one session.
#[derive(Debug)]
pub struct Outbox {
    streams: HashMap<u64, Stream>,
    /// Requests without an answer, and their streams.
    requests: HashMap<RequestId, u64>,
    next_stream: u64,
    /// Whether a stream begins with an event that says how to resume it. Clients before 2025-11-25 take an event
    /// without data for a broken message.
    pub primes: bool,
    closed: bool,
    /// The room for the streams of all sessions.
    room: Arc<Budget>,
}

/// A reader's place at a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamPlace {
    /// The stream.
    pub stream: u64,
    reader: u64,
}

/// What a reader gets.
#[derive(Debug)]
pub enum Taken {
    /// The next message.
    Message(ServerSseMessage),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    Over,
}

impl Outbox {
    /// One whose streams share this room with those of other sessions. What finds none is progress that gives way to newer.
    pub fn new(room: Arc<Budget>) -> Self {
        Self {
            streams: HashMap::from([(STANDALONE, Stream::in_room(room.share()))]),
            requests: HashMap::new(),
            next_stream: STANDALONE + 1,
            primes: false,
            closed: false,
            room,
        }
    }

    /// Opens the stream of a request. None if a request of this id has no answer yet.
    pub fn open(&mut self, id: &RequestId, token: Option<ProgressToken>) -> Option<u64> {
        if self.requests.contains_key(id) {
            return None;
        }
        let stream = Stream::of_request(token, self.room.share());
        let stream = self.add(stream);
        self.requests.insert(id.clone(), stream);
        Some(stream)
    }

    /// Opens a stream that holds one answer and nothing else.
    pub fn open_answered(&mut self, answer: ServerJsonRpcMessage) -> u64 {
        self.add(Stream::of_answer(answer))
    }

    fn add(&mut self, mut stream: Stream) -> u64 {
        if self.primes && !stream.has_ended() {
            stream.push(None, 0);
        }
        let number = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(number, stream);
        number
    }

    /// How many requests have no answer yet.
    pub fn unanswered(&self) -> usize {
        self.requests.len()
    }

    /// Takes away one request without an answer, if there is any, and tells its id.
    pub fn give_up_one(&mut self) -> Option<RequestId> {
        let id = self.requests.keys().next()?.clone();
        self.cancel(&id);
        Some(id)
    }

    /// Puts a message of `bytes` bytes into the stream it belongs to. Returns the stream if that is now complete.
    pub fn deliver(&mut self, message: ServerJsonRpcMessage, bytes: usize) -> Option<u64> {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            // What was given up is answered no more.
            let number = self.requests.remove(id)?;
            let stream = self.streams.get_mut(&number)?;
            stream.end();
            stream.push(Some(message), bytes);
            return Some(number);
        }
        let number = self.stream_for(&message);
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.push(Some(message), bytes);
        }
        None
    }

    fn stream_for(&self, message: &ServerJsonRpcMessage) -> u64 {
        let JsonRpcMessage::Notification(notification) = message else {
            return self.stream_for_questions();
        };
        let ServerNotification::ProgressNotification(progress) = &notification.notification else {
            return STANDALONE;
        };
        let token = &progress.params.progress_token;
        // The newest, should a client give one token twice.
        let of_token = self.requests.values().copied().filter(|number| {
            self.streams
                .get(number)
                .is_some_and(|stream| stream.takes(token))
        });
        of_token.max().unwrap_or(STANDALONE)
    }

    /// Where the client finds what it is asked: in the stream of what belongs to no request or, if it does not read that,
    /// in one of a request that it waits for.
    fn stream_for_questions(&self) -> u64 {
        let is_read = |number: &u64| self.streams.get(number).is_some_and(Stream::is_read);
        if is_read(&STANDALONE) {
            return STANDALONE;
        }
        let requests = self.requests.values().copied();
        requests.filter(is_read).max().unwrap_or(STANDALONE)
    }

    /// Ends the stream of a request that gets no answer, since the client gave it up.
    pub fn cancel(&mut self, id: &RequestId) {
        let Some(number) = self.requests.remove(id) else {
            return;
        };
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.end();
        }
        self.forget(number);
    }

    /// Drops a complete stream, at the latest when its reader has all of it.
    pub fn forget(&mut self, number: u64) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.let_go();
        }
        self.drop_left(number);
    }

    /// Ends all streams.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether this stream is there to be read from after this message.
    pub fn can_resume(&self, number: u64, after: u64) -> bool {
        let stream = self.streams.get(&number);
        stream.is_some_and(|stream| stream.can_resume(after))
    }

    /// Whether more may follow in this stream.
    pub fn is_open(&self, number: u64) -> bool {
        let stream = self.streams.get(&number);
        stream.is_some_and(|stream| !stream.has_ended())
    }

    /// A place at a stream, from after this message on, or from where the reader before left.
    pub fn attach(&mut self, number: u64, after: Option<u64>) -> Option<StreamPlace> {
        if after.is_some_and(|after| !self.can_resume(number, after)) {
            return None;
        }
        let stream = self.streams.get_mut(&number)?;
        Some(StreamPlace {
            stream: number,
            reader: stream.attach(after),
        })
    }

    /// Gives a place up.
    pub fn detach(&mut self, place: StreamPlace) {
        if let Some(stream) = self.streams.get_mut(&place.stream) {
            stream.detach();
        }
        self.drop_left(place.stream);
    }

    /// Whether anyone has a place at a stream.
    pub fn is_read(&self) -> bool {
        self.streams.values().any(Stream::is_read)
    }

    /// The next message for the one at this place.
    pub fn take(&mut self, place: StreamPlace) -> Taken {
        let Some(stream) = self.streams.get_mut(&place.stream) else {
            return Taken::Over;
        };
        let replaced = place.stream != STANDALONE && stream.has_newer(place.reader);
        if self.closed || replaced {
            return Taken::Over;
        }
        let (number, message) = match stream.take() {
            Next::Message(number, message) => (number, message),
            Next::Nothing => return Taken::Nothing,
            Next::Over => return Taken::Over,
        };
        let id = format!("{}-{number}", place.stream);
        Taken::Message(match message {
            Some(message) => {
                let mut event = ServerSseMessage::default();
                event.event_id = Some(id);
                event.message = Some(message);
                event
            }
            None => ServerSseMessage::priming(id, RETRY),
        })
    }

    fn drop_left(&mut self, number: u64) {
        if number != STANDALONE && self.streams.get(&number).is_some_and(Stream::may_go) {
            self.streams.remove(&number);
        }
    }
}

/// The stream and the number that an event's id stands for.
pub fn read_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
pub mod tests {
    use rmcp::model::{EmptyResult, JsonRpcResponse, JsonRpcVersion2_0, ServerResult};
    use serde_json::json;

    use super::*;

    /// One that has a megabyte for all its streams.
    fn outbox() -> Outbox {
        Outbox::new(Budget::new(1024 * 1024))
    }
    use crate::mcp::http::stream::MAX_KEPT_BYTES;

    pub fn answer(id: i64) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::Response(JsonRpcResponse {
            jsonrpc: JsonRpcVersion2_0,
            id: RequestId::Number(id),
            result: ServerResult::EmptyResult(EmptyResult {}),
        })
    }

    pub fn progress(token: i64) -> ServerJsonRpcMessage {
        let message = json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1.0},
        });
        serde_json::from_value(message).unwrap()
    }

    pub fn token(number: i64) -> Option<ProgressToken> {
        Some(ProgressToken(RequestId::Number(number)))
    }

    /// The ids of the events that are there to be taken, and whether the stream is over after them.
    fn taken(outbox: &mut Outbox, place: StreamPlace) -> (Vec<String>, bool) {
        let mut ids = Vec::new();
        loop {
            match outbox.take(place) {
                Taken::Message(event) => ids.push(event.event_id.unwrap()),
                Taken::Nothing => return (ids, false),
                Taken::Over => return (ids, true),
            }
        }
    }

    fn one(id: &str) -> Vec<String> {
        vec![id.to_owned()]
    }

    #[test]
    fn each_request_has_a_stream_of_its_own_which_ends_with_the_answer() {
        let mut outbox = outbox();
        let first = outbox.open(&RequestId::Number(7), token(1)).unwrap();
        let second = outbox.open(&RequestId::Number(8), token(2)).unwrap();
        assert!(outbox.open(&RequestId::Number(7), None).is_none());
        let places = [first, second].map(|stream| outbox.attach(stream, None).unwrap());
        assert_eq!(outbox.deliver(progress(2), 10), None);
        assert_eq!(outbox.deliver(answer(7), 10), Some(first));
        assert_eq!(taken(&mut outbox, places[0]), (one("1-0"), true));
        assert_eq!(taken(&mut outbox, places[1]), (one("2-0"), false));
        assert_eq!(outbox.unanswered(), 1);
    }

    #[test]
    fn a_reader_that_comes_again_gets_what_followed() {
        let mut outbox = outbox();
        let stream = outbox.open(&RequestId::Number(7), token(1)).unwrap();
        let lost = outbox.attach(stream, None).unwrap();
        for _ in 0..3 {
            outbox.deliver(progress(1), 10);
        }
        assert_eq!(taken(&mut outbox, lost).0.len(), 3);
        outbox.deliver(answer(7), 10);
        let again = outbox.attach(stream, Some(1)).unwrap();
        assert_eq!(taken(&mut outbox, lost), (vec![], true));
        let ids = ["1-2", "1-3"].map(str::to_owned).to_vec();
        assert_eq!(taken(&mut outbox, again), (ids, true));
        assert!(outbox.attach(stream, Some(4)).is_none());
    }

    #[test]
    fn of_a_stream_that_nobody_reads_the_newest_messages_are_kept_and_the_answer_always() {
        let mut outbox = outbox();
        let stream = outbox.open(&RequestId::Number(7), token(1)).unwrap();
        for _ in 0..1_000 {
            outbox.deliver(progress(1), 10);
        }
        outbox.deliver(answer(7), 5 * MAX_KEPT_BYTES);
        let place = outbox.attach(stream, None).unwrap();
        assert_eq!(taken(&mut outbox, place), (one("1-1000"), true));
    }

    #[test]
    fn a_complete_stream_is_forgotten_but_not_before_its_reader_has_it() {
        let mut outbox = outbox();
        let stream = outbox.open(&RequestId::Number(7), None).unwrap();
        let place = outbox.attach(stream, None).unwrap();
        outbox.deliver(answer(7), 10);
        outbox.forget(stream);
        assert_eq!(taken(&mut outbox, place), (one("1-0"), true));
        outbox.detach(place);
        assert!(!outbox.can_resume(stream, 0));
    }

    #[test]
    fn what_is_given_up_ends_without_an_answer() {
        let mut outbox = outbox();
        let stream = outbox.open(&RequestId::Number(7), None).unwrap();
        let place = outbox.attach(stream, None).unwrap();
        outbox.cancel(&RequestId::Number(7));
        assert_eq!(taken(&mut outbox, place), (vec![], true));
        assert_eq!(outbox.deliver(answer(7), 10), None);
    }

    #[test]
    fn all_readers_of_the_standalone_stream_share_its_messages() {
        let mut outbox = outbox();
        outbox.deliver(progress(1), 10);
        let places = [(); 2].map(|()| outbox.attach(STANDALONE, None).unwrap());
        assert_eq!(taken(&mut outbox, places[0]), (one("0-0"), false));
        outbox.deliver(progress(1), 10);
        assert_eq!(taken(&mut outbox, places[1]), (one("0-1"), false));
        assert_eq!(taken(&mut outbox, places[0]), (vec![], false));
    }

    #[test]
    fn newer_clients_are_told_at_once_how_to_resume() {
        let mut outbox = Outbox {
            primes: true,
            ..outbox()
        };
        let stream = outbox.open(&RequestId::Number(7), None).unwrap();
        let place = outbox.attach(stream, None).unwrap();
        let Taken::Message(event) = outbox.take(place) else {
            panic!("no event")
        };
        assert!(event.message.is_none() && event.retry.is_some());
        assert_eq!(read_event_id(&event.event_id.unwrap()), Some((stream, 0)));
    }

    #[test]
    fn ids_of_nothing_are_none() {
        for id in ["", "0", "1/2", "a-1", "1-", "-1", "18446744073709551616-0"] {
            assert_eq!(read_event_id(id), None, "{id}");
        }
        assert!(!outbox().can_resume(5, 0));
        assert!(!outbox().can_resume(STANDALONE, 0));
    }
}

#[cfg(test)]
mod properties {
    use proptest::{collection::vec, prelude::*};

    use super::tests::{answer, progress, token};
    use super::*;
    use crate::mcp::http::stream::MAX_KEPT_BYTES;

    /// What happens to one of a few requests.
    #[derive(Debug, Clone, Copy)]
    enum Event {
        Progress,
        Answer,
        Cancel,
        /// Its client reads one message.
        Read,
        /// Its client loses the connection, and resumes after the last message it read.
        Resume,
    }

    struct Client {
        id: i64,
        stream: u64,
        place: Option<StreamPlace>,
        /// The number of the last message it read.
        last: Option<u64>,
        answers: usize,
        answered: bool,
        cancelled: bool,
    }

    impl Client {
        fn open(outbox: &mut Outbox, id: i64) -> Self {
            let stream = outbox.open(&RequestId::Number(id), token(id)).unwrap();
            let place = outbox.attach(stream, None);
            Self {
                id,
                stream,
                place,
                last: None,
                answers: 0,
                answered: false,
                cancelled: false,
            }
        }

        fn suffer(&mut self, outbox: &mut Outbox, event: Event) {
            match event {
                Event::Progress => {
                    // After its end it goes to the standalone stream, as a late one does.
                    outbox.deliver(progress(self.id), 100_000);
                }
                Event::Answer => {
                    let complete = outbox.deliver(answer(self.id), 3 * MAX_KEPT_BYTES);
                    assert_eq!(complete.is_some(), !self.answered && !self.cancelled);
                    self.answered |= complete.is_some();
                }
                Event::Cancel => {
                    outbox.cancel(&RequestId::Number(self.id));
                    self.cancelled |= !self.answered;
                }
                Event::Read => {
                    self.read(outbox);
                }
                Event::Resume => {
                    if let Some(place) = self.place.take() {
                        outbox.detach(place);
                    }
                    self.place = outbox.attach(self.stream, self.last);
                    assert!(self.place.is_some() || self.cancelled);
                }
            }
        }

        /// Whether the stream goes on.
        fn read(&mut self, outbox: &mut Outbox) -> bool {
            let Some(place) = self.place else {
                return false;
            };
            let event = match outbox.take(place) {
                Taken::Message(event) => event,
                Taken::Nothing => {
                    assert!(!self.answered && !self.cancelled, "nothing comes any more");
                    return false;
                }
                Taken::Over => {
                    assert!(
                        self.answers == 1 || self.cancelled,
                        "over without an answer"
                    );
                    return false;
                }
            };
            let (stream, number) = read_event_id(&event.event_id.unwrap()).unwrap();
            assert_eq!(stream, self.stream);
            assert!(self.last.is_none_or(|last| number > last), "read twice");
            self.last = Some(number);
            if let Some(message) = event.message
                && let JsonRpcMessage::Response(response) = &*message
            {
                assert_eq!(response.id, RequestId::Number(self.id));
                self.answers += 1;
            }
            true
        }
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            6 => Just(Event::Progress),
            1 => Just(Event::Answer),
            1 => Just(Event::Cancel),
            6 => Just(Event::Read),
            3 => Just(Event::Resume),
        ]
    }

    proptest! {
        #[test]
        fn every_request_that_is_answered_has_its_answer_read_once_however_often_its_client_is_cut_off(
            primes in any::<bool>(),
            events in vec((0..3_usize, event()), 0..200),
        ) {
            let mut outbox = Outbox { primes, ..Outbox::new(Budget::new(1024 * 1024)) };
            let mut clients: Vec<_> = (0..3).map(|id| Client::open(&mut outbox, id)).collect();
            for (client, event) in events {
                clients[client].suffer(&mut outbox, event);
                for stream in outbox.streams.values() {
                    prop_assert!(stream.is_in_bounds());
                }
            }
            for client in &mut clients {
                while client.read(&mut outbox) {}
                prop_assert_eq!(client.answers, usize::from(client.answered));
            }
        }
    }
}
