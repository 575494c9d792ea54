//! Cost profiles: of operations, phases, services and sets of services.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::cost::{Cost, Payload};
use super::number::ProfileParameter;
use super::waits::{RemoteWaits, WaitDistribution};
use crate::services::{Operation, Place, RecordedRequests, Service};

/// One accelerator call of a service, with its cost and payload sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationProfile {
    /// The accelerator call to which the cost and the payload sizes belong.
    pub operation: Operation,
    /// The cost of the accelerator's operation on a core.
    pub cost: Cost,
    /// The measured payload sizes. They hold for a message of mean size; those of a request are in
    /// proportion to the drawn size of its message ([`PayloadSizes`](crate::sizes::PayloadSizes)).
    /// `None` if they were not measured: they then follow from the drawn size alone.
    pub payload: Option<Payload>,
    /// The distribution of the cost on a core, with the same mean as `cost`; `None` if the cost is
    /// not drawn for each request.
    pub spread: Option<WaitDistribution>,
}

/// The costs of one phase of a service on a core: the time of application logic, or the costs of
/// accelerator calls.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseProfile {
    /// Application logic. Holds its time on a core.
    Cpu(Time),
    /// Chains that run in parallel. Holds the accelerator calls of each chain with their costs, in
    /// the order of [`Service::walk`].
    Traces(Vec<Vec<OperationProfile>>),
}

/// The time of a request that is neither in accelerator calls nor in application logic, such as
/// time in the kernel, in sockets and in scheduling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutsideTimes {
    /// The distribution of the server's processor time for a request outside of accelerator calls
    /// and application logic. It applies if cores execute the traces in software. `None` if not
    /// measured or not used.
    pub core: Option<WaitDistribution>,
    /// The distribution of the part of the response time that only the client measures: the
    /// client's response time minus the server's. `None` if not measured or not used.
    pub client: Option<WaitDistribution>,
}

/// The times that vary from request to request, other than the costs of operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drawn {
    /// By phase, the distribution of application logic, whose mean the phase has.
    pub(super) app: Vec<Option<WaitDistribution>>,
    pub(super) outside: OutsideTimes,
}

/// The stated costs of one chain's accelerator calls, for calls off the most common path, too.
/// Costs are indexed by [`Accel::index`]; `None` for costs that are not stated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChainCosts {
    /// The names of the traces on the most common path, in order, each with the costs for a message
    /// of the size that this trace's message has.
    pub(super) traces: Vec<(String, [Option<Cost>; Accel::MOST])>,
    /// The costs in all other traces.
    pub(super) others: [Option<Cost>; Accel::MOST],
}

impl ChainCosts {
    /// The cost of a call of `accel` by the trace `trace`; `None` if it is not stated.
    pub(super) fn cost(&self, trace: &str, accel: Accel) -> Option<Cost> {
        let mut own = self.traces.iter().filter(|(name, _)| name == trace);
        let costs = own.next().map_or(&self.others, |(_, costs)| costs);
        costs[accel.index()]
    }
}

/// A service with the costs of its accelerator calls and of its application logic, as times on a
/// core.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceProfile {
    pub(super) service: Service,
    pub(super) phases: Vec<PhaseProfile>,
    pub(super) requests: RecordedRequests,
    pub(super) drawn: Drawn,
    /// The stated costs by phase and chain; no phases, or no chains of a phase, without such costs.
    pub(super) stated: Vec<Vec<ChainCosts>>,
}

impl ServiceProfile {
    /// Returns the service to which these costs belong.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Returns the costs of each phase, in the order of [`Service::path`].
    pub fn phases(&self) -> &[PhaseProfile] {
        &self.phases
    }

    /// Returns the recorded requests to the service, with the payload values of each; empty if the
    /// recording has no individual requests, or the costs are not from a recording.
    pub fn requests(&self) -> &RecordedRequests {
        &self.requests
    }

    /// Returns the distribution from which the time of application logic in the phase with index
    /// `phase` is drawn for each request. Its mean is the phase's time. `None` if every request
    /// takes the same time.
    pub fn app_spread(&self, phase: usize) -> Option<&WaitDistribution> {
        self.drawn.app.get(phase)?.as_ref()
    }

