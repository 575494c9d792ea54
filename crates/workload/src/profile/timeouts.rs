//! The mean number of time-outs of a request, in closed form.

use accelflow_trace::Image;
use accelflow_units::Time;

use super::waits::RemoteWaits;
use crate::services::{ChainWalk, Service, ServiceError};

/// Returns the mean number of time-outs in one request to `service`, if a time-out occurs when an
/// awaited message takes longer than `timeout`. `waits` has the distributions of these times.
///
/// The result is computed in closed form. It assumes that the times are independent of one another
/// and of the load, and that every request takes the most common path. A time-out ends its chain of
/// traces and, once the other chains of its phase have ended, its request. A chain whose awaited
/// messages are late with probabilities p1, p2, ... times out with probability q = 1 - (1 - p1)(1 -
/// p2)... A phase is reached if no chain of an earlier phase has timed out.
///
/// # Errors
/// The errors of [`Service::walk`].
pub fn timeouts_per_request(
    service: &Service,
    image: &Image,
    waits: &RemoteWaits,
    timeout: Time,
) -> Result<f64, ServiceError> {
    // In logarithms, as the probabilities of interest are far below the last bit of 1.
    let (mut reached_ln, mut expected) = (0.0_f64, 0.0);
    for (phase, walk) in service.walk(image)?.iter().enumerate() {
        // The request itself is not awaited.
        let chains = walk.chains().iter().filter(|_| phase > 0);
        let in_time_ln = |chain: &ChainWalk| -> f64 {
            let awaited = chain
                .operations
                .iter()
                .filter(|operation| operation.receives);
            awaited
                .map(|operation| (-waits.distribution(&operation.trace).exceeds(timeout)).ln_1p())
                .sum()
        };
        let of_chains: Vec<f64> = chains.map(in_time_ln).collect();
        let late: f64 = of_chains.iter().map(|ln| -ln.exp_m1()).sum();
        if late > 0.0 {
            expected += reached_ln.exp() * late;
        }
        reached_ln += of_chains.iter().sum::<f64>();
    }
    Ok(expected)
}
