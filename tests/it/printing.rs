//! What a job prints and draws, whatever code of it does: in the game's versions from its oldest with our agent on, on
//! each kind of computer. And what the player has of it: nothing, unless it is asked for.

use crate::{
    bridges::Place,
    common::{PATIENCE, bridge::Bridge, computer::Computer as RawComputer},
};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, Kind},
};
use serde_json::json;
use tokio::runtime::Handle;

/// The oldest is that of Minecraft 1.12.2 at its start, whose windows can't be read.
const VERSIONS: [&str; 4] = ["1.79", "1.89", "1.101", "1.113"];

/// Programs and modules that print in every way there is.
const FILES: [(&str, &str); 5] = [
    (
        "every-way.lua",
        "print('print', ...) write('write\\n') io.write('io.write\\n') io.stdout:write('stdout\\n')
         io.stderr:write('stderr\\n') printError('printError')",
    ),
    (
        "module.lua",
        "local print, write = print, write
         return { say = function() print('module') write('its write\\n') end }",
    ),
    (
        "broken.lua",
        "local x\nlocal function f() return x.y end\nf()",
    ),
    ("no-lua.lua", "local x = = 3"),
    // Loaded by the player, before any job: it keeps the game's own functions.
    (
        "early.lua",
        "local print, write, printError = print, write, printError
         function say() print('early print') write('early write,\\nin two lines\\n') printError('early error') end",
    ),
];

/// A computer that loads `early` and then links.
fn options(version: &str, port: std::net::SocketAddr) -> ComputerOptions {
    let mut options = ComputerOptions::new(1)
        .with_file("mcp-computer.lua", agent::program())
        .with_file(
            "startup.lua",
            format!("os.loadAPI('early.lua') shell.run('mcp-computer ws://{port}')"),
        );
    for (path, content) in FILES {
        options = options.with_file(path, content);
    }
    options.version = version.parse().unwrap();
    options
}

async fn linked(change: impl FnOnce(&mut ComputerOptions), version: &str) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let mut options = options(version, bridge.link_port().await);
    change(&mut options);
    let computer = Computer::start(options, "", &Handle::current()).unwrap();
    bridge.linked(1).await;
    (bridge, computer)
}

const EVERY_WAY: &str = "print\nwrite\nio.write\nstdout\nstderr\nprintError\n";

#[tokio::test]
async fn what_any_code_of_a_job_prints_is_its_output() {
    for version in VERSIONS {
        let (mut bridge, _computer) = linked(|_| {}, version).await;
        for (code, shown) in [
            ("dofile('/every-way.lua')", EVERY_WAY),
            ("loadfile('/every-way.lua')()", EVERY_WAY),
            ("os.run({}, '/every-way.lua') sleep(0)", EVERY_WAY),
            ("load('print(1) sleep(0) print(2)')()", "1\n2\n"),
            (
                "local ok = shell.run('/every-way.lua a b') return ok",
                "print\ta\tb\nwrite\nio.write\nstdout\nstderr\nprintError\n=> true",
            ),
            ("shell.run('id')", "This is computer #1\n=> true"),
            (
                "package.path = '/?.lua;' .. package.path require('module').say()",
                "module\nits write\n",
            ),
            (
                "early.say()",
                "early print\nearly write,\nin two lines\nearly error\n",
            ),
            (
                "print('1') shell.run('id') io.write('2\\n') write('3') print()",
                "1\nThis is computer #1\n2\n3\n",
            ),
            (
                "coroutine.wrap(function() load('print(\"in a coroutine\")')() end)()",
                "in a coroutine\n",
            ),
            (
                "parallel.waitForAny(function() load('print(1)')() sleep(0) load('print(2)')() end, function() sleep(9) end)",
                "1\n2\n=> 1",
            ),
            // A line is one line, however long.
            (
                "local long = ('x '):rep(60) .. 'x' textutils.pagedPrint(long) return write('a\\nb\\n'), write(long)",
                &format!("{0}\na\nb\n{0}\n=> 2\n=> 0", "x ".repeat(60) + "x"),
            ),
        ] {
            assert_eq!(bridge.lua(1, code).await, shown, "{version}: {code}");
        }
        bridge.leave().await;
    }
}

