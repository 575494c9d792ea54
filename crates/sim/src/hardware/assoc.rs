/// A set-associative store of keys with least-recently-used replacement: which of a cache's
/// blocks or a TLB's pages are there, and which have been written.
#[derive(Clone, Debug)]
pub(crate) struct Associative {
    /// By set, the most recently used first.
    keys: Vec<u64>,
    ways: usize,
    sets: u64,
}

/// What had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Victim {
    pub key: u64,
    pub written: bool,
}

const EMPTY: u64 = u64::MAX;

impl Associative {
    /// Room for `sets` times `ways` keys below 2^63 - 1.
    pub(crate) fn new(sets: usize, ways: usize) -> Associative {
        Associative {
            keys: vec![EMPTY; sets * ways],
            ways,
            sets: sets as u64,
        }
    }

    /// Keys that a set has room for.
    pub(crate) fn ways(&self) -> usize {
        self.ways
    }

    /// Uses `key`, which belongs to the set `hash` names: whether it was there. If not, it is
    /// from now on, in the place of what was used least recently.
    pub(crate) fn touch(
        &mut self,
        key: u64,
        hash: u64,
        writes: bool,
    ) -> Result<(), Option<Victim>> {
        let first = (hash % self.sets) as usize * self.ways;
        let set = &mut self.keys[first..first + self.ways];
        let found = set.iter().position(|&kept| kept >> 1 == key);
        let place = found.unwrap_or(self.ways - 1);
        let old = set[place];
        set[..=place].rotate_right(1);
        set[0] = key << 1 | u64::from(writes);
        if found.is_some() {
            set[0] |= old & 1;
            return Ok(());
        }
        Err((old != EMPTY).then_some(Victim {
            key: old >> 1,
            written: old & 1 == 1,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Result<(), Option<Victim>> = Err(None);

    fn out(key: u64, written: bool) -> Result<(), Option<Victim>> {
        Err(Some(Victim { key, written }))
    }

    #[test]
    fn the_least_recently_used_goes() {
        let mut store = Associative::new(1, 3);
        for key in [10, 11, 12] {
            assert_eq!(store.touch(key, 0, false), NOBODY);
        }
        assert_eq!(store.touch(10, 0, false), Ok(()));
        assert_eq!(store.touch(13, 0, false), out(11, false));
        assert_eq!(store.touch(12, 0, false), Ok(()));
        assert_eq!(store.touch(10, 0, false), Ok(()));
        assert_eq!(store.touch(11, 0, false), out(13, false));
    }

    #[test]
    fn what_was_written_stays_written_until_it_goes() {
        let mut store = Associative::new(1, 1);
        assert_eq!(store.touch(1, 0, true), NOBODY);
        assert_eq!(store.touch(1, 0, false), Ok(()));
        assert_eq!(store.touch(2, 0, false), out(1, true));
        assert_eq!(store.touch(1, 0, false), out(2, false));
        assert_eq!(store.touch(2, 0, false), out(1, false));
    }

    #[test]
    fn sets_do_not_disturb_one_another() {
        let mut store = Associative::new(4, 1);
        for key in 0..4 {
            assert_eq!(store.touch(key, key, false), NOBODY);
        }
        assert_eq!(store.touch(5, 5, false), out(1, false));
        for key in [0, 5, 2, 3] {
            assert_eq!(store.touch(key, key, false), Ok(()));
        }
    }
}
