//! The TCP accelerator.

use accelflow_trace::{Accel, Format};

use crate::accelerator::Accelerator;
use crate::error::AccelError;
use crate::job::{Direction, Job};
use crate::limits::Limits;
use crate::protocols::tcp::{receive, send};

/// The TCP accelerator. Converts a job's message to TCP segments or back, as `job.direction`
/// states, and advances the sequence numbers in `job.session.tcp`.
///
/// When the accelerator receives a message, it clears the job's facts, core, compression, envelope
/// and record, which belong to the previous message. It keeps `job.call`, which describes all
/// messages of the connection.
#[derive(Debug, Default)]
pub struct Tcp {
    limits: Limits,
}

impl Tcp {
    /// Creates the TCP accelerator for messages within `limits`.
    pub fn new(limits: Limits) -> Tcp {
        Tcp { limits }
    }
}

impl Accelerator for Tcp {
    fn kind(&self) -> Accel {
        Accel::Tcp
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let session = job
            .session
            .tcp
            .as_mut()
            .ok_or(AccelError::NoSession { layer: "TCP" })?;
        match job.direction {
            Direction::Send => job.bytes = send(session, &job.bytes, &self.limits)?,
            Direction::Receive => {
                job.bytes = receive(session, &job.bytes, &self.limits)?;
                job.facts.clear();
                job.packed = None;
                job.envelope = None;
                job.record = None;
                job.core = None;
                job.format = Format::Str;
            }
        }
        Ok(())
    }
}
