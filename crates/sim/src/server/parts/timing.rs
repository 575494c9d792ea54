//! The durations of operations on processing elements.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Pace, Time};

use super::chain_walk::{Visit, walk};
use crate::config::Config;
use crate::hardware::Uncore;
use crate::plan::{ChainPlan, Form, Operation, PhasePlan};
use crate::server::run::Run;

/// The durations of operations on processing elements.
pub(crate) struct Timing<'r> {
    config: &'r Config,
    /// By [`Accel::index`], the speedup for endless payloads over the mean speedup.
    endless: [f64; Accel::MOST],
    /// By [`Accel::index`], what the time of an operation depends on.
    laws: [Law; Accel::MOST],
    /// The largest payload that both a queue entry and the scratchpad hold.
    held: Bytes,
    /// The part of a payload that is in a queue entry, and the overhead of the entry on a wire.
    inline: Bytes,
    overhead: Bytes,
    /// Between a queue entry and the scratchpad.
    pace: Pace,
    /// Whether the elements of Ser and Dser load a state for each service.
    loads_state: bool,
}

/// What the time of an operation depends on.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// The payload: a whole RPC processor executes it.
    Payload,
    /// Nothing.
    Fixed(Time),
    /// What a core takes; and the time over that.
    Core(f64),
}

