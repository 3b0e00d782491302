//! Turtles among blocks.

use super::*;

const ROCK: &str = r#"
[[layer]]
block = "stone"
from = -64
to = 63
[[block]]
block = "coal_ore"
at = [0, 64, -1]
[[block]]
block = "sand"
at = [0, 65, -1]
[[block]]
block = "sand"
at = [0, 66, -1]
[[block]]
block = "bedrock"
at = [1, 64, 0]
[[computer]]
id = 3
kind = "turtle"
at = [0, 64, 0]
fuel = 10
items = [{ item = "oak_planks", count = 2 }, { item = "coal", count = 2, slot = 5 }, { item = "stick", slot = 6 }]
"#;

/// README.md, "Turtles".
#[test]
fn a_turtle_digs_what_is_there_and_sand_falls_after() {
    let (land, said) = run_there(
        ROCK,
        3,
        "say(turtle.detect(), turtle.forward()) local _, block = turtle.inspect() say(block.name, block.tags['c:ores']) \
         say(turtle.dig(), turtle.getItemDetail(5).count) say(turtle.dig(), turtle.dig(), turtle.dig()) say(turtle.forward()) \
         say(turtle.getItemDetail(2).name, turtle.getItemCount(2)) say(turtle.digDown(), turtle.getItemDetail(4).name)",
    );
    assert_eq!(
        said,
        [
            "true false Movement obstructed",
            "minecraft:coal_ore true",
            "true 2",
            "true true false Nothing to dig here",
            "true",
            "minecraft:coal 1",
            "true minecraft:cobblestone",
        ]
    );
    assert_eq!(land.computer(3), Some((Position::new(0, 64, -1), "north")));
    assert_eq!(land.block(Position::new(0, 63, -1)), "minecraft:air");
    assert_eq!(land.fuel(3), Some(9));
}

#[test]
fn a_turtle_is_told_what_it_cant_do() {
    let (_, said) = run_there(
        ROCK,
        3,
        "turtle.turnRight() say(turtle.dig()) turtle.turnRight() turtle.select(16) say(turtle.place()) \
         turtle.select(6) say(turtle.place()) turtle.select(1) say(turtle.placeDown()) say(turtle.drop(1), turtle.suck()) \
         turtle.select(16) say(turtle.drop()) say(turtle.suck()) say(turtle.refuel()) turtle.select(1) say(turtle.transferTo(5)) \
         say(turtle.compareTo(5), turtle.attack()) say(pcall(turtle.select, 0)) say(turtle.craft)",
    );
    assert_eq!(
        said[..10],
        [
            "false Cannot break unbreakable block",
            "false No items to place",
            "false Cannot place item here",
            "false Cannot place block here",
            "true true",
            "false No items to drop",
            "false No items to take",
            "false No items to combust",
            "false No space for items",
            "false false Nothing to attack here",
        ]
    );
    assert!(said[10].ends_with("Slot number 0 out of range"), "{said:?}");
    assert_eq!(said[11], "nil");
}

#[test]
fn a_turtle_places_refuels_and_moves_items_between_its_slots() {
    let (land, said) = run_there(
        ROCK,
        3,
        "say(turtle.placeUp(), turtle.compareUp(), turtle.getItemSpace()) turtle.select(5) say(turtle.refuel(1), turtle.getFuelLevel()) \
         say(turtle.transferTo(9), turtle.getItemCount(9), turtle.getItemDetail(9, true).maxCount) \
         local before = turtle.getFuelLevel() turtle.turnLeft() say(turtle.back(), before - turtle.getFuelLevel())",
    );
    assert_eq!(said, ["true true 63", "true 90", "true 1 64", "false 0"]);
    assert_eq!(land.block(Position::new(0, 65, 0)), "minecraft:oak_planks");
    assert_eq!(
        land.carried(3),
        [
            (1, "minecraft:oak_planks".to_owned(), 1),
            (6, "minecraft:stick".to_owned(), 1),
            (9, "minecraft:coal".to_owned(), 1)
        ]
    );
}

