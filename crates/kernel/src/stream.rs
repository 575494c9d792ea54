//! Independent streams of random numbers.

use accelflow_units::Time;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::attribute::{WEYL, mix, unit};
use crate::ziggurat::Exponential;

/// A generator of random numbers, identified by a seed and a stream number.
///
/// A model uses one stream per purpose (arrivals, service times ...), so that more draws for one
/// purpose do not change the numbers drawn for another. The generator is xoshiro256++; its 256 bits
/// of state are four successive outputs of splitmix64, started from a hash of the seed and the
/// stream number. The numbers are the same on every platform.
#[derive(Clone, Debug)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
    exponential: &'static Exponential,
}

impl Stream {
    /// Creates the generator with the stream number `stream` for the random seed `seed`.
    pub fn new(seed: u64, stream: u64) -> Stream {
        let start = mix(mix(seed.wrapping_add(WEYL)) ^ stream.wrapping_mul(WEYL));
        let mut state = [0; 32];
        for (step, word) in (1..).zip(state.chunks_exact_mut(8)) {
            let output = mix(start.wrapping_add(WEYL.wrapping_mul(step)));
            word.copy_from_slice(&output.to_le_bytes());
        }
        Stream {
            generator: Xoshiro256PlusPlus::from_seed(state),
            exponential: Exponential::tables(),
        }
    }

    /// Draws 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Draws a uniform number in `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        unit(self.bits())
    }

    /// Draws a uniform integer below `n`, exactly unbiased (Lemire, ACM TOMACS 2019); zero if `n`
    /// is zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n {
            let rejected = n.wrapping_neg() % n;
            while (product as u64) < rejected {
                product = u128::from(self.bits()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Draws true with the probability `p`: never if `p` is at most 0 or NaN, always if `p` is at
    /// least 1.
    #[inline]
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Draws an exponentially distributed number with the mean `mean`.
    ///
    /// The method is a ziggurat of 256 layers (Marsaglia and Tsang, Journal of Statistical Software
    /// 2000): 98.9 % of draws need neither `exp` nor `log`. The tables and the other draws use
    /// those of the pinned pure-Rust `libm`, so the bits are the same everywhere.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        self.exponential.sample(&mut self.generator) * mean
    }

    /// Draws an exponentially distributed time with the mean `mean`, rounded to a picosecond.
    pub fn exponential_time(&mut self, mean: Time) -> Time {
        mean.scale(self.exponential(1.0))
    }
}
