//! The language itself: errors, coroutines, time limits, what the game's Lua has and has not.

use super::*;

/// README.md, "Sockets": thrown messages carry a `file:line:` prefix.
#[test]
fn an_error_of_a_native_function_carries_the_callers_position() {
    let said =
        run("say(pcall(function() term.setCursorPos('x') end)) say(pcall(term.setCursorPos))");
    assert_eq!(
        said[0],
        "false /test.lua:1: bad argument #1 (number expected, got string)"
    );
    assert_eq!(said[1], "false bad argument #1 (number expected, got nil)");
}

#[test]
fn errors_may_be_any_value_and_pass_through_coroutines() {
    let said = run(
        "local t = {} local co = coroutine.create(function() error(t) end) local ok, e = coroutine.resume(co) \
         say(ok, e == t) say(select(2, pcall(coroutine.wrap(function() error(t) end))) == t) \
         say(xpcall(error, function(m) return m .. '!' end, 'x', 0)) say(pcall(error))",
    );
    assert_eq!(said, ["false true", "true", "false x!", "false nil"]);
}

/// README.md, "Lua": before 1.104 a handler is not told of what comes out of a coroutine.
#[test]
fn an_error_out_of_a_coroutine_passes_the_handlers_of_old_games() {
    let source = "local function told(e) return 'told ' .. tostring(e) end \
         local function fail() error('x', 0) end local function wrapped() coroutine.wrap(fail)() end \
         say(xpcall(coroutine.wrap(fail), told)) say(xpcall(coroutine.wrap(wrapped), told)) say(xpcall(fail, told)) \
         say(xpcall(function() local _, e = pcall(wrapped) error(e, 0) end, told)) \
         say(coroutine.resume(coroutine.create(wrapped)), xpcall(fail, told))";
    let anew = ["false told x", "false told x", "false told x"];
    for (game, passing) in [
        ("1.89", "false x"),
        ("1.103", "false x"),
        ("1.104", "false told x"),
        ("1.113", "false told x"),
    ] {
        let said = run_on(version(game), source);
        assert_eq!(said[..2], [passing; 2], "{game}");
        assert_eq!(said[2..4], anew[..2], "{game}");
        assert_eq!(said[4], "false false told x", "{game}");
    }
}

/// README.md, "Lua": 32,768 calls, 200 through functions in Java, and no room for a handler before 1.109.4.
#[test]
fn a_stack_that_is_full_is_said_so_and_before_1_109_4_to_no_handler() {
    let source = "local depth = 0 local function f() depth = depth + 1 return 1 + f() end \
         local function told(e) return 'told ' .. e end say(xpcall(f, told)) say(depth) sleep(0) \
         local function heavy() local t = {} for n = 1, 50 do t[n] = n end return heavy(), t end say(pcall(heavy)) sleep(0) \
         local function through(c) return (string.gsub(c, c, through)) end say(pcall(through, 'x')) say(xpcall(f, told))";
    for (game, told) in [
        ("1.89", "false error in error handling"),
        ("1.109.3", "false error in error handling"),
        ("1.109.4", "false told /test.lua:1: stack overflow"),
    ] {
        let mut options = version(game);
        // Not to be stopped for the time it takes on a busy machine.
        options.limits.event_time = PATIENCE;
        let said = run_on(options, source);
        assert_eq!((said[0].as_str(), said[4].as_str()), (told, told), "{game}");
        let depth: usize = said[1].parse().expect("a number");
        assert!((32_000..34_000).contains(&depth), "{depth} on {game}");
        assert_eq!(said[2], "false /test.lua:1: stack overflow", "{game}");
        assert!(
            said[3].ends_with("stack overflow") && !said[3].contains("C stack"),
            "{}",
            said[3]
        );
    }
}

/// README.md, "Lua": the words of Java for a memory that is full.
#[test]
fn a_runaway_program_runs_out_of_memory_before_the_host_does_and_is_told_so_in_the_games_words() {
    let mut small = fast();
    small.limits.memory_bytes = 32 << 20;
    let said = run_on(
        small,
        "local function fill() local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end end \
         local function told(e) return 'told ' .. e end \
         say(pcall(fill)) sleep(0) say(xpcall(fill, told)) sleep(0) say(coroutine.resume(coroutine.create(fill))) say('goes on')",
    );
    let words = "vm error: java.lang.OutOfMemoryError: Java heap space";
    assert_eq!(said[0], format!("false {words}"));
    assert_eq!(said[1], format!("false told {words}"));
    assert_eq!(said[2], format!("false {words}"));
    assert_eq!(said[3], "goes on");
}

#[test]
fn a_program_can_yield_within_pcall_and_xpcall_and_iterators() {
    let said = run(
        "say(pcall(function() sleep(0.1) return 'a' end)) say(xpcall(function() sleep(0.1) return 'b' end, print)) \
         for v in coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end) do say(v) end",
    );
    assert_eq!(said, ["true a", "true b", "1", "2"]);
}

/// README.md, "Events and time": the abort is thrown once and caught by pcall; 1.5 s later the computer is off, the
/// message on its screen.
#[test]
fn code_that_never_yields_is_aborted_once_and_then_the_computer_is_powered_off() {
    let (computer, said) = run_with(
        impatient(),
        "say(pcall(function() while true do end end)) say('still here') while true do end",
    );
    assert_eq!(
        said,
        ["false /test.lua:1: Too long without yielding", "still here"]
    );
    assert_eq!(
        computer.wait_until_stopped(PATIENCE),
        Some(State::PoweredOff("Too long without yielding".into()))
    );
    assert!(
        shows(&computer, "Too long without yielding"),
        "{:#?}",
        computer.screen()
    );
}

