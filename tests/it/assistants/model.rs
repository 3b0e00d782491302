//! A model that says what the test wants: an HTTP server of the APIs by which assistants ask theirs.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{StatusCode, Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::api::{Api, Asked, Move};

/// One that listens on loopback as long as it is kept.
pub struct Model {
    pub address: SocketAddr,
    turns: mpsc::UnboundedReceiver<Turn>,
    server: JoinHandle<()>,
}

/// The model is asked, and the assistant waits for its move.
pub struct Turn {
    pub asked: Asked,
    answer: Option<oneshot::Sender<Move>>,
}

impl Turn {
    /// Answers it, once.
    pub fn answer(&mut self, what: Move) {
        let answer = self.answer.take().expect("it was not answered yet");
        // An assistant that has gone meanwhile needs none.
        let _ = answer.send(what);
    }
}

impl Model {
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (sender, turns) = mpsc::unbounded_channel();
        let routes = Router::new()
            .fallback(asked)
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::new(sender));
        Self {
            address: listener.local_addr().unwrap(),
            turns,
            server: tokio::spawn(async move {
                axum::serve(listener, routes).await.unwrap();
            }),
        }
    }

    pub async fn first_turn(&mut self) -> Turn {
        self.turns.recv().await.expect("the server runs")
    }

    /// The next time that it is asked something with more answers of tools than so many: without, an assistant asks
    /// again, as after a connection that broke.
    pub async fn turn(&mut self, answers: usize) -> Turn {
        loop {
            let turn = self.turns.recv().await.expect("the server runs");
            if turn.asked.shown.len() > answers {
                return turn;
            }
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn asked(
    State(turns): State<Arc<mpsc::UnboundedSender<Turn>>>,
    uri: Uri,
    body: Bytes,
) -> Response {
    let (Some(api), Ok(request)) = (Api::at(uri.path()), serde_json::from_slice::<Value>(&body))
    else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let asked = api.read(&request);
    let number = asked.shown.len();
    // Assistants ask for other things beside, such as a title: then they offer no tool of ours.
    let what = if asked.offered.iter().any(|tool| tool.is("exec-lua")) {
        let (answer, answered) = oneshot::channel();
        let _ = turns.send(Turn {
            asked,
            answer: Some(answer),
        });
        answered.await.unwrap_or(Move::End)
    } else {
        Move::End
    };
    let events = api.answer(&request, number, &what);
    ([(CONTENT_TYPE, "text/event-stream")], events).into_response()
}
