use std::ops::Range;

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::assoc::Associative;
use super::memory::{Memory, touched};
use super::network::Network;
use super::routes::Site;
use super::topology::Place;
use super::walkers::Walkers;
use crate::config::Config;

/// Address translation: a TLB in each accelerator, and in each chiplet an IOMMU that walks the
/// page tables for the accelerators there (AccelFlow, sections IV.A and V.3).
///
/// All IOMMUs share `tlb.walkers` page walkers, so a package of more chiplets has no more of them.
/// A page counts as translated as soon as its walk begins. The walkers' caches hold the addresses
/// of last-level page tables; a walk that misses there reads all levels.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    page: u64,
    hit: Time,
    levels: u32,
    /// By instance and accelerator, after that of the manager.
    tlbs: Vec<Tlb>,
    sets: u64,
    walkers: Walkers,
    /// By chiplet, the fully associative cache of its IOMMU's walkers; `None` without entries.
    directories: Vec<Option<Associative>>,
    pub(crate) counts: TranslationCounts,
}

/// The TLB of an accelerator, and its way to an IOMMU.
#[derive(Clone, Debug)]
struct Tlb {
    kept: Associative,
    /// The way, once a page has been missing.
    walks: Option<WalkWay>,
}

/// The way of the walks for an accelerator.
#[derive(Clone, Copy, Debug)]
struct WalkWay {
    chiplet: u16,
    iommu: Site,
    /// Times of a command to the IOMMU, and back.
    there: Time,
    back: Time,
}

/// Counts of address translations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TranslationCounts {
    /// Number of pages looked up in TLBs.
    pub lookups: u64,
    /// Number of TLB lookups that missed.
    pub misses: u64,
    /// Number of page-table entries that page-table walks have read.
    pub table_reads: u64,
}

/// The address of page tables, beyond all others.
const TABLES: u64 = 1 << 60;
const ENTRY_BYTES: u64 = 8;
/// Number of bits of a page number that one level resolves.
const LEVEL_BITS: u32 = 9;

impl Translation {
    pub(crate) fn new(config: &Config, chiplets: usize) -> Translation {
        let tlb = &config.tlb;
        let sets = (tlb.entries / tlb.ways).max(1);
        let directories =
            (tlb.walk_cache_entries > 0).then(|| Associative::new(1, tlb.walk_cache_entries));
        Translation {
            page: tlb.page.get(),
            hit: tlb.hit.at(config.core.clock),
            levels: tlb.walk_levels,
            tlbs: vec![Tlb::empty(sets, tlb.ways); 1 + Accel::COUNT],
            sets: sets as u64,
            walkers: Walkers::new(tlb.walkers),
            directories: vec![directories; chiplets],
            counts: TranslationCounts::default(),
        }
    }

    /// Translates the pages of `size` bytes at `address` for the accelerator at `place`. Returns
    /// the time when all are translated.
    pub(crate) fn translate(
        &mut self,
        network: &mut Network,
        memory: &mut Memory,
        (address, size): (u64, Bytes),
        place: Place,
        now: Time,
    ) -> Time {
        let tlb = match place {
            Place::Manager => 0,
            Place::Accel(accel, instance) => {
                1 + usize::from(instance) * Accel::MOST + accel.index()
            }
            _ => return now,
        };
        if tlb >= self.tlbs.len() {
            let empty = Tlb::empty(self.sets as usize, self.tlbs[0].kept.ways());
            self.tlbs.resize(tlb + 1, empty);
        }
        let (first, end) = self.pages(address, touched(address + size.get(), address));
        self.counts.lookups += end - first;
        match end - first {
            1 => self.translate_page(network, memory, first, (tlb, place), now),
            _ => self.translate_pages(network, memory, first..end, (tlb, place), now),
        }
    }

    /// Translates one page. Returns the time when it is translated.
    #[inline(always)]
    fn translate_page(
        &mut self,
        network: &mut Network,
        memory: &mut Memory,
        page: u64,
        (tlb, place): (usize, Place),
        now: Time,
    ) -> Time {
        let looked_up = now + self.hit;
        match self.tlbs[tlb].kept.touch(page, page, false) {
            Ok(()) => looked_up,
            Err(_) => {
                let way = self.way_of(network, tlb, place);
                self.walk(network, memory, page, way, looked_up)
            }
        }
    }

