//! Speedups that depend on payload sizes.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::chain_walk::{Visit, walk};
use crate::config::Config;
use crate::plan::{ChainPlan, Form, Operation, PhasePlan, Plan};

/// The dependence of accelerators' speedups on payload sizes.
///
/// The speedup for `size` bytes is `S * size / (size + half)`, the curve of a pipeline with a
/// fixed cost of `half` bytes' time for each operation. `half` is
/// [`speedup_half`](crate::config::AcceleratorConfig::speedup_half). `S` is chosen for each
/// accelerator so that the arithmetic mean of its operations' speedups is the accelerator's speedup
/// in the parameters: "on average across all input data sizes" (AccelFlow, section VI). The mean is
/// over the operations of the services that [`SizedSpeedups::new`] gets.
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
    /// Creates the speedups of a server with the parameters `config`. `services` are indices in
    /// `plan`: speedups have their configured mean over the operations of these services. Returns
    /// `None` if speedups do not depend on sizes.
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
                for chain in chains {
                    each_operation(plan, chain, &mut |accel, operation| {
                        let (sum, count): &mut Shares = &mut sums[accel.index()];
                        *sum += share(operation.input, half);
                        *count += 1;
                    });
                }
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

    /// Returns, for each accelerator type by [`Accel::index`], the time of the accelerator's
    /// operations in `chain`, divided by the time that they would take with the mean speedup. The
    /// operations are those on the most common path through the chain's branches, for messages of
    /// randomly drawn sizes; 1 for accelerators that this path does not call.
    pub fn slowdowns(&self, plan: &Plan, chain: &ChainPlan) -> [f64; Accel::MOST] {
        let mut sums = [(0.0, 0.0); Accel::MOST];
        each_operation(plan, chain, &mut |accel, operation| {
            let core = operation.core.as_ns_f64();
            let (slowed, all) = &mut sums[accel.index()];
            *slowed += core / self.over_mean(accel, operation.input);
            *all += core;
        });
        sums.map(|(slowed, all)| if all > 0.0 { slowed / all } else { 1.0 })
    }
}

/// Calls `take` with the operations of a chain's most common path, for many drawn messages.
fn each_operation(plan: &Plan, chain: &ChainPlan, take: &mut dyn FnMut(Accel, Operation)) {
    walk(plan, chain, Time::ZERO, &mut |visit| {
        let Visit {
            accel,
            trace,
            receives,
            ordinal,
        } = visit;
        for number in 0..DRAWS {
            let message = chain.message(ordinal, 0, number);
            // Messages before compression, as most operations see them.
            if let Some(operation) = chain.operation(trace, accel, receives, message, Form::PLAIN) {
                take(accel, operation);
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
