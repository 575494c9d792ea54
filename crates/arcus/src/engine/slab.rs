//! A container that gives each value a number, by which the value is found again.

/// A store of values by number. The number of a removed value is used again.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.values[number as usize] = value;
                number
            }
            None => {
                self.values.push(value);
                (self.values.len() - 1) as u32
            }
        }
    }

    pub(super) fn get(&mut self, number: u32) -> &mut T {
        &mut self.values[number as usize]
    }

    pub(super) fn peek(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub(super) fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        self.values[number as usize]
    }

    pub(super) fn live(&self) -> usize {
        self.values.len() - self.free.len()
    }
}
