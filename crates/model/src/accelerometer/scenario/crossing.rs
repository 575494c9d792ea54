//! Solves for the wait in a queue and the selection of offloads, which depend on each other.

use accelflow_parameters::Refusal;

use crate::accelerometer::granularity::bisect;
use crate::accelerometer::quantity::MeanCycles;

/// The largest relative difference between two waits that are the same but for rounding.
const ROUNDING: f64 = 1e-9;

/// The wait Q of offloads whose selection depends on it.
///
/// If many offloads have one size, all of them stop paying at the same wait. With a shorter wait
/// all go to the accelerator, which then makes them wait longer; with a longer wait none go. So the
/// wait is the one at which this size pays exactly 0, and the part of them that makes it go.
#[derive(Clone, Copy)]
pub(super) struct Crossing {
    /// The wait Q, in cycles of the host.
    pub queue: MeanCycles,
    /// The largest floating-point number below `queue`, or `queue` itself if `part` is 0.
    pub below: MeanCycles,
    /// Of the offloads that save cycles with the wait `below` but not with the wait `queue`, the
    /// share that goes to the accelerator, from 0 to 1.
    pub part: f64,
}

impl Crossing {
    /// The wait `queue`, with exactly the offloads that pay there.
    pub(super) fn at(queue: MeanCycles) -> Crossing {
        Crossing {
            queue,
            below: queue,
            part: 0.0,
        }
    }

    /// Finds the wait that the offloads cause which are selected with it, as `wait_of` says. `None`
    /// if they overload the accelerator with any wait.
    ///
    /// With a longer wait fewer offloads pay, and fewer offloads wait less. So the resulting wait
    /// decreases with the assumed wait, and there is exactly one crossing.
    ///
    /// # Errors
    /// Those of `wait_of`.
    pub(super) fn find(
        wait_of: impl Fn(Crossing) -> Result<f64, Refusal>,
    ) -> Result<Option<Crossing>, Refusal> {
        let at = |queue: f64| Crossing::at(MeanCycles(queue));
        let first = wait_of(at(0.0))?;
        // Offloads do not wait, or their wait leaves the selection as it is.
        if first == 0.0 || (first.is_finite() && wait_of(at(first))? == first) {
            return Ok(Some(at(first)));
        }
        let mut high = if first.is_finite() { first } else { 1.0 };
        while wait_of(at(high))? > high {
            high *= 2.0;
            if !high.is_finite() {
                return Ok(None);
            }
        }
        let exceeds = |tried: Crossing| wait_of(tried).is_ok_and(|wait| wait > tried.queue.0);
        let queue = bisect(0.0, high, |queue| exceeds(at(queue)));
        if wait_of(at(queue))? >= queue * (1.0 - ROUNDING) {
            return Ok(Some(at(queue)));
        }
        let with = |part: f64| Crossing {
            below: MeanCycles(queue.next_down()),
            part,
            ..at(queue)
        };
        Ok(Some(with(bisect(0.0, 1.0, |part| !exceeds(with(part))))))
    }
}
