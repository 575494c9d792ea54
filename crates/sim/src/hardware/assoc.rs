/// A set-associative store of keys with least-recently-used replacement: the blocks of a cache or
/// the pages of a TLB, and which of them have been written.
///
/// It keeps 31 bits of a hash of each key, so that a set of 16 fits a line of the host's cache. Two
/// keys of a set are confused with probability 1 in 2 * 10^9.
#[derive(Clone, Debug)]
pub(crate) struct Associative {
    /// By set, the most recently used first; the lowest bit marks a written key.
    tags: Vec<u32>,
    ways: usize,
    sets: u64,
    /// The bits of a set's number that count, if the number of sets is a power of two; else all.
    mask: u64,
}

/// A key that was evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Victim {
    /// A hash of the evicted key.
    pub tag: u32,
    /// Whether the evicted key was marked as written.
    pub written: bool,
}

const EMPTY: u32 = u32::MAX;

/// 31 bits of a hash (the finaliser of MurmurHash3 for 64 bits), never those of [`EMPTY`].
fn tag(key: u64) -> u32 {
    let mut bits = (key ^ key >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    bits = (bits ^ bits >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    ((bits >> 33) as u32).min((EMPTY >> 1) - 1)
}

impl Associative {
    /// An empty store of `sets` sets with `ways` keys each.
    pub(crate) fn new(sets: usize, ways: usize) -> Associative {
        Associative {
            tags: vec![EMPTY; sets * ways],
            ways,
            sets: sets as u64,
            mask: match sets.is_power_of_two() {
                true => sets as u64 - 1,
                false => u64::MAX,
            },
        }
    }

    /// Number of keys of a set.
    pub(crate) fn ways(&self) -> usize {
        self.ways
    }

    /// Uses `key` in set `set` (modulo the number of sets). Returns `Ok` if it was there. If not,
    /// it replaces the least recently used key, which is returned unless the place was empty.
    #[inline(always)]
    pub(crate) fn touch(&mut self, key: u64, set: u64, writes: bool) -> Result<(), Option<Victim>> {
        let mut number = set & self.mask;
        if number >= self.sets {
            number %= self.sets;
        }
        let first = number as usize * self.ways;
        let set = &mut self.tags[first..first + self.ways];
        let tag = tag(key);
        if let Some(first) = set.first_mut()
            && *first >> 1 == tag
        {
            *first |= u32::from(writes);
            return Ok(());
        }
        if let Ok(set) = <&mut [u32; 16]>::try_from(&mut *set) {
            touch_16(set, tag, writes)
        } else if let Ok(set) = <&mut [u32; 4]>::try_from(&mut *set) {
            touch_4(set, tag, writes)
        } else {
            touch_any(set, tag, writes)
        }
    }
}

#[inline(never)]
fn touch_any(set: &mut [u32], tag: u32, writes: bool) -> Result<(), Option<Victim>> {
    // Each key moves one place back, up to the place of `tag`.
    let mut moved = tag << 1 | u32::from(writes);
    for place in 0..set.len() {
        let old = std::mem::replace(&mut set[place], moved);
        if old >> 1 == tag {
            set[0] |= old & 1;
            return Ok(());
        }
        moved = old;
    }
    Err(victim(moved))
}

/// The same for 4 ways.
#[inline]
fn touch_4(set: &mut [u32; 4], tag: u32, writes: bool) -> Result<(), Option<Victim>> {
    let used = tag << 1 | u32::from(writes);
    let [a, b, c, d] = *set;
    if a >> 1 == tag {
        set[0] = a | used;
    } else if b >> 1 == tag {
        *set = [used | b & 1, a, c, d];
    } else if c >> 1 == tag {
        *set = [used | c & 1, a, b, d];
    } else {
        let here = d >> 1 == tag;
        *set = [used | d & u32::from(here), a, b, c];
        return if here { Ok(()) } else { Err(victim(d)) };
    }
    Ok(())
}

/// Like [`Associative::touch`] in a set of 16 ways, which are compared at once.
#[inline(never)]
fn touch_16(set: &mut [u32; 16], tag: u32, writes: bool) -> Result<(), Option<Victim>> {
    let used = tag << 1 | u32::from(writes);
    if set[0] >> 1 == tag {
        set[0] |= used;
        return Ok(());
    }
    let mut places = 0;
    for (place, kept) in set.iter().enumerate() {
        places |= u32::from(kept >> 1 == tag) << place;
    }
    if places == 0 {
        let last = set[15];
        set.copy_within(..15, 1);
        set[0] = used;
        return Err(victim(last));
    }
    let place = places.trailing_zeros() as usize % 16;
    let old = set[place];
    set.copy_within(..place, 1);
    set[0] = used | old & 1;
    Ok(())
}

fn victim(moved: u32) -> Option<Victim> {
    (moved != EMPTY).then_some(Victim {
        tag: moved >> 1,
        written: moved & 1 == 1,
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const NOBODY: Result<(), Option<Victim>> = Err(None);

    fn out(key: u64, written: bool) -> Result<(), Option<Victim>> {
        let tag = tag(key);
        Err(Some(Victim { tag, written }))
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

    proptest! {
        #[test]
        fn four_ways_are_compared_as_one_by_one(
            keys in vec((0_u64..8, any::<bool>()), 1..300),
        ) {
            let (mut four, mut one_by_one) = ([EMPTY; 4], [EMPTY; 4]);
            for (key, writes) in keys {
                let found = touch_4(&mut four, tag(key), writes);
                prop_assert_eq!(found, touch_any(&mut one_by_one, tag(key), writes));
                prop_assert_eq!(four, one_by_one);
            }
        }

        #[test]
        fn sixteen_ways_are_compared_at_once_as_one_by_one(
            keys in vec((0_u64..24, any::<bool>()), 1..300),
        ) {
            let (mut at_once, mut one_by_one) = ([EMPTY; 16], [EMPTY; 16]);
            for (key, writes) in keys {
                let found = touch_16(&mut at_once, tag(key), writes);
                prop_assert_eq!(found, touch_any(&mut one_by_one, tag(key), writes));
                prop_assert_eq!(at_once, one_by_one);
            }
        }
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

    #[test]
    fn keys_have_tags_of_their_own() {
        let mut tags: Vec<u32> = (0..10_000).map(|n| tag(n << 20)).collect();
        tags.sort_unstable();
        tags.dedup();
        assert_eq!(tags.len(), 10_000);
    }
}
