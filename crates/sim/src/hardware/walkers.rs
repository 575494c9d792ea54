use accelflow_units::Time;

/// Page walkers, of which the one that is free first takes the next walk.
#[derive(Clone, Debug)]
pub(crate) struct Walkers {
    /// When each becomes free: a ring in ascending order.
    free: Vec<Time>,
    /// The place of the earliest.
    first: usize,
}

impl Walkers {
    /// `count` free walkers, of which there is at least one.
    pub(crate) fn new(count: usize) -> Walkers {
        Walkers {
            free: vec![Time::ZERO; count.max(1)],
            first: 0,
        }
    }

    /// When the first is free.
    #[inline]
    pub(crate) fn first(&self) -> Time {
        self.free[self.first]
    }

    /// Gives the first a walk until `done`.
    #[inline]
    pub(crate) fn occupy_first(&mut self, done: Time) {
        let mut place = self.first;
        self.first = if place + 1 < self.free.len() {
            place + 1
        } else {
            0
        };
        // Most walks end after all others.
        while place != self.first {
            let before = place.checked_sub(1).unwrap_or(self.free.len() - 1);
            if self.free[before] <= done {
                break;
            }
            self.free[place] = self.free[before];
            place = before;
        }
        self.free[place] = done;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_of_a_ring_is_the_first_of_all(
            walks in vec(0_u64..9, 1..100),
            count in 1_usize..7,
        ) {
            let mut ring = Walkers::new(count);
            let mut all = vec![Time::ZERO; count];
            for walk in walks {
                all.sort_unstable();
                prop_assert_eq!(ring.first(), all[0]);
                all[0] += Time::from_ns(walk);
                ring.occupy_first(all[0]);
            }
        }
    }
}
