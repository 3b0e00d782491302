//! What the game's blocks and items are like, as far as turtles and machines ask for it.

/// The name that stands for no block.
pub(super) const AIR: &str = "minecraft:air";

/// A name without the `minecraft:` before it; another mod's name stays whole.
fn short(name: &str) -> &str {
    name.strip_prefix("minecraft:").unwrap_or(name)
}

fn ends(name: &str, ends: &[&str]) -> bool {
    ends.iter().any(|end| name.ends_with(end))
}

/// How many of it go into a slot.
pub(super) fn max_count(item: &str) -> u32 {
    let single = [
        "_pickaxe",
        "_axe",
        "_shovel",
        "_hoe",
        "_sword",
        "_boat",
        "_bed",
        "_helmet",
        "_boots",
        "_leggings",
        "_chestplate",
        "water_bucket",
        "lava_bucket",
        "milk_bucket",
        "saddle",
        "disk",
        "potion",
    ];
    if ends(item, &single) {
        return 1;
    }
    match short(item) {
        "bucket" | "ender_pearl" | "egg" | "snowball" => 16,
        name if name.ends_with("_sign") => 16,
        _ => 64,
    }
}

/// How far a turtle goes with one of it; 20 ticks of a furnace's fire for each block of way.
pub(super) fn fuel(item: &str) -> Option<u32> {
    Some(match short(item) {
        "coal" | "charcoal" => 80,
        "coal_block" => 800,
        "lava_bucket" => 1000,
        "blaze_rod" => 120,
        "dried_kelp_block" => 200,
        "stick" | "bamboo" => 5,
        "ladder" | "crafting_table" | "chest" | "barrel" | "bookshelf" => 15,
        name if ends(name, &["_log", "_wood", "_planks", "_fence"]) => 15,
        name if ends(name, &["_sapling", "_wool"]) => 5,
        name if name.ends_with("_slab") && is_of_wood(name) => 7,
        _ => return None,
    })
}

fn is_of_wood(name: &str) -> bool {
    ["oak", "birch", "spruce", "jungle", "acacia", "cherry"]
        .iter()
        .any(|wood| name.contains(wood))
}

/// What a furnace makes of one.
pub(super) fn smelted(item: &str) -> Option<&'static str> {
    Some(match short(item) {
        "raw_iron" | "iron_ore" | "deepslate_iron_ore" => "minecraft:iron_ingot",
        "raw_gold" | "gold_ore" | "deepslate_gold_ore" => "minecraft:gold_ingot",
        "raw_copper" | "copper_ore" | "deepslate_copper_ore" => "minecraft:copper_ingot",
        "sand" | "red_sand" => "minecraft:glass",
        "cobblestone" => "minecraft:stone",
        "stone" => "minecraft:smooth_stone",
        "cobbled_deepslate" => "minecraft:deepslate",
        "clay_ball" => "minecraft:brick",
        "beef" => "minecraft:cooked_beef",
        "porkchop" => "minecraft:cooked_porkchop",
        "chicken" => "minecraft:cooked_chicken",
        "potato" => "minecraft:baked_potato",
        "kelp" => "minecraft:dried_kelp",
        "cactus" => "minecraft:green_dye",
        name if name.ends_with("_log") => "minecraft:charcoal",
        _ => return None,
    })
}

/// What is left of a block that is dug.
pub(super) fn dropped(block: &str) -> Option<(String, u32)> {
    let ore = short(block)
        .strip_prefix("deepslate_")
        .unwrap_or(short(block));
    let (item, count) = match ore {
        "coal_ore" => ("coal", 1),
        "iron_ore" => ("raw_iron", 1),
        "gold_ore" => ("raw_gold", 1),
        "copper_ore" => ("raw_copper", 3),
        "diamond_ore" => ("diamond", 1),
        "emerald_ore" => ("emerald", 1),
        "redstone_ore" => ("redstone", 4),
        "lapis_ore" => ("lapis_lazuli", 6),
        _ => match short(block) {
            "stone" => ("cobblestone", 1),
            "deepslate" => ("cobbled_deepslate", 1),
            "grass_block" | "dirt_path" | "farmland" => ("dirt", 1),
            "redstone_wire" => ("redstone", 1),
            "clay" => ("clay_ball", 4),
            "glowstone" => ("glowstone_dust", 4),
            "glass" | "ice" | "fire" => return None,
            name if ends(name, &["_leaves", "glass_pane", "_stained_glass"]) => return None,
            _ => return Some((block.to_owned(), 1)),
        },
    };
    Some((format!("minecraft:{item}"), count))
}

/// The age at which a plant of this name is ripe; none: it is no plant of a field.
pub(super) fn ripe_at(block: &str) -> Option<u8> {
    match short(block) {
        "wheat" | "carrots" | "potatoes" => Some(7),
        "beetroots" => Some(3),
        _ => None,
    }
}

