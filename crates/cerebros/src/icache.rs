//! A core's instruction cache, block by block.

use std::ops::Range;

use crate::Platform;

/// The instruction cache of a core: set-associative, with least-recently-used replacement (policy
/// assumed).
#[derive(Clone, Debug)]
pub struct InstructionCache {
    /// The blocks of each set, the most recent first.
    sets: Vec<Vec<u32>>,
    ways: usize,
}

impl InstructionCache {
    /// Creates an empty cache with the size, ways and blocks of `platform`.
    pub fn new(platform: &Platform) -> InstructionCache {
        let ways = platform.l1i_ways as usize;
        let blocks = (platform.l1i_bytes / platform.l1i_block_bytes) as usize;
        InstructionCache {
            sets: vec![Vec::with_capacity(ways); (blocks / ways).max(1)],
            ways,
        }
    }

    /// Fetches the block with this number. Returns whether it was missing.
    pub fn fetch(&mut self, block: u32) -> bool {
        let index = block as usize % self.sets.len();
        let set = &mut self.sets[index];
        if let Some(place) = set.iter().position(|&held| held == block) {
            set.copy_within(..place, 1);
            set[0] = block;
            return false;
        }
        if set.len() < self.ways {
            set.push(block);
        }
        let last = set.len() - 1;
        set.copy_within(..last, 1);
        set[0] = block;
        true
    }

    /// Fetches these blocks in order. Returns the number of misses.
    pub fn sweep(&mut self, blocks: Range<u32>) -> u64 {
        blocks.map(|block| u64::from(self.fetch(block))).sum()
    }
}
