//! The bound on a core's load, as a multiple of the mean load of the cores.

/// A bound on loads, as in consistent hashing with bounded loads (Mirrokni, Thorup and
/// Zadimoghaddam, 2018). A core takes a message while its load stays at or below the bound times
/// the mean load, the message itself included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound(f64);

impl Bound {
    /// Creates a bound of `times` the mean. A value below 1 counts as 1.
    pub(super) fn new(times: f64) -> Bound {
        Bound(if times >= 1.0 { times } else { 1.0 })
    }

    /// The load at which a core takes no more messages. At least one core is always below it.
    /// `None` if there are no cores.
    pub(super) fn capacity(self, loads: &[u32]) -> Option<u64> {
        let total: u64 = loads.iter().map(|load| u64::from(*load)).sum();
        let capacity = (self.0 * (total + 1) as f64 / loads.len() as f64).ceil() as u64;
        (!loads.is_empty()).then_some(capacity)
    }
}

impl Default for Bound {
    /// 1.25, as the authors report for their load balancer.
    fn default() -> Bound {
        Bound::new(1.25)
    }
}
