//! A container whose values have small indices; the slots of removed values are reused.

/// Values that are addressed by a small index. A removed value's slot is used again.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    /// An empty slab.
    pub(crate) fn new() -> Slab<T> {
        Slab {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Stores `value` and returns its index.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = value;
                slot
            }
            None => {
                self.slots.push(value);
                (self.slots.len() - 1) as u32
            }
        }
    }

    pub(crate) fn get(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }

    /// Frees the slot of a value.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// The values, with their indices in ascending order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut stored = vec![true; self.slots.len()];
        for &slot in &self.free {
            stored[slot as usize] = false;
        }
        let entries = (0..).zip(&self.slots).zip(stored);
        entries.filter_map(|(entry, stored)| stored.then_some(entry))
    }

    /// Number of values stored.
    pub(crate) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
