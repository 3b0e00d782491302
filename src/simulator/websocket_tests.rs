//! The manners of a simulated computer's sockets, against a real server on a free port.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::simulator::{Computer, ComputerOptions, ProgramState, State};

const PATIENCE: Duration = Duration::from_secs(20);

/// A server on a free port, and a computer that runs a program with its URL as the argument.
struct Bench {
    listener: TcpListener,
    computer: Computer,
}

impl Bench {
    async fn start(options: ComputerOptions, source: &str) -> Bench {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("ws://{}", listener.local_addr().expect("an address"));
        let prelude = "local url = ... \
            local out = fs.open('/out', 'wb') \
            local function say(...) local t = table.pack(...) for n = 1, t.n do t[n] = tostring(t[n]) end \
            out.write(table.concat(t, ' ') .. '\\n') end ";
        let options = ComputerOptions {
            clock_speed: 20.0,
            ..options
        };
        let options = options.with_file("test.lua", format!("{prelude}{source}"));
        let runtime = tokio::runtime::Handle::current();
        let computer =
            Computer::start(options, &format!("test {url}"), &runtime).expect("a thread");
        Bench { listener, computer }
    }

    async fn accept(&self) -> WebSocketStream<TcpStream> {
        let (stream, _) = self.listener.accept().await.expect("a connection");
        tokio_tungstenite::accept_async(stream)
            .await
            .expect("a handshake")
    }

    /// What the program said, once it has ended well.
    async fn said(&self) -> Vec<String> {
        let ended = self.computer.until(PATIENCE, |computer| {
            matches!(computer.program(), ProgramState::Ended { .. })
                || computer.state() != State::Running
        });
        assert!(ended.await, "{:#?}", self.computer.screen());
        assert_eq!(
            self.computer.program(),
            ProgramState::Ended { ok: true },
            "{:#?}",
            self.computer.screen()
        );
        let out = self.computer.read_file("out").unwrap_or_default();
        String::from_utf8_lossy(&out)
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

fn plain() -> ComputerOptions {
    ComputerOptions::new(3)
}

/// README.md, "Sockets": the second value is the exact URL string passed; fragments stay off the wire.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_comes_back_as_an_event_keyed_by_the_exact_url() {
    let bench = Bench::start(
        plain(),
        "local u = url .. '#a1b2' http.websocketAsync(u) \
         local e, of, ws = os.pullEvent('websocket_success') say(e, of == u) ws.send('ping') \
         local e, of, data, binary = os.pullEvent('websocket_message') say(e, of == u, data, binary)",
    )
    .await;
    let mut server = bench.accept().await;
    assert_eq!(
        server.next().await.expect("a message").expect("text"),
        Message::text("ping")
    );
    server.send(Message::text("pong")).await.expect("sent");
    assert_eq!(
        bench.said().await,
        [
            "websocket_success true",
            "websocket_message true pong false"
        ]
    );
}

/// README.md, "Sockets": the fifth socket throws `Too many websockets already open`; closing frees the slot at
/// once.
#[tokio::test(flavor = "multi_thread")]
async fn a_fifth_websocket_is_refused_and_a_closed_one_makes_room() {
    let bench = Bench::start(
        plain(),
        "local all = {} for n = 1, 4 do all[n] = assert(http.websocket(url .. '#' .. n)) end \
         say(pcall(http.websocketAsync, url .. '#5')) all[2].close() say((http.websocket(url .. '#6')) ~= false)",
    )
    .await;
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(bench.accept().await);
    }
    let said = bench.said().await;
    assert!(
        said[0].starts_with("false ") && said[0].ends_with("Too many websockets already open"),
        "{said:?}"
    );
    assert_eq!(said[1], "true");
}

