//! The load-balancing accelerator.

use std::fmt;

use accelflow_trace::Accel;

use super::core_loads::CoreLoads;
use super::policy::BalancingPolicy;
use crate::accelerator::Accelerator;
use crate::error::AccelError;
use crate::job::Job;

/// The load-balancing accelerator: sets `job.core` to the core that a [`BalancingPolicy`] picks,
/// and leaves the bytes unchanged. Fails without cores (`no_core`).
pub struct Ldb {
    policy: Box<dyn BalancingPolicy>,
    loads: CoreLoads,
    scratch: Vec<u32>,
}

impl Ldb {
    /// Creates the load-balancing accelerator, which applies `policy` to the current `loads`.
    pub fn new(policy: Box<dyn BalancingPolicy>, loads: CoreLoads) -> Ldb {
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
