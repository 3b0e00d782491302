//! Slots with items in them.

use super::data::Datum;
use super::items;

/// So many of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stack {
    pub(super) name: String,
    pub(super) count: u32,
}

impl Stack {
    pub(super) fn new(name: &str, count: u32) -> Self {
        Stack {
            name: name.to_owned(),
            count,
        }
    }

    /// What programs are told of it.
    pub(super) fn told(&self) -> Datum {
        Datum::table(vec![
            ("name", self.name.as_str().into()),
            ("count", self.count.into()),
        ])
    }

    /// All that programs can be told of it.
    pub(super) fn told_in_detail(&self) -> Datum {
        let tags = items::tags(&self.name);
        let tags = tags.into_iter().map(|tag| (tag.into(), true.into()));
        Datum::table(vec![
            ("name", self.name.as_str().into()),
            ("count", self.count.into()),
            ("displayName", items::display_name(&self.name).into()),
            ("maxCount", items::max_count(&self.name).into()),
            ("tags", Datum::Table(tags.collect())),
        ])
    }
}

/// A row of slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inventory {
    slots: Vec<Option<Stack>>,
}

impl Inventory {
    pub(super) fn new(size: usize) -> Self {
        Inventory {
            slots: vec![None; size],
        }
    }

    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    /// What is in a slot, from 0.
    pub(super) fn get(&self, slot: usize) -> Option<&Stack> {
        self.slots.get(slot)?.as_ref()
    }

    /// What is in each slot that has something, from 0.
    pub(super) fn stacks(&self) -> impl Iterator<Item = (usize, &Stack)> {
        let taken = |(slot, stack): (usize, &'_ Option<Stack>)| stack.as_ref().map(|_| slot);
        let slots: Vec<usize> = self.slots.iter().enumerate().filter_map(taken).collect();
        slots
            .into_iter()
            .filter_map(|slot| Some((slot, self.get(slot)?)))
    }

    /// Takes up to so many out of a slot.
    pub(super) fn take(&mut self, slot: usize, count: u32) -> Option<Stack> {
        let place = self.slots.get_mut(slot)?;
        let stack = place.as_mut()?;
        let taken = Stack::new(&stack.name, count.min(stack.count));
        stack.count -= taken.count;
        if stack.count == 0 {
            *place = None;
        }
        (taken.count > 0).then_some(taken)
    }

    /// How many of it a slot takes yet.
    pub(super) fn room(&self, slot: usize, item: &str) -> u32 {
        match self.slots.get(slot) {
            None => 0,
            Some(None) => items::max_count(item),
            Some(Some(stack)) if stack.name == item => {
                items::max_count(item).saturating_sub(stack.count)
            }
            Some(Some(_)) => 0,
        }
    }

    /// Puts items into a slot; what had no room there.
    pub(super) fn put_into(&mut self, slot: usize, mut stack: Stack) -> Option<Stack> {
        let moved = self.room(slot, &stack.name).min(stack.count);
        if moved > 0
            && let Some(place) = self.slots.get_mut(slot)
        {
            let before = place.as_ref().map_or(0, |stack| stack.count);
            *place = Some(Stack::new(&stack.name, before + moved));
            stack.count -= moved;
        }
        (stack.count > 0).then_some(stack)
    }

    /// Puts items into the first slots that take them, from this one on and round to it again; what had no room.
    pub(super) fn put(&mut self, first: usize, stack: Stack) -> Option<Stack> {
        let size = self.size();
        let mut left = Some(stack);
        for n in 0..size {
            left = self.put_into((first + n) % size, left?);
        }
        left
    }

    /// Whether all of it has room.
    pub(super) fn holds_only(&self, slots: &[usize]) -> bool {
        self.stacks().all(|(slot, _)| slots.contains(&slot))
    }

    /// How many there are of an item.
    pub(super) fn count(&self, item: &str) -> u32 {
        let of_it = |(_, stack): (usize, &Stack)| (stack.name == item).then_some(stack.count);
        self.stacks().filter_map(of_it).sum()
    }
}