/// README.md, "Sockets": `ws.close()` queues no event and sends no close frame.
#[tokio::test(flavor = "multi_thread")]
async fn closing_sends_no_close_frame_and_queues_no_event_and_what_was_sent_still_leaves() {
    let bench = Bench::start(
        plain(),
        "local ws = http.websocket(url) ws.send('last') ws.close() say(pcall(ws.send, 'x')) say(pcall(ws.receive)) \
         os.startTimer(1) say((os.pullEvent()))",
    )
    .await;
    let mut server = bench.accept().await;
    assert_eq!(
        server.next().await.expect("a message").expect("text"),
        Message::text("last")
    );
    assert!(
        server.next().await.expect("an end").is_err(),
        "the connection drops without a close frame"
    );
    let said = bench.said().await;
    assert!(
        said[0].ends_with("attempt to use a closed file"),
        "{said:?}"
    );
    assert!(
        said[1].ends_with("attempt to use a closed file"),
        "{said:?}"
    );
    assert_eq!(said[2], "timer");
}

/// README.md, "Sockets": a server close of 4001 "bye" yields those values; CC never echoes a close frame.
#[tokio::test(flavor = "multi_thread")]
async fn a_servers_close_code_and_reason_are_told_and_its_close_frame_is_not_answered() {
    let bench = Bench::start(
        plain(),
        "local ws = http.websocket(url) local _, of, reason, code = os.pullEvent('websocket_closed') \
         say(of == url, reason, code) say(pcall(ws.send, 'x'))",
    )
    .await;
    let mut server = bench.accept().await;
    let frame = CloseFrame {
        code: 4001.into(),
        reason: "bye".into(),
    };
    server
        .send(Message::Close(Some(frame)))
        .await
        .expect("sent");
    assert!(
        server.next().await.expect("an end").is_err(),
        "no close frame comes back"
    );
    let said = bench.said().await;
    assert_eq!(said[0], "true bye 4001");
    assert!(
        said[1].ends_with("attempt to use a closed file"),
        "{said:?}"
    );
}

/// README.md, "Sockets": `Connection closed`; before 1.105 `Websocket is inactive`.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_told_in_the_words_of_the_version() {
    for (version, words) in [
        ("1.113.1", "Connection closed nil"),
        ("1.101", "Websocket is inactive nil"),
    ] {
        let options = ComputerOptions {
            version: version.parse().expect("a version"),
            ..plain()
        };
        let bench = Bench::start(
            options,
            "local ws = http.websocket(url) local _, _, reason, code = os.pullEvent('websocket_closed') say(reason, code)",
        )
        .await;
        drop(bench.accept().await);
        assert_eq!(bench.said().await, [words]);
    }
}

/// README.md, "Sockets": 131072 bytes; sending more throws `Message is too large`, receiving more ends the socket with
/// `Could not connect`.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_over_the_limit_is_not_sent_and_one_that_arrives_ends_the_socket() {
    let bench = Bench::start(
        plain(),
        "local ws = http.websocket(url) say(pcall(ws.send, ('x'):rep(131073))) ws.send(('x'):rep(131072)) \
         local _, _, got = os.pullEvent('websocket_message') say(#got) \
         local _, _, reason, code = os.pullEvent('websocket_closed') say(reason, code)",
    )
    .await;
    let mut server = bench.accept().await;
    assert_eq!(
        server.next().await.expect("a message").expect("text").len(),
        131_072
    );
    server
        .send(Message::text("y".repeat(131_072)))
        .await
        .expect("sent");
    server
        .send(Message::text("y".repeat(131_073)))
        .await
        .expect("sent");
    let said = bench.said().await;
    assert!(said[0].ends_with("Message is too large"), "{said:?}");
    assert_eq!(said[1..], ["131072", "Could not connect nil"]);
}

/// README.md, "Sockets": text both ways, by version.
#[tokio::test(flavor = "multi_thread")]
async fn text_is_transcoded_as_the_version_does() {
    let program = "local ws = http.websocket(url) ws.send('\\195\\169\\255') \
        local _, _, text = os.pullEvent('websocket_message') \
        local bytes = {text:byte(1, -1)} say(table.concat(bytes, ' '))";
    for (version, sent, received) in [
        ("1.113.1", "é\u{fffd}", "195 169 226 130 172"),
        ("1.101", "\u{c3}\u{a9}\u{ff}", "233 63"),
    ] {
        let options = ComputerOptions {
            version: version.parse().expect("a version"),
            ..plain()
        };
        let bench = Bench::start(options, program).await;
        let mut server = bench.accept().await;
        assert_eq!(
            server.next().await.expect("a message").expect("text"),
            Message::text(sent)
        );
        server.send(Message::text("é€")).await.expect("sent");
        assert_eq!(bench.said().await, [received]);
    }
}

