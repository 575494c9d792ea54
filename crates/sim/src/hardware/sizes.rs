use accelflow_units::Bytes;

/// Values derived from sizes, kept for the sizes that came last.
#[derive(Clone, Debug)]
pub(super) struct Sizes<T> {
    /// By the lower bits of the size.
    known: Box<[(Bytes, T); PLACES]>,
}

/// Number of sizes that are known at once.
const PLACES: usize = 64;

impl<T: Copy> Sizes<T> {
    /// Keeps the value of `size` only.
    pub(super) fn new(size: Bytes, derived: T) -> Sizes<T> {
        Sizes {
            known: Box::new([(size, derived); PLACES]),
        }
    }

    /// Returns the value of `size`. Calls `derive` if the value is not kept.
    #[inline(always)]
    pub(super) fn get(&mut self, size: Bytes, derive: impl FnOnce(Bytes) -> T) -> &T {
        let known = &mut self.known[size.get() as usize % PLACES];
        if known.0 != size {
            *known = (size, derive(size));
        }
        &known.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_at_one_place_do_not_mix() {
        let mut sizes = Sizes::new(Bytes(7), 14);
        for size in [0, 7, 71, 64, 7, 0, 135, 7] {
            assert_eq!(*sizes.get(Bytes(size), |size| size.get() * 2), size * 2);
        }
    }
}
