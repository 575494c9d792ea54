//! Times that are drawn from distributions for each request.
//!
//! A drawn time depends only on the service's path, the seed and the request's sequence number, so
//! it is the same under every orchestrator.

use accelflow_units::Time;
use accelflow_workload::profile::{OutsideTimes, ServiceProfile, WaitDistribution};

/// Keeps draws of the costs of operations apart from other attributes of a request.
const COST: u64 = 0xC057 << 48;
/// Keeps draws of the times outside of operations apart from other attributes of a request.
const OUTSIDE: u64 = 0x0075 << 48;

/// The distributions of the times that a service's requests spend outside of operations and
/// application logic, such as in the operating system or at the client.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceSpreads {
    outside: OutsideTimes,
}

impl ServiceSpreads {
    pub(super) fn new(service: &ServiceProfile) -> ServiceSpreads {
        ServiceSpreads {
            outside: service.outside().clone(),
        }
    }

    /// Returns the core time that a request spends neither in operations nor in application logic:
    /// in the operating system, in sockets and in scheduling. A simulation adds this time only in
    /// systems without accelerators. `request` is the sequence number of the request, and `seed`
    /// the random seed. Zero unless the service's recording has such times.
    pub fn outside_core(&self, seed: u64, request: u64) -> Time {
        let outside = self.outside.core.as_ref();
        outside.map_or(Time::ZERO, |times| times.draw(seed, request, OUTSIDE))
    }

    /// Returns the time that a request spends at the client, outside of the server. `request` is
    /// the sequence number of the request, and `seed` the random seed. Zero unless the service's
    /// recording has such times.
    pub fn outside_client(&self, seed: u64, request: u64) -> Time {
        let outside = self.outside.client.as_ref();
        outside.map_or(Time::ZERO, |times| times.draw(seed, request, OUTSIDE | 2))
    }
}

/// By phase, the times of application logic that vary in a recording.
pub(super) fn application_of(service: &ServiceProfile) -> Vec<(u16, WaitDistribution)> {
    let phases = 0..service.phases().len();
    phases
        .filter_map(|phase| Some((phase as u16, service.app_spread(phase)?.clone())))
        .collect()
}

/// The distributions of the costs of a chain's operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CostSpreads {
    /// The phase and the chain, as part of an attribute's number.
    place: u64,
    /// By the number of the operation in its chain; empty if no cost varies.
    by_operation: Vec<Option<WaitDistribution>>,
}

impl CostSpreads {
    /// The distributions `by_operation` of the chain at `place`: its phase, and its number in the
    /// phase.
    pub(super) fn new(
        place: (u16, u16),
        by_operation: Vec<Option<WaitDistribution>>,
    ) -> CostSpreads {
        if by_operation.iter().all(Option::is_none) {
            return CostSpreads::default();
        }
        CostSpreads {
            place: (u64::from(place.0) & 0x3FFF) << 34 | (u64::from(place.1) & 0x3FFF) << 20,
            by_operation,
        }
    }

    /// Whether no cost varies.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_operation.is_empty()
    }

    /// Whether the cost of the operation number `operation` varies.
    pub(super) fn varies(&self, operation: usize) -> bool {
        matches!(self.by_operation.get(operation), Some(Some(_)))
    }

    /// The core time of the operation number `operation` for the request number `request`, where
    /// its mean is `mean`.
    pub(super) fn cost(&self, operation: usize, mean: Time, seed: u64, request: u64) -> Time {
        let Some(Some(spread)) = self.by_operation.get(operation) else {
            return mean;
        };
        spread.draw(seed, request, COST | self.place | (operation as u64) << 1)
    }
}