/// README.md, "Events and time": a `while true do pcall(f) end` is powered off.
#[test]
fn catching_the_abort_again_and_again_does_not_save_a_computer() {
    let (computer, _) = run_with(
        impatient(),
        "while true do pcall(function() local co = coroutine.wrap(function() while true do end end) co() end) \
         xpcall(function() while true do end end, function() while true do end end) end",
    );
    assert_eq!(
        computer.state(),
        State::PoweredOff("Too long without yielding".into())
    );
}

/// README.md, "Events and time": 7 s per event, shared by every coroutine.
#[test]
fn the_time_of_an_event_is_shared_by_all_coroutines() {
    // The machine looks at its clock every 1000 instructions: often, while one look at `os.epoch` follows the other,
    // however long a busy system lets this thread wait in between.
    let said = run_on(
        impatient(),
        "local function burn(s) local t = os.epoch('utc') \
         repeat for _ = 1, 20000 do end until os.epoch('utc') - t >= s end \
         local a = coroutine.wrap(function() burn(300) end) a() \
         say(coroutine.resume(coroutine.create(function() burn(300) end))) sleep(0) burn(300) say('renewed')",
    );
    assert!(
        said[0].starts_with("false ") && said[0].ends_with("Too long without yielding"),
        "{said:?}"
    );
    assert_eq!(said[1], "renewed");
}

#[test]
fn a_traceback_shows_the_programs_functions_and_not_the_machinery() {
    let said = run(
        "local function inner() error('boom') end local function outer() inner() end \
         local _, trace = xpcall(outer, debug.traceback) say(trace) \
         local co = coroutine.create(outer) coroutine.resume(co) say(debug.traceback(co))",
    )
    .join("\n");
    assert!(
        said.starts_with("/test.lua:1: boom\nstack traceback:"),
        "{said}"
    );
    assert_eq!(said.matches("in function 'inner'").count(), 2, "{said}");
    assert!(
        !said.contains("[native]") && !said.contains("guarded"),
        "{said}"
    );
}

/// README.md, "Lua": bytecode is gone; no `collectgarbage`, no `os.exit`.
#[test]
fn there_is_no_bytecode_and_nothing_that_reaches_the_host() {
    let said = run(
        "say(load('\\27Lua')) say(load('return 1', 'x', 'b')) say(pcall(string.dump, print)) say(collectgarbage, os.exit, os.execute, \
         os.getenv, io.popen, package.loadlib, debug.sethook == nil)",
    );
    assert_eq!(said[0], "nil attempt to load a binary chunk (mode is 't')");
    assert!(said[1].starts_with("nil "));
    assert_eq!(said[2], "false /test.lua:1: unable to dump given function");
    assert_eq!(said[3], "nil nil nil nil nil nil false");
}

#[test]
fn a_function_that_is_lacking_says_so_by_name() {
    let options = ComputerOptions {
        kind: Kind::Command,
        ..fast()
    };
    let said = run_on(
        options,
        "say(commands.execAsync ~= nil, commands.fly) say(pcall(commands.execAsync))",
    );
    assert_eq!(said[0], "true nil");
    assert_eq!(
        said[1],
        "false /test.lua:1: the simulated computer has no 'commands.execAsync' yet"
    );
}

/// README.md, "Lua": from 1.109 setfenv needs an `_ENV` upvalue.
#[test]
fn environments_can_be_changed_where_a_function_has_one() {
    let said = run(
        "local function f() return x end setfenv(f, {x = 'mine'}) say(f()) say(getfenv(f).x) \
         say(load('return x', 'x', 't', {x = 'given'})()) say(_VERSION)",
    );
    assert_eq!(said, ["mine", "mine", "given", "Lua 5.2"]);
}

/// README.md, "Lua": `utf8` 1.87, `string.pack` 1.91; Lua 5.1 through 1.108.
#[test]
fn the_library_has_what_the_version_has() {
    let said = run(
        "say(string.pack('>I2s1z', 258, 'ab', 'c'):byte(1, -1)) say(string.unpack('<i2', '\\254\\255')) \
         say(string.packsize('!8 b d')) say(utf8.char(233, 8364):byte(1, -1)) say(utf8.len('\\195\\169x')) \
         say(table.concat(table.move({1, 2, 3}, 1, 3, 2), ','))",
    );
    assert_eq!(
        said,
        [
            "1 2 2 97 98 99 0",
            "-2 3",
            "16",
            "195 169 226 130 172",
            "2",
            "1,1,2,3"
        ]
    );
    assert_eq!(
        run_on(version("1.89"), "say(string.pack, table.move, _VERSION)"),
        ["nil nil Lua 5.1"]
    );
}

#[test]
fn each_computer_rolls_dice_of_its_own() {
    let program = "say(math.random(1e9), math.random(1e9)) local ok = true for n = 1, 1000 do \
        local x, y = math.random(), math.random(3, 5) ok = ok and x >= 0 and x < 1 and y >= 3 and y <= 5 \
        and y == math.floor(y) end say(ok) math.randomseed(1) local a = math.random() math.randomseed(1) \
        say(a == math.random()) say(pcall(math.random, 0))";
    let (one, other) = (run(program), run(program));
    assert_eq!(
        one[1..],
        [
            "true",
            "true",
            "false /test.lua:1: bad argument #1 (interval is empty)"
        ]
    );
    assert_ne!(one[0], other[0]);
}

/// README.md, "Lua": 2^53 is kept exact.
#[test]
fn whole_numbers_are_written_in_full() {
    assert_eq!(
        run("say(2 ^ 53, 1e15, 1e19, 0.1, -2 ^ 53, 1 / 0)"),
        ["9007199254740992 1000000000000000 1e+19 0.1 -9007199254740992 inf"]
    );
}