/// README.md, "Sockets": no reassembly.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_message_in_fragments_only_the_first_arrives() {
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
    let bench = Bench::start(
        plain(),
        "http.websocket(url) local _, _, one = os.pullEvent('websocket_message') \
         local _, _, two = os.pullEvent('websocket_message') say(one, two)",
    )
    .await;
    let mut server = bench.accept().await;
    let first = Frame::message("first ", OpCode::Data(Data::Text), false);
    let rest = Frame::message("rest", OpCode::Data(Data::Continue), true);
    server.send(Message::Frame(first)).await.expect("sent");
    server.send(Message::Frame(rest)).await.expect("sent");
    server.send(Message::text("whole")).await.expect("sent");
    assert_eq!(bench.said().await, ["first  whole"]);
}

/// README.md, "Sockets": the words for what goes wrong.
#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_a_socket_from_opening_is_told_in_the_games_words() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let closed = format!("ws://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let bench = Bench::start(
        plain(),
        &format!("say(http.websocket('{closed}')) say(http.websocket('http://h')) say(http.websocket('ws://a b')) \
         say(http.websocket('ws://no-such-host.invalid')) say(http.websocket(url))"),
    )
    .await;
    let refuse = async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = bench.listener.accept().await.expect("a connection");
        let mut buffer = [0; 4096];
        assert!(stream.read(&mut buffer).await.expect("a request") > 0);
        stream
            .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
            .await
            .expect("sent");
    };
    refuse.await;
    assert_eq!(
        bench.said().await,
        [
            "false Could not connect",
            "false Invalid scheme 'http'",
            "false URL malformed",
            "false Unknown host",
            "false Invalid handshake response getStatus: 403 Forbidden",
        ]
    );
}

/// README.md, "Sockets": `Domain not permitted`.
#[tokio::test(flavor = "multi_thread")]
async fn a_private_address_is_not_permitted_where_the_rules_say_so() {
    let mut options = plain();
    options.http.private_addresses = false;
    let bench = Bench::start(
        options,
        "say(http.websocket(url)) say(http.checkURL((url:gsub('^ws', 'http'))))",
    )
    .await;
    assert_eq!(
        bench.said().await,
        ["false Domain not permitted", "false Domain not permitted"]
    );
}

/// README.md, "Sockets": an open socket at `os.reboot` gets no close frame.
#[tokio::test(flavor = "multi_thread")]
async fn a_reboot_drops_open_sockets_without_a_close_frame() {
    let bench = Bench::start(plain(), "http.websocket(url) os.pullEvent('never')").await;
    let mut server = bench.accept().await;
    bench.computer.reboot();
    assert!(server.next().await.expect("an end").is_err());
    drop(bench.accept().await);
    assert_eq!(bench.computer.boots(), 2);
}

/// README.md, "Sockets": pings are answered by Java, not Lua.
#[tokio::test(flavor = "multi_thread")]
async fn a_ping_is_answered_without_the_program() {
    let bench = Bench::start(
        plain(),
        "local ws = http.websocket(url) os.pullEvent('never') ws.close()",
    )
    .await;
    let mut server = bench.accept().await;
    server.send(Message::Ping("hm".into())).await.expect("sent");
    assert_eq!(
        server.next().await.expect("a message").expect("a pong"),
        Message::Pong("hm".into())
    );
}

/// README.md, "Sockets": garbage-collecting the handle closes the socket.
#[tokio::test(flavor = "multi_thread")]
async fn a_handle_that_nobody_keeps_is_closed_by_the_collector() {
    let bench = Bench::start(
        plain(),
        "http.websocket(url) while true do local x = ('x'):rep(1e5) .. os.clock() sleep(0) end",
    );
    let bench = bench.await;
    let mut server = bench.accept().await;
    let ended = tokio::time::timeout(PATIENCE, server.next())
        .await
        .expect("in time");
    assert!(ended.expect("an end").is_err());
    assert_eq!(bench.computer.state(), State::Running);
}

