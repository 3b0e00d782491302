//! The game's APIs, as programs use them.

use super::*;

/// README.md, "Screen and keys": the native terminal has no getLine; `window.getLine(y)` gives text and colours.
#[test]
fn a_window_gives_its_lines_back_and_the_native_terminal_does_not() {
    let said = run(
        "say(term.native().getLine) local w = window.create(term.native(), 1, 1, 5, 2, false) \
         w.setTextColour(colours.red) w.write('abcdefg') say(w.getLine(1)) say(w.getCursorPos()) \
         w.setCursorPos(4, 2) w.blit('xyz', '123', 'abc') say(w.getLine(2)) say(pcall(w.getLine, 3)) \
         w.scroll(1) say((w.getLine(1))) w.reposition(1, 1, 6, 3) say((w.getLine(1)), w.getSize())",
    );
    assert_eq!(
        said,
        [
            "nil",
            "abcde eeeee fffff",
            "8 1",
            "   xy 00012 fffab",
            "false Line is out of range.",
            "   xy",
            "   xy  6 3"
        ]
    );
}

/// README.md, "Screen and keys": print and write use `term.redirect`; `term` itself is rejected.
#[test]
fn output_can_be_redirected_into_a_window_and_back() {
    let said = run(
        "local w = window.create(term.current(), 1, 1, 20, 3, false) local old = term.redirect(w) print('inside') \
         printError('bad') term.redirect(old) say((w.getLine(1))) say(select(2, w.getLine(2))) \
         say(pcall(term.redirect, term)) say(pcall(window.create, term, 1, 1, 1, 1))",
    );
    assert_eq!(said[0], "inside              ");
    assert!(said[1].starts_with("eee"), "{said:?}");
    assert!(
        said[2].contains("try term.current() instead")
            && said[3].contains("try term.current() instead")
    );
}

#[test]
fn print_wraps_words_and_scrolls() {
    let (computer, _) = run_with(
        fast(),
        "local w = window.create(term.current(), 1, 5, 10, 3) local old = term.redirect(w) \
         print('one two three four') print('abcdefghijklmno') term.redirect(old) term.setCursorPos(1, 10)",
    );
    let screen = computer.screen();
    assert_eq!(screen[4..7], ["abcdefghij", "klmno", ""], "{screen:#?}");
}

/// README.md, "Events and time": `parallel` rethrows the first child error.
#[test]
fn parallel_ends_with_the_first_or_with_all_and_passes_an_error_on() {
    let said = run(
        "say(parallel.waitForAny(function() sleep(1) end, function() sleep(0.1) end)) \
         local n = 0 local function add() sleep(0.05) n = n + 1 end parallel.waitForAll(add, add, add) say(n) \
         say(pcall(parallel.waitForAny, function() sleep(0.1) error('child', 0) end, function() sleep(9) end))",
    );
    assert_eq!(said, ["2", "3", "false child"]);
}

/// README.md, "Events and time": `os.queueEvent` copies tables; functions become nil.
#[test]
fn events_copy_tables_and_lose_functions() {
    let said = run(
        "local t = {a = {1}, f = print} t.self = t t.same = t.a os.queueEvent('e', t, print, nil, 4) \
         local e = table.pack(os.pullEvent('e')) local c = e[2] \
         say(e.n, c ~= t, c.self == c, c.same == c.a, c.a[1], c.f, e[3], e[4], e[5])",
    );
    assert_eq!(said, ["5 true true true 1 nil nil nil 4"]);
}

/// README.md, "Events and time": the queue holds 256; the newest are dropped.
#[test]
fn of_300_events_queued_at_once_256_arrive() {
    let said = run(
        "for n = 1, 300 do os.queueEvent('e', n) end local count = 0 \
         while true do local e, n = os.pullEvent() if e == 'e' then count = count + 1 end if n == 256 then break end end \
         os.startTimer(0.1) repeat local e = os.pullEvent() until e ~= 'e' say(count)",
    );
    assert_eq!(said, ["256"]);
}

/// README.md, "Events and time": timers are whole ticks.
#[test]
fn sleeping_takes_whole_ticks() {
    let said = run(
        "local a = os.clock() sleep(0) local b = os.clock() sleep(0.12) local c = os.clock() \
         say(b - a > 0.04, c - b > 0.09, math.abs(a * 20 - math.floor(a * 20 + 0.5)) < 1e-6)",
    );
    assert_eq!(said, ["true true true"]);
}

