//! The costs of services: operations, phases, and sets of services.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::cost::{Cost, Payload};
use super::number::ProfileParameter;
use super::waits::{RemoteWaits, WaitDistribution};
use crate::services::{Operation, RecordedRequests, Service};

/// One accelerator call of a service, with its cost and payload sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationProfile {
    /// The accelerator call that has this cost.
    pub operation: Operation,
    /// The cost of the operation on a core.
    pub cost: Cost,
    /// The payload sizes, if they were measured; otherwise they are drawn from [`crate::sizes`].
    pub payload: Option<Payload>,
    /// The distribution of the cost on a core, if it is drawn for each request. Its mean is that of
    /// `cost`.
    pub spread: Option<WaitDistribution>,
}

/// The costs of one phase of a service.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseProfile {
    /// Application logic that takes this much time on a core.
    Cpu(Time),
    /// The accelerator calls of each parallel chain, in the order of [`Service::walk`].
    Traces(Vec<Vec<OperationProfile>>),
}

/// The time of a request outside of accelerator calls and application logic: kernel, sockets,
/// scheduling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutsideTimes {
    /// The distribution of this time on the server's processors, where software executes the
    /// traces.
    pub core: Option<WaitDistribution>,
    /// The distribution of the response time that the client measures in excess of the server's
    /// time.
    pub client: Option<WaitDistribution>,
}

/// The times that vary from request to request, other than the costs of operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drawn {
    /// By phase, the distribution of application logic, whose mean the phase has.
    pub(super) app: Vec<Option<WaitDistribution>>,
    pub(super) outside: OutsideTimes,
}

/// A service with the costs of its operations and of its application logic.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceProfile {
    pub(super) service: Service,
    pub(super) phases: Vec<PhaseProfile>,
    pub(super) requests: RecordedRequests,
    pub(super) drawn: Drawn,
}

impl ServiceProfile {
    /// Returns the service that has these costs.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Returns the costs of each phase of [`Service::path`].
    pub fn phases(&self) -> &[PhaseProfile] {
        &self.phases
    }

    /// Returns the requests of the service that were recorded one by one; none if there are no such
    /// records.
    pub fn requests(&self) -> &RecordedRequests {
        &self.requests
    }

    /// Returns the distribution of the time of application logic in the phase with index `phase`,
    /// if it is drawn for each request. Its mean is the phase's time.
    pub fn app_spread(&self, phase: usize) -> Option<&WaitDistribution> {
        self.drawn.app.get(phase)?.as_ref()
    }

    /// Returns the time of a request outside of accelerator calls and application logic; empty
    /// unless a recording has it and its distributions are used.
    pub fn outside(&self) -> &OutsideTimes {
        &self.drawn.outside
    }

    /// Returns the service's accelerator calls with their costs, phase by phase and chain by chain.
    pub fn operations(&self) -> impl Iterator<Item = &OperationProfile> {
        self.phases
            .iter()
            .flat_map(|phase| match phase {
                PhaseProfile::Cpu(_) => [].iter(),
                PhaseProfile::Traces(chains) => chains.iter(),
            })
            .flatten()
    }

    /// Returns the call of accelerator `accel` by the trace `trace` in a chain, given by the
    /// indices `phase` and `chain`. `receives` distinguishes a TCP that receives from one that
    /// sends. `None` if the call is not on the service's most common path: see
    /// [`Profile::typical_cost`].
    ///
    /// If the trace calls the accelerator more than once in this way, returns the first call. No
    /// trace of the paper does.
    pub fn operation(
        &self,
        phase: usize,
        chain: usize,
        trace: &str,
        accel: Accel,
        receives: bool,
    ) -> Option<&OperationProfile> {
        let Some(PhaseProfile::Traces(chains)) = self.phases.get(phase) else {
            return None;
        };
        chains.get(chain)?.iter().find(|operation| {
            let call = &operation.operation;
            call.accel == accel && call.receives == receives && call.trace == trace
        })
    }

    /// Returns the time of the application logic of one invocation, on a core.
    pub fn app_time(&self) -> Time {
        let cpu = self.phases.iter().filter_map(|phase| match phase {
            PhaseProfile::Cpu(time) => Some(*time),
            PhaseProfile::Traces(_) => None,
        });
        cpu.fold(Time::ZERO, |sum, time| sum + time)
    }

    /// Returns the time of one invocation on a core without accelerators: application logic and all
    /// operations at their mean costs.
    pub fn core_time(&self) -> Time {
        self.operations().fold(self.app_time(), |sum, operation| {
            sum + operation.cost.mean()
        })
    }
}

/// The costs on a core of the operations and the application logic of a set of services, with the
/// times that remote sides take to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub(super) services: Vec<ServiceProfile>,
    pub(super) typical: [Option<Cost>; Accel::MOST],
    waits: RemoteWaits,
    pub(super) parameters: Vec<ProfileParameter>,
}

impl Profile {
    pub(super) fn new(
        services: Vec<ServiceProfile>,
        waits: RemoteWaits,
        mut parameters: Vec<ProfileParameter>,
    ) -> Profile {
        parameters.extend(waits.parameters());
        let mut typical = [None; Accel::MOST];
        for accel in Accel::EVERY {
            typical[accel.index()] = mean_cost(&services, accel);
        }
        Profile {
            services,
            typical,
            waits,
            parameters,
        }
    }

    /// Returns the services with their costs, in the order in which they were given.
    pub fn services(&self) -> &[ServiceProfile] {
        &self.services
    }

    /// Keeps only the services with these names.
    #[must_use]
    pub fn only(mut self, names: &[&str]) -> Profile {
        self.services
            .retain(|service| names.contains(&service.service.name()));
        self
    }

    /// Returns the service called `name` with its costs; `None` if the profile does not have it.
    pub fn service(&self, name: &str) -> Option<&ServiceProfile> {
        self.services
            .iter()
            .find(|profile| profile.service.name() == name)
    }

    /// Returns the mean cost of accelerator `accel` over all its calls in all services, for calls
    /// that are not on the most common paths. `None` if no service uses `accel`.
    pub fn typical_cost(&self, accel: Accel) -> Option<Cost> {
        self.typical[accel.index()]
    }

    /// Returns the times that remote sides take to answer.
    pub fn waits(&self) -> &RemoteWaits {
        &self.waits
    }

    /// Returns every number that this profile uses, with its origin.
    pub fn parameters(&self) -> &[ProfileParameter] {
        &self.parameters
    }
}

fn mean_cost(services: &[ServiceProfile], accel: Accel) -> Option<Cost> {
    let all = services.iter().flat_map(ServiceProfile::operations);
    let costs: Vec<Cost> = all
        .filter(|operation| operation.operation.accel == accel)
        .map(|operation| operation.cost)
        .collect();
    let size_share = costs.first()?.size_share();
    let sum_ns: f64 = costs.iter().map(|cost| cost.mean().as_ns_f64()).sum();
    Some(Cost::new(
        Time::from_ns_f64(sum_ns / costs.len() as f64),
        size_share,
    ))
}