/// README.md, "Turtles": an action is done as a whole, so that of two turtles that want one place one gets it.
#[test]
fn two_turtles_that_meet_dont_pass_through_each_other() {
    let world = r#"
        [[computer]]
        id = 1
        kind = "turtle"
        at = [0, 64, 0]
        facing = "east"
        [[computer]]
        id = 2
        kind = "turtle"
        at = [6, 64, 0]
        facing = "west"
    "#;
    let (land, residents) = Land::read(world).expect("a world");
    let program = "local n, why = 0 while true do local ok ok, why = turtle.forward() if not ok then break end n = n + 1 end \
                   say(n) say(why) say(select(2, turtle.inspect()).name, turtle.dig())";
    let said = run_in(&land, &residents, &[(1, program), (2, program)]);
    let steps = |n: usize| said[n][0].parse::<i32>().expect("a number");
    assert_eq!(steps(0) + steps(1), 5, "{said:?}");
    for told in &said {
        assert_eq!(told[1], "Movement obstructed");
        assert_eq!(
            told[2],
            "computercraft:turtle_advanced false Cannot break protected block"
        );
    }
    let at = |id| land.computer(id).expect("a turtle").0;
    assert_eq!(at(2).x - at(1).x, 1);
}

/// README.md, "Turtles": the answer comes when the action is carried out; what fails takes a tick.
#[test]
fn what_fails_takes_a_tick_and_what_is_done_eight() {
    let (land, residents) = Land::read(ROCK).expect("a world");
    // At the game's own speed, and more than once, so that a busy machine is not taken for a slow turtle.
    let said = run_at(
        1.0,
        &land,
        &residents,
        &[(
            3,
            "local function ticks(f, ...) local a = os.clock() f(...) return math.floor((os.clock() - a) * 20 + 0.5) end \
             turtle.turnLeft() sleep(1) \
             local first, second, failed, again = 99, 0, 99, 99 \
             for _ = 1, 8 do \
                 first = math.min(first, ticks(turtle.turnRight)) second = math.max(second, ticks(turtle.turnLeft)) sleep(1) \
                 turtle.select(16) \
                 failed, again = math.min(failed, ticks(turtle.place)), math.min(again, ticks(turtle.detect)) \
                 if first < 7 and second >= 7 and failed < 7 and again < 7 then break end \
             end \
             say(first < 7, second >= 7, failed < 7, again < 7)",
        )],
    )
    .remove(0);
    assert_eq!(said, ["true true true true"]);
}

#[test]
fn a_turtle_uses_chests_in_front_of_it_and_is_told_when_its_slots_change() {
    let world = r#"
        [[block]]
        block = "chest"
        at = [0, 64, -1]
        items = [{ item = "coal", count = 70 }]
        [[computer]]
        id = 1
        kind = "turtle"
        at = [0, 64, 0]
        items = [{ item = "dirt", count = 3 }]
    "#;
    let (land, said) = run_there(
        world,
        1,
        "say(turtle.drop(2)) turtle.select(2) say(turtle.suck(5), turtle.getItemCount()) say(peripheral.getType('front')) \
         say(os.pullEvent('turtle_inventory')) say(turtle.dig()) say(peripheral.getType('front'))",
    );
    assert_eq!(
        said,
        [
            "true",
            "true 5",
            "minecraft:chest inventory",
            "turtle_inventory",
            "true",
            "nil"
        ]
    );
    assert_eq!(land.count("minecraft:coal"), 70);
    assert_eq!(land.count("minecraft:dirt"), 3);
    assert_eq!(land.count("minecraft:chest"), 1);
}

#[test]
fn a_crafting_turtle_makes_what_lies_in_its_grid() {
    let world = r#"
        [[computer]]
        id = 1
        kind = "turtle"
        at = [0, 64, 0]
        left = "crafting_table"
        items = [{ item = "oak_log", count = 3, slot = 1 }]
    "#;
    let (land, said) = run_there(
        world,
        1,
        "say(turtle.craft()) say(turtle.craft()) turtle.select(2) say(turtle.equipLeft(), turtle.craft)",
    );
    assert_eq!(said, ["true", "false No matching recipes", "true nil"]);
    assert_eq!(land.count("minecraft:oak_planks"), 12);
    assert_eq!(land.count("minecraft:crafting_table"), 1);
}

