//! Affinity: messages with the same key go to the same core, unless that core is overloaded.

use super::bound::Bound;
use super::policy::BalancingPolicy;

/// A balancing policy that sends messages with the same key to the same core. If that core's load
/// has reached a bound, the policy picks the next core, in index order, with a load below the
/// bound.
///
/// The bound is that of consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam,
/// 2018): a core takes a message if the core's load then stays at or below `bound` times the mean
/// load of the cores, rounded up. A load is a number of messages. Both loads include the new
/// message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Affinity {
    /// The bound. Default 1.25, as the authors report for their load balancer.
    bound: Bound,
}

impl Affinity {
    /// Creates an affinity policy under which a core's load is at most `bound` times the mean load
    /// of the cores, rounded up. A `bound` below 1, or NaN, counts as 1.
    pub fn new(bound: f64) -> Affinity {
        Affinity {
            bound: Bound::new(bound),
        }
    }
}

impl BalancingPolicy for Affinity {
    fn name(&self) -> &'static str {
        "affinity"
    }

    fn pick(&mut self, key: u64, loads: &[u32]) -> Option<usize> {
        let cores = loads.len();
        let preferred = (mix(key) % u64::try_from(cores).ok().filter(|n| *n > 0)?) as usize;
        let capacity = self.bound.capacity(loads)?;
        let has_room = |core: &usize| u64::from(loads[*core]) < capacity;
        // At least one core is at or below the mean, so the search always finds one with room.
        (0..cores)
            .map(|step| (preferred + step) % cores)
            .find(has_room)
    }
}

/// The finalizer of SplitMix64, which spreads consecutive keys over all cores.
fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}