impl<'r> Timing<'r> {
    /// The durations on the server of `run`.
    pub(crate) fn new(run: &Run<'r>) -> Timing<'r> {
        Timing {
            config: run.config,
            endless: endless(run),
            laws: laws(run),
            held: run
                .config
                .accelerator
                .inline
                .min(run.config.accelerator.scratchpad),
            inline: run.config.accelerator.inline,
            overhead: run.config.network.entry_overhead,
            pace: Pace::new(run.config.accelerator.scratchpad_bandwidth),
            loads_state: run.config.accelerator.service_state > Bytes(0),
        }
    }

    /// The part of a payload that is in a queue entry; the rest is in memory.
    #[inline(always)]
    pub(crate) fn inline(&self, payload: Bytes) -> Bytes {
        payload.min(self.inline)
    }

    /// The size of an entry on a wire: the inline part of the payload, and the overhead.
    #[inline(always)]
    pub(crate) fn entry_size(&self, payload: Bytes) -> Bytes {
        self.inline(payload) + self.overhead
    }

    /// Time between a queue entry and the scratchpad.
    pub(crate) fn pad(&self, payload: Bytes) -> Time {
        self.pad_of(self.inline(payload))
    }

    /// The same for a payload that is not larger than [`Timing::held`].
    #[inline(always)]
    pub(crate) fn pad_of(&self, payload: Bytes) -> Time {
        self.config.accelerator.scratchpad_latency + self.pace.transfer(payload)
    }

    /// Whether a queue entry holds a payload.
    #[inline(always)]
    pub(crate) fn fits_entry(&self, payload: Bytes) -> bool {
        payload <= self.inline
    }

    /// The largest payload that both a queue entry and the scratchpad hold.
    #[inline(always)]
    pub(crate) fn held(&self) -> Bytes {
        self.held
    }

    /// Whether an element of `accel` loads a state before it serves another service.
    #[inline(always)]
    pub(crate) fn loads_state(&self, accel: Accel) -> bool {
        self.loads_state && matches!(accel, Accel::Ser | Accel::Dser)
    }

    /// Extra time of a payload that does not fit the scratchpad. It passes through in pieces, each
    /// of which pays the latencies again.
    pub(crate) fn more_pieces(&self, uncore: &Uncore, accel: Accel, payload: Bytes) -> Time {
        let hardware = &self.config.accelerator;
        match payload.beyond(hardware.scratchpad) {
            Bytes(0) => Time::ZERO,
            rest => {
                let more = rest.get().div_ceil(hardware.scratchpad.get());
                let latency = uncore.unloaded(accel, Bytes(0));
                (latency + hardware.scratchpad_latency) * more
            }
        }
    }

    /// Time of a payload into or out of the scratchpad on an idle server.
    #[inline]
    pub(crate) fn expected_move(&self, uncore: &Uncore, accel: Accel, payload: Bytes) -> Time {
        if payload <= self.held {
            return self.pad(payload);
        }
        self.expected_beyond(uncore, accel, payload)
    }

    /// The same of a payload that is too large for a queue entry or for the scratchpad.
    fn expected_beyond(&self, uncore: &Uncore, accel: Accel, payload: Bytes) -> Time {
        let beyond = match payload.beyond(self.config.accelerator.inline) {
            Bytes(0) => Time::ZERO,
            rest => uncore.unloaded(accel, rest),
        };
        self.pad(payload).max(beyond) + self.more_pieces(uncore, accel, payload)
    }

    /// Time of an operation on an element of an idle server: load, compute and write back.
    pub(crate) fn operation(&self, uncore: &Uncore, accel: Accel, operation: Operation) -> Time {
        let Operation {
            core,
            input,
            output,
        } = operation;
        let loaded = self.expected_move(uncore, accel, input);
        // Most operations leave the size of a payload as it is.
        let written = match output == input {
            true => loaded,
            false => self.expected_move(uncore, accel, output),
        };
        loaded + self.compute(accel, core, input) + written
    }

    /// The accelerator's time for an operation that takes a core `on_core`, on `size` bytes.
    #[inline(always)]
    pub(crate) fn compute(&self, accel: Accel, on_core: Time, size: Bytes) -> Time {
        let hardware = &self.config.accelerator;
        let mean = match self.laws[accel.index()] {
            Law::Payload => {
                return hardware.rpc_payload_time(size);
            }
            Law::Fixed(fixed) => return fixed,
            Law::Core(share) => on_core.scale(share),
        };
        if hardware.speedup_half == Bytes(0) {
            return mean;
        }
        let share = share(size, hardware.speedup_half);
        mean.scale(1.0 / (self.endless[accel.index()] * share))
    }
}

fn laws(run: &Run<'_>) -> [Law; Accel::MOST] {
    let (config, speedups) = (run.config, speedups(run));
    Accel::EVERY.map(|accel| match config.fixed(accel) {
        _ if config.element_of(accel) != accel => Law::Payload,
        Some(fixed) => Law::Fixed(fixed),
        None => Law::Core(1.0 / speedups[accel.index()]),
    })
}

/// The chip's speedups, but of custom accelerators those that the workload states.
fn speedups(run: &Run<'_>) -> [f64; Accel::MOST] {
    let mut speedups = run.config.accelerator.speedup;
    let stated = run.plan.own_speedups.iter();
    for (own, stated) in speedups.iter_mut().skip(Accel::COUNT).zip(stated) {
        *own = stated.unwrap_or(*own);
    }
    speedups
}

/// Number of messages drawn of each chain to average over its sizes.
const DRAWS: u64 = 256;

/// The sum of the shares of [`share`] of an accelerator's operations, and their number.
type Shares = (f64, u64);

/// By [`Accel::index`], the speedup for endless payloads over the mean speedup.
///
/// The speedup for `size` bytes is `S * size / (size + half)`, the curve of a pipeline with a
/// fixed cost of `half` bytes' time for each operation. `S` is such that the mean over the
/// operations of the services that have a load, with their sizes, is the stated speedup:
/// "on average across all input data sizes" (AccelFlow, section VI).
fn endless(run: &Run<'_>) -> [f64; Accel::MOST] {
    let half = run.config.accelerator.speedup_half;
    let mut sums = [(0.0, 0); Accel::MOST];
    if half > Bytes(0) {
        let loads = run.loads.iter();
        let loaded = loads.filter_map(|load| run.plan.services.get(load.service));
        for phase in loaded.flat_map(|service| &service.phases) {
            if let PhasePlan::Chains(chains) = phase {
                chains
                    .iter()
                    .for_each(|chain| add_shares(run, chain, &mut sums));
            }
        }
    }
    sums.map(|(sum, count)| if count > 0 { count as f64 / sum } else { 1.0 })
}

/// Adds the shares of the operations of a chain.
fn add_shares(run: &Run<'_>, chain: &ChainPlan, sums: &mut [Shares; Accel::MOST]) {
    let half = run.config.accelerator.speedup_half;
    walk(run.plan, chain, Time::ZERO, &mut |visit| {
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
