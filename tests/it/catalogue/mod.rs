//! What a client may see and use is the same by every way to it, whatever keeps it from a client: a table of each kind of
//! refusal over each way, in both eras of the protocol.

mod session;
mod things;

use std::collections::BTreeMap;

use session::{Era, Session, WAYS, Way};
use things::Kept;

/// What a model is told of a pause.
macro_rules! paused_by_a_person {
    () => {
        "a person has paused this at a moment that isn't known. Until `mcp-bridge resume` lifts that, nothing is called \
         that could change something; what only reads goes on. Tell your user, and do not try again before they say that \
         it is lifted"
    };
}

/// What comes of some ways.
type Cells = &'static [(Way, &'static str)];

/// What comes of each way, where nothing stands in it.
const OPEN: Cells = &[
    (Way::List, "listed"),
    (Way::Call, "done"),
    (Way::FindTools, "found"),
    (Way::CallTool, "done"),
    (Way::RunScript, "=> done"),
    (Way::ListPrompts, "listed"),
    (Way::GetPrompt, "Hello"),
    (Way::Complete, r#"["one","other"]"#),
    (Way::ListResources, "listed"),
    (Way::ListTemplates, "listed"),
    (Way::Read, "Number 1"),
    (Way::ReadByTemplate, "All of 1"),
    (Way::Subscription, "tools prompts resources thing://one"),
];

/// What is another where a thing is not in the list.
const NOT_LISTED: Cells = &[
    (Way::List, "not listed"),
    (Way::ListPrompts, "not listed"),
    (Way::ListResources, "not listed"),
    (Way::ListTemplates, "not listed"),
    (Way::Subscription, "thing://one"),
];

/// What is another where nothing may be changed.
const READ_ONLY: Cells = &[
    (Way::List, "not listed"),
    (
        Way::Call,
        "thing is refused: this bridge was started read-only (--read-only), and the tool does not promise to change \
         nothing (readOnlyHint: true).",
    ),
    (
        Way::FindTools,
        "refused: this bridge was started read-only (--read-only), and the tool does not promise to change nothing \
         (readOnlyHint: true)",
    ),
    (
        Way::CallTool,
        "thing is refused: this bridge was started read-only (--read-only), and the tool does not promise to change \
         nothing (readOnlyHint: true).",
    ),
    (
        Way::RunScript,
        "run-script is refused: this bridge was started read-only (--read-only), and the tool does not promise to \
         change nothing (readOnlyHint: true).",
    ),
    (Way::Subscription, "prompts resources thing://one"),
];

/// What is another where a person has paused what could change something.
const PAUSED: Cells = &[
    (
        Way::Call,
        concat!("thing was not called: ", paused_by_a_person!(), "."),
    ),
    (
        Way::CallTool,
        concat!("thing was not called: ", paused_by_a_person!(), "."),
    ),
    (
        Way::RunScript,
        concat!("run-script was not called: ", paused_by_a_person!(), "."),
    ),
];

/// What is another where other tools were chosen.
const NOT_CHOSEN: Cells = &[
    (Way::List, "not listed"),
    (
        Way::Call,
        "thing is refused: this bridge was started with other tools only (--toolsets or --tools).",
    ),
    (
        Way::FindTools,
        "refused: this bridge was started with other tools only (--toolsets or --tools)",
    ),
    (
        Way::CallTool,
        "thing is refused: this bridge was started with other tools only (--toolsets or --tools).",
    ),
    (
        Way::RunScript,
        "thing is refused: this bridge was started with other tools only (--toolsets or --tools)",
    ),
    (Way::Subscription, "prompts resources thing://one"),
];

/// What is another where a tool is withheld.
const WITHHELD: Cells = &[
    (Way::List, "not listed"),
    (
        Way::Call,
        "The tool thing is withheld: it is odd, for the time no. 1.",
    ),
    (Way::FindTools, "withheld: it is odd, for the time no. 1"),
    (
        Way::CallTool,
        "The tool thing is withheld: it is odd, for the time no. 1.",
    ),
    (
        Way::RunScript,
        "The tool thing is withheld: it is odd, for the time no. 1",
    ),
    (Way::Subscription, "prompts resources thing://one"),
];

/// What comes of each way to what there is not, for this client.
const NOTHING: Cells = &[
    (Way::List, "not listed"),
    (Way::Call, "Unknown tool: thing"),
    (Way::FindTools, "not found"),
    (
        Way::CallTool,
        "There is no tool `thing`; did you mean `settings`? find-tools shows those that are not in your list.",
    ),
    (Way::RunScript, "there is no tool `thing`"),
    (Way::ListPrompts, "not listed"),
    (Way::GetPrompt, "Unknown prompt: thing"),
    (Way::Complete, "[]"),
    (Way::ListResources, "not listed"),
    (Way::ListTemplates, "not listed"),
    (Way::Read, "Unknown resource: thing://one"),
    (Way::ReadByTemplate, "Unknown resource: things://two"),
    (Way::Subscription, ""),
];

/// What keeps the thing from which client, and what is another then than where nothing does.
const TABLE: &[(Kept, &str, Cells)] = &[
    (Kept::Not, "claude-code", &[]),
    (Kept::Not, "opencode", &[]),
    (Kept::FromTheList, "claude-code", NOT_LISTED),
    (Kept::ByReadOnly, "claude-code", READ_ONLY),
    (Kept::ByPause, "claude-code", PAUSED),
    (Kept::BySets, "claude-code", NOT_CHOSEN),
    (Kept::ByNames, "claude-code", NOT_CHOSEN),
    (Kept::BeingWithheld, "claude-code", WITHHELD),
    (Kept::FromItsOwner, "claude-code", &[]),
    (Kept::FromItsOwner, "opencode", NOTHING),
    (Kept::BeingUnknown, "claude-code", NOTHING),
    (Kept::BeingGone, "claude-code", NOTHING),
];

#[tokio::test]
async fn every_way_to_a_thing_tells_the_same_whatever_keeps_it_from_a_client() {
    let rows = TABLE.iter().flat_map(|row| {
        [Era::WithInitialize, Era::Stateless].map(|era| async move {
            let (kept, client, different) = *row;
            let expected: BTreeMap<_, _> = OPEN.iter().chain(different).copied().collect();
            let mut session = Session::open(kept, era, client).await;
            let mut came = BTreeMap::new();
            if kept == Kept::BeingGone {
                for way in WAYS {
                    session.go(way).await;
                }
                session.subscribe().await;
                let told = session.told(kept.offer(2)).await;
                assert_eq!(told, "tools prompts resources thing://one", "{era:?}");
            }
            for way in WAYS {
                came.insert(way, session.go(way).await);
            }
            if kept != Kept::BeingGone {
                session.subscribe().await;
            }
            came.insert(Way::Subscription, session.told(kept.offer(3)).await);
            for (way, came) in came {
                let row = format!("{kept:?} for {client}, {era:?}, {way:?}");
                assert_eq!(came, expected[&way], "{row}");
            }
        })
    });
    futures_util::future::join_all(rows).await;
}