    /// Translates several pages. Returns the time when all are translated.
    #[inline(never)]
    fn translate_pages(
        &mut self,
        network: &mut Network,
        memory: &mut Memory,
        pages: Range<u64>,
        (tlb, place): (usize, Place),
        now: Time,
    ) -> Time {
        let looked_up = now + self.hit;
        let (mut known, mut last) = (now, None::<LastWalk>);
        for page in pages {
            let there = self.tlbs[tlb].kept.touch(page, page, false).is_ok();
            known = known.max(match &last {
                _ if there => looked_up,
                Some(last) if last.pages.contains(&page) => {
                    self.walk_beside(memory, last, looked_up)
                }
                _ => {
                    let way = self.way_of(network, tlb, place);
                    let done = self.walk(network, memory, page, way, looked_up);
                    last = self.last_walk(network, memory, page, way);
                    done
                }
            });
        }
        known
    }

    /// The way of the walks for an accelerator.
    #[inline(always)]
    fn way_of(&mut self, network: &mut Network, tlb: usize, place: Place) -> WalkWay {
        let walks = &mut self.tlbs[tlb].walks;
        *walks.get_or_insert_with(|| WalkWay::new(network, place))
    }

    /// The first page of the addresses from `address` to `end`, and one past the last.
    #[inline]
    fn pages(&self, address: u64, end: u64) -> (u64, u64) {
        if self.page.is_power_of_two() {
            let bits = self.page.trailing_zeros();
            (address >> bits, (end + self.page - 1) >> bits)
        } else {
            (address / self.page, end.div_ceil(self.page))
        }
    }

    /// Walks the tables for `page`. Returns the time when it is translated.
    #[inline(never)]
    fn walk(
        &mut self,
        network: &mut Network,
        memory: &mut Memory,
        page: u64,
        way: WalkWay,
        now: Time,
    ) -> Time {
        self.counts.misses += 1;
        let mut done = (now + way.there).max(self.walkers.first());
        let kept = &mut self.directories[usize::from(way.chiplet)];
        let known = kept
            .as_mut()
            .is_some_and(|kept| kept.touch(page >> LEVEL_BITS, 0, false).is_ok());
        let mut level = if known {
            self.levels.min(1)
        } else {
            self.levels
        };
        self.counts.table_reads += u64::from(level);
        while level > 0 {
            level -= 1;
            let address = table_entry(page, level);
            done = memory.read_word(network, address, way.iommu, done);
        }
        self.walkers.occupy_first(done);
        done + way.back
    }

    /// The walk for `page` as one that walks for pages beside it may follow.
    fn last_walk(
        &self,
        network: &mut Network,
        memory: &Memory,
        page: u64,
        way: WalkWay,
    ) -> Option<LastWalk> {
        if self.directories[usize::from(way.chiplet)].is_none() || self.levels == 0 {
            return None;
        }
        let block = memory.block(table_entry(page, 0));
        let pages = memory.block_size() / ENTRY_BYTES;
        let (first, directory) = (page / pages * pages, page >> LEVEL_BITS);
        Some(LastWalk {
            pages: first.max(directory << LEVEL_BITS)
                ..(first + pages).min((directory + 1) << LEVEL_BITS),
            slice: memory.way_to(network, block, way.iommu),
            way,
        })
    }

    /// Walks the tables for a page next to that of `last`. Returns the time when the page is
    /// translated. The walkers' cache has the directory, and the last-level cache the entry, both
    /// most recently used.
    fn walk_beside(&mut self, memory: &mut Memory, last: &LastWalk, now: Time) -> Time {
        self.counts.misses += 1;
        self.counts.table_reads += 1;
        let asked = (now + last.way.there).max(self.walkers.first());
        let done = memory.read_beside(last.slice, asked);
        self.walkers.occupy_first(done);
        done + last.way.back
    }
}

/// The walk before, of the same transfer.
struct LastWalk {
    /// The pages whose walks read the same directory and the same block of the last tables.
    pages: Range<u64>,
    /// The slice of the block, and the time of a command there.
    slice: (usize, Time),
    way: WalkWay,
}

