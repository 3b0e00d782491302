//! Questions to a client of the stateless era. It can't be sent any: a request of its is answered with them, and is held until
//! it comes again with the answers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData,
    model::{
        CallToolResponse, ClientCapabilities, ClientResult, CustomResult, GetPromptResponse,
        InputRequest, InputRequests, InputRequiredResult, InputResponses, ProgressToken,
        ReadResourceResponse, ServerRequest,
    },
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use uuid::Uuid;

use super::cancelled::cancelled;
use crate::tools::asked::{Asked, method};

/// How long a request may take to be answered before its client is asked what somebody wanted to know before it came: it
/// may have nothing to do with that.
const FIRST: Duration = Duration::from_millis(100);

/// How long a request is held for the answers. That is also as long as whoever asked waits for them.
const HELD: Duration = Duration::from_secs(10 * 60);

/// How many requests are held at once; the one that was held longest makes way.
const MOST_HELD: usize = 64;

/// How many questions may wait.
const MOST_WAITING: usize = 64;

/// What a held request comes to.
pub enum Answer {
    /// That of a call.
    Tool(CallToolResponse),
    /// That of a prompt.
    Prompt(GetPromptResponse),
    /// That of a resource.
    Resource(ReadResourceResponse),
    /// Not yet one: what the client is asked first.
    Asked(InputRequiredResult),
}

/// What a request that comes again brings with it.
#[derive(Default)]
pub struct Again {
    /// By what it is known.
    pub state: Option<String>,
    /// The answers.
    pub answers: Option<InputResponses>,
}

/// The questions to one client.
pub struct Questions {
    capabilities: ClientCapabilities,
    state: Mutex<State>,
    /// There is a new question.
    news: Notify,
}

#[derive(Default)]
struct State {
    /// The number of the next question.
    next: u64,
    /// Those without an answer, by the name that the client knows them by.
    waiting: BTreeMap<String, Question>,
    /// Requests that were answered with questions, by what they are known by when they come again.
    held: HashMap<String, Held>,
}

struct Question {
    what: InputRequest,
    /// Whether a request was answered with it, and still is to come again.
    is_put: bool,
    answer: oneshot::Sender<ClientResult>,
}

struct Held {
    since: Instant,
    work: Work,
    /// The questions that it was answered with.
    put: Vec<String>,
}

/// A request that is worked on, whoever waits for it now.
struct Work {
    task: AbortOnDropHandle<Result<Answer, ErrorData>>,
    line: Arc<Line>,
}

/// The way back to the client, which is there while a request of its waits.
#[derive(Default)]
pub struct Line {
    token: Mutex<Option<ProgressToken>>,
    is_cut: AtomicBool,
}

impl Line {
    /// The way to whoever waits with this token for progress, if with any.
    pub fn new(token: Option<ProgressToken>) -> Self {
        Self {
            token: Mutex::new(token),
            is_cut: AtomicBool::new(false),
        }
    }

    /// The token by which the client follows the request that waits, if one waits and it does.
    pub fn token(&self) -> Option<ProgressToken> {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.clone().filter(|_| self.is_there())
    }

    /// Whether a request waits.
    pub fn is_there(&self) -> bool {
        !self.is_cut.load(Ordering::Acquire)
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
    }

    fn resume(&self, token: Option<ProgressToken>) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = token;
        self.is_cut.store(false, Ordering::Release);
    }
}

impl Questions {
    /// None yet, to a client that can be asked this.
    pub fn new(capabilities: ClientCapabilities) -> Self {
        Self {
            capabilities,
            state: Mutex::default(),
            news: Notify::new(),
        }
    }

