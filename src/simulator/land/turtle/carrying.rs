//! What turtles do with the items that they carry.

use super::super::body::SLOTS;
use super::super::data::Datum;
use super::super::inventory::Stack;
use super::super::items;
use super::super::place::Position;
use super::super::recipes;
use super::acting::{Act, Acted, Outcome};

impl Act<'_> {
    pub(super) fn drop(&mut self, place: Position, count: Option<u32>) -> Acted {
        if count == Some(0) {
            return Ok(Outcome::Done);
        }
        let selected = self.body.selected;
        let mut taken = None;
        self.change(|body| taken = body.inventory.take(selected, count.unwrap_or(u32::MAX)));
        let Some(stack) = taken else {
            return Err("No items to drop");
        };
        let before = stack.count;
        let left = match self.scene.inventory_at(place) {
            Some(inventory) => inventory.put(0, stack),
            None => {
                let free = self.scene.is_free(place);
                let at = if free { place } else { self.body.at };
                self.scene.drop_item(at, stack);
                None
            }
        };
        let Some(left) = left else {
            return Ok(Outcome::Done);
        };
        let moved = left.count < before;
        self.change(|body| drop(body.inventory.put_into(selected, left)));
        if moved {
            Ok(Outcome::Done)
        } else {
            Err("No space for items")
        }
    }

    pub(super) fn suck(&mut self, place: Position, count: Option<u32>) -> Acted {
        if count == Some(0) {
            return Ok(Outcome::Done);
        }
        let wanted = count.unwrap_or(u32::MAX);
        let (id, selected) = (self.body.id, self.body.selected);
        let mut own = self.body.inventory.clone();
        let taken =
            |left: &Option<Stack>, before: u32| before - left.as_ref().map_or(0, |left| left.count);
        let mut found = false;
        let mut moved = false;
        if let Some(inventory) = self.scene.inventory_at(place) {
            let stacks: Vec<(usize, Stack)> = inventory
                .stacks()
                .map(|(slot, stack)| (slot, stack.clone()))
                .collect();
            for (slot, stack) in stacks {
                found = true;
                let offered = wanted.min(stack.count);
                let left = own.put(selected, Stack::new(&stack.name, offered));
                let count = taken(&left, offered);
                if count > 0 {
                    inventory.take(slot, count);
                    moved = true;
                    break;
                }
            }
        } else if let Some(lying) = self.scene.loose.get_mut(&place) {
            for stack in lying.iter_mut() {
                found = true;
                let offered = wanted.min(stack.count);
                let left = own.put(selected, Stack::new(&stack.name, offered));
                let count = taken(&left, offered);
                if count > 0 {
                    stack.count -= count;
                    moved = true;
                    break;
                }
            }
            lying.retain(|stack| stack.count > 0);
            if lying.is_empty() {
                self.scene.loose.remove(&place);
            }
        }
        if !found {
            return Err("No items to take");
        }
        if !moved {
            return Err("No space for items");
        }
        self.scene.carried.insert(id);
        self.change(|body| body.inventory = own);
        Ok(Outcome::Done)
    }

    pub(super) fn refuel(&mut self, limit: Option<u32>) -> Acted {
        let Some(stack) = self.selected().cloned() else {
            return Err("No items to combust");
        };
        let Some(each) = items::fuel(&stack.name) else {
            return Err("Items not combustible");
        };
        let used = limit.unwrap_or(u32::MAX).min(stack.count);
        if used == 0 {
            return Ok(Outcome::AtOnce);
        }
        let (selected, most) = (self.body.selected, self.body.fuel_limit());
        self.change(|body| {
            body.inventory.take(selected, used);
            body.fuel = body
                .fuel
                .map(|fuel| fuel.saturating_add(each.saturating_mul(used)).min(most));
        });
        if stack.name == "minecraft:lava_bucket" {
            self.keep(Stack::new("minecraft:bucket", 1));
        }
        Ok(Outcome::Done)
    }

    pub(super) fn transfer(&mut self, slot: usize, count: Option<u32>) -> Acted {
        let selected = self.body.selected;
        let Some(stack) = self.selected().cloned() else {
            return Ok(Outcome::Done);
        };
        if slot == selected || count == Some(0) {
            return Ok(Outcome::Done);
        }
        let room = self.body.inventory.room(slot, &stack.name);
        let moved = stack.count.min(count.unwrap_or(u32::MAX)).min(room);
        if moved == 0 {
            return Err("No space for items");
        }
        self.change(|body| {
            if let Some(stack) = body.inventory.take(selected, moved) {
                body.inventory.put_into(slot, stack);
            }
        });
        Ok(Outcome::Done)
    }

    pub(super) fn compare_slots(&self, slot: usize) -> Outcome {
        let name = |stack: Option<&Stack>| stack.map(|stack| stack.name.clone());
        let same = name(self.selected()) == name(self.body.inventory.get(slot));
        Outcome::Answer(vec![same.into()])
    }

    pub(super) fn detail(&self, slot: usize) -> Outcome {
        let told = self.body.inventory.get(slot).map(Stack::told_in_detail);
        Outcome::Answer(vec![told.unwrap_or(Datum::Nil)])
    }

    pub(super) fn equip(&mut self, is_left: bool) -> Acted {
        let item = self.selected().map(|stack| stack.name.clone());
        if let Some(item) = &item
            && !is_upgrade(item)
        {
            return Err("Not a valid upgrade");
        }
        let selected = self.body.selected;
        let old = if is_left {
            self.body.left.clone()
        } else {
            self.body.right.clone()
        };
        self.change(|body| {
            body.inventory.take(selected, 1);
            if is_left {
                body.left = item;
            } else {
                body.right = item;
            }
        });
        if let Some(old) = old {
            self.keep(Stack::new(&old, 1));
        }
        let at = self.body.at;
        self.scene.touched.insert(at);
        Ok(Outcome::Done)
    }

    pub(super) fn craft(&mut self, limit: Option<u32>) -> Acted {
        let limit = limit.unwrap_or(64);
        let Some((made, times)) = recipes::craft(&self.body.inventory, limit) else {
            return Err("No matching recipes");
        };
        if limit == 0 {
            return Ok(Outcome::AtOnce);
        }
        self.change(|body| {
            for slot in 0..SLOTS {
                body.inventory.take(slot, times);
            }
        });
        let mut left = made.count;
        while left > 0 {
            let some = left.min(items::max_count(&made.name));
            self.keep(Stack::new(&made.name, some));
            left -= some;
        }
        Ok(Outcome::Done)
    }
}

/// Whether a turtle can wear it.
fn is_upgrade(item: &str) -> bool {
    matches!(
        item,
        "computercraft:wireless_modem_normal"
            | "computercraft:wireless_modem_advanced"
            | "computercraft:speaker"
            | "minecraft:crafting_table"
            | "minecraft:diamond_pickaxe"
            | "minecraft:diamond_axe"
            | "minecraft:diamond_shovel"
            | "minecraft:diamond_hoe"
            | "minecraft:diamond_sword"
    )
}