/// The address of the entry for `page` in the tables of a level, of which the last has number 0.
#[inline]
fn table_entry(page: u64, level: u32) -> u64 {
    let entry = (page >> (LEVEL_BITS * level)) * ENTRY_BYTES;
    TABLES + (u64::from(level) << 56) + entry
}

impl Tlb {
    fn empty(sets: usize, ways: usize) -> Tlb {
        Tlb {
            kept: Associative::new(sets, ways),
            walks: None,
        }
    }
}

impl WalkWay {
    /// The way of walks for the accelerator at `place`.
    #[cold]
    fn new(network: &mut Network, place: Place) -> WalkWay {
        let chiplet = network.chiplet_of(place);
        let (from, iommu) = (network.site(place), network.site(Place::Iommu(chiplet)));
        WalkWay {
            chiplet,
            iommu,
            there: network.latency(from, iommu),
            back: network.latency(iommu, from),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    struct Server {
        network: Network,
        memory: Memory,
        translation: Translation,
    }

    /// One slice at (0, 0) and tables that the cache holds.
    fn server(values: &[(&str, f64)]) -> Server {
        let mut config = Config::default();
        config.set("memory.llc_slices", 1.0).unwrap();
        for (key, value) in values {
            config.set(key, *value).unwrap();
        }
        let mut network = Network::new(&config);
        let mut memory = Memory::new(&config);
        for level in 0..5 {
            let tables = TABLES + (level << 56);
            memory.deliver(&mut network, tables, Bytes::from_kib(32), Time::ZERO);
        }
        let translation = Translation::new(&config, network.chiplets());
        Server {
            network,
            memory,
            translation,
        }
    }

    impl Server {
        fn translate(&mut self, accel: Accel, address: u64, size: u64, at: Time) -> Time {
            let place = Place::Accel(accel, 0);
            let data = (address, Bytes(size));
            let (network, memory) = (&mut self.network, &mut self.memory);
            self.translation.translate(network, memory, data, place, at) - at
        }
    }

    const PAGE: u64 = 4_096;
    /// 2 cycles.
    const HIT: Time = Time::from_ps(834);
    /// From the port of the accelerators' chiplet to the slice: a crossing and 8 hops; both ways,
    /// and the slice.
    const READ: Time = Time::from_ps(2 * (25_000 + 8 * 1_250) + 15_000);
    /// From Ser to the IOMMU at its port.
    const ATS: Time = Time::from_ps(2 * 1_250);

    #[test]
    fn a_miss_reads_four_levels_and_a_known_directory_one() {
        let mut server = server(&[]);
        let first = server.translate(Accel::Ser, 0, 8, Time::ZERO);
        assert_eq!(first, HIT + ATS + READ * 4 + ATS);
        assert_eq!(server.translate(Accel::Ser, 8, 8, Time::from_us(1)), HIT);
        let next = server.translate(Accel::Ser, PAGE, 8, Time::from_us(2));
        assert_eq!(next, HIT + ATS + READ + ATS);
        // The first page of the next directory.
        let far = server.translate(Accel::Ser, 512 * PAGE, 8, Time::from_us(3));
        assert_eq!(far, HIT + ATS + READ * 4 + ATS);
        let counts = server.translation.counts;
        assert_eq!((counts.lookups, counts.misses), (4, 3));
        assert_eq!(counts.table_reads, 4 + 1 + 4);
    }

    #[test]
    fn each_accelerator_has_a_tlb_of_its_own() {
        let mut server = server(&[]);
        server.translate(Accel::Ser, 0, 8, Time::ZERO);
        let other = server.translate(Accel::Encr, 0, 8, Time::from_us(1));
        // One hop from Encr to the port; the IOMMU of the chiplet knows the directory.
        let ats = Time::from_ps(1_250);
        assert_eq!(other, HIT + ats + READ + ats);
        // LdB has another IOMMU, at the lower edge of the cores' mesh.
        let ldb = server.translate(Accel::Ldb, 0, 8, Time::from_us(2));
        let read = Time::from_ps(2 * 8 * 1_250 + 15_000);
        assert_eq!(ldb, HIT + ATS + read * 4 + ATS);
    }

    #[test]
    fn all_pages_of_a_transfer_are_translated_and_share_the_walkers() {
        let pages = |walkers: f64, count: u64| {
            let mut server = server(&[("tlb.walkers", walkers)]);
            server.translate(Accel::Ser, 100 * PAGE, 8, Time::ZERO);
            server.translate(Accel::Ser, PAGE - 8, count * PAGE, Time::from_us(1))
        };
        // The last 8 bytes of a page and what follows.
        let one = HIT + ATS + READ + ATS;
        let later = pages(2.0, 1) - one;
        // A line in the slice's port.
        assert_eq!(later, Time::from_ps(417));
        assert!(pages(2.0, 2) >= one + READ, "the third waits for a walker");
        assert!(pages(3.0, 2) < one + READ, "three walkers, three pages");
        assert_eq!(pages(1.0, 1), one + READ, "one walker, one after the other");
    }

    proptest! {
        #[test]
        fn pages_of_a_transfer_are_walked_like_pages_alone(
            transfers in vec((0_u64..3_000, 1_u64..40, 0_u64..200, 0_usize..9), 1..60),
            entries in select(vec![0.0, 1.0, 32.0]),
            levels in 0_u32..5,
        ) {
            let values = [
                ("tlb.walk_cache_entries", entries),
                ("tlb.walk_levels", f64::from(levels)),
                ("tlb.entries", 16.0),
                ("memory.llc_slices", 7.0),
                ("memory.llc_slice_kib", 32.0),
            ];
            let [mut together, mut alone] = [(); 2].map(|()| server(&values));
            let mut at = Time::ZERO;
            for (first, pages, pause, accel) in transfers {
                at += Time::from_ns(pause);
                let accel = Accel::ALL[accel];
                let whole = together.translate(accel, first * PAGE, pages * PAGE, at);
                let pages = first..first + pages;
                let each = pages.map(|page| alone.translate(accel, page * PAGE, PAGE, at));
                prop_assert_eq!(Some(whole), each.max());
                prop_assert_eq!(together.translation.counts, alone.translation.counts);
                prop_assert_eq!(together.memory.counts, alone.memory.counts);
            }
        }
    }

    #[test]
    fn iommus_share_the_walkers() {
        // Encr is in another chiplet than Ser; both miss at once.
        let encr = |walkers: f64| {
            let mut server = server(&[("tlb.walkers", walkers), ("network.chiplets", 3.0)]);
            server.translate(Accel::Ser, 0, 8, Time::ZERO);
            server.translate(Accel::Encr, PAGE, 8, Time::ZERO)
        };
        let (one, two) = (encr(1.0), encr(2.0));
        assert!(one > two + READ * 3, "{one} {two}");
        assert_eq!(two, encr(3.0));
    }

    #[test]
    fn the_tlb_holds_its_entries_by_set() {
        // Two sets of two: pages 0, 2 and 4 share one.
        let mut server = server(&[("tlb.entries", 4.0), ("tlb.ways", 2.0)]);
        let mut misses = |pages: &[u64]| {
            let before = server.translation.counts.misses;
            for page in pages {
                server.translate(Accel::Ser, page * PAGE, 8, Time::ZERO);
            }
            server.translation.counts.misses - before
        };
        assert_eq!(misses(&[0, 2, 1, 3]), 4);
        assert_eq!(misses(&[0, 2, 1, 3]), 0);
        assert_eq!(
            misses(&[4, 2, 0]),
            2,
            "4 took the place of 0, then 0 that of 4"
        );
        assert_eq!(misses(&[4, 1, 3]), 1);
    }

    #[test]
    fn the_caches_of_the_walkers_hold_their_entries() {
        let reads = |entries: f64| {
            let mut server = server(&[("tlb.walk_cache_entries", entries)]);
            for directory in [0, 1, 2, 0, 1, 2] {
                let page = directory * 512 + server.translation.counts.lookups;
                server.translate(Accel::Ser, page * PAGE, 8, Time::ZERO);
            }
            server.translation.counts.table_reads
        };
        assert_eq!(reads(0.0), 6 * 4);
        assert_eq!(reads(2.0), 6 * 4, "the one that comes next has just gone");
        assert_eq!(reads(3.0), 3 * 4 + 3);
    }

    #[test]
    fn without_levels_a_miss_asks_the_iommu_alone() {
        let mut server = server(&[("tlb.walk_levels", 0.0)]);
        let miss = server.translate(Accel::Ser, 0, 8, Time::ZERO);
        assert_eq!(miss, HIT + ATS + ATS);
    }
}