#[test]
fn a_world_file_that_is_wrong_is_told_by_its_line() {
    let wrong = |text: &str| Land::read(text).expect_err("a mistake").to_string();
    assert_eq!(
        wrong("[[block]]\nblock = \"chest\"\nat = [0, 1]\n"),
        "line 3: invalid length 2, expected an array of length 3"
    );
    let told = wrong("\n[[computer]]\nid = 1\nat = [0, 64, 0]\nkind = \"tortoise\"\n");
    assert_eq!(
        told,
        "line 2: `tortoise` is no kind: choose computer, turtle, pocket or command."
    );
    let told =
        wrong("[[block]]\nblock = \"stone\"\nat = [0, 1, 2]\nitems = [{ item = \"coal\" }]\n");
    assert_eq!(
        told,
        "line 1: minecraft:stone has no slots for items; give it `slots`."
    );
    let told = wrong("[[block]]\nblock = \"stone\"\nat = [0, 1, 2]\ncolour = 3\n");
    assert!(told.starts_with("line 4: unknown field `colour`"), "{told}");
    let one = "[[computer]]\nid = 1\nat = [0, 64, 0]\n";
    assert_eq!(
        wrong(&format!("{one}{one}")),
        "line 4: There is a computer 1 already."
    );
    let told = wrong("\n[[fill]]\nblock = \"dirt\"\nfrom = [0, 0, 0]\nto = [999, 99, 99]\n");
    assert!(told.starts_with("line 2: All boxes together"), "{told}");
}

#[test]
fn a_slice_shows_one_height_with_what_its_characters_mean() {
    let (land, _) = Land::read(ROCK).expect("a world");
    assert_eq!(
        land.slice(Position::new(0, 64, 0), 5, 3),
        [
            "  a  ",
            "  ^X ",
            "     ",
            "X bedrock   ^ turtle 3   a coal_ore"
        ]
    );
    assert_eq!(
        land.slice(Position::new(0, 63, 0), 3, 1),
        ["###", "# stone"]
    );
}

const FIELD: &str = r#"
[[fill]]
block = "farmland"
from = [0, 63, -1]
to = [0, 63, 0]
[[block]]
block = "wheat"
age = 7
at = [0, 64, 0]
[[block]]
block = "potatoes"
at = [0, 64, -1]
[[block]]
block = "stone"
at = [1, 63, 0]
[[computer]]
id = 3
kind = "turtle"
at = [0, 65, 0]
"#;

/// README.md, "Turtles": plants of a field.
#[test]
fn a_turtle_harvests_what_is_ripe_and_sows_on_fields_only() {
    let (land, said) = run_there(
        FIELD,
        3,
        "local _, plant = turtle.inspectDown() say(plant.name, plant.state.age) say(turtle.digDown()) \
         say(turtle.getItemDetail(1).name, turtle.getItemDetail(2).name, turtle.getItemCount(2)) \
         turtle.select(2) say(turtle.placeDown()) say(turtle.placeUp()) turtle.turnRight() turtle.forward() say(turtle.placeDown()) \
         turtle.back() turtle.turnLeft() turtle.forward() say(turtle.digDown(), turtle.getItemCount(3))",
    );
    assert_eq!(
        said,
        [
            "minecraft:wheat 7",
            "true",
            "minecraft:wheat minecraft:wheat_seeds 2",
            "true",
            "false Cannot place item here",
            "false Cannot place item here",
            "true 1",
        ]
    );
    assert_eq!(land.age(Position::new(0, 64, 0)), Some(0));
    assert_eq!(land.age(Position::new(0, 64, -1)), None);
}

#[test]
fn only_plants_have_an_age() {
    let wrong = Land::read("[[block]]\nblock = \"stone\"\nat = [0, 64, 0]\nage = 3\n");
    assert_eq!(
        wrong.err().map(|wrong| wrong.to_string()),
        Some("line 1: minecraft:stone is no plant of a field, so it has no `age`.".to_owned())
    );
}
