//! How many traces of one tenant may run at once.

use std::sync::Arc;
use std::time::Instant;

use crate::gate::{Gate, Turn};

/// The limit that keeps a tenant from hoarding accelerators: "if a counter for a tenant reaches a
/// threshold N, no new trace for the tenant can be initiated" (AccelFlow, section IV.D). Who asks
/// for more waits in the order of asking, or is told.
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

/// A tenant's traces that may run do run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{most} traces of the tenant run: no further one starts before one of them ends")]
pub struct TenantBusy {
    /// The limit.
    pub most: usize,
}

/// A trace of the tenant; dropping it ends it.
#[derive(Debug)]
pub struct RunningTrace {
    gate: Arc<Gate<Running>>,
}

impl TraceLimit {
    /// At most `most` traces at once; 0 for any number.
    pub fn new(most: usize) -> TraceLimit {
        let running = Running {
            most,
            ..Running::default()
        };
        TraceLimit {
            gate: Arc::new(Gate::new(running)),
        }
    }

    /// Starts a trace once one may start.
    ///
    /// # Errors
    /// [`TenantBusy`] if none may by `until`; with a time that is over, at once.
    pub fn begin(&self, until: Option<Instant>) -> Result<RunningTrace, TenantBusy> {
        let mut most = 0;
        let begun = self.gate.pass(until, |running| {
            most = running.most;
            if running.most > 0 && running.now >= running.most {
                return Turn::Wait(None);
            }
            running.now += 1;
            running.peak = running.peak.max(running.now);
            Turn::Pass(())
        });
        match begun {
            Some(()) => Ok(RunningTrace {
                gate: self.gate.clone(),
            }),
            None => Err(TenantBusy { most }),
        }
    }

    /// Replaces the limit. Traces that run stay, and those that wait may start.
    pub fn set_most(&self, most: usize) {
        self.gate.change(|running| running.most = most);
    }

    /// Traces that run now.
    pub fn running(&self) -> usize {
        self.gate.change(|running| running.now)
    }

    /// The most that ever ran at once.
    pub fn peak(&self) -> usize {
        self.gate.change(|running| running.peak)
    }

    /// Threads that wait to start one.
    pub fn waiting(&self) -> usize {
        self.gate.waiting()
    }
}

impl Drop for RunningTrace {
    fn drop(&mut self) {
        self.gate.change(|running| running.now -= 1);
    }
}