    /// Works on a request, or goes on with one that comes `again`, until it has an answer or its client is to be asked
    /// something. `begin` is what there is to do; `gone` is cancelled when nobody waits for it any more.
    ///
    /// # Errors
    /// Those of the request, and that there is none that waits for these answers.
    pub async fn answered(
        self: &Arc<Self>,
        again: Again,
        token: Option<ProgressToken>,
        gone: &CancellationToken,
        begin: impl FnOnce(Arc<Line>) -> BoxFuture<'static, Result<Answer, ErrorData>>,
    ) -> Result<Answer, ErrorData> {
        let mut work = match again.state {
            Some(state) => self.take_up(&state, again.answers.unwrap_or_default(), token)?,
            None => {
                let line = Arc::new(Line::new(token));
                let task = AbortOnDropHandle::new(tokio::spawn(begin(line.clone())));
                Work { task, line }
            }
        };
        let asked = async {
            sleep(FIRST).await;
            loop {
                let news = self.news.notified();
                let put = self.put();
                if !put.is_empty() {
                    return put;
                }
                news.await;
            }
        };
        tokio::select! {
            biased;
            answer = &mut work.task => answer.unwrap_or_else(|failed| {
                Err(ErrorData::internal_error(failed.to_string(), None))
            }),
            // What it does ends with its task.
            () = gone.cancelled() => Err(cancelled()),
            put = asked => {
                work.line.cut();
                Ok(Answer::Asked(self.hold(work, put)))
            }
        }
    }

    /// The questions that nobody was asked yet, which now are.
    fn put(&self) -> InputRequests {
        let mut state = self.lock();
        let new = state.waiting.iter_mut().filter(|(_, one)| !one.is_put);
        new.map(|(name, question)| {
            question.is_put = true;
            (name.clone(), question.what.clone())
        })
        .collect()
    }

    fn hold(&self, work: Work, questions: InputRequests) -> InputRequiredResult {
        let mut state = self.lock();
        let now = Instant::now();
        state.held.retain(|_, held| now - held.since < HELD);
        let oldest = state.held.iter().min_by_key(|(_, held)| held.since);
        if let Some(oldest) = oldest.map(|(name, _)| name.clone())
            && state.held.len() >= MOST_HELD
        {
            state.held.remove(&oldest);
        }
        let name = Uuid::new_v4().simple().to_string();
        let held = Held {
            since: now,
            work,
            put: questions.keys().cloned().collect(),
        };
        state.held.insert(name.clone(), held);
        InputRequiredResult::new(Some(questions), Some(name))
    }

