//! Deterministic random numbers for the contents of one message.

/// SplitMix64 (Steele, Lea and Flood, 2014). Each (seed, index, purpose) starts its own stream, so
/// that a message does not depend on earlier draws.
pub(super) struct Draw(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// The characters of the benchmark's load generator (wrk2/compose-post.lua).
const LETTERS: &[u8; 62] = b"qwertyuiopasdfghjklzxcvbnmQWERTYUIOPASDFGHJKLZXCVBNM1234567890";

impl Draw {
    pub(super) fn new(seed: u64, index: u64, purpose: u64) -> Draw {
        let mut draw = Draw(seed);
        for part in [index, purpose] {
            draw.0 = draw.next() ^ part.wrapping_mul(GOLDEN);
        }
        draw
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `low..=high`; the bias of the multiplication is below 2^-32 for these ranges.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        let range = high - low + 1;
        low + ((u128::from(self.next()) * u128::from(range)) >> 64) as u64
    }

    /// A number in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A positive 63-bit identifier.
    pub(super) fn identifier(&mut self) -> i64 {
        (self.next() >> 1) as i64
    }

    pub(super) fn letters(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| char::from(LETTERS[self.between(0, 61) as usize]))
            .collect()
    }
}