    /// Returns the time of a request that is neither in accelerator calls nor in application logic.
    /// Each of its parts, `core` and `client`, is `None` unless the costs come from a recording
    /// that has this part and whose distributions are used.
    pub fn outside(&self) -> &OutsideTimes {
        &self.drawn.outside
    }

    /// Returns the service's accelerator calls on its most common path with their costs, phase by
    /// phase and chain by chain.
    pub fn operations(&self) -> impl Iterator<Item = &OperationProfile> {
        self.phases
            .iter()
            .flat_map(|phase| match phase {
                PhaseProfile::Cpu(_) => [].iter(),
                PhaseProfile::Traces(chains) => chains.iter(),
            })
            .flatten()
    }

    /// Returns the call of accelerator `accel` by the trace `trace`, with its cost. `phase` and
    /// `chain` are the indices of the phase and of the chain in the phase. `receives` is true for a
    /// call of TCP that receives a message. `None` if the call is not on the service's most common
    /// path; [`ServiceProfile::cost_off_path`] has the cost of such calls.
    ///
    /// If the trace calls the accelerator more than once, returns the first call. No trace of the
    /// AccelFlow paper does so.
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

    /// Returns the cost of accelerator `accel` for a call by the trace `trace`, in the chain at
    /// `place`, that is not on the service's most common path. It is the cost that the workload
    /// file states for this service, or else the typical cost in `profile`
    /// ([`Profile::typical_cost`]); `None` without both.
    pub fn cost_off_path(
        &self,
        place: &Place,
        trace: &str,
        accel: Accel,
        profile: &Profile,
    ) -> Option<Cost> {
        let chains = self.stated.get(place.phase);
        let chain = chains.and_then(|chains| chains.get(place.chain));
        let own = chain.and_then(|chain| chain.cost(trace, accel));
        own.or_else(|| profile.typical_cost(accel))
    }

    /// Returns the total time of application logic of one invocation, on a core.
    pub fn app_time(&self) -> Time {
        let cpu = self.phases.iter().filter_map(|phase| match phase {
            PhaseProfile::Cpu(time) => Some(*time),
            PhaseProfile::Traces(_) => None,
        });
        cpu.fold(Time::ZERO, |sum, time| sum + time)
    }

    /// Returns the total time of one invocation on a core without accelerators: the application
    /// logic, and all operations on the most common path at their mean costs.
    pub fn core_time(&self) -> Time {
        self.operations().fold(self.app_time(), |sum, operation| {
            sum + operation.cost.mean()
        })
    }
}

/// The costs of a set of services: the times that their operations and their application logic take
/// on a core, and the times that remote sides take to answer.
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

    /// Returns the services with their costs, in the order in which the profile was created.
    pub fn services(&self) -> &[ServiceProfile] {
        &self.services
    }

    /// Returns the profile with only the services whose names are in `names`. Typical costs
    /// ([`Profile::typical_cost`]) and parameters remain those of all services.
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

    /// Returns the cost of accelerator `accel` for calls that are not on the most common path of
    /// their service, if the service's own cost is not stated. Its mean, and the share of this mean
    /// that depends on the payload's size, are averages over all calls of `accel` on the most
    /// common paths of all services. If there are no such calls, returns the cost that the paper or
    /// the workload file gives for the operation. `None` if there is neither, as for an accelerator
    /// that no call in a recording uses.
    pub fn typical_cost(&self, accel: Accel) -> Option<Cost> {
        self.typical[accel.index()]
    }

    /// Returns the times that remote sides take to answer.
    pub fn waits(&self) -> &RemoteWaits {
        &self.waits
    }

    /// Returns the numbers on which this profile depends, such as operation costs, each with its
    /// unit and origin. For costs from a recording, the list has the sum of each service's
    /// operation costs, not the single costs.
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
    let first = costs.first()?.size_share();
    let sum_ns: f64 = costs.iter().map(|cost| cost.mean().as_ns_f64()).sum();
    let sized_ns = |cost: &Cost| cost.mean().as_ns_f64() * cost.size_share();
    // Only different shares have a mean, which rounding makes another number.
    let equal = costs.iter().all(|cost| cost.size_share() == first);
    let size_share = match equal || sum_ns == 0.0 {
        true => first,
        false => costs.iter().map(sized_ns).sum::<f64>() / sum_ns,
    };
    Some(Cost::new(
        Time::from_ns_f64(sum_ns / costs.len() as f64),
        size_share,
    ))
}
