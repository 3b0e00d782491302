//! The screens of computers, seen and used through the real binary: in words, as pictures that are read back, and by what
//! a person types and clicks. The computers are simulated ones, with the real agent.

mod picture;

use std::{
    env, fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use crate::common::{bridge::Bridge, computer::Computer as RawComputer, health, soon, until};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, DEFAULT_PALETTE, Land},
};
use picture::{Picture, Seen};
use serde_json::{Value, json};
use tokio::{runtime::Handle, time::sleep};

/// The environment variable that makes the kept pictures anew.
const UPDATE: &str = "MCP_BRIDGE_UPDATE_SCREENS";

/// A bridge, and computer 1, linked to it.
async fn linked(change: impl FnOnce(&mut ComputerOptions)) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let program = format!("mcp-computer ws://{}", bridge.link_port().await);
    let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    change(&mut options);
    let computer = Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(1).await;
    (bridge, computer)
}

/// The ids of the jobs that run.
async fn running(bridge: &mut Bridge) -> Vec<String> {
    let listed = bridge
        .call("list-jobs", json!({"state": "running"}))
        .await
        .text;
    listed
        .lines()
        .filter(|line| line.contains(": running for "))
        .filter_map(|line| Some(line.split_once(" on ")?.0.to_owned()))
        .collect()
}

/// Starts code that goes on, and returns its job's id once it runs.
async fn job(bridge: &mut Bridge, code: &str) -> String {
    let before = running(bridge).await;
    let call = json!({"computerId": 1, "code": code, "timeoutMs": 600_000});
    bridge.start_call("exec-lua", call).await;
    until("the job runs", async || {
        let mut new = running(bridge).await;
        new.retain(|id| !before.contains(id));
        new.pop().ok_or("it does not")
    })
    .await
}

/// What came of a job that ends by itself.
async fn ended(bridge: &mut Bridge, id: &str) -> String {
    until(&format!("job {id} has ended"), async || {
        let answer = bridge.call("get-job", json!({"jobId": id})).await.text;
        match answer.contains("=> ") {
            true => Ok(answer),
            false => Err(answer),
        }
    })
    .await
}

/// A screen in words, once it has this text.
async fn seen(bridge: &mut Bridge, target: &str, text: &str) -> String {
    until(&format!("`{text}` is on {target}"), async || {
        let answer = bridge.call("read-screen", json!({"target": target})).await;
        match !answer.is_error && answer.text.contains(text) {
            true => Ok(answer.text),
            false => Err(answer.text),
        }
    })
    .await
}

/// Does steps that must all be done, and returns what is told then.
async fn input(bridge: &mut Bridge, target: &str, steps: Value) -> String {
    let answer = bridge
        .call("send-input", json!({"target": target, "steps": steps}))
        .await;
    assert!(!answer.is_error, "{}", answer.text);
    answer.text
}

/// A picture of a screen, and its bytes.
async fn pictured(bridge: &mut Bridge, target: &str) -> (Picture, Vec<u8>) {
    let arguments = json!({"target": target, "as": "image"});
    let reply = bridge
        .request(
            "tools/call",
            json!({"name": "read-screen", "arguments": arguments}),
        )
        .await;
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    // Some clients show a model nothing else.
    assert!(text.starts_with("Screen job "), "{text}");
    Picture::in_answer(&reply)
}

/// The picture looks as the one that is kept under this name.
fn assert_kept(name: &str, bytes: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/screens")
        .join(name);
    if env::var_os(UPDATE).is_some() {
        fs::write(&path, bytes).unwrap();
    }
    let kept = fs::read(&path).unwrap_or_default();
    // Not the bytes: what compresses them may change.
    assert!(
        !kept.is_empty() && Picture::decode(&kept) == Picture::decode(bytes),
        "{} is not what is drawn: if it should be, run this test with {UPDATE}=1, and look at what it writes",
        path.display()
    );
}

