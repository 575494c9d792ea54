//! What operations and application logic cost on a core, and how long remote sides take.
//!
//! A [`Profile`] comes from the paper's shares ([`Profile::paper`]) or from a recording of the
//! runtime ([`Profile::from_recording`]). All costs are times on one core of the server; what an
//! accelerator makes of them is the simulator's business. Every number that a profile rests on is
//! listed with its origin in [`Profile::parameters`].

mod measured;
mod paper;
mod recording;
mod requests;
mod timeouts;
mod waits;

pub use measured::RecordingOptions;
pub use paper::{Averaging, PAPER_SHARES, PaperOptions, PaperProfileError, ShareKind, shares};
pub use recording::{
    Calibration, Direction, FORMAT, MAX_REQUESTS, READ_VERSIONS, RecordedChain, RecordedPhase,
    RecordedRequest, RecordedService, RecordedStep, Recording, RecordingError, Spot, VERSION,
};
pub use timeouts::timeouts_per_request;
pub use waits::{RemoteWaits, WaitDistribution};

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use crate::services::{Operation, RecordedRequests, Service};

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Printed in a paper.
    Paper,
    /// Calculated from other numbers.
    Derived,
    /// Measured.
    Measured,
    /// Chosen, for a stated reason.
    Assumed,
}

/// A number that a profile rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is, such as `tcp_cost_ns`.
    pub name: String,
    /// Its value, in the unit that the name ends with; a share if it ends with none.
    pub value: f64,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The place, the arithmetic or the reason.
    pub note: String,
}

/// What an operation costs on a core, as a function of the size of the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    mean: Time,
    size_share: f64,
}

impl Cost {
    /// A cost of `mean` at the mean payload, of which `size_share` (from 0 to 1, clamped; NaN
    /// counts as 0) is proportional to the payload's size and the rest is constant.
    pub fn new(mean: Time, size_share: f64) -> Cost {
        let size_share = if size_share.is_nan() {
            0.0
        } else {
            size_share.clamp(0.0, 1.0)
        };
        Cost { mean, size_share }
    }

    /// The cost at the mean payload. It is also the mean cost, whatever the sizes' distribution.
    pub fn mean(self) -> Time {
        self.mean
    }

    /// The share that is proportional to the payload's size.
    pub fn size_share(self) -> f64 {
        self.size_share
    }

    /// The cost for a payload of `size`, where payloads are `mean_size` on average. A `mean_size`
    /// of zero says nothing about sizes, so the mean cost is returned.
    #[inline]
    pub fn at(self, size: Bytes, mean_size: Bytes) -> Time {
        if mean_size == Bytes(0) {
            return self.mean;
        }
        let relative = size.get() as f64 / mean_size.get() as f64;
        self.mean
            .scale(1.0 - self.size_share + self.size_share * relative)
    }
}

/// Measured payload sizes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// What the accelerator reads.
    pub input: Bytes,
    /// What it writes.
    pub output: Bytes,
}

/// An operation of a chain with its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationProfile {
    /// The accelerator call.
    pub operation: Operation,
    /// What it costs on a core.
    pub cost: Cost,
    /// Its sizes, if they were measured; else they are drawn from [`crate::sizes`].
    pub payload: Option<Payload>,
}

/// A phase of a service with its costs.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseProfile {
    /// Application logic that takes a core this long.
    Cpu(Time),
    /// The operations of each parallel chain, in the order of [`Service::walk`].
    Traces(Vec<Vec<OperationProfile>>),
}

/// A service with its costs.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceProfile {
    service: Service,
    phases: Vec<PhaseProfile>,
    requests: RecordedRequests,
}

impl ServiceProfile {
    /// The service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The costs of each phase of [`Service::path`].
    pub fn phases(&self) -> &[PhaseProfile] {
        &self.phases
    }

    /// Requests that were recorded one by one; none if they were not.
    pub fn requests(&self) -> &RecordedRequests {
        &self.requests
    }

    /// All operations, phase by phase and chain by chain.
    pub fn operations(&self) -> impl Iterator<Item = &OperationProfile> {
        self.phases
            .iter()
            .flat_map(|phase| match phase {
                PhaseProfile::Cpu(_) => [].iter(),
                PhaseProfile::Traces(chains) => chains.iter(),
            })
            .flatten()
    }

