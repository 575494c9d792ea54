//! The selection of the offload sizes that go to the accelerator, for the load of a simulation.

use accelflow_parameters::Refusal;

use super::service::{Queueing, Scenario};
use super::shared::lines;
use super::solver::Solver;
use crate::accelerometer::granularity::Lucrative;

/// The offloads of a kernel that go to the accelerator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected {
    /// The sizes whose offloads all go to the accelerator: those that save cycles.
    pub always: Lucrative,
    /// The sizes in `always`, and the sizes that save exactly 0 cycles. Offloads of the latter go
    /// to the accelerator only in part, as `part` states.
    pub sometimes: Lucrative,
    /// Of the offloads whose size is in `sometimes` but not in `always`, the share that goes to the
    /// accelerator, from 0 to 1.
    pub part: f64,
    /// The mean of g^beta over the offloads that go to the accelerator, where g is the offload's
    /// size in bytes and beta the kernel's complexity exponent. `None` if none go there or sizes
    /// are unknown.
    pub mean_work: Option<f64>,
}

impl Scenario {
    /// The selection of each kernel if hosts have `load` times the work, of which 1 is what they
    /// can do without offloading. If this load overloads an accelerator: the selection at a load
    /// of 1.
    ///
    /// # Errors
    /// Every error of [`Scenario::evaluate`], which is at a load of 1.
    pub(crate) fn selected(&self, load: f64) -> Result<Vec<Selected>, Refusal> {
        self.evaluate()?;
        // Beyond a load of 1 the accelerator may be overloaded, so that no wait fits.
        at_load(self, load)
            .solved()
            .or_else(|_| at_load(self, 1.0).solved())
    }

    fn solved(&self) -> Result<Vec<Selected>, Refusal> {
        let kernels = self.kernels.iter().zip(lines(self)?);
        kernels
            .map(|(kernel, line)| {
                let solver = Solver::new(kernel, self);
                let crossing = line.map_or_else(|| solver.solve(), |line| Ok(line.crossing))?;
                let range = |queue| solver.pays(queue, true).unwrap_or(Lucrative::NEVER);
                Ok(Selected {
                    always: range(crossing.queue),
                    sometimes: range(crossing.below),
                    part: crossing.part,
                    mean_work: solver.picked(crossing)?.mean_work(),
                })
            })
            .collect()
    }
}

/// `scenario` with `load` times the arrivals at each queue. They are those of `load` times as many
/// hosts: more work of each host could be more than it has cycles.
fn at_load(scenario: &Scenario, load: f64) -> Scenario {
    let mut scenario = scenario.clone();
    for kernel in &mut scenario.kernels {
        if let Queueing::Station { hosts, .. } = &mut kernel.queue {
            *hosts *= load;
        }
    }
    scenario
}
