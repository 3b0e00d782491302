//! What a turtle with a crafting table can make: a few recipes that programs begin with.

use super::inventory::{Inventory, Stack};

/// The slots of a turtle that are its crafting grid, row by row.
const GRID: [usize; 9] = [0, 1, 2, 4, 5, 6, 8, 9, 10];

/// Rows of ingredients, each letter one of them and a blank none; what the letters are; what comes of it.
struct Recipe {
    rows: &'static [&'static str],
    letters: &'static [(char, &'static str)],
    makes: (&'static str, u32),
}

const PLANK: &str = "*_planks";
const COBBLE: &str = "minecraft:cobblestone";
const IRON: &str = "minecraft:iron_ingot";
const STICK: &str = "minecraft:stick";
const REDSTONE: &str = "minecraft:redstone";

const RECIPES: &[Recipe] = &[
    Recipe {
        rows: &["P", "P"],
        letters: &[('P', PLANK)],
        makes: (STICK, 4),
    },
    Recipe {
        rows: &["C", "S"],
        letters: &[('C', "minecraft:coal"), ('S', STICK)],
        makes: ("minecraft:torch", 4),
    },
    Recipe {
        rows: &["PP", "PP"],
        letters: &[('P', PLANK)],
        makes: ("minecraft:crafting_table", 1),
    },
    Recipe {
        rows: &["PPP", "P P", "PPP"],
        letters: &[('P', PLANK)],
        makes: ("minecraft:chest", 1),
    },
    Recipe {
        rows: &["CCC", "C C", "CCC"],
        letters: &[('C', COBBLE)],
        makes: ("minecraft:furnace", 1),
    },
    Recipe {
        rows: &["S S", "SSS", "S S"],
        letters: &[('S', STICK)],
        makes: ("minecraft:ladder", 3),
    },
    Recipe {
        rows: &["III", "III", "III"],
        letters: &[('I', IRON)],
        makes: ("minecraft:iron_block", 1),
    },
    Recipe {
        rows: &["III", " S ", " S "],
        letters: &[('I', IRON), ('S', STICK)],
        makes: ("minecraft:iron_pickaxe", 1),
    },
    Recipe {
        rows: &["DDD", " S ", " S "],
        letters: &[('D', "minecraft:diamond"), ('S', STICK)],
        makes: ("minecraft:diamond_pickaxe", 1),
    },
    Recipe {
        rows: &["SSS", "SRS", "SSS"],
        letters: &[('S', "minecraft:stone"), ('R', REDSTONE)],
        makes: ("computercraft:cable", 6),
    },
];

/// What the grid makes, and how many times its ingredients are used up for that; none where no recipe fits, or something
/// lies beside the grid.
pub(super) fn craft(inventory: &Inventory, limit: u32) -> Option<(Stack, u32)> {
    if !inventory.holds_only(&GRID) {
        return None;
    }
    let rows = shape(inventory);
    let most = inventory.stacks().map(|(_, stack)| stack.count).min()?;
    let (name, each) = made_of(&rows)?;
    let times = most.min(limit.div_ceil(each).max(1));
    Some((Stack::new(&name, each * times), times))
}

/// The names in the grid, without empty rows and columns around them.
fn shape(inventory: &Inventory) -> Vec<Vec<Option<String>>> {
    let name = |slot: usize| inventory.get(slot).map(|stack| stack.name.clone());
    let mut rows: Vec<Vec<Option<String>>> = GRID
        .chunks(3)
        .map(|row| row.iter().map(|&slot| name(slot)).collect())
        .collect();
    let is_empty = |row: &Vec<Option<String>>| row.iter().all(Option::is_none);
    while rows.last().is_some_and(is_empty) {
        rows.pop();
    }
    while rows.first().is_some_and(is_empty) {
        rows.remove(0);
    }
    let column = |rows: &[Vec<Option<String>>], n: usize| {
        rows.iter()
            .all(|row| row.get(n).is_none_or(Option::is_none))
    };
    while rows.iter().any(|row| !row.is_empty()) && column(&rows, 0) {
        rows.iter_mut().for_each(|row| drop(row.remove(0)));
    }
    let width = |rows: &[Vec<Option<String>>]| rows.first().map_or(0, Vec::len);
    while width(&rows) > 0 && column(&rows, width(&rows) - 1) {
        rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    rows
}

fn made_of(rows: &[Vec<Option<String>>]) -> Option<(String, u32)> {
    if let [row] = rows
        && let [Some(only)] = &row[..]
    {
        return made_of_one(only);
    }
    let fits = |recipe: &&Recipe| {
        recipe.rows.len() == rows.len()
            && recipe.rows.iter().zip(rows).all(|(pattern, row)| {
                pattern.chars().count() == row.len()
                    && pattern.chars().zip(row).all(|(letter, item)| {
                        let wanted = recipe.letters.iter().find(|(of, _)| *of == letter);
                        match (wanted, item) {
                            (None, None) => true,
                            (Some((_, wanted)), Some(item)) => is_of(item, wanted),
                            _ => false,
                        }
                    })
            })
    };
    let recipe = RECIPES.iter().find(fits)?;
    let (name, count) = recipe.makes;
    Some((name.to_owned(), count))
}

/// What a single item is made into.
fn made_of_one(item: &str) -> Option<(String, u32)> {
    if let Some(wood) = item.strip_suffix("_log") {
        return Some((format!("{wood}_planks"), 4));
    }
    let (name, count) = match item {
        "minecraft:iron_block" => (IRON, 9),
        "minecraft:coal_block" => ("minecraft:coal", 9),
        _ => return None,
    };
    Some((name.to_owned(), count))
}

fn is_of(item: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some(end) => item.ends_with(end),
        None => item == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(items: &[(usize, &str, u32)]) -> Inventory {
        let mut inventory = Inventory::new(16);
        for (slot, name, count) in items {
            inventory.put_into(*slot, Stack::new(name, *count));
        }
        inventory
    }

    #[test]
    fn a_shape_is_made_wherever_it_lies_in_the_grid() {
        let torches = grid(&[(5, "minecraft:coal", 3), (9, "minecraft:stick", 2)]);
        assert_eq!(
            craft(&torches, 64),
            Some((Stack::new("minecraft:torch", 8), 2))
        );
        assert_eq!(
            craft(&torches, 4),
            Some((Stack::new("minecraft:torch", 4), 1))
        );
        let planks = grid(&[(10, "minecraft:oak_log", 1)]);
        assert_eq!(
            craft(&planks, 64),
            Some((Stack::new("minecraft:oak_planks", 4), 1))
        );
    }

    #[test]
    fn nothing_is_made_of_what_is_no_recipe_or_with_items_beside_the_grid() {
        assert_eq!(craft(&grid(&[(0, "minecraft:dirt", 1)]), 64), None);
        let beside = grid(&[(0, "minecraft:oak_log", 1), (3, "minecraft:dirt", 1)]);
        assert_eq!(craft(&beside, 64), None);
        assert_eq!(craft(&grid(&[]), 64), None);
    }
}