    /// The operation that accelerator `accel` does in `trace`, as a TCP that receives or not.
    ///
    /// The traces of the paper call no accelerator twice this way; of a trace that does, this is
    /// the first such call. `None` off the service's most common path: see
    /// [`Profile::typical_cost`].
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
        chains.get(chain)?.iter().find(|it| {
            let call = &it.operation;
            call.accel == accel && call.receives == receives && call.trace == trace
        })
    }

    /// The application logic of one invocation.
    pub fn app_time(&self) -> Time {
        let cpu = self.phases.iter().filter_map(|phase| match phase {
            PhaseProfile::Cpu(time) => Some(*time),
            PhaseProfile::Traces(_) => None,
        });
        cpu.fold(Time::ZERO, |sum, time| sum + time)
    }

    /// The core time of one invocation without accelerators: application logic and all
    /// operations, each at its mean cost.
    pub fn core_time(&self) -> Time {
        self.operations()
            .fold(self.app_time(), |sum, it| sum + it.cost.mean())
    }
}

/// What a set of services costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    services: Vec<ServiceProfile>,
    typical: [Option<Cost>; Accel::COUNT],
    waits: RemoteWaits,
    parameters: Vec<Parameter>,
}

impl Profile {
    fn new(
        services: Vec<ServiceProfile>,
        waits: RemoteWaits,
        mut parameters: Vec<Parameter>,
    ) -> Profile {
        parameters.extend(waits.parameters());
        let typical = Accel::ALL.map(|accel| mean_cost(&services, accel));
        Profile {
            services,
            typical,
            waits,
            parameters,
        }
    }

    /// The services, in the order in which they were given.
    pub fn services(&self) -> &[ServiceProfile] {
        &self.services
    }

    /// The same costs for the services called `names` alone.
    #[must_use]
    pub fn only(mut self, names: &[&str]) -> Profile {
        self.services
            .retain(|it| names.contains(&it.service.name()));
        self
    }

    /// The same costs, where the application logic of an invocation takes what `time` says of a
    /// service, in equal parts for its CPU phases; services that it says nothing of stay as they
    /// are.
    #[must_use]
    pub fn with_app_times(mut self, time: impl Fn(&str) -> Option<Time>) -> Profile {
        for it in &mut self.services {
            let name = it.service.name().to_owned();
            let mut phases = it.service.cpu_phases() as u64;
            let Some(time) = time(&name).filter(|_| phases > 0) else {
                continue;
            };
            let mut left_ps = time.as_ps();
            for phase in &mut it.phases {
                if let PhaseProfile::Cpu(part) = phase {
                    *part = Time::from_ps(left_ps / phases);
                    left_ps -= part.as_ps();
                    phases -= 1;
                }
            }
            self.parameters.push(Parameter {
                name: format!("app.{name}_ns"),
                value: time.as_ns_f64(),
                provenance: Provenance::Derived,
                note: "application logic of an invocation, as the workload states it".to_owned(),
            });
        }
        self
    }

    /// The service called `name`.
    pub fn service(&self, name: &str) -> Option<&ServiceProfile> {
        self.services.iter().find(|it| it.service.name() == name)
    }

    /// The mean cost of accelerator `accel` over all operations of all services: for operations
    /// off the most common paths. `None` if no service uses `accel`.
    pub fn typical_cost(&self, accel: Accel) -> Option<Cost> {
        self.typical[accel.index()]
    }

    /// How long remote sides take.
    pub fn waits(&self) -> &RemoteWaits {
        &self.waits
    }

    /// The numbers that this profile rests on, with their origins.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }
}

fn mean_cost(services: &[ServiceProfile], accel: Accel) -> Option<Cost> {
    let all = services.iter().flat_map(ServiceProfile::operations);
    let costs: Vec<Cost> = all
        .filter(|it| it.operation.accel == accel)
        .map(|it| it.cost)
        .collect();
    let size_share = costs.first()?.size_share();
    let sum_ns: f64 = costs.iter().map(|cost| cost.mean().as_ns_f64()).sum();
    Some(Cost::new(
        Time::from_ns_f64(sum_ns / costs.len() as f64),
        size_share,
    ))
}

/// The share of an operation's cost that grows with the payload, by [`Accel::index`], unless an
/// option says otherwise: one half where every byte is touched, none for RPC and LdB, which read
/// headers.
///
/// Provenance: assumed. The paper prints no cost by size. One half lies between a cost per message
/// and a cost per byte; the mean cost is the same for any value.
pub const ASSUMED_SIZE_SHARES: [f64; Accel::COUNT] = [0.5, 0.5, 0.5, 0.0, 0.5, 0.5, 0.5, 0.5, 0.0];

fn size_share_parameters(shares: &[f64; Accel::COUNT]) -> impl Iterator<Item = Parameter> + '_ {
    Accel::ALL.into_iter().map(|accel| Parameter {
        name: format!("size_share.{accel}"),
        value: shares[accel.index()],
        provenance: Provenance::Assumed,
        note: "share of the cost that is proportional to the payload; no paper prints it"
            .to_owned(),
    })
}
