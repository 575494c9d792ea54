//! The error of a measurement of offloads and software accelerators.

use std::io;

use accelflow_accel::AccelError;

use crate::ensemble::PoolError;

/// The error of [`measure`](super::measure) and [`measure_chains`](super::measure_chains), which
/// measure the times of software accelerators and of offloads to them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// An option is 0 but must be at least 1. Holds the option's name.
    #[error("{0} = 0: must be at least 1")]
    Zero(&'static str),
    /// The process may use one core only, and two are needed.
    #[error(
        "cores that this process may use = 1: must be at least 2, one for the host and one for the ensemble"
    )]
    OneCore,
    /// Threads could not be started or bound to cores.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The ensemble could not be started.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The accelerators or the messages could not be created, or an accelerator failed.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// The traces are invalid or could not be linked, or the ensemble refused a run, or a run
    /// failed. Holds the error as text.
    #[error("{0}")]
    Trace(String),
}