/// README.md, "Files": what `fs.open` returns and other calls throw.
#[test]
fn files_are_read_and_written_as_the_game_does() {
    let said = run(
        "say(fs.open('/no/such', 'r')) say(fs.open('/rom/x', 'w')) say(fs.open('/rom', 'r')) \
         say(pcall(fs.open, 'x', 'q')) local f = fs.open('d/a.txt', 'w') f.writeLine('one') f.write('two\\r\\n\\233') \
         f.close() say(pcall(f.write, 'x')) f = fs.open('d/a.txt', 'r') say(f.readLine(), f.readLine()) \
         say(f.read():byte()) say(f.readLine()) f.close() f = fs.open('d/a.txt', 'rb') say(f.read()) say(f.seek('end')) \
         f.close() say(fs.getSize('d/a.txt')) say(table.concat(fs.find('d/*.txt'), ' ')) say(pcall(fs.list, 'nope')) \
         say(fs.getFreeSpace('/') < 1000000, fs.getCapacity('/')) say(fs.combine('a/../b', './c'), fs.getDir('a/b'))",
    );
    assert_eq!(
        said,
        [
            "nil /no/such: No such file",
            "nil /rom/x: Access denied",
            "nil /rom: Not a file",
            "false /test.lua:1: Unsupported mode",
            "false /test.lua:1: attempt to use a closed file",
            "one two",
            "233",
            "nil",
            "111",
            "10 nil",
            "10",
            "d/a.txt",
            "false /test.lua:1: /nope: No such file",
            "true 1000000",
            "b/c a",
        ]
    );
}

/// README.md, "Files": before 1.109 text modes transcode UTF-8.
#[test]
fn text_files_are_transcoded_before_1_109() {
    let (computer, _) = run_with(
        version("1.101"),
        "local f = fs.open('x', 'w') f.write('\\233') f.close() \
         f = fs.open('x', 'r') say(f.readAll():byte(1, -1)) f.close()",
    );
    assert_eq!(computer.read_file("x").expect("the file"), "é".as_bytes());
    assert_eq!(out_of(&computer), ["233"]);
}

/// README.md, "Files": 128 open handles.
#[test]
fn at_most_128_files_are_open() {
    let said = run(
        "local all = {} for n = 1, 200 do local f, e = fs.open('/rom/startup.lua', 'r') \
         if not f then say(n, e) break end all[n] = f end",
    );
    // The program's own output file is the first.
    assert_eq!(said, ["128 Too many files already open"]);
}

/// README.md, "Lua": textutils JSON.
#[test]
fn json_has_the_games_quirks() {
    let said = run(
        "local j = textutils.serialiseJSON say(j({}), j({1, 2}), j({1, x = 2}), j({[3] = 1}), j('\\n\\233\"')) \
         say(j(2 ^ 53), j(0 / 0):find('nan') ~= nil, j(1 / 0), j(0.1)) say(pcall(j, {print})) \
         local t = {} say(pcall(j, {t, t})) t.t = t say(pcall(j, t)) \
         local u = textutils.unserialiseJSON say(u('[1,{\"a\":null}]')[2].a, u('\"\\\\u00e9\"'):byte(1, -1)) \
         say(u('[]') == textutils.empty_json_array) say(u('{'))",
    );
    assert_eq!(
        said,
        [
            r#"{} [1,2] {"x":2} [null,null,1] "\n\u00E9\"""#,
            "9007199254740992 true inf 0.1",
            "false Cannot serialize type function",
            "false Cannot serialize table with repeated entries",
            "false Cannot serialize table with recursive entries",
            "nil 195 169",
            "true",
            "nil Malformed JSON at position 2: Expected object key.",
        ]
    );
}

#[test]
fn lua_values_are_written_and_read_back() {
    let said = run(
        "local t = {1, 'a\\n\"', x = {y = true}, ['a b'] = 1.5} local s = textutils.serialise(t) \
         local u = textutils.unserialise(s) say(u[1], u[2] == t[2], u.x.y, u['a b']) \
         say(textutils.serialise({1, {}}, {compact = true})) say(textutils.formatTime(13.5), textutils.urlEncode('a b/\\233'))",
    );
    assert_eq!(said, ["1 true true 1.5", "{1,{},}", "1:30 PM a+b%2F%C3%A9"]);
}

/// README.md, "Start and end": settings persist after `settings.save()` into `/.settings`.
#[test]
fn settings_are_kept_in_a_file() {
    let (computer, _) = run_with(
        fast(),
        "settings.define('a.b', {type = 'number', default = 3}) say(settings.get('a.b')) settings.set('a.b', 4) \
         say(pcall(settings.set, 'a.b', 'x')) say(settings.save())",
    );
    assert_eq!(out_of(&computer)[0], "3");
    assert!(out_of(&computer)[1].starts_with("false "));
    let saved =
        String::from_utf8(computer.read_file(".settings").expect("the file")).expect("text");
    assert!(saved.contains("[ \"a.b\" ] = 4"), "{saved}");
}

