//! Inventories, tanks and monitors, beside a computer and by cable.

use super::*;

const STORE: &str = r#"
[[block]]
block = "chest"
at = [0, 64, 0]
network = "store"
items = [{ item = "coal", count = 20 }, { item = "torch", count = 64, slot = 5 }]
[[block]]
block = "chest"
at = [2, 64, 0]
network = "store"
[[block]]
block = "furnace"
at = [4, 64, 0]
network = "store"
[[block]]
block = "mod:tank"
at = [6, 64, 0]
network = "store"
capacity = 16000
fluid = "water"
amount = 3000
[[block]]
block = "mod:tank"
at = [7, 64, 0]
network = "store"
capacity = 1000
[[block]]
block = "chest"
at = [9, 64, 9]
network = "elsewhere"
[[block]]
block = "computercraft:monitor_advanced"
at = [8, 64, 0]
network = "store"
size = [2, 1]
[[block]]
block = "barrel"
at = [-1, 64, 10]
[[computer]]
id = 1
at = [0, 64, 10]
network = "store"
[[computer]]
id = 2
kind = "turtle"
at = [3, 64, 10]
network = "store"
"#;

/// README.md, "Peripherals".
#[test]
fn a_computer_sees_what_is_beside_it_and_on_its_network_and_nothing_else() {
    let (_, said) = run_there(
        STORE,
        1,
        "say(table.concat(peripheral.getNames(), ' ')) say(peripheral.getType('minecraft:chest_0')) \
         say(peripheral.hasType('left', 'inventory'), peripheral.hasType('back', 'peripheral_hub')) \
         local modem = peripheral.wrap('back') say(modem.getNameLocal(), modem.isWireless(), #modem.getNamesRemote()) \
         say(modem.callRemote('minecraft:chest_0', 'size'), #{ peripheral.find('inventory') }) \
         say(pcall(peripheral.call, 'left', 'explode')) say(peripheral.call('turtle_2', 'getID'), peripheral.call('minecraft:chest_2', 'size'))",
    );
    assert_eq!(
        said[..5],
        [
            "back left minecraft:chest_0 minecraft:chest_1 minecraft:furnace_0 mod:tank_0 mod:tank_1 monitor_0 turtle_2",
            "minecraft:chest inventory",
            "true true",
            "computer_1 false 7",
            "27 4",
        ]
    );
    assert!(said[5].ends_with("No such method explode"), "{said:?}");
    assert_eq!(said[6], "2 nil");
}

#[test]
fn items_are_moved_between_inventories_by_their_names_and_slots() {
    let (land, said) = run_there(
        STORE,
        1,
        "local chest = peripheral.wrap('minecraft:chest_0') say(chest.list()[5].name, chest.getItemDetail(1).displayName, chest.getItemDetail(2)) \
         say(chest.pushItems('minecraft:chest_1', 1, 15, 3)) say(chest.pullItems('minecraft:chest_1', 3, 1, 5)) \
         say(chest.pushItems('turtle_2', 5)) say(chest.pushItems('minecraft:furnace_0', 1, nil, 2)) \
         for _, arguments in ipairs { { 'nope', 1 }, { 'monitor_0', 1 }, { 'minecraft:chest_1', 28 }, { 'minecraft:chest_1', 1, 1, 99 }, { 'left', 1 } } do \
         say(select(2, pcall(chest.pushItems, table.unpack(arguments)))) end say(chest.getItemLimit(9))",
    );
    assert_eq!(
        said[..5],
        ["minecraft:torch Coal nil", "15", "0", "64", "5"]
    );
    let ends = [
        "Target 'nope' does not exist",
        "Target 'monitor_0' is not an inventory",
        "From slot out of range (between 1 and 27)",
        "To slot out of range (between 1 and 27)",
        "Target 'left' does not exist",
    ];
    for (told, end) in said[5..].iter().zip(ends) {
        assert!(told.ends_with(end), "{told}: {end}");
    }
    assert_eq!(said[10], "64");
    assert_eq!(land.carried(2), [(1, "minecraft:torch".to_owned(), 64)]);
    assert_eq!(land.count("minecraft:coal"), 20);
}

/// README.md, "Peripherals": a call to an inventory takes a tick, and many side by side take one.
#[test]
fn many_calls_side_by_side_take_one_tick() {
    let (land, residents) = Land::read(STORE).expect("a world");
    // At the game's own speed, so that a busy machine is not taken for a slow game.
    let said = run_at(
        1.0,
        &land,
        &residents,
        &[(
            1,
            "local function ticks(f) local a = os.clock() f() return math.floor((os.clock() - a) * 20 + 0.5) end \
             local calls = {} for n = 1, 50 do calls[n] = function() peripheral.call('minecraft:chest_0', 'list') end end \
             local one, many = ticks(calls[1]), ticks(function() parallel.waitForAll(table.unpack(calls)) end) \
             local after = ticks(function() for n = 1, 10 do calls[n]() end end) say(one >= 1, many >= 1 and many < 10, after >= 10)",
        )],
    )
    .remove(0);
    assert_eq!(said, ["true true true"]);
}

