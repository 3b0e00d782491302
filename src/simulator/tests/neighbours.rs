//! Computers that have to do with each other: redstone, rednet, GPS, power, and drives.

use super::*;

/// Two computers beside each other, the second to the first's east, with a lever and dust.
const PAIR: &str = r#"
[[computer]]
id = 1
at = [0, 64, 0]
modem = "wireless"
[[computer]]
id = 2
label = "second"
at = [1, 64, 0]
modem = "wireless"
[[block]]
block = "lever"
at = [-1, 64, 0]
on = true
[[fill]]
block = "air"
from = [0, 64, 1]
to = [3, 64, 3]
[[block]]
block = "redstone_wire"
at = [0, 64, 1]
[[block]]
block = "redstone_wire"
at = [1, 64, 1]
[[block]]
block = "redstone_lamp"
at = [2, 64, 1]
"#;

/// README.md, "Redstone".
#[test]
fn redstone_goes_from_lever_and_computer_along_dust_and_is_told() {
    let (land, residents) = Land::read(PAIR).expect("a world");
    let said = run_in(
        &land,
        &residents,
        &[
            (
                1,
                "say(redstone.getInput('left'), redstone.getInput('right')) redstone.setBundledOutput('right', colours.red + colours.blue) \
                 redstone.setAnalogOutput('back', 9) say(redstone.getAnalogOutput('back')) sleep(4)",
            ),
            (
                2,
                "while redstone.getAnalogInput('back') == 0 do os.pullEvent('redstone') end say(redstone.getAnalogInput('back')) \
                 say(redstone.testBundledInput('left', colours.red), redstone.testBundledInput('left', colours.green))",
            ),
        ],
    );
    assert_eq!(said[0], ["true false", "9"]);
    // Nine on the first dust, one less on the next.
    assert_eq!(said[1], ["8", "true false"]);
}

#[test]
fn a_lamp_is_lit_while_something_powers_it() {
    let (land, _) = Land::read(PAIR).expect("a world");
    let lamp = Position::new(2, 64, 1);
    assert!(!land.is_lit(lamp));
    assert_eq!(land.flip(Position::new(-1, 64, 0)), Some(false));
    assert_eq!(land.flip(lamp), None);
    let (land, _) = Land::read(&format!(
        "{PAIR}[[block]]\nblock = \"redstone_block\"\nat = [1, 64, 2]\n"
    ))
    .expect("a world");
    assert!(land.is_lit(lamp));
}

#[test]
fn computers_find_each_other_and_talk_by_rednet() {
    let (land, residents) = Land::read(PAIR).expect("a world");
    let said = run_in(
        &land,
        &residents,
        &[
            (
                1,
                "say(rednet.isOpen(), pcall(rednet.open, 'left')) peripheral.find('modem', rednet.open) say(rednet.isOpen('top')) \
                 local server repeat server = rednet.lookup('chat', 'server') until server say(server) \
                 say(rednet.send(server, { 'hello', n = 3 }, 'chat')) say(rednet.receive('chat', 20)) \
                 rednet.close() say(rednet.send(2, 'more'))",
            ),
            (
                2,
                "rednet.open('top') rednet.host('chat', 'server') local from, message, of = rednet.receive('chat', 20) \
                 say(from, message[1], message.n, of) rednet.send(from, 'welcome', 'chat')",
            ),
        ],
    );
    assert!(said[0][0].starts_with("false false "), "{said:?}");
    assert!(said[0][0].ends_with("No such modem: left"), "{said:?}");
    assert_eq!(
        said[0][1..],
        ["true", "2", "true", "2 welcome chat", "false"]
    );
    assert_eq!(said[1], ["1 hello 3 chat"]);
}

#[test]
fn a_message_reaches_only_modems_that_listen_and_are_near_enough() {
    let world = r#"
        [[computer]]
        id = 1
        at = [0, 64, 0]
        modem = "wireless"
        [[computer]]
        id = 2
        at = [0, 64, 64]
        modem = "wireless"
        [[computer]]
        id = 3
        at = [0, 64, -65]
        modem = "wireless"
        [[computer]]
        id = 4
        at = [0, 64, 5000]
        modem = "ender"
    "#;
    let (land, residents) = Land::read(world).expect("a world");
    let hears = "peripheral.call('top', 'open', 7) local timer = os.startTimer(10) \
                 while true do local event, side, channel, reply, message, far = os.pullEvent() \
                 if event == 'modem_message' then say(side, channel, reply, message, far) break end if event == 'timer' and side == timer then say('nothing') break end end";
    let said = run_in(
        &land,
        &residents,
        &[
            (2, hears),
            (3, hears),
            (4, hears),
            (
                1,
                "for n = 1, 30 do peripheral.call('top', 'transmit', 8, 9, 'no') peripheral.call('top', 'transmit', 7, 9, 'hello') sleep(0.25) end",
            ),
        ],
    );
    assert_eq!(said[0], ["top 7 9 hello 64"]);
    assert_eq!(said[1], ["nothing"]);
    assert_eq!(said[2], ["top 7 9 hello 5000"]);
}