#[tokio::test]
async fn tables_and_pages_are_output_and_wait_for_no_key() {
    for version in VERSIONS {
        let (mut bridge, _computer) = linked(|_| {}, version).await;
        for (code, shown) in [
            (
                "textutils.tabulate({'name', 'count'}, {'apple', '3'}, colours.red, {'pear', '44'})",
                "name  count\napple 3\npear  44\n".to_owned(),
            ),
            (
                "textutils.pagedPrint(('line\\n'):rep(40) .. 'end')",
                "line\n".repeat(40) + "end\n",
            ),
            (
                "local rows = {} for n = 1, 40 do rows[n] = { 'row', tostring(n) } end
                 textutils.pagedTabulate(table.unpack(rows))",
                (1..=40).map(|n| format!("row   {n}\n")).collect(),
            ),
            ("textutils.slowPrint('slowly', 1000)", "slowly\n".to_owned()),
            (
                "write('loading ') term.write('... ') print('done')",
                "loading ... done\n".to_owned(),
            ),
        ] {
            assert_eq!(bridge.lua(1, code).await, shown, "{version}: {code}");
        }
        let listed = bridge
            .lua(1, "print('a:') shell.run('ls rom') print('b')")
            .await;
        assert!(
            listed.starts_with("a:\n") && listed.contains("programs") && listed.ends_with("\nb\n"),
            "{version}: {listed}"
        );
        bridge.leave().await;
    }
}

#[tokio::test]
async fn what_is_drawn_is_seen_in_the_answer_and_nowhere_else() {
    for version in VERSIONS {
        let (mut bridge, computer) = linked(|_| {}, version).await;
        for (code, shown) in [
            (
                "print('before') term.setCursorPos(3, 5) term.write('drawn') print('printed')",
                "before\nprinted\n\nIts terminal at the end:\nbefore\n\n\n\n  drawnprinted",
            ),
            (
                "term.clear() term.setCursorPos(4, 2) term.blit('blit', '0000', 'ffff') return 7",
                "=> 7\n\nIts terminal at the end:\n\n   blit",
            ),
            (
                "term.setCursorPos(3, 3) term.write('\\149 \\7')",
                "The code ran to its end; it printed nothing and returned nothing.\n\n\
                 Its terminal at the end:\n\n\n  ▌ •",
            ),
            // Inside a window, `print` draws; the window is drawn on the job's terminal.
            (
                "local old = term.redirect(window.create(term.current(), 2, 2, 8, 3))
                 print('in a window') term.redirect(old) print('out')",
                "out\n\nIts terminal at the end:\n\n in a\n window\n out",
            ),
            (
                "local w = window.create(term.current(), 1, 1, 9, 2, false) term.redirect(w) print('unseen')",
                "The code ran to its end; it printed nothing and returned nothing.",
            ),
            (
                "term.setBackgroundColour(colours.red) term.setCursorPos(2, 1) term.write('  ')",
                "The code ran to its end; it printed nothing and returned nothing.\n\n\
                 Its terminal at the end (▒: only colour):\n ▒▒",
            ),
            // What the output says already is not said again.
            (
                "term.clear() term.setCursorPos(1, 1) print('Menu') print('1. Play')",
                "Menu\n1. Play\n",
            ),
            ("for n = 1, 40 do print(n) end term.getCursorPos()", &{
                (1..=40).map(|n| format!("{n}\n")).collect::<String>()
            }),
            (
                "term.clear()",
                "The code ran to its end; it printed nothing and returned nothing.",
            ),
        ] {
            assert_eq!(bridge.lua(1, code).await, shown, "{version}: {code}");
        }
        let failed = bridge
            .lua_error(
                1,
                "print('out') term.setCursorPos(9, 9) term.write('drawn') error('x', 0)",
            )
            .await;
        assert!(
            failed.contains("Output before the error:\nout\n\nIts terminal at the end:\nout\n"),
            "{failed}"
        );
        let screen = computer.screen().join("\n");
        assert!(
            !["drawn", "blit", "Menu", "window"]
                .iter()
                .any(|text| screen.contains(text)),
            "{screen}"
        );
        bridge.leave().await;
    }
}

