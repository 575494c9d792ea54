//! Speedups that depend on payload sizes.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::chain_walk::{Visit, walk};
use crate::config::Config;
use crate::plan::{ChainPlan, Form, PhasePlan, Plan};

/// The dependence of accelerators' speedups on payload sizes.
///
/// The speedup for `size` bytes is `S * size / (size + half)`, the curve of a pipeline with a
/// fixed cost of `half` bytes' time for each operation. `half` is
/// [`speedup_half`](crate::config::AcceleratorConfig::speedup_half). `S` is such that the mean over
/// the operations of the given services, with their sizes, is the stated speedup: "on average
/// across all input data sizes" (AccelFlow, section VI).
#[derive(Clone, Debug)]
pub struct SizedSpeedups {
    half: Bytes,
    /// By [`Accel::index`], the speedup for endless payloads over the mean speedup.
    endless: [f64; Accel::MOST],
}

/// Number of messages drawn of each chain to average over its sizes.
const DRAWS: u64 = 256;

/// The sum of the shares of [`share`] of an accelerator's operations, and their number.
type Shares = (f64, u64);

impl SizedSpeedups {
    /// Returns the dependence on a server with `config`, where the mean is that of the services of
    /// `plan` with the indices `services`. `None` if speedups do not depend on sizes.
    pub fn new(
        config: &Config,
        plan: &Plan,
        services: impl IntoIterator<Item = usize>,
    ) -> Option<SizedSpeedups> {
        let half = config.accelerator.speedup_half;
        if half == Bytes(0) {
            return None;
        }
        let mut sums = [(0.0, 0); Accel::MOST];
        let loaded = services.into_iter();
        let loaded = loaded.filter_map(|service| plan.services.get(service));
        for phase in loaded.flat_map(|service| &service.phases) {
            if let PhasePlan::Chains(chains) = phase {
                chains
                    .iter()
                    .for_each(|chain| add_shares(plan, chain, half, &mut sums));
            }
        }
        let endless = |(sum, count)| if count > 0 { count as f64 / sum } else { 1.0 };
        Some(SizedSpeedups {
            half,
            endless: sums.map(endless),
        })
    }

    /// Returns the speedup of an operation on `size` bytes, divided by the mean speedup of its
    /// accelerator `accel`.
    #[inline]
    pub fn over_mean(&self, accel: Accel, size: Bytes) -> f64 {
        self.endless[accel.index()] * share(size, self.half)
    }
}

/// Adds the shares of the operations of a chain.
fn add_shares(plan: &Plan, chain: &ChainPlan, half: Bytes, sums: &mut [Shares; Accel::MOST]) {
    walk(plan, chain, Time::ZERO, &mut |visit| {
        let Visit {
            accel,
            trace,
            receives,
            ordinal,
        } = visit;
        let sum = &mut sums[accel.index()];
        for number in 0..DRAWS {
            let message = chain.message(ordinal, 0, number);
            // Messages before compression, as most operations see them.
            let operation = chain.operation(trace, accel, receives, message, Form::PLAIN);
            if let Some(operation) = operation {
                sum.0 += share(operation.input, half);
                sum.1 += 1;
            }
        }
        Time::ZERO
    });
}

/// The share of the speedup for endless payloads that `size` bytes have; an empty payload counts as
/// a byte of header.
fn share(size: Bytes, half: Bytes) -> f64 {
    let size = size.get().max(1) as f64;
    size / (size + half.get() as f64)
}
