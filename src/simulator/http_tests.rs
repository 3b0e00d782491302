//! Requests of a simulated computer, against a real server on a free port.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Redirect;
use axum::routing::{get, post};

use crate::simulator::{Computer, ComputerOptions, ProgramState};

const PATIENCE: Duration = Duration::from_secs(20);

/// Counts the requests that are answered together: all of them, once no more come.
#[derive(Clone, Default)]
struct Together(Arc<AtomicUsize>);

impl Together {
    async fn arrive(self) -> String {
        self.0.fetch_add(1, Ordering::SeqCst);
        let mut seen = 0;
        // Others have come while this one waited: it waits on.
        while seen != self.0.load(Ordering::SeqCst) {
            seen = self.0.load(Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        seen.to_string()
    }
}

/// Runs a program with the URL of a small server as its argument; what it said and its screen.
async fn run(source: &str) -> (Vec<String>, Vec<String>) {
    let agent = |headers: HeaderMap| async move {
        let agent = headers
            .get("user-agent")
            .and_then(|value| value.to_str().ok());
        agent.unwrap_or_default().to_owned()
    };
    let together = Together::default();
    let routes = Router::new()
        .route(
            "/hello.lua",
            get(|| async { "print('hello from', ...)\r\nprint('there')" }),
        )
        .route("/agent", get(agent))
        .route("/moved", get(|| async { Redirect::to("/hello.lua") }))
        .route(
            "/broken",
            get(|| async { (StatusCode::INTERNAL_SERVER_ERROR, "why") }),
        )
        .route("/echo", post(|body: String| async move { body }))
        .route("/slow", get(std::future::pending::<()>))
        .route("/together", get(move || together.clone().arrive()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async move { axum::serve(listener, routes).await });
    let prelude = "local url = ... local out = fs.open('/out', 'wb') \
        local function say(...) local t = table.pack(...) for n = 1, t.n do t[n] = tostring(t[n]) end \
        out.write(table.concat(t, ' ') .. '\\n') end ";
    let options = ComputerOptions {
        clock_speed: 20.0,
        ..ComputerOptions::new(3)
    };
    let options = options.with_file("test.lua", format!("{prelude}{source}"));
    let runtime = tokio::runtime::Handle::current();
    let computer = Computer::start(options, &format!("test {url}"), &runtime).expect("a thread");
    let ended = |computer: &Computer| matches!(computer.program(), ProgramState::Ended { .. });
    assert!(
        computer.until(PATIENCE, ended).await,
        "{:#?}",
        computer.screen()
    );
    assert_eq!(
        computer.program(),
        ProgramState::Ended { ok: true },
        "{:#?}",
        computer.screen()
    );
    server.abort();
    let out = computer.read_file("out").unwrap_or_default();
    (
        String::from_utf8_lossy(&out)
            .lines()
            .map(str::to_owned)
            .collect(),
        computer.screen(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_read_with_its_status_and_headers() {
    let (said, _) = run(
        "local r = http.get(url .. '/hello.lua') say(r.getResponseCode()) say(r.getResponseHeaders()['Content-Type']) \
         say(r.readLine()) say(r.readAll()) r.close() say(http.get(url .. '/agent').readAll()) \
         say(http.get(url .. '/moved').readAll():sub(1, 5)) say(http.post(url .. '/echo', 'body').readAll())",
    )
    .await;
    assert_eq!(
        said,
        [
            "200 OK",
            "text/plain; charset=utf-8",
            "print('hello from', ...)",
            "print('there')",
            "computercraft/1.113.1",
            "print",
            "body"
        ]
    );
}

/// README.md, "HTTP": `Unknown host`, `Timed out`.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_says_why_and_gives_what_the_server_sent() {
    let (said, _) = run(
        "local ok, why, r = http.get(url .. '/broken') say(ok, why, r.readAll()) say(http.get('nope')) \
         say(http.get('http://no-such-host.invalid')) say(http.get{url = url .. '/slow', timeout = 0.1}) \
         http.request(url .. '/agent') local e, of = os.pullEvent('http_success') say(e, of == url .. '/agent') \
         say(http.checkURL(url)) say(http.checkURL('ftp://h'))",
    )
    .await;
    assert_eq!(
        said,
        [
            "nil Internal Server Error why",
            "nil Must specify http or https",
            "nil Unknown host nil",
            "nil Timed out nil",
            "http_success true",
            "true nil",
            "false Invalid protocol 'ftp'",
        ]
    );
}

/// README.md, "HTTP": `wget run URL [args]`; wget refuses overwriting.
#[tokio::test(flavor = "multi_thread")]
async fn wget_downloads_a_file_and_runs_one() {
    let (said, screen) = run(
        "shell.run('wget ' .. url .. '/hello.lua') say(fs.getSize('hello.lua')) \
         shell.run('wget ' .. url .. '/hello.lua') shell.run('wget run ' .. url .. '/hello.lua me')",
    )
    .await;
    assert_eq!(said, ["40"]);
    for line in [
        "Downloaded as hello.lua",
        "File already exists",
        "hello from me",
        "there",
    ] {
        assert!(
            screen.iter().any(|shown| shown == line),
            "{line}: {screen:#?}"
        );
    }
}

/// README.md, "HTTP": 16 requests per computer.
#[tokio::test(flavor = "multi_thread")]
async fn sixteen_requests_are_under_way_at_once_and_the_others_wait() {
    let (said, _) = run(
        "for n = 1, 20 do http.request(url .. '/together?' .. n) end local answers = {} \
         for n = 1, 20 do local _, _, r = os.pullEvent('http_success') answers[n] = r.readAll() end \
         say(answers[1], answers[20])",
    )
    .await;
    assert_eq!(said, ["16 20"]);
}
