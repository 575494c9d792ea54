//! Speedups that depend on the size of the payload.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::Run;
use super::deadlines::walk;
use super::engine::Engine;
use crate::plan::{Form, PhasePlan};

/// Messages drawn of each chain to average over its sizes.
const DRAWS: u64 = 256;

/// For each accelerator, what the speedup for endless payloads is over the mean speedup.
///
/// The speedup for `size` bytes is `S * size / (size + half)`, the curve of a pipeline with a
/// fixed cost of `half` bytes' time for each operation. `S` is such that the mean over the
/// operations of the services that have a load, with their sizes, is the stated speedup:
/// "on average across all input data sizes" (AccelFlow, section VI).
pub(super) fn endless(run: &Run<'_>) -> [f64; Accel::COUNT] {
    let half = run.config.accelerator.speedup_half;
    let mut sums = [(0.0, 0_u64); Accel::COUNT];
    if half > Bytes(0) {
        let loaded = run
            .loads
            .iter()
            .filter_map(|load| run.plan.services.get(load.service));
        for phase in loaded.flat_map(|service| &service.phases) {
            if let PhasePlan::Chains(chains) = phase {
                for chain in chains {
                    walk(run.plan, chain, &mut |visit| {
                        let sum = &mut sums[visit.accel.index()];
                        for number in 0..DRAWS {
                            let message = chain.message(visit.ordinal, 0, number);
                            // Messages before compression, which most operations see.
                            let (trace, accel) = (visit.trace, visit.accel);
                            let form = Form::PLAIN;
                            let operation =
                                chain.operation(trace, accel, visit.receives, message, form);
                            if let Some(operation) = operation {
                                sum.0 += share(operation.input, half);
                                sum.1 += 1;
                            }
                        }
                        Time::ZERO
                    });
                }
            }
        }
    }
    sums.map(|(sum, count)| if count > 0 { count as f64 / sum } else { 1.0 })
}

/// What of the speedup for endless payloads one of `size` has; an empty one is a byte of header.
fn share(size: Bytes, half: Bytes) -> f64 {
    let size = size.get().max(1) as f64;
    size / (size + half.get() as f64)
}

impl Engine<'_> {
    /// The accelerator's time for what takes a core `on_core` with a payload of `size`.
    pub(super) fn compute(&self, accel: Accel, on_core: Time, size: Bytes) -> Time {
        let config = self.run.config;
        let half = config.accelerator.speedup_half;
        let mean = config.accelerated(accel, on_core);
        if half == Bytes(0) || config.is_fixed(accel) {
            return mean;
        }
        mean.scale(1.0 / (self.endless[accel.index()] * share(size, half)))
    }
}
