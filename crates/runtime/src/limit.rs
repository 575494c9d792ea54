//! A limit on the number of traces that one tenant runs at a time.

use std::sync::Arc;
use std::time::Instant;

use crate::gate::{Gate, Seat, Turn};

/// A limit on the number of traces that one tenant runs at a time, so that the tenant cannot occupy
/// all accelerators. Further traces wait in order of arrival, or are refused. The paper: "if a
/// counter for a tenant reaches a threshold N, no new trace for the tenant can be initiated"
/// (AccelFlow, section IV.D). Clones share the limit and its counts.
#[derive(Clone, Debug)]
pub struct TraceLimit {
    gate: Arc<Gate<Running>>,
}

#[derive(Debug, Default)]
struct Running {
    most: usize,
    now: usize,
    peak: usize,
}

/// The error of a tenant that has reached its limit of running traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tenant already has {most} running traces, the most that it may have: try again when one \
     of them has ended"
)]
pub struct TenantBusy {
    /// The largest number of traces that the tenant may run at a time.
    pub most: usize,
}

/// A running trace of a tenant. The trace counts against the [`TraceLimit`] until this value is
/// dropped.
#[derive(Debug)]
pub struct RunningTrace {
    gate: Arc<Gate<Running>>,
}

impl TraceLimit {
    /// Creates a limit of `most` concurrent traces. 0 means no limit.
    pub fn new(most: usize) -> TraceLimit {
        let running = Running {
            most,
            ..Running::default()
        };
        TraceLimit {
            gate: Arc::new(Gate::new(running)),
        }
    }

    /// Waits until the tenant is below its limit, and then counts one more running trace. The wait
    /// ends at the time `until`; with `None` it has no time limit.
    ///
    /// # Errors
    /// [`TenantBusy`] if the tenant is still at its limit at the time `until`. If `until` is in the
    /// past, the function does not wait.
    pub fn begin(&self, until: Option<Instant>) -> Result<RunningTrace, TenantBusy> {
        begin(&self.gate, None, until)
    }

    /// Returns a place in the queue of traces that wait, for waits that another thread can end.
    pub fn turn(&self) -> TraceTurn {
        TraceTurn {
            gate: self.gate.clone(),
            seat: Arc::default(),
        }
    }

    /// Changes the limit to `most` concurrent traces; 0 for no limit. Running traces continue, and
    /// waiting traces may start.
    pub fn set_most(&self, most: usize) {
        self.gate.change(|running| running.most = most);
    }

    /// The number of traces that the tenant is running now.
    pub fn running(&self) -> usize {
        self.gate.change(|running| running.now)
    }

    /// The largest number of traces that the tenant has had running at one time so far.
    pub fn peak(&self) -> usize {
        self.gate.change(|running| running.peak)
    }

    /// The number of threads that wait to start a trace, without those between two waits of a
    /// [`TraceTurn`].
    pub fn waiting(&self) -> usize {
        self.gate.waiting()
    }
}

fn begin(
    gate: &Arc<Gate<Running>>,
    seat: Option<&Arc<Seat>>,
    until: Option<Instant>,
) -> Result<RunningTrace, TenantBusy> {
    let begun = gate.pass_from(seat, until, |running| {
        if running.most > 0 && running.now >= running.most {
            return Turn::Wait(None);
        }
        running.now += 1;
        running.peak = running.peak.max(running.now);
        Turn::Pass(())
    });
    match begun {
        Some(()) => Ok(RunningTrace { gate: gate.clone() }),
        None => Err(TenantBusy {
            most: gate.change(|running| running.most),
        }),
    }
}

/// A place in the queue of traces that wait for a [`TraceLimit`]. Its thread can wait several times
/// without losing the place, and other threads can end the waits ([`TraceTurn::ender`]). The first
/// wait takes the place, and dropping this value gives it up. Between two waits, the traces behind
/// it pass it over, so that what its thread does then cannot hold them up.
///
/// A place is for one trace, so only one thread can wait at it:
///
/// ```compile_fail,E0499
/// let mut turn = accelflow_runtime::TraceLimit::new(1).turn();
/// std::thread::scope(|scope| {
///     scope.spawn(|| turn.begin(None));
///     scope.spawn(|| turn.begin(None));
/// });
/// ```
#[derive(Debug)]
pub struct TraceTurn {
    gate: Arc<Gate<Running>>,
    seat: Arc<Seat>,
}

/// A handle with which any thread ends the waits of a [`TraceTurn`].
#[derive(Clone, Debug)]
pub struct TurnEnder {
    gate: Arc<Gate<Running>>,
    seat: Arc<Seat>,
}

impl TraceTurn {
    /// Waits like [`TraceLimit::begin`]. At the time `until`, the place in the queue is kept for
    /// the next wait.
    ///
    /// # Errors
    /// [`TenantBusy`] if the tenant is still at its limit at the time `until`, and at once after
    /// [`TurnEnder::end`].
    pub fn begin(&mut self, until: Option<Instant>) -> Result<RunningTrace, TenantBusy> {
        begin(&self.gate, Some(&self.seat), until)
    }

    /// Returns a handle with which other threads can end the waits.
    pub fn ender(&self) -> TurnEnder {
        TurnEnder {
            gate: self.gate.clone(),
            seat: self.seat.clone(),
        }
    }
}

impl TurnEnder {
    /// Ends the wait in [`TraceTurn::begin`], and all later waits, with [`TenantBusy`], and gives
    /// up the place.
    pub fn end(&self) {
        self.gate.end(&self.seat);
    }
}

impl Drop for TraceTurn {
    fn drop(&mut self) {
        self.gate.leave(&self.seat);
    }
}

impl Drop for RunningTrace {
    fn drop(&mut self) {
        self.gate.change(|running| running.now -= 1);
    }
}