/// README.md, "Sockets": a dropped event drops its handle.
#[tokio::test(flavor = "multi_thread")]
async fn a_socket_whose_success_is_lost_to_a_full_queue_closes() {
    let bench = Bench::start(
        plain(),
        "for n = 1, 300 do os.queueEvent('e') end http.websocketAsync(url) \
         local t = os.epoch('utc') repeat until fs.exists('go') or os.epoch('utc') - t > 1e5 say('went on')",
    )
    .await;
    let mut server = bench.accept().await;
    assert!(server.next().await.expect("an end").is_err());
    bench.computer.write_file("go", b"").expect("room");
    assert_eq!(bench.said().await, ["went on"]);
    assert!(bench.computer.dropped_events() > 44);
}

/// README.md, "Sockets": events are keyed by URL only; sockets of the same URL steal each other's messages.
#[tokio::test(flavor = "multi_thread")]
async fn sockets_of_the_same_url_get_each_others_messages() {
    let bench = Bench::start(
        plain(),
        "local one, other = http.websocket(url), http.websocket(url) other.send('hello') say(one.receive(5))",
    )
    .await;
    let _first = bench.accept().await;
    let mut second = bench.accept().await;
    let hello = second.next().await.expect("a message").expect("text");
    second.send(hello).await.expect("sent");
    assert_eq!(bench.said().await, ["hello false"]);
}

/// README.md, "Sockets": with over 512 unsent frames `send` throws `Too many ongoing websocket messages`.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_read_is_not_sent_to_without_end() {
    let bench = Bench::start(
        plain(),
        "local ws = http.websocket(url) local message = ('x'):rep(131072) local ok, why \
         for n = 1, 2000 do ok, why = pcall(ws.send, message, true) if not ok then break end end say(ok, why)",
    )
    .await;
    let _silent = bench.accept().await;
    let said = bench.said().await;
    assert!(
        said[0].starts_with("false ") && said[0].ends_with("Too many ongoing websocket messages"),
        "{said:?}"
    );
}

/// README.md, "Sockets": before 1.105 a handshake that hangs leaves the program waiting; then it is `Timed out`.
#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_hangs_times_out_since_1_105() {
    for (version, words) in [
        ("1.113", "websocket_failure Timed out"),
        ("1.101", "timer nil"),
        ("1.89", "timer nil"),
    ] {
        let mut options = ComputerOptions {
            version: version.parse().expect("a version"),
            ..plain()
        };
        options.limits.http_timeout = Duration::from_millis(100);
        let bench = Bench::start(
            options,
            "http.websocketAsync(url) os.startTimer(20) local event, _, why = os.pullEvent() say(event, why)",
        )
        .await;
        let _hanging = bench.listener.accept().await.expect("a connection");
        assert_eq!(bench.said().await, [words], "{version}");
    }
}

/// README.md, "Sockets": `Origin` is absent since 1.101, before it is the bridge's own address; User-Agent since
/// 1.95.3. Fragments stay off the wire.
#[tokio::test(flavor = "multi_thread")]
async fn the_handshake_has_the_headers_of_the_version() {
    use tokio::io::AsyncReadExt;
    for (version, origin, agent) in [
        ("1.113", false, Some("computercraft/1.113.1")),
        ("1.101", false, Some("computercraft/1.101.3")),
        ("1.89", true, None),
    ] {
        let options = ComputerOptions {
            version: version.parse().expect("a version"),
            ..plain()
        };
        let bench = Bench::start(options, "http.websocket(url .. '/path?q=1#fragment')").await;
        let (mut stream, address) = bench.listener.accept().await.expect("a connection");
        let mut head = vec![0; 4096];
        let length = stream.read(&mut head).await.expect("a request");
        let head = String::from_utf8_lossy(&head[..length]).to_lowercase();
        assert!(head.starts_with("get /path?q=1 http/1.1\r\n"), "{head}");
        let own = format!(
            "origin: http://{}",
            bench.listener.local_addr().expect("an address")
        );
        assert_eq!(head.contains(&own), origin, "{version} {address}: {head}");
        let shown = agent.map(|agent| format!("user-agent: {agent}\r\n"));
        assert_eq!(head.contains("user-agent"), shown.is_some(), "{head}");
        assert!(shown.is_none_or(|shown| head.contains(&shown)), "{head}");
    }
}
