//! A core's instruction cache, which is simulated block by block.

use std::ops::Range;

use crate::Platform;

/// The content of a way that holds no block. No block has this index.
const EMPTY: u32 = u32::MAX;

/// The instruction cache of a core: set-associative, with least-recently-used replacement (an
/// assumption).
#[derive(Clone, Debug)]
pub struct InstructionCache {
    /// The blocks in each way, by set. A block in a lower way was fetched more recently.
    ways: Vec<Vec<u32>>,
    sets: usize,
}

impl InstructionCache {
    /// Creates an empty instruction cache with the size, ways and blocks of `platform`.
    pub fn new(platform: &Platform) -> InstructionCache {
        let ways = platform.l1i_ways as usize;
        let blocks = (platform.l1i_bytes / platform.l1i_block_bytes) as usize;
        let sets = (blocks / ways).max(1);
        InstructionCache {
            ways: vec![vec![EMPTY; sets]; ways],
            sets,
        }
    }

    /// Fetches the instruction block with index `block`. Returns whether the block was missing in
    /// the cache.
    pub fn fetch(&mut self, block: u32) -> bool {
        self.sweep(block..block + 1) > 0
    }

    /// Fetches the instruction blocks with the indices `blocks` in order. Returns the number of
    /// misses.
    pub fn sweep(&mut self, blocks: Range<u32>) -> u64 {
        let mut misses = 0;
        let mut next = blocks.start;
        let mut set = next as usize % self.sets;
        while next < blocks.end {
            let room = (self.sets - set).min((blocks.end - next) as usize);
            let count = match room {
                8.. => self.fetch_together::<8>(set, next, &mut misses),
                4.. => self.fetch_together::<4>(set, next, &mut misses),
                _ => self.fetch_together::<1>(set, next, &mut misses),
            };
            next += count as u32;
            set += count;
            if set == self.sets {
                set = 0;
            }
        }
        misses
    }

    /// Fetches `N` blocks from `block` on, which are in `N` different sets from `set` on, so that
    /// the compiler can use vector instructions. Counts the misses, and returns `N`.
    fn fetch_together<const N: usize>(
        &mut self,
        set: usize,
        block: u32,
        misses: &mut u64,
    ) -> usize {
        let mut wanted = [block; N];
        for (lane, wanted) in wanted.iter_mut().enumerate() {
            *wanted += lane as u32;
        }
        // By lane: the block that moves to the next way, and all ones once the block was found.
        let mut moved = wanted;
        let mut found = [0; N];
        for way in &mut self.ways {
            let Some(held) = way[set..].first_chunk_mut::<N>() else {
                continue;
            };
            for lane in 0..N {
                let before = held[lane];
                held[lane] = (before & found[lane]) | (moved[lane] & !found[lane]);
                moved[lane] = before;
                found[lane] |= u32::from(before == wanted[lane]).wrapping_neg();
            }
        }
        *misses += found.iter().map(|found| u64::from(!found & 1)).sum::<u64>();
        N
    }
}
