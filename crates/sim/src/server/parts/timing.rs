//! The durations of operations on processing elements.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Pace, Time};

use super::sized_speedups::SizedSpeedups;
use crate::config::Config;
use crate::hardware::Uncore;
use crate::plan::Operation;
use crate::server::run::Run;

/// The durations of operations on processing elements.
pub(crate) struct Timing<'r> {
    config: &'r Config,
    /// The dependence of speedups on payload sizes, if there is one.
    sized: Option<SizedSpeedups>,
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
            sized: SizedSpeedups::new(
                run.config,
                run.plan,
                run.loads.iter().map(|load| load.service),
            ),
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
        match &self.sized {
            Some(sized) => mean.scale(1.0 / sized.over_mean(accel, size)),
            None => mean,
        }
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
