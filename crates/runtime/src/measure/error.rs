//! Errors of measurements.

use std::io;

use accelflow_accel::AccelError;

use crate::ensemble::PoolError;

/// An error of a measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A count of zero.
    #[error("{0} = 0: must be at least 1")]
    Nothing(&'static str),
    /// The process may use one core only.
    #[error("cores = 1: must be at least 2, one for the host and one for the ensemble")]
    OneCore,
    /// Threads could not be started or bound to cores.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The ensemble could not be started.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The bodies, or their messages, could not be made.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// The traces could not be linked, or a run failed.
    #[error("{0}")]
    Trace(String),
}
