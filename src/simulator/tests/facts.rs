//! Rules of the facts sheet that hold in every version, one test each.

use super::*;

/// The versions most people play: Minecraft 1.12.2, 1.16 to 1.18, and today's.
const PROFILES: [&str; 3] = ["1.89", "1.101", "1.113"];

fn in_every_version(program: &str, expected: &[&str]) {
    for profile in PROFILES {
        assert_eq!(run_on(version(profile), program), expected, "{profile}");
    }
}

/// README.md, "Events and time": the queue holds 256; the newest are dropped.
#[test]
fn the_queue_holds_256_events_and_drops_the_newest() {
    in_every_version(
        "os.queueEvent('start') os.pullEvent('start') for n = 1, 300 do os.queueEvent('e', n) end \
         local count, last = 0 repeat local _, n = os.pullEvent('e') count, last = count + 1, n until n == 256 \
         os.queueEvent('end') say(count, last, (os.pullEvent()))",
        &["256 256 end"],
    );
}

/// README.md, "Events and time": timers are whole ticks. A faster clock, which only tests have, changes no order.
#[test]
fn timers_fire_in_their_order_however_fast_the_clock_runs() {
    let program = "local names = {} for n, time in ipairs {0.3, 0.1, 0.2, 0.1} do names[os.startTimer(time)] = n end \
        local order = {} while #order < 4 do local _, id = os.pullEvent('timer') order[#order + 1] = names[id] end \
        say(table.concat(order, ' '))";
    for clock_speed in [1.0, 20.0, 500.0] {
        let options = ComputerOptions {
            clock_speed,
            ..fast()
        };
        assert_eq!(run_on(options, program), ["2 4 3 1"], "{clock_speed}");
    }
    in_every_version(program, &["2 4 3 1"]);
}

/// README.md, "Events and time": managers must always deliver `terminate`, whatever a coroutine's filter.
#[test]
fn terminate_comes_through_every_filter() {
    in_every_version(
        "say(pcall(parallel.waitForAny, function() os.pullEvent('never') end, \
         function() os.queueEvent('terminate') os.pullEventRaw('never') say('raw') sleep(1) end))",
        &["false Terminated"],
    );
}

/// README.md, "Screen and keys": the palette, white to black.
#[test]
fn the_palette_is_the_games() {
    let palette = "f0f0f0 f2b233 e57fd8 99b2f2 dede6c 7fcc19 f2b2cc 4c4c4c 999999 4c99b2 b266e5 3366cc 7f664c 57a64e \
        cc4c4c 111111";
    in_every_version(
        "local all = {} for n = 0, 15 do local hex = {} for i, part in ipairs {term.getPaletteColour(2 ^ n)} do \
         hex[i] = ('%02x'):format(math.floor(part * 255 + 0.5)) end all[n + 1] = table.concat(hex) end \
         say(table.concat(all, ' '))",
        &[palette],
    );
}

/// README.md, "Files": 1,000,000 bytes per computer, each file at least 500; `Out of space` comes from write and
/// open.
#[test]
fn a_full_disk_is_told_where_it_is_noticed() {
    for profile in PROFILES {
        let said = run_on(
            version(profile),
            "say(fs.getCapacity('/')) local free = fs.getFreeSpace('/') local f = fs.open('small', 'wb') f.write('x') \
             f.close() say(free - fs.getFreeSpace('/')) f = fs.open('big', 'wb') local ok, why, n = true, nil, 0 \
             while ok do ok, why = pcall(f.write, ('x'):rep(50000)) n = n + 1 end f.close() say(n > 15, why) \
             f = fs.open('rest', 'wb') repeat ok = pcall(f.write, ('x'):rep(400)) until not ok f.close() \
             say(fs.open('another', 'wb')) fs.delete('big') f = fs.open('another', 'wb') say(f ~= nil) f.close()",
        );
        assert_eq!(said[..2], ["1000000", "500"], "{profile}");
        assert!(
            said[2].starts_with("true ") && said[2].ends_with("Out of space"),
            "{profile}: {said:?}"
        );
        assert_eq!(
            said[3..],
            ["nil /another: Out of space", "true"],
            "{profile}"
        );
    }
}

/// README.md, "Files": `fs.open` returns `Access denied` for /rom; other calls throw.
#[test]
fn the_rom_is_read_only() {
    in_every_version(
        "say(fs.isReadOnly('/rom/startup.lua'), fs.open('/rom/x', 'w')) \
         for _, f in ipairs {fs.delete, fs.makeDir} do say((select(2, pcall(f, '/rom/x')):gsub('^%S+:%d+: ', ''))) end",
        &[
            "true nil /rom/x: Access denied",
            "/rom/x: Access denied",
            "/rom/x: Access denied",
        ],
    );
}

