//! The bodies that an executor calls: the pools, and the core where they have no room.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use accelflow_accel::{AccelError, Ensemble, Job};
use accelflow_trace::{Accel, Kind, Transform};

use super::instance::{End, Entry, Reply};
use super::pace::Pace;
use super::workers::Pools;
use crate::bodies::Bodies;
use crate::terms::Terms;

/// The bodies of one executor: they hand steps to the pools and wait for the results.
pub struct PooledBodies {
    pools: Arc<Pools>,
    /// The bodies of the core, for steps that find no room.
    core: Ensemble,
    reply: Arc<Reply>,
    terms: Terms,
    pace: Pace,
}

impl fmt::Debug for PooledBodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBodies")
            .field("pools", &self.pools)
            .finish_non_exhaustive()
    }
}

impl PooledBodies {
    /// Bodies for one executor.
    ///
    /// # Errors
    /// Those of the function that makes ensembles.
    pub fn new(pools: Arc<Pools>) -> Result<PooledBodies, AccelError> {
        let core = (pools.make)()?;
        let pace = Pace::new(pools.instances[0][0].epoch());
        Ok(PooledBodies {
            pools,
            core,
            reply: Arc::default(),
            terms: Terms::default(),
            pace,
        })
    }
}

impl Bodies for PooledBodies {
    fn begin(&mut self, trace: &str, terms: Terms) {
        self.terms = terms;
        self.pace.begin(trace, terms.due, &self.pools.traces);
    }

    fn forget(&mut self) {
        self.core.forget();
    }

    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        let work = self.pools.instances[accel.index()][0].mean();
        let entry = Entry {
            job: std::mem::take(job),
            reply: self.reply.clone(),
            terms: self.terms,
            due: self.pace.next(work),
        };
        if let Err(refused) = self.pools.push(accel, entry) {
            *job = refused.job;
            return self.core.run(accel, job);
        }
        let (returned, end) = self.reply.take();
        *job = returned;
        match end {
            End::Done(done) => done,
            // As if the body had panicked here, where the executor makes an error of it.
            End::Panicked(payload) => resume_unwind(payload),
        }
    }

    fn run_own(&mut self, kind: &Kind, job: &mut Job) -> Result<(), AccelError> {
        // Accelerators beside the nine have no pool: they run on the core.
        self.core.run_own(kind, job)
    }

    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        // The transformation engine stands at every output dispatcher and has no queue.
        self.core.transform(step, job)
    }
}
