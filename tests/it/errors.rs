//! What is said of code that fails: what went wrong, where, and a hint that is true, in every version of the game.

use crate::common::{PATIENCE, bridge::Bridge};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, Version},
};
use tokio::runtime::Handle;

const VERSIONS: [&str; 5] = ["1.89", "1.101", "1.108", "1.109.3", "1.113"];

async fn pair(version: &str) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let program = format!("mcp-computer ws://{}", bridge.link_port().await);
    let mut options = ComputerOptions::new(1)
        .with_file("mcp-computer.lua", agent::program())
        .with_file(
            "library.lua",
            "coroutine.wrap(function() error('deep') end)()",
        );
    options.version = version.parse::<Version>().unwrap();
    options.limits.memory_bytes = 64 << 20;
    // Not to be stopped for the time it takes on a busy machine.
    options.limits.event_time = PATIENCE;
    let computer = Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(1).await;
    (bridge, computer)
}

#[tokio::test]
async fn an_error_out_of_a_coroutine_keeps_its_value_and_traceback_and_gets_no_hint() {
    for version in VERSIONS {
        let (mut bridge, _computer) = pair(version).await;
        for (code, message, frames) in [
            (
                "local function inner()\n error('boom')\nend\nlocal co = coroutine.wrap(function()\n inner()\nend)\nco()",
                "exec-lua:2: boom",
                &["exec-lua:2:", "exec-lua:5:", "exec-lua:7: in main chunk"][..],
            ),
            (
                "local co = coroutine.wrap(function()\n coroutine.wrap(function()\n error({ code = 5 })\n end)()\nend)\nco()",
                "{ code = 5 }",
                &["exec-lua:3:", "exec-lua:2:", "exec-lua:6: in main chunk"][..],
            ),
            // Of code that isn't the job's own.
            (
                "dofile('library.lua') return 1",
                "library.lua:1: deep",
                &[][..],
            ),
        ] {
            let error = bridge.lua_error(1, code).await;
            let head = error.lines().next().unwrap();
            assert!(head.ends_with(message), "{version}: {error}");
            let mut rest = error.as_str();
            for frame in frames {
                let at = rest.find(frame);
                assert!(at.is_some(), "{version}: no {frame} there: {error}");
                rest = &rest[at.unwrap()..];
            }
            assert!(
                !error.contains("Hint") && !error.contains("mcp-computer"),
                "{version}: {error}"
            );
        }
        // It can be caught as any other.
        let code = "local t = {} local ok, e = pcall(coroutine.wrap(function() error(t) end)) return ok, e == t";
        assert_eq!(bridge.lua(1, code).await, "=> false\n=> true", "{version}");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn endless_recursion_is_a_full_stack_and_a_memory_bomb_a_full_memory() {
    for version in VERSIONS {
        let (mut bridge, _computer) = pair(version).await;
        for code in [
            "local function f() return 1 + f() end f()",
            "local function f() local t = {} for n = 1, 20 do t[n] = n end return f(), t end f()",
            "local function f() return string.gsub('x', 'x', f) end f()",
            "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, key) return t[key] end return t.x",
            "coroutine.wrap(function() local function f() return 1 + f() end f() end)()",
        ] {
            let error = bridge.lua_error(1, code).await;
            assert!(
                error.contains("stack overflow")
                    && error.contains("Hint: The stack is full")
                    && !error.contains("memory"),
                "{code} on {version}: {error}"
            );
        }
        for code in [
            "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
            "local t = {} while true do t[#t + 1] = { #t } end",
            "local s = 'x' while true do s = s .. s end",
            "coroutine.wrap(function() local t = {} while true do t[#t + 1] = { #t } end end)()",
        ] {
            let error = bridge.lua_error(1, code).await;
            assert!(
                error.contains("OutOfMemoryError")
                    && error.contains("than there is memory for")
                    && !error.contains("stack"),
                "{code} on {version}: {error}"
            );
        }
        // What the game says of a string of 2 GiB, which the simulator has no memory for.
        let too_long = "error('vm error: java.lang.NegativeArraySizeException: -2147483648')";
        let error = bridge.lua_error(1, too_long).await;
        assert!(error.contains("than there is memory for"), "{error}");
        assert_eq!(bridge.lua(1, "1 + 1").await, "=> 2", "{version}");
        bridge.leave().await;
    }
}
