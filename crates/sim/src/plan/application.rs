//! Application logic whose time differs between requests.

use accelflow_units::Time;
use accelflow_workload::profile::WaitDistribution;

use super::{PhasePlan, Plan, ServicePlan};

/// Keeps draws of application times apart from other attributes of a request.
const APPLICATION: u64 = 0xA991 << 48;

impl Plan {
    /// Returns the plan with times of application logic that are drawn for each request. `times`
    /// returns the distribution for the name of a service and the index of a phase; with `None`,
    /// the time of the phase stays as it is.
    #[must_use]
    pub fn with_application_times(
        mut self,
        times: impl Fn(&str, usize) -> Option<WaitDistribution>,
    ) -> Plan {
        for service in &mut self.services {
            let name = service.name.clone();
            for (number, phase) in service.phases.iter_mut().enumerate() {
                let PhasePlan::Cpu(mean) = phase else {
                    continue;
                };
                if let Some(drawn) = times(&name, number) {
                    *mean = drawn.mean();
                    let number = number as u16;
                    service.application.retain(|(phase, _)| *phase != number);
                    service.application.push((number, drawn));
                }
            }
        }
        self
    }
}

impl ServicePlan {
    /// The core time of the application logic `mean` in the phase number `phase`, for the request
    /// number `request`. It is a function of the arguments alone, so it is the same in every
    /// system.
    #[inline]
    pub(crate) fn application_time(&self, phase: u16, mean: Time, seed: u64, request: u64) -> Time {
        let mut drawn = self.application.iter();
        match drawn.find(|(of, _)| *of == phase) {
            None => mean,
            Some((_, times)) => times.draw(seed, request, APPLICATION | u64::from(phase) << 16),
        }
    }
}