#[test]
fn a_furnace_is_fed_and_smelts_while_time_passes() {
    let (land, said) = run_there(
        STORE,
        1,
        "local furnace = peripheral.wrap('minecraft:furnace_0') peripheral.call('minecraft:chest_0', 'pushItems', 'minecraft:furnace_0', 1, 1, 2) \
         say(furnace.size()) sleep(1) say(furnace.list()[2].name)",
    );
    assert_eq!(said, ["3", "minecraft:coal"]);
    assert_eq!(
        land.items(Position::new(4, 64, 0)),
        [(2, "minecraft:coal".to_owned(), 1)]
    );
}

#[test]
fn fluids_flow_as_far_as_there_is_room() {
    let (_, said) = run_there(
        STORE,
        1,
        "local tank, small = peripheral.wrap('mod:tank_0'), peripheral.wrap('mod:tank_1') say(peripheral.getType('mod:tank_0')) \
         say(tank.tanks()[1].amount, #small.tanks()) say(tank.pushFluid('mod:tank_1', 600), tank.pushFluid('mod:tank_1')) \
         say(tank.tanks()[1].amount, small.tanks()[1].name, small.tanks()[1].amount) say(tank.pullFluid('mod:tank_1', nil, 'minecraft:lava'))",
    );
    assert_eq!(
        said,
        [
            "mod:tank fluid_storage",
            "3000 0",
            "600 400",
            "2000 minecraft:water 1000",
            "0"
        ]
    );
}

#[test]
fn a_monitor_is_a_terminal_of_its_own() {
    let (land, said) = run_there(
        STORE,
        1,
        "local monitor = peripheral.find('monitor') say(monitor.getSize()) monitor.setTextScale(0.5) say(monitor.getSize()) \
         say(monitor.isColour(), monitor.getTextScale()) local old = term.redirect(monitor) term.setTextColour(colours.red) \
         term.clear() term.setCursorPos(2, 1) term.write('12:00') term.redirect(old) say(pcall(monitor.setTextScale, 9))",
    );
    assert_eq!(said[..3], ["18 5", "36 10", "true 0.5"]);
    assert!(said[3].starts_with("false "), "{said:?}");
    let monitor = land.monitor(Position::new(8, 64, 0)).expect("a monitor");
    assert_eq!(monitor.lines()[0], " 12:00");
    assert_eq!(monitor.row(0)[1].foreground, 14);
}

/// README.md, "Peripherals": inventories are peripherals from 1.94 on, with several kinds from 1.99 on.
#[test]
fn before_1_94_no_inventory_is_a_peripheral() {
    let seen = |version: &str| {
        let world = format!(
            "{STORE}\n[[computer]]\nid = 9\nat = [20, 64, 9]\nversion = \"{version}\"\n[[block]]\nblock = \"chest\"\nat = [20, 64, 8]\n"
        );
        run_there(&world, 9, "say(peripheral.getType('front'))").1
    };
    assert_eq!(seen("1.89"), ["nil"]);
    assert_eq!(seen("1.97"), ["minecraft:chest"]);
    assert_eq!(seen("1.101"), ["minecraft:chest inventory"]);
}

/// README.md, "Peripherals": what is beside a computer, and what is on its cable, don't reach each other.
#[test]
fn inventories_beside_a_computer_reach_each_other_by_their_sides() {
    let beside = "[[block]]\nblock = \"chest\"\nat = [1, 64, 10]\nitems = [{ item = \"coal\", count = 4 }]\n";
    let (_, said) = run_there(
        &format!("{STORE}{beside}"),
        1,
        "local chest = peripheral.wrap('right') say(chest.pushItems('left', 1, 3), chest.pullItems('left', 1, 1)) \
         for _, try in ipairs { 'top', 'minecraft:chest_0' } do say(select(2, pcall(chest.pushItems, try, 1))) end \
         say(select(2, pcall(chest.pullItems, 'top', 1))) local tank = peripheral.wrap('mod:tank_0') \
         for _, try in ipairs { { 'nope' }, { 'minecraft:chest_0' }, { 'mod:tank_1', 0 } } do \
         say(select(2, pcall(tank.pullFluid, table.unpack(try)))) end",
    );
    assert_eq!(said[0], "3 1");
    let ends = [
        "Target 'top' does not exist",
        "Target 'minecraft:chest_0' does not exist",
        "Source 'top' does not exist",
        "Target 'nope' does not exist",
        "Target 'minecraft:chest_0' is not an tank",
        "Limit must be > 0",
    ];
    for (told, end) in said[1..].iter().zip(ends) {
        assert!(told.ends_with(end), "{told}: {end}");
    }
    assert_eq!(said.len(), 7, "{said:?}");
}