/// README.md, "Start and end": the setting `shell.allow_startup`.
#[test]
fn startup_files_can_be_turned_off() {
    let options = fast()
        .with_file("startup.lua", "_G.started = true")
        .with_file(".settings", "{ [\"shell.allow_startup\"] = false }");
    assert_eq!(run_on(options, "say(_G.started)"), ["nil"]);
    let options = fast().with_file("startup", "_G.started = true");
    assert_eq!(run_on(options, "say(_G.started)"), ["true"]);
}

/// README.md, "Start and end": a disk's startup replaces the computer's own; the setting
/// `shell.allow_disk_startup`, off on command computers.
#[test]
fn a_disks_startup_files_replace_the_computers_own() {
    let started = |kind, floppy, settings: &str| {
        let mark = |name: &str| format!("_G.started = (_G.started or '') .. '{name} '");
        let mut options = fast()
            .with_file("startup.lua", mark("own"))
            .with_file(".settings", settings);
        options.kind = kind;
        options.floppy = floppy;
        if floppy {
            options = options
                .with_file("disk/startup", mark("disk"))
                .with_file("disk/other.lua", mark("other"));
        }
        run_on(options, "say(_G.started)").join("")
    };
    assert_eq!(started(Kind::Computer, false, "{}"), "own ");
    assert_eq!(started(Kind::Computer, true, "{}"), "disk ");
    assert_eq!(started(Kind::Command, true, "{}"), "own ");
    let off = "{ [\"shell.allow_disk_startup\"] = false }";
    assert_eq!(started(Kind::Computer, true, off), "own ");
}

/// README.md, "Files": 125,000 bytes per floppy.
#[test]
fn a_floppy_has_room_of_its_own() {
    let options = ComputerOptions {
        floppy: true,
        ..fast()
    };
    let said = run_on(
        options,
        "say(fs.getDrive('disk/x'), fs.getDrive('disk'), fs.getCapacity('disk'), fs.getFreeSpace('disk')) \
         local f = fs.open('disk/a', 'wb') say(pcall(f.write, ('x'):rep(125001))) f.close() \
         local before = fs.getFreeSpace('/') f = fs.open('disk/b', 'wb') f.write(('x'):rep(1000)) f.close() \
         say(before == fs.getFreeSpace('/'), fs.getFreeSpace('disk')) say(fs.isDriveRoot('disk'), (pcall(fs.delete, 'disk'))) \
         say(peripheral.getType('left'), peripheral.call('left', 'getMountPath'), disk.isPresent('left'), disk.isPresent('top'))",
    );
    assert_eq!(said[0], "nil left 125000 125000");
    assert!(said[1].ends_with("Out of space"), "{said:?}");
    assert_eq!(
        said[2..],
        ["true 123500", "true false", "drive disk true false"]
    );
}

/// README.md, "Start and end": if the top shell exits the computer shuts down.
#[test]
fn a_shell_that_exits_shuts_the_computer_down() {
    for advanced in [true, false] {
        let options = ComputerOptions { advanced, ..fast() };
        let (computer, _) = run_with(options, "say('done')");
        computer.type_line("exit");
        assert_eq!(
            computer.wait_until_stopped(PATIENCE),
            Some(State::Off),
            "{:#?}",
            computer.screen()
        );
    }
}

/// README.md, "Start and end": `shell.run` returns a boolean; errors go to the screen, where a redirected terminal
/// catches them.
#[test]
fn a_programs_error_is_drawn_on_the_terminal_redirected_to() {
    in_every_version(
        "local f = fs.open('bad.lua', 'w') f.write('error(\"oh no\", 0)') f.close() \
         local w = window.create(term.current(), 1, 1, 20, 3, false) local old = term.redirect(w) \
         local ok = shell.run('bad') term.redirect(old) say(ok, (w.getLine(1):gsub(' +$', '')))",
        &["false oh no"],
    );
}

/// README.md, "Peripherals": `peripheral.call` on an absent name returns nil, no error.
#[test]
fn a_peripheral_that_is_not_there_is_no_error() {
    in_every_version(
        "say(peripheral.call('left', 'x'), peripheral.wrap('left'), #peripheral.getNames())",
        &["nil nil 0"],
    );
}