/// README.md, "Screen and keys": 1.12 uses LWJGL2 codes, 1.13+ GLFW.
#[test]
fn keys_have_the_numbers_of_the_version() {
    let program = "say(keys.enter, keys.a, keys.f1, keys.getName(keys.leftShift))";
    assert_eq!(run(program), ["257 65 290 leftShift"]);
    assert_eq!(run_on(version("1.89"), program), ["28 30 59 leftShift"]);
}

/// README.md, "Screen and keys": sizes by kind; kinds are detected by globals.
#[test]
fn each_kind_has_its_size_and_its_api() {
    let program =
        "say(turtle ~= nil, pocket ~= nil, commands ~= nil, multishell ~= nil, term.getSize())";
    for (kind, advanced, expected) in [
        (Kind::Computer, true, "false false false true 51 19"),
        (Kind::Computer, false, "false false false false 51 19"),
        (Kind::Turtle, true, "true false false true 39 13"),
        (Kind::Pocket, false, "false true false false 26 20"),
        (Kind::Command, false, "false false true true 51 19"),
    ] {
        assert_eq!(
            run_on(
                ComputerOptions {
                    kind,
                    advanced,
                    ..fast()
                },
                program
            ),
            [expected],
            "{kind}"
        );
    }
}

#[test]
fn a_turtle_has_the_fuel_that_it_was_given() {
    for (fuel, expected) in [
        (Some(1), "1 true 0 false Out of fuel 100000"),
        (None, "unlimited true unlimited true unlimited"),
    ] {
        let options = ComputerOptions {
            kind: Kind::Turtle,
            fuel,
            ..fast()
        };
        let program = "local before, first, after = turtle.getFuelLevel(), turtle.forward(), turtle.getFuelLevel() \
                       local second, why = turtle.forward() \
                       say(before, first, after, second, why or turtle.getFuelLimit(), why and turtle.getFuelLimit())";
        let said = run_on(options, program).join(" ");
        assert_eq!(said.trim_end_matches(" nil"), expected);
    }
}

/// README.md, "Events and time": turtle actions take 8 ticks; beyond 16 queued they are refused.
#[test]
fn a_turtle_waits_for_the_animation_of_the_move_before() {
    let options = ComputerOptions {
        kind: Kind::Turtle,
        clock_speed: 1.0,
        ..fast()
    };
    let said = run_on(
        options,
        "local a, fuel = os.clock(), turtle.getFuelLevel() say(turtle.forward()) local b = os.clock() \
         say(turtle.back()) say(b - a < 0.25, os.clock() - b > 0.35) say(fuel - turtle.getFuelLevel()) \
         say(turtle.inspect()) say(pcall(turtle.getItemCount, 17)) local refused = 0 local all = {} \
         for n = 1, 20 do all[n] = function() local _, why = turtle.detect() if why then refused = refused + 1 \
         say(why) end end end parallel.waitForAll(table.unpack(all)) say(refused)",
    );
    assert_eq!(
        said[..5],
        [
            "true",
            "true",
            "true true",
            "2",
            "false No block to inspect"
        ]
    );
    assert!(said[5].ends_with("Slot number 17 out of range"));
    assert_eq!(said[6], "Too many ongoing turtle commands");
    assert_eq!(said.last().map(String::as_str), Some("4"));
}

#[test]
fn time_and_dates_are_those_of_the_calendar() {
    let said = run(
        "say(os.date('!%Y-%m-%d %H:%M:%S', 1700000000)) say(os.time{year = 2024, month = 2, day = 29, hour = 0, min = 0, sec = 0}) \
         say(os.date('!%a %j', 1709164800)) say(os.epoch('utc') > 1.6e12, os.day() >= 1, os.time() >= 0)",
    );
    assert_eq!(
        said,
        [
            "2023-11-14 22:13:20",
            "1709164800",
            "Thu 060",
            "true true true"
        ]
    );
}

/// README.md, "Sockets": with HTTP off `http` is nil; with websockets off opening one throws.
#[test]
fn with_http_off_there_is_no_such_api() {
    let mut options = fast();
    options.http.enabled = false;
    assert_eq!(run_on(options, "say(http)"), ["nil"]);
    let mut options = fast();
    options.http.websockets = false;
    let said = run_on(
        options,
        "say(pcall(http.websocketAsync, 'ws://127.0.0.1:1'))",
    );
    assert!(
        said[0].ends_with("Websocket connections are disabled"),
        "{said:?}"
    );
}

#[test]
fn io_works_over_files() {
    let said = run(
        "local f = io.open('f', 'w') f:write('a', 1, '\\n', 'b') f:close() for line in io.lines('f') do say(line) end \
         f = io.open('f') say(f:read('*a')) say(io.type(f)) f:close() say(io.type(f)) say(io.open('nope'))",
    );
    assert_eq!(
        said,
        [
            "a1",
            "b",
            "a1",
            "b",
            "file",
            "closed file",
            "nil /nope: No such file"
        ]
    );
}