/// What makes a game's terminal like that of CraftOS-PC: windows lack the methods for pixels, and are lent the native ones
/// when they become the present terminal.
const PIXELS: &str = "
    local native, redirect = term.native(), term.redirect
    native.getGraphicsMode = function() return 'text' end
    term.redirect = function(terminal)
      terminal.getGraphicsMode = terminal.getGraphicsMode or native.getGraphicsMode
      return redirect(terminal)
    end
";

/// CraftOS-PC's windows ask the present terminal whether it shows pixels, before they are cleared.
#[tokio::test]
async fn a_method_that_only_the_native_terminal_has_works_on_a_jobs() {
    let with_more = |options: &mut ComputerOptions| {
        for (path, content) in &mut options.files {
            if path == "startup.lua" {
                content.splice(0..0, PIXELS.bytes());
            }
        }
    };
    for version in VERSIONS {
        let (mut bridge, _computer) = linked(with_more, version).await;
        let code = "term.write('drawn') return term.current().getGraphicsMode()";
        assert_eq!(
            bridge.lua(1, code).await,
            "=> \"text\"\n\nIts terminal at the end:\ndrawn",
            "{version}"
        );
        bridge.leave().await;
    }
}

#[tokio::test]
async fn get_job_shows_what_a_job_drew_and_a_stop_keeps_it() {
    let (mut bridge, _computer) = linked(|_| {}, "1.113").await;
    let draws = "term.setCursorPos(2, 2) term.write('kept') sleep(600)";
    let call = json!({"computerId": 1, "code": draws, "timeoutMs": 500, "onTimeout": "cancel"});
    let stopped = bridge.call("exec-lua", call).await;
    assert!(
        stopped
            .text
            .ends_with("\nIts terminal at the end:\n\n kept"),
        "{}",
        stopped.text
    );
    let jobs = bridge.call("list-jobs", json!({})).await.text;
    let id = jobs
        .split_whitespace()
        .next()
        .unwrap()
        .trim_end_matches(':');
    let job = bridge.call("get-job", json!({"jobId": id})).await.text;
    assert!(
        job.ends_with("\nIts terminal at the end:\n\n kept"),
        "{jobs}\n{job}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn code_draws_in_the_players_sight_where_that_is_asked_for() {
    for version in VERSIONS {
        let (mut bridge, computer) = linked(|_| {}, version).await;
        let code = "print('for the player') load('print(\"by a program\")')() textutils.pagedPrint(('x\\n'):rep(30))
                    term.setCursorPos(1, 3) term.write('drawn') ";
        let call = json!({"computerId": 1, "code": code, "where": "screen"});
        let answer = bridge.call("exec-lua", call).await.text;
        assert_eq!(
            answer,
            format!("for the player\nby a program\n{}\n", "x\n".repeat(30)),
            "{version}"
        );
        let shown = computer
            .until(PATIENCE, |computer| {
                let screen = computer.screen().join("\n");
                screen.contains("drawn") && screen.contains("x\n")
            })
            .await;
        assert!(shown, "{version}: {:#?}", computer.screen());
        let call = json!({"computerId": 1, "code": "print('seen')", "where": "screen"});
        bridge.call("exec-lua", call).await;
        let shown = computer
            .until(PATIENCE, |computer| {
                computer.screen().join("\n").contains("seen")
            })
            .await;
        assert!(shown, "{version}: {:#?}", computer.screen());
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_jobs_terminal_is_as_large_as_the_computers_own() {
    for (kind, size) in [
        (Kind::Computer, "=> 51\n=> 19"),
        (Kind::Turtle, "=> 39\n=> 13"),
        (Kind::Pocket, "=> 26\n=> 20"),
    ] {
        let (mut bridge, _computer) = linked(
            |options| {
                options.kind = kind;
                options.advanced = false;
            },
            "1.113",
        )
        .await;
        assert_eq!(bridge.lua(1, "term.getSize()").await, size);
        assert_eq!(
            bridge
                .lua(1, "term.setCursorPos(3, 13) term.write(('x'):rep(99))")
                .await
                .lines()
                .last()
                .unwrap()
                .len()
                .to_string(),
            size[3..].split('\n').next().unwrap()
        );
        // Basic computers have no colours; errors are output all the same.
        assert_eq!(
            bridge
                .lua(1, "io.stderr:write('oh\\n')")
                .await
                .lines()
                .next(),
            Some("oh")
        );
        bridge.leave().await;
    }
}

#[tokio::test]
async fn errors_of_programs_are_output() {
    for version in VERSIONS {
        let (mut bridge, _computer) = linked(|_| {}, version).await;
        let broken = bridge.lua(1, "shell.run('/broken.lua')").await;
        assert!(
            broken.contains("broken.lua:2: attempt to index") && broken.ends_with("\n=> false"),
            "{version}: {broken}"
        );
        let no_lua = bridge.lua(1, "shell.run('/no-lua.lua')").await;
        assert!(
            no_lua.contains("no-lua.lua:1:") && no_lua.ends_with("\n=> false"),
            "{version}: {no_lua}"
        );
        assert_eq!(
            bridge.lua(1, "shell.run('nothing-of-this-name')").await,
            "No such program\n=> false"
        );
        bridge.leave().await;
    }
}

/// The player's part of `watched`: tells by a file when anything of the game's is not what it was.
const WATCHER: &str = r#"
local handle = io.stdout and io.stdout._handle
local function state()
  return { print, write, printError, io.output(), io.input(), handle and handle.write, term.current() }
end
local first = state()
parallel.waitForAny(function() shell.run("mcp-computer ws://PORT") end, function()
  while true do
    os.pullEventRaw()
    local now = state()
    for n = 1, 7 do
      if now[n] ~= first[n] then fs.open("/swapped-" .. n, "w").close() end
    end
  end
end)
"#;

#[tokio::test]
async fn nothing_is_replaced_while_the_players_own_code_runs() {
    for version in VERSIONS {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let options = options(version, port)
            .with_file("watched.lua", WATCHER.replace("PORT", &port.to_string()))
            .with_file("startup.lua", "shell.run('watched')");
        let _computer = Computer::start(options, "", &Handle::current()).unwrap();
        bridge.linked(1).await;
        for code in [
            "load('print(1) sleep(0.05) print(2)')()",
            "load('_G.print, _G.write = nil, error')() sleep(0)",
            "io.output('/out.txt') io.input('/out.txt') sleep(0)",
            "term.redirect(window.create(term.current(), 1, 1, 5, 5)) sleep(0)",
        ] {
            bridge.lua(1, code).await;
        }
        bridge
            .lua_error(1, "load('_G.print = 1 sleep(0) error(1)')()")
            .await;
        let call = json!({
            "computerId": 1, "code": "load('_G.printError = 7 sleep(600)')()", "timeoutMs": 200, "onTimeout": "cancel"
        });
        bridge.call("exec-lua", call).await;
        assert_eq!(
            bridge.lua(1, "fs.find('/swapped*')").await,
            "=> {}",
            "{version}"
        );
        bridge.leave().await;
    }
}

#[tokio::test]
async fn jobs_side_by_side_have_each_their_own() {
    let (mut bridge, _computer) = linked(|_| {}, "1.113").await;
    // It prints by a function that it put into `_G`, and writes to a file by `io.write`, while others run.
    let replacing = bridge
        .start_call(
            "exec-lua",
            json!({"computerId": 1, "code": "load([[
                local old = print
                _G.print = function(...) old('mine', ...) end
                io.output('/out.txt')
                repeat sleep(0) until fs.exists('/go')
                print(1) io.write('to the file') io.output():close()
            ]])()"}),
        )
        .await;
    let drawing = bridge
        .start_call(
            "exec-lua",
            json!({"computerId": 1, "code": "term.setCursorPos(5, 5) repeat sleep(0) until fs.exists('/go') write('here')"}),
        )
        .await;
    assert_eq!(
        bridge.lua(1, "load('print(2) io.write(3)')()").await,
        "2\n3"
    );
    bridge.lua(1, "fs.open('/go', 'w').close()").await;
    assert_eq!(bridge.answer(replacing).await.text, "mine\t1\n");
    assert_eq!(
        bridge.answer(drawing).await.text,
        "here\n\nIts terminal at the end:\n\n\n\n\n    here"
    );
    assert_eq!(
        bridge
            .lua(
                1,
                "local f = fs.open('/out.txt', 'r') local t = f.readAll() f.close() return t"
            )
            .await,
        "=> \"to the file\""
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_tab_that_a_job_opens_is_the_players() {
    let (mut bridge, computer) = linked(
        |options| {
            options.files.push((
                "tab.lua".to_owned(),
                b"local print = print print('first') os.pullEvent('go_on') print('second') io.write('third')".to_vec(),
            ));
        },
        "1.113",
    )
    .await;
    assert_eq!(
        bridge
            .lua(1, "local id = shell.openTab('/tab.lua') return id")
            .await,
        "=> 2"
    );
    bridge
        .lua(1, "multishell.setFocus(2) os.queueEvent('go_on')")
        .await;
    let shown = computer
        .until(PATIENCE, |computer| {
            let screen = computer.screen().join("\n");
            ["first", "second", "third"]
                .iter()
                .all(|text| screen.contains(text))
        })
        .await;
    assert!(shown, "{:#?}", computer.screen());
    bridge.leave().await;
}

/// What an agent without `where` is said to lack.
const OLDER: &str = "not what is printed: the agent on that computer is older than this bridge";

#[tokio::test]
async fn an_agent_that_knows_no_where_is_said_to_be_older() {
    let place = Place::new();
    let mut owner = place.bridge().await;
    let mut guest = place.bridge().await;
    let older = RawComputer::link_v2(owner.link_port().await, 5).await;
    older.serve(|request| {
        let mut answer = json!({
            "type": "response", "id": request["id"], "ok": true, "result": {"returns": [], "outputBytes": 0}
        });
        if request["params"]["code"] == "fails" {
            answer["ok"] = json!(false);
            answer["error"] = json!({"kind": "runtime", "message": "boom"});
        }
        Some(answer)
    });
    let current = place.computer(6);
    for bridge in [&mut owner, &mut guest] {
        for id in [5, 6] {
            bridge.linked(id).await;
        }
        for code in ["ends", "fails"] {
            let call = json!({"computerId": 5, "code": code, "where": "screen"});
            let answer = bridge.call("exec-lua", call).await;
            assert!(answer.text.contains(OLDER), "{}", answer.text);
        }
        let answer = bridge.lua(5, "ends").await;
        assert!(!answer.contains("older"), "{answer}");
        // It would pass on what the chunk itself prints, and nothing else: no word that nothing was printed.
        assert!(answer.contains("What it ran may have printed"), "{answer}");
        let call = json!({"computerId": 6, "code": "print('a')", "where": "screen"});
        assert_eq!(bridge.call("exec-lua", call).await.text, "a\n");
    }
    drop(current);
    guest.leave().await;
    owner.leave().await;
}
