//! LdB: picks the core that is given a message.

mod affinity;
mod least_loaded;
mod round_robin;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use accelflow_trace::Accel;

use crate::error::AccelError;
use crate::job::{Accelerator, Job};

pub use affinity::Affinity;
pub use least_loaded::LeastLoaded;
pub use round_robin::RoundRobin;

/// How to choose a core.
///
/// Contract: `pick` returns an index into `loads`, or `None` exactly if `loads` is empty. It is
/// deterministic in its arguments and the calls before.
pub trait Policy: Send {
    /// The policy's name, for reports.
    fn name(&self) -> &'static str;

    /// Picks a core for a message with affinity key `key`; `loads` counts what each core has.
    fn pick(&mut self, key: u64, loads: &[u32]) -> Option<usize>;
}

/// What each core has to do, in messages; whoever runs the cores keeps it up to date.
#[derive(Clone, Debug, Default)]
pub struct CoreLoads(Arc<[AtomicU32]>);

impl CoreLoads {
    /// `cores` idle cores.
    pub fn idle(cores: usize) -> CoreLoads {
        CoreLoads((0..cores).map(|_| AtomicU32::new(0)).collect())
    }

    /// The number of cores.
    pub fn cores(&self) -> usize {
        self.0.len()
    }

    /// Sets a core's load; a core that does not exist is ignored.
    pub fn set(&self, core: usize, load: u32) {
        if let Some(slot) = self.0.get(core) {
            slot.store(load, Ordering::Relaxed);
        }
    }

    /// The loads now.
    pub fn snapshot(&self, into: &mut Vec<u32>) {
        into.clear();
        into.extend(self.0.iter().map(|load| load.load(Ordering::Relaxed)));
    }
}

/// The load balancing accelerator: sets `job.core`, leaves the bytes alone.
pub struct Ldb {
    policy: Box<dyn Policy>,
    loads: CoreLoads,
    scratch: Vec<u32>,
}

impl Ldb {
    /// A load balancing body.
    pub fn new(policy: Box<dyn Policy>, loads: CoreLoads) -> Ldb {
        Ldb {
            policy,
            loads,
            scratch: Vec::new(),
        }
    }
}

impl fmt::Debug for Ldb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (policy, loads) = (self.policy.name(), &self.loads);
        f.debug_struct("Ldb")
            .field("policy", &policy)
            .field("loads", loads)
            .finish_non_exhaustive()
    }
}

impl Accelerator for Ldb {
    fn kind(&self) -> Accel {
        Accel::Ldb
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        self.loads.snapshot(&mut self.scratch);
        let core = self
            .policy
            .pick(job.affinity, &self.scratch)
            .ok_or(AccelError::NoCore)?;
        job.core = Some(core);
        Ok(())
    }
}