#[test]
fn a_turtle_is_found_by_gps() {
    let host =
        |id: u32, at: &str| format!("[[computer]]\nid = {id}\nat = [{at}]\nmodem = \"ender\"\n");
    let places = ["0, 200, 0", "10, 200, 0", "0, 200, 10", "0, 210, 0"];
    let mut world =
        "[[computer]]\nid = 9\nkind = \"turtle\"\nat = [-37, 12, 104]\nmodem = \"wireless\"\n"
            .to_owned();
    for (id, at) in (1..).zip(places) {
        world.push_str(&host(id, at));
    }
    let (land, residents) = Land::read(&world).expect("a world");
    let programs: Vec<String> = places
        .iter()
        .map(|at| {
            format!(
                "parallel.waitForAny(function() shell.run('gps host {}') end, function() repeat local _, _, channel = os.pullEvent('modem_message') until channel == 5 end)",
                at.replace(',', "")
            )
        })
        .collect();
    // The last host that hears of the end leaves on channel 5, which it opened for that.
    let programs: Vec<String> = programs
        .into_iter()
        .map(|program| format!("peripheral.call('top', 'open', 5) {program}"))
        .collect();
    let mut all: Vec<(u64, &str)> = (1..).zip(programs.iter().map(String::as_str)).collect();
    all.push((
        9,
        "local x repeat x = gps.locate(2) until x say(gps.locate(2)) turtle.up() say(gps.locate(2)) \
         for n = 1, 20 do peripheral.call('left', 'transmit', 5, 5, 'end') sleep(0.1) end",
    ));
    let said = run_in(&land, &residents, &all);
    assert_eq!(said[4], ["-37 12 104", "-37 13 104"]);
}

#[test]
fn a_computer_switches_its_neighbour_off_and_on() {
    let (land, residents) = Land::read(PAIR).expect("a world");
    let said = run_in(
        &land,
        &residents,
        &[
            (2, "say(os.getComputerLabel())"),
            (
                1,
                "local other = peripheral.wrap('right') while not other.isOn() do sleep(0.1) end say(peripheral.getType('right'), other.getID(), other.getLabel(), other.isOn()) \
                 other.shutdown() while other.isOn() do sleep(0.1) end other.turnOn() while not other.isOn() do sleep(0.1) end say('on again')",
            ),
        ],
    );
    assert_eq!(said[1], ["computer 2 second true", "on again"]);
}

/// README.md, "Peripherals": a drive's floppy is at `/disk` until it is ejected.
#[test]
fn an_ejected_floppy_takes_its_files_along() {
    let options = ComputerOptions {
        floppy: true,
        ..fast()
    }
    .with_file("disk/a", "text");
    let said = run_on(
        options,
        "say(disk.getLabel('left')) disk.setLabel('left', 'mine') say(disk.getLabel('left'), disk.getID('left')) \
         say(fs.exists('disk/a'), fs.isDriveRoot('disk')) disk.eject('left') say(disk.isPresent('left'), fs.exists('disk'), disk.getMountPath('left'))",
    );
    assert_eq!(said, ["nil", "mine 0", "true true", "false false nil"]);
}

#[test]
fn computers_are_told_what_is_attached_and_what_is_gone() {
    let world = r#"
        [[computer]]
        id = 1
        at = [0, 64, 0]
        [[computer]]
        id = 2
        kind = "turtle"
        at = [1, 64, 0]
        items = [{ item = "chest" }]
    "#;
    let (land, residents) = Land::read(world).expect("a world");
    let said = run_in(
        &land,
        &residents,
        &[
            (
                1,
                "say(peripheral.getType('right')) rs.setOutput('top', true) say(os.pullEvent('peripheral_detach')) say(os.pullEvent('peripheral')) say(peripheral.getType('right'))",
            ),
            (
                2,
                "while not peripheral.call('left', 'isOn') do sleep(0.1) end sleep(3) turtle.turnRight() turtle.forward() turtle.turnLeft() turtle.turnLeft() turtle.place()",
            ),
        ],
    );
    assert_eq!(
        said[0],
        [
            "turtle",
            "peripheral_detach right",
            "peripheral right",
            "minecraft:chest inventory"
        ]
    );
}