/// The plant that comes of putting one on a field; none: nothing grows of it.
pub(super) fn planted(item: &str) -> Option<&'static str> {
    Some(match short(item) {
        "wheat_seeds" => "minecraft:wheat",
        "beetroot_seeds" => "minecraft:beetroots",
        "carrot" => "minecraft:carrots",
        "potato" => "minecraft:potatoes",
        _ => return None,
    })
}

/// What is harvested of a plant of that age, as the game gives on an average.
pub(super) fn harvested(block: &str, age: u8) -> Vec<(&'static str, u32)> {
    let is_ripe = ripe_at(block).is_some_and(|ripe| age >= ripe);
    match (short(block), is_ripe) {
        ("wheat", true) => vec![("minecraft:wheat", 1), ("minecraft:wheat_seeds", 2)],
        ("wheat", false) => vec![("minecraft:wheat_seeds", 1)],
        ("beetroots", true) => vec![("minecraft:beetroot", 1), ("minecraft:beetroot_seeds", 2)],
        ("beetroots", false) => vec![("minecraft:beetroot_seeds", 1)],
        ("carrots", ripe) => vec![("minecraft:carrot", if ripe { 3 } else { 1 })],
        ("potatoes", ripe) => vec![("minecraft:potato", if ripe { 3 } else { 1 })],
        _ => Vec::new(),
    }
}

/// The block that comes of placing one; none where it is no block.
pub(super) fn placed(item: &str) -> Option<&str> {
    let name = short(item);
    let no_blocks = [
        "_pickaxe",
        "_axe",
        "_shovel",
        "_hoe",
        "_sword",
        "_ingot",
        "_nugget",
        "_dust",
        "_boat",
        "_helmet",
        "_boots",
        "_leggings",
        "_chestplate",
        "_bucket",
        "_ball",
        "_dye",
        "_pearl",
        "_rod",
    ];
    match name {
        "redstone" => Some("minecraft:redstone_wire"),
        "coal"
        | "charcoal"
        | "diamond"
        | "emerald"
        | "lapis_lazuli"
        | "raw_iron"
        | "raw_gold"
        | "raw_copper"
        | "stick"
        | "bucket"
        | "apple"
        | "bread"
        | "paper"
        | "book"
        | "string"
        | "leather"
        | "flint"
        | "brick"
        | "bone"
        | "egg"
        | "feather"
        | "beef"
        | "porkchop"
        | "chicken"
        | "cooked_beef"
        | "cooked_porkchop"
        | "cooked_chicken"
        | "dried_kelp"
        | "snowball"
        | "wheat"
        | "wheat_seeds"
        | "beetroot"
        | "beetroot_seeds"
        | "carrot"
        | "potato"
        | "sugar"
        | "gunpowder"
        | "quartz"
        | "computercraft:disk"
        | "computercraft:treasure_disk" => None,
        _ if ends(name, &no_blocks) => None,
        _ => Some(item),
    }
}

/// Whether it falls where nothing carries it.
pub(super) fn falls(block: &str) -> bool {
    matches!(short(block), "sand" | "red_sand" | "gravel" | "anvil")
        || block.ends_with("_concrete_powder")
}

/// Whether it is no obstacle: others are put in its place.
pub(super) fn gives_way(block: &str) -> bool {
    block == AIR
        || is_liquid(block)
        || matches!(
            short(block),
            "short_grass" | "tall_grass" | "snow" | "fire" | "vine"
        )
}

pub(super) fn is_liquid(block: &str) -> bool {
    matches!(short(block), "water" | "lava")
}

/// Whether no tool breaks it.
pub(super) fn is_unbreakable(block: &str) -> bool {
    matches!(
        short(block),
        "bedrock"
            | "barrier"
            | "end_portal_frame"
            | "end_portal"
            | "command_block"
            | "reinforced_deepslate"
    )
}

/// The tags that programs look for.
pub(super) fn tags(block: &str) -> Vec<&'static str> {
    let name = short(block);
    let mut tags = Vec::new();
    if name.ends_with("_log") {
        tags.push("minecraft:logs");
    }
    if name.ends_with("_leaves") {
        tags.push("minecraft:leaves");
    }
    if name.ends_with("_planks") {
        tags.push("minecraft:planks");
    }
    if name.ends_with("_ore") {
        tags.extend(["c:ores", "forge:ores"]);
    }
    if matches!(name, "sand" | "red_sand") {
        tags.push("minecraft:sand");
    }
    if matches!(name, "dirt" | "grass_block") {
        tags.push("minecraft:dirt");
    }
    tags
}

/// The name that players see: `Iron Ingot`.
pub(super) fn display_name(item: &str) -> String {
    let name = item.split_once(':').map_or(item, |(_, name)| name);
    let mut words = Vec::new();
    for word in name.split('_') {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        words.push(first.into_iter().chain(letters).collect::<String>());
    }
    words.join(" ")
}

/// A name with the mod's that it belongs to: `coal` is `minecraft:coal`.
pub(super) fn whole_name(name: &str) -> String {
    if name.contains(':') {
        name.to_owned()
    } else {
        format!("minecraft:{name}")
    }
}