/// Draws all characters in all colours: three cells a line hold their numbers.
const EVERYTHING: &str = "
    for n = 0, 15 do term.setPaletteColour(2 ^ n, PALETTE) end
    local digits = '0123456789abcdef'
    term.clear()
    for row = 0, 15 do
      local text, fore, back = {}, {}, {}
      for column = 0, 31 do
        text[#text + 1] = string.char(row * 16 + column % 16)
        local f, b = column % 16, (column + row + 1 + math.floor(column / 16)) % 16
        fore[#fore + 1], back[#back + 1] = digits:sub(f + 1, f + 1), digits:sub(b + 1, b + 1)
      end
      term.setCursorPos(1, row + 1)
      term.blit(table.concat(text), table.concat(fore), table.concat(back))
    end
    term.setCursorPos(1, 19) term.write('drawn')
    os.pullEvent('never')";

/// What a cell of it shows.
fn everything(column: usize, row: usize, palette: impl Fn(usize) -> u32) -> Seen {
    let character = u8::try_from(row * 16 + column % 16).unwrap();
    let (fore, back) = (column % 16, (column + row + 1 + column / 16) % 16);
    if [0, 32, 128, 160].contains(&character) || fore == back {
        return Seen {
            character: b' ',
            colour: None,
            background: palette(back),
        };
    }
    Seen {
        character,
        colour: Some(palette(fore)),
        background: palette(back),
    }
}

#[tokio::test]
async fn each_cell_of_a_picture_is_what_the_program_drew() {
    type Colours = (&'static str, fn(usize) -> u32, &'static str);
    let usual: Colours = (
        "term.nativePaletteColour(2 ^ n)",
        |at| DEFAULT_PALETTE[at],
        "everything.png",
    );
    let own: Colours = (
        "0x102030 + 0x0b0705 * n",
        |at| 0x10_2030 + 0x0b_0705 * u32::try_from(at).unwrap(),
        "own-palette.png",
    );
    let (mut bridge, _computer) = linked(|_| {}).await;
    for (colours, palette, file) in [usual, own] {
        let id = job(&mut bridge, &EVERYTHING.replace("PALETTE", colours)).await;
        let target = format!("job {id}");
        seen(&mut bridge, &target, "drawn").await;
        let (picture, bytes) = pictured(&mut bridge, &target).await;
        let picture = picture.of_cells(51, 19);
        for row in 0..16 {
            for column in 0..32 {
                assert_eq!(
                    picture.cell(column, row),
                    everything(column, row, palette),
                    "column {column}, row {row}"
                );
            }
        }
        assert_kept(file, &bytes);
    }
    bridge.leave().await;
}

/// A program that draws a menu and takes clicks and keys, as many do.
const MENU: &str = "
    local chosen, entries = 1, { 'Open the door', 'Close the door', 'Leave' }
    local width = term.getSize()
    local function draw()
      term.setBackgroundColour(colours.blue) term.setTextColour(colours.white) term.clear()
      term.setCursorPos(1, 1) term.setBackgroundColour(colours.lightBlue) term.clearLine()
      term.setTextColour(colours.black) term.write(' The menu')
      for n, entry in ipairs(entries) do
        term.setCursorPos(3, 2 + 2 * n)
        term.setBackgroundColour(n == chosen and colours.yellow or colours.blue)
        term.setTextColour(n == chosen and colours.black or colours.white)
        term.write(' ' .. entry .. ' ')
      end
      term.setBackgroundColour(colours.red) term.setCursorPos(width - 2, 1) term.write(' x ')
      term.setBackgroundColour(colours.blue)
    end
    while true do
      draw()
      local event, a, x, y = os.pullEventRaw()
      if event == 'key' and a == keys.down then chosen = chosen % 3 + 1 end
      if event == 'key' and a == keys.enter then break end
      if event == 'mouse_click' and y == 1 and x >= width - 2 then return 'closed by a click' end
      if event == 'mouse_click' and (y - 2) % 2 == 0 and entries[(y - 2) / 2] then chosen = (y - 2) / 2 end
      if event == 'terminate' then return 'terminated' end
    end
    return entries[chosen]";

#[tokio::test]
async fn a_menu_is_seen_and_used_in_games_of_all_versions() {
    for version in ["1.89", "1.101", "1.113"] {
        let (mut bridge, _computer) = linked(|options| {
            options.version = version.parse().unwrap();
            options.advanced = true;
        })
        .await;
        let id = job(&mut bridge, MENU).await;
        let target = format!("job {id}");
        seen(&mut bridge, &target, "Leave").await;
        let down = input(&mut bridge, &target, json!([{"do": "key", "text": "down"}])).await;
        assert!(
            down.starts_with("The step was done.\n\nScreen job "),
            "{down}"
        );
        let styled = bridge
            .call("read-screen", json!({"target": target, "as": "styled"}))
            .await;
        let title = format!(
            " 1|{:49}x\n    1-48 black on lightBlue; 49-51 white on red",
            " The menu"
        );
        let chosen = " 6|   Close the door\n    1-2 on blue; 3-18 black on yellow; 19-51 on blue";
        for line in [title.as_str(), chosen] {
            assert!(styled.text.contains(line), "{version}: {}", styled.text);
        }
        if version == "1.113" {
            let (_, bytes) = pictured(&mut bridge, &target).await;
            assert_kept("menu.png", &bytes);
        }
        let clicked = json!([
            {"do": "click", "x": 5, "y": 8},
            {"do": "change"},
            {"do": "key", "text": "enter"},
        ]);
        let done = input(&mut bridge, &target, clicked).await;
        assert!(done.contains("gone now: ") && done.contains(&id), "{done}");
        let result = ended(&mut bridge, &id).await;
        assert!(result.contains("=> \"Leave\""), "{result}");
        let closed = job(&mut bridge, MENU).await;
        input(
            &mut bridge,
            &format!("job {closed}"),
            json!([{"do": "click", "x": 50, "y": 1}]),
        )
        .await;
        let result = ended(&mut bridge, &closed).await;
        assert!(result.contains("closed by a click"), "{result}");
        bridge.leave().await;
    }
}

/// Tells each event that it gets, a line each.
const TELLS: &str = "
    while true do
      local event = { os.pullEventRaw() }
      local name = event[1]
      if name == 'key' or name == 'key_up' then
        local code = event[2]
        event[2] = (keys.getName(code) or '?') .. '=' .. code
      end
      for n = 2, 5 do if event[n] == nil then event[n] = '' end end
      print(name, event[2], event[3], event[4], event[5])
      if name == 'terminate' then return 'the end' end
    end";

#[tokio::test]
async fn a_program_gets_what_a_keyboard_and_a_mouse_give() {
    for (version, enter, a, shift) in [("1.89", 28, 30, 42), ("1.113", 257, 65, 340)] {
        let (mut bridge, _computer) =
            linked(|options| options.version = version.parse().unwrap()).await;
        let id = job(&mut bridge, TELLS).await;
        let target = format!("job {id}");
        let steps = json!([
            {"do": "type", "text": "aA\n"},
            {"do": "paste", "text": "pasted"},
            {"do": "key", "text": "ctrl+a"},
            {"do": "key", "text": "a", "ms": 250},
            {"do": "drag", "x": 2, "y": 3, "args": [3, 3], "n": 2},
            {"do": "scroll", "x": 4, "y": 5, "text": "up"},
            {"do": "event", "text": "own", "args": [1, null, "é"]},
            {"do": "down", "text": "shift"},
            {"do": "up", "text": "shift"},
            {"do": "terminate"},
        ]);
        let done = input(&mut bridge, &target, steps).await;
        assert!(done.starts_with("All 10 steps were done."), "{done}");
        let told = ended(&mut bridge, &id).await;
        let lines: Vec<_> = told
            .lines()
            .map(str::trim_end)
            .filter(|line| line.contains('\t') || line.starts_with("terminate"))
            .filter(|line| !line.starts_with("timer"))
            .collect();
        let (key_a, key_shift) = (format!("a={a}"), format!("leftShift={shift}"));
        let expected = [
            format!("key\t{key_a}\tfalse"),
            "char\ta".to_owned(),
            format!("key_up\t{key_a}"),
            format!("key\t{key_shift}\tfalse"),
            format!("key\t{key_a}\tfalse"),
            "char\tA".to_owned(),
            format!("key_up\t{key_a}"),
            format!("key_up\t{key_shift}"),
            format!("key\tenter={enter}\tfalse"),
            format!("key_up\tenter={enter}"),
            "paste\tpasted".to_owned(),
        ];
        assert_eq!(lines[..expected.len()], expected, "{told}");
        let rest = &lines[expected.len()..];
        // With Ctrl nothing is written.
        let ctrl: Vec<_> = rest[..4]
            .iter()
            .map(|line| line.split('=').next().unwrap())
            .collect();
        assert_eq!(
            ctrl,
            ["key\tleftCtrl", "key\ta", "key_up\ta", "key_up\tleftCtrl"],
            "{told}"
        );
        let held = rest[4..]
            .iter()
            .filter(|line| line.ends_with("true"))
            .count();
        assert!((1..=5).contains(&held), "{told}");
        let after_hold = rest
            .iter()
            .position(|line| line.starts_with("mouse"))
            .unwrap();
        assert_eq!(
            rest[after_hold..],
            [
                "mouse_click\t2\t2\t3",
                "mouse_drag\t2\t3\t3",
                "mouse_up\t2\t3\t3",
                "mouse_scroll\t-1\t4\t5",
                "own\t1\t\té",
                &format!("key\t{key_shift}\tfalse"),
                &format!("key_up\t{key_shift}"),
                "terminate",
            ],
            "{told}"
        );
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_prompt_is_answered_and_long_text_is_typed_whole() {
    let (mut bridge, _computer) = linked(|_| {}).await;
    let code = "write('Name? ') local name = read() write('Text? ') local text = read() print(name) return text";
    let id = job(&mut bridge, code).await;
    let long: String = ('a'..='z').cycle().take(1_500).collect();
    let steps = json!([
        {"do": "wait", "text": "Name? "},
        {"do": "type", "text": "Steve\n"},
        {"do": "wait", "text": "Text? "},
        {"do": "type", "text": long},
        {"do": "key", "text": "enter"},
    ]);
    input(&mut bridge, &format!("job {id}"), steps).await;
    let result = ended(&mut bridge, &id).await;
    assert!(result.contains("Steve\n"), "{result}");
    assert!(result.contains(&format!("=> \"{long}\"")), "{result}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_step_that_fails_says_so_and_those_after_it_are_not_done() {
    let (mut bridge, _computer) = linked(|options| options.advanced = false).await;
    let id = job(&mut bridge, TELLS).await;
    let target = format!("job {id}");
    let steps = json!([
        {"do": "type", "text": "a"},
        {"do": "wait", "text": "never on it", "ms": 200},
        {"do": "type", "text": "z"},
    ]);
    let failed = bridge
        .call("send-input", json!({"target": target, "steps": steps}))
        .await;
    assert!(failed.is_error, "{}", failed.text);
    let said = "Step 2 failed: \"never on it\" was not on the screen within 200 ms. The step after it was not done.\n\nScreen job";
    assert!(failed.text.starts_with(said), "{}", failed.text);
    let shown = seen(&mut bridge, &target, "char").await;
    assert!(!shown.contains('z'), "{shown}");
    for (steps, why) in [
        (
            json!([{"do": "change", "ms": 100}]),
            "Step 1 failed: the screen did not change within 100 ms.",
        ),
        (
            json!([{"do": "key", "text": "warp"}]),
            "no key that is called warp",
        ),
        (
            json!([{"do": "click", "x": 1, "y": 1}]),
            "basic one, which has no mouse",
        ),
        (json!([{"do": "dance"}]), "`steps[0].do` must be"),
    ] {
        let failed = bridge
            .call("send-input", json!({"target": target, "steps": steps}))
            .await;
        assert!(
            failed.is_error && failed.text.contains(why),
            "{}",
            failed.text
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_change_is_waited_for_and_an_unchanged_screen_is_told_as_such() {
    let (mut bridge, _computer) = linked(|_| {}).await;
    let id = job(
        &mut bridge,
        "print('one') os.pullEvent('go') print('two') os.pullEvent('never')",
    )
    .await;
    let target = format!("job {id}");
    let version = |text: &str| -> u64 {
        let (_, after) = text.split_once("version ").unwrap();
        after.split(';').next().unwrap().parse().unwrap()
    };
    let first = seen(&mut bridge, &target, "one").await;
    let since = version(&first);
    let same = bridge
        .call(
            "read-screen",
            json!({"target": target, "sinceVersion": since, "waitMs": 150}),
        )
        .await;
    assert_eq!(
        same.text,
        format!("Screen {target} of computer 1 (Label: nil) is unchanged.")
    );
    let waiting = bridge
        .start_call(
            "read-screen",
            json!({"target": target, "sinceVersion": since, "waitMs": 60_000}),
        )
        .await;
    bridge.lua(1, "os.queueEvent('go')").await;
    let changed = soon("the screen to change", bridge.answer(waiting)).await;
    assert!(
        changed.text.contains("two") && version(&changed.text) > since,
        "{}",
        changed.text
    );
    // One that is given up does not stay.
    let given_up = bridge
        .start_call("read-screen", json!({"target": target, "waitMs": 60_000}))
        .await;
    bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": given_up}})).await;
    bridge.call("cancel-job", json!({"jobId": id})).await;
    let gone = bridge.call("read-screen", json!({"target": target})).await;
    assert!(
        gone.is_error && gone.text.contains("has ended"),
        "{}",
        gone.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn screens_that_are_not_there_are_named_with_what_to_do() {
    let (mut bridge, _computer) = linked(|_| {}).await;
    let unseen = bridge.call("read-screen", json!({})).await;
    assert!(
        unseen.is_error && unseen.text.contains("mcp-computer --shell"),
        "{}",
        unseen.text
    );
    for (target, why) in [
        (
            "monitor_7",
            "mcp-computer --shell`; what is drawn on monitors from then on",
        ),
        ("job 0000-99", "There is no job 0000-99."),
        ("tab 2", "--shell"),
    ] {
        for (tool, rest) in [
            ("read-screen", json!({})),
            ("send-input", json!({"steps": [{"do": "quiet"}]})),
        ] {
            let mut arguments = rest;
            arguments["target"] = json!(target);
            let answer = bridge.call(tool, arguments).await;
            assert!(
                answer.is_error && answer.text.contains(why),
                "{tool} {target}: {}",
                answer.text
            );
        }
    }
    let on_screen = job(&mut bridge, "os.pullEvent('never')").await;
    let listed = bridge
        .call("read-screen", json!({"target": "monitor_7"}))
        .await;
    assert!(
        listed.text.contains(&format!("job {on_screen}")),
        "{}",
        listed.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_read_only_agent_shows_its_screens_and_takes_no_input() {
    let mut bridge = Bridge::initialized().await;
    let program = format!("mcp-computer --read-only ws://{}", bridge.link_port().await);
    let options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    let _computer = Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(1).await;
    let shown = bridge.call("read-screen", json!({})).await;
    // It was looked for.
    assert!(
        shown.text.contains("mcp-computer --shell"),
        "{}",
        shown.text
    );
    let refused = bridge
        .call(
            "send-input",
            json!({"steps": [{"do": "type", "text": "rm\n"}]}),
        )
        .await;
    assert!(
        refused.is_error && refused.text.contains("read-only"),
        "{}",
        refused.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn an_agent_that_has_no_screens_is_told_apart_and_odd_answers_are_no_screens() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let _old = RawComputer::link_v2(port, 4).await;
    let answer = bridge.call("read-screen", json!({"computerId": 4})).await;
    assert!(
        answer.is_error && answer.text.contains("older than this bridge"),
        "{}",
        answer.text
    );
    let mut odd = RawComputer::connect(port).await;
    odd.hello(json!({
        "type": "hello", "computerId": 5, "protocol": 2, "boot": "b", "capabilities": ["screens"],
    }))
    .await;
    let call = bridge
        .start_call("read-screen", json!({"computerId": 5}))
        .await;
    let request = odd.request().await;
    assert_eq!(
        (&request["method"], &request["params"]["target"]),
        (&json!("read-screen"), &json!("terminal"))
    );
    odd.respond(&request, json!({"width": 3, "height": 1, "lines": []}))
        .await;
    let answer = bridge.answer(call).await;
    assert!(
        answer.is_error && answer.text.contains("no screen"),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_many_screens_are_drawn_others_are_answered() {
    const SCREENS: u64 = 20;
    static LONGEST: AtomicU64 = AtomicU64::new(0);

    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    // No two of its cells look alike, so it takes long to draw.
    let (width, height) = (164_u32, 81_u32);
    let digit = |number: u32| char::from_digit(number % 16, 16).unwrap();
    let lines: Vec<_> = (0..height)
        .map(|y| {
            let text: String = (0..width)
                .filter_map(|x| char::from_u32(33 + (x * x + y * 7) % 90))
                .collect();
            let colours: String = (0..width).map(|x| digit(x * 3 + y)).collect();
            let backgrounds: String = (0..width).map(|x| digit(x * x / 7 + y * 5)).collect();
            json!([text, colours, backgrounds])
        })
        .collect();
    let screen = json!({
        "version": 1, "width": width, "height": height, "lines": lines, "colours": true,
        "cursor": {"x": 1, "y": 1, "blinks": true, "colour": 0},
    });
    for id in 1..=SCREENS {
        let mut computer = RawComputer::connect(port).await;
        let hello = json!({
            "type": "hello", "computerId": id, "protocol": 2, "boot": "b", "capabilities": ["screens"],
        });
        assert_eq!(computer.hello(hello).await["type"], "hello-ok");
        let screen = screen.clone();
        computer.serve(move |request| {
            Some(json!({"type": "response", "id": request["id"], "ok": true, "result": screen}))
        });
    }
    let begun = Instant::now();
    let call = json!({
        "name": "read-screen", "arguments": {"as": "image"},
        "computers": (1..=SCREENS).collect::<Vec<_>>(),
    });
    let call = bridge.start_call("call-tool", call).await;
    let asking = tokio::spawn(async move {
        loop {
            let asked = Instant::now();
            health(port).await;
            let took = asked.elapsed();
            LONGEST.fetch_max(took.as_micros() as u64, Ordering::Relaxed);
            sleep(Duration::from_millis(5)).await;
        }
    });
    let answer = bridge.reply(&json!(call)).await;
    asking.abort();
    let (took, longest) = (
        begun.elapsed(),
        Duration::from_micros(LONGEST.load(Ordering::Relaxed)),
    );
    let content = answer["result"]["content"].as_array().unwrap();
    let pictures = content.iter().filter(|block| block["type"] == "image");
    assert_eq!(pictures.count() as u64, SCREENS, "{}", content[0]);
    // Drawn where all else is done, they would keep others waiting for most of the time.
    assert!(longest < took / 3, "{longest:?} of {took:?}");
    bridge.leave().await;
}

/// The player's own screen, where the agent hosts the shell: what the model types is as if the player had.
#[tokio::test]
async fn the_players_shell_is_seen_and_used_where_the_agent_hosts_it() {
    for advanced in [true, false] {
        let mut bridge = Bridge::initialized().await;
        let program = format!("mcp-computer --shell ws://{}", bridge.link_port().await);
        let mut options = ComputerOptions::new(1)
            .with_file("mcp-computer.lua", agent::program())
            .with_file("ask.lua", "write('Name? ') print('Hello ' .. read())");
        options.advanced = advanced;
        let computer = Computer::start(options, &program, &Handle::current()).unwrap();
        bridge.linked(1).await;
        seen(&mut bridge, "terminal", "|>").await;
        let steps = json!([
            {"do": "type", "text": "ask\n"},
            {"do": "wait", "text": "Name? "},
            {"do": "type", "text": "Alex\n"},
            {"do": "wait", "text": "Hello Alex"},
        ]);
        let shown = input(&mut bridge, "terminal", steps).await;
        assert!(shown.contains("|Hello Alex\n"), "{shown}");
        // The player sees the same, cell by cell.
        let arguments = json!({"as": "image"});
        let reply = bridge
            .request(
                "tools/call",
                json!({"name": "read-screen", "arguments": arguments}),
            )
            .await;
        let (picture, _) = Picture::in_answer(&reply);
        let picture = picture.of_cells(51, 19);
        let terminal = computer.terminal();
        let (cursor_x, cursor_y, _) = terminal.cursor();
        let shown = |colour: u8| {
            let [_, red, green, blue] = terminal.palette()[usize::from(colour)].to_be_bytes();
            let grey = (u32::from(red) + u32::from(green) + u32::from(blue)) / 3;
            if advanced {
                terminal.palette()[usize::from(colour)]
            } else {
                grey << 16 | grey << 8 | grey
            }
        };
        for y in 0..19_usize {
            for (x, cell) in terminal.row(y).iter().enumerate() {
                // The cursor blinks there.
                if (x as i64 + 1, y as i64 + 1) == (cursor_x, cursor_y) {
                    continue;
                }
                let is_blank = [0, 32, 128, 160].contains(&cell.character);
                let expected = Seen {
                    character: if is_blank { b' ' } else { cell.character },
                    colour: (!is_blank).then(|| shown(cell.foreground)),
                    background: shown(cell.background),
                };
                assert_eq!(picture.cell(x, y), expected, "column {x}, row {y}");
            }
        }
        // Ctrl+T ends what runs, not the agent.
        let steps = json!([
            {"do": "type", "text": "ask\n"},
            {"do": "wait", "text": "Name? "},
            {"do": "terminate"},
            {"do": "wait", "text": "Terminated"},
        ]);
        input(&mut bridge, "terminal", steps).await;
        bridge.leave().await;
    }
}

/// A computer with a monitor on it.
const WITH_MONITOR: &str = r#"
[[block]]
block = "computercraft:monitor_advanced"
at = [0, 65, 0]
size = [2, 1]
[[computer]]
id = 1
at = [0, 64, 0]
"#;

/// Draws on the monitor, and again where it is touched.
const TOUCHED: &str = "
    local m = peripheral.wrap('top')
    m.setTextScale(0.5) m.setBackgroundColour(colours.green) m.setTextColour(colours.yellow) m.clear()
    m.setCursorPos(3, 2) m.write('Touch me')
    local _, side, x, y = os.pullEvent('monitor_touch')
    m.setCursorPos(1, 4) m.write(side .. ' ' .. x .. ' ' .. y)
    os.pullEvent('never')";

#[tokio::test]
async fn a_monitor_is_seen_and_touched_where_the_agent_hosts_the_shell() {
    let mut bridge = Bridge::initialized().await;
    let program = format!("mcp-computer --shell ws://{}", bridge.link_port().await);
    let (land, residents) = Land::read(WITH_MONITOR).unwrap();
    let resident = residents.into_iter().next().unwrap();
    let options = resident
        .options
        .with_file("mcp-computer.lua", agent::program())
        .with_file("touched.lua", TOUCHED);
    let _computer = Computer::start_in(&land, options, &program, &Handle::current()).unwrap();
    bridge.linked(1).await;
    let unseen = bridge.call("read-screen", json!({"target": "top"})).await;
    assert!(
        unseen.is_error && unseen.text.contains("draw anew"),
        "{}",
        unseen.text
    );
    input(
        &mut bridge,
        "terminal",
        json!([{"do": "type", "text": "touched\n"}]),
    )
    .await;
    seen(&mut bridge, "top", "|  Touch me").await;
    let styled = bridge
        .call("read-screen", json!({"target": "top", "as": "styled"}))
        .await;
    assert!(styled.text.contains("yellow on green"), "{}", styled.text);
    let steps = json!([{"do": "click", "x": 5, "y": 2}, {"do": "wait", "text": "top 5 2"}]);
    let touched = input(&mut bridge, "top", steps).await;
    assert!(touched.contains("4|top 5 2"), "{touched}");
    bridge.leave().await;
}
