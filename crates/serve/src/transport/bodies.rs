//! The bodies of executors: inline, or in pools of workers that executors share.

use std::sync::Arc;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_runtime::{Bodies, PooledBodies, Pools};

use crate::config::Execution;
use crate::error::ServeError;

/// Makes the bodies of one executor.
pub type MakeBodies = dyn Fn() -> Result<Box<dyn Bodies + Send>, AccelError> + Send + Sync;

/// What makes the bodies of executors out of `ensemble`, and the pools that these share, if any.
///
/// # Errors
/// Those of starting the pools.
pub fn bodies_of(
    execution: Execution,
    ensemble: impl Fn() -> Result<Ensemble, AccelError> + Send + Sync + 'static,
) -> Result<(Box<MakeBodies>, Option<Arc<Pools>>), ServeError> {
    let settings = match execution {
        Execution::Inline => {
            let make = move || {
                let bodies: Box<dyn Bodies + Send> = Box::new(ensemble()?);
                Ok(bodies)
            };
            return Ok((Box::new(make), None));
        }
        Execution::Ensemble(settings) => settings,
    };
    let pools = Arc::new(Pools::start(settings, ensemble)?);
    let shared = pools.clone();
    let make = move || {
        let bodies: Box<dyn Bodies + Send> = Box::new(PooledBodies::new(shared.clone())?);
        Ok(bodies)
    };
    Ok((Box::new(make), Some(pools)))
}