    fn take_up(
        &self,
        name: &str,
        answers: InputResponses,
        token: Option<ProgressToken>,
    ) -> Result<Work, ErrorData> {
        let mut state = self.lock();
        let Some(held) = state.held.remove(name) else {
            let message = format!(
                "No request is held under this `requestState`: it waited longer than {} minutes, or mcp-bridge was \
                 restarted. Begin it anew.",
                HELD.as_secs() / 60
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        // What was left out is asked once more.
        for name in &held.put {
            if let Some(question) = state.waiting.get_mut(name) {
                question.is_put = false;
            }
        }
        for (name, answer) in answers {
            if let Some(question) = state.waiting.remove(&name) {
                // Whoever asked may have gone.
                let _ = question
                    .answer
                    .send(ClientResult::CustomResult(CustomResult::new(answer)));
            }
        }
        held.work.line.resume(token);
        Ok(held.work)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked for Questions {
    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn ask(&self, question: ServerRequest) -> BoxFuture<'_, Result<ClientResult, ErrorData>> {
        async move {
            let what = match question {
                ServerRequest::CreateMessageRequest(question) => {
                    InputRequest::CreateMessage(question)
                }
                ServerRequest::ElicitRequest(question) => InputRequest::Elicitation(question),
                ServerRequest::ListRootsRequest(question) => InputRequest::ListRoots(question),
                other => {
                    let what = format!("{} can't be passed on as it is", method(&other));
                    return Err(ErrorData::invalid_params(what, None));
                }
            };
            let (answer, answered) = oneshot::channel();
            let name = {
                let mut state = self.lock();
                if state.waiting.len() >= MOST_WAITING {
                    let many = format!("{MOST_WAITING} questions to this client wait already");
                    return Err(ErrorData::internal_error(many, None));
                }
                state.next += 1;
                let name = format!("question-{}", state.next);
                let question = Question {
                    what,
                    is_put: false,
                    answer,
                };
                state.waiting.insert(name.clone(), question);
                name
            };
            let _back = TakenBack { of: self, name };
            // Each request that waits looks whether there is still one for it.
            self.news.notify_waiters();
            let gone = |_| ErrorData::internal_error("the client is gone", None);
            answered.await.map_err(gone)
        }
        .boxed()
    }
}

/// A question that is taken back when nobody waits for its answer.
struct TakenBack<'a> {
    of: &'a Questions,
    name: String,
}

impl Drop for TakenBack<'_> {
    fn drop(&mut self) {
        self.of.lock().waiting.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::time::timeout;

    use super::*;

    fn questions() -> Arc<Questions> {
        let capabilities = serde_json::from_value(json!({"roots": {}})).unwrap();
        Arc::new(Questions::new(capabilities))
    }

    fn roots() -> ServerRequest {
        serde_json::from_value(json!({"method": "roots/list"})).unwrap()
    }

    /// A call that asks the client for its roots, and answers with what it says.
    async fn asking(questions: &Arc<Questions>, again: Again) -> Result<Answer, ErrorData> {
        let asked = questions.clone();
        let begin = move |_: Arc<Line>| {
            async move {
                let ClientResult::CustomResult(answer) = asked.ask(roots()).await? else {
                    panic!("no raw answer");
                };
                Err(ErrorData::internal_error("told", Some(answer.0)))
            }
            .boxed()
        };
        let gone = CancellationToken::new();
        questions.answered(again, None, &gone, begin).await
    }

    fn asked(answer: Result<Answer, ErrorData>) -> InputRequiredResult {
        match answer {
            Ok(Answer::Asked(asked)) => asked,
            Ok(_) => panic!("an answer"),
            Err(error) => panic!("{error}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_held_until_it_comes_again_with_the_answers() {
        let questions = questions();
        let first = asked(asking(&questions, Again::default()).await);
        let put = first.input_requests.unwrap();
        let name = put.keys().next().unwrap().clone();
        assert_eq!(
            serde_json::to_value(&put[&name]).unwrap()["method"],
            "roots/list"
        );
        // Without the answer it is asked once more.
        let again = Again {
            state: first.request_state,
            answers: None,
        };
        let second = asked(asking(&questions, again).await);
        assert!(second.input_requests.unwrap().contains_key(&name));
        let state = second.request_state;
        let answer: Value = json!({"roots": []});
        let again = || Again {
            state: state.clone(),
            answers: Some([(name.clone(), answer.clone())].into()),
        };
        let told = asking(&questions, again()).await.err().unwrap();
        assert_eq!(told.data, Some(answer.clone()));
        // It is over then.
        let over = asking(&questions, again()).await.err().unwrap();
        assert!(over.message.contains("Begin it anew"), "{over}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_while_nothing_is_under_way_waits_for_the_next_request() {
        let questions = questions();
        let other = questions.clone();
        let asking = tokio::spawn(async move { other.ask(roots()).await });
        let gone = CancellationToken::new();
        let quick = |_: Arc<Line>| {
            async { Err::<Answer, _>(ErrorData::internal_error("done", None)) }.boxed()
        };
        // A request that is answered at once has nothing to do with it.
        let answered = questions.answered(Again::default(), None, &gone, quick);
        assert_eq!(answered.await.err().unwrap().message, "done");
        let slow = |_: Arc<Line>| {
            async {
                sleep(Duration::from_secs(1)).await;
                Err::<Answer, _>(ErrorData::internal_error("done", None))
            }
            .boxed()
        };
        let held = questions.answered(Again::default(), None, &gone, slow);
        let held = asked(held.await);
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        // Nobody wants to know any more: the request goes on when it comes again.
        let again = Again {
            state: held.request_state,
            answers: None,
        };
        let none = |_: Arc<Line>| panic!("begun twice");
        let answered = questions.answered(again, None, &gone, none);
        let answered = timeout(Duration::from_secs(5), answered).await.unwrap();
        assert_eq!(answered.err().unwrap().message, "done");
    }
}
