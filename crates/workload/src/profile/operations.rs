//! Cost profiles from costs that a workload file states, and profiles combined from several.

use accelflow_parameters::Provenance;
use accelflow_trace::{Accel, Image};
use accelflow_units::{Bytes, Time};

use super::cost::Cost;
use super::number::{ProfileParameter, number};
use super::services::{Drawn, OperationProfile, PhaseProfile, Profile, ServiceProfile};
use super::waits::RemoteWaits;
use crate::services::{ChainWalk, PhaseWalk, RecordedRequests, Service, ServiceError};
use crate::sizes::{MessagePlace, PayloadSizes};

/// The cost of an operation on a core, as a workload file states it: a constant part per message,
/// and a part per byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedCost {
    /// The constant part of the cost, for each message, in ns.
    pub ns: f64,
    /// The part of the cost for each byte of the message before compression, in ns.
    pub ns_per_byte: f64,
    /// The relative standard error of the cost, if the cost was measured: one standard error of the
    /// mean, divided by the mean.
    pub relative_error: Option<f64>,
}

/// The cost of each accelerator's operation on a core, indexed by [`Accel::index`]; `None` for
/// operations whose cost is not stated.
pub type StatedCosts = [Option<StatedCost>; Accel::MOST];

/// The error of a service whose costs cannot be computed from the stated costs of operations, for
/// example because one is missing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StatedCostsError {
    /// The service is invalid, or does not fit the trace memory.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The service uses an operation whose cost is not stated.
    #[error(
        "service {service}: cost of {accel} is left out: must be stated, since the service uses it"
    )]
    Missing {
        /// The name of the service.
        service: String,
        /// The name of the accelerator whose operation has no cost.
        accel: String,
    },
}

impl StatedCost {
    /// Returns this cost as a function of the message's size, for messages whose mean size is
    /// `mean`. The part per byte becomes the share of the cost that is proportional to the size.
    /// For example, 100 ns per message and 1 ns per byte give a mean cost of 400 ns at a mean size
    /// of 300 bytes, of which a share of 0.75 is proportional to the size.
    pub fn at_mean(self, mean: Bytes) -> Cost {
        let of_size = self.ns_per_byte * mean.get() as f64;
        let whole = self.ns + of_size;
        let share = if whole > 0.0 { of_size / whole } else { 0.0 };
        Cost::new(Time::from_ns_f64(whole), share)
    }
}

impl Profile {
    /// Creates the cost profile of `service` from the costs of operations in `costs`, stated per
    /// message and per byte. `sizes` has the sizes of the service's messages, and `image` its
    /// traces. Application logic takes no time until [`Profile::with_cpu_times`] sets its time.
    ///
    /// # Errors
    /// [`StatedCostsError`] for an operation of the service without a cost, and the errors of
    /// [`Service::walk`].
    pub fn stated(
        service: &Service,
        image: &Image,
        costs: &StatedCosts,
        sizes: &PayloadSizes,
    ) -> Result<Profile, StatedCostsError> {
        let mut phases = Vec::new();
        for (phase, walk) in service.walk(image)?.into_iter().enumerate() {
            let PhaseWalk::Traces(chains) = walk else {
                phases.push(PhaseProfile::Cpu(Time::ZERO));
                continue;
            };
            let priced = chains.into_iter().enumerate().map(|(chain, walk)| {
                let place = (phase as u16, chain as u16);
                priced(walk, place, service, image, costs, sizes)
            });
            phases.push(PhaseProfile::Traces(priced.collect::<Result<_, _>>()?));
        }
        let profile = ServiceProfile {
            service: service.clone(),
            phases,
            requests: RecordedRequests::default(),
            drawn: Drawn::default(),
        };
        let name = service.name();
        let parameters = image.accelerators().flat_map(|accel| {
            costs[accel.index()]
                .into_iter()
                .flat_map(move |cost| stated_parameters(name, image.accel_name(accel), cost))
        });
        let mut made = Profile::new(vec![profile], RemoteWaits::short(), parameters.collect());
        // Operations off the most common path, on a message of the service's mean size.
        let mean = sizes.distribution(name, FIRST).mean();
        for accel in image.accelerators() {
            let stated = costs[accel.index()].map(|cost| cost.at_mean(mean));
            let typical = &mut made.typical[accel.index()];
            *typical = typical.or(stated);
        }
        Ok(made)
    }

    /// Combines the cost profiles `parts` into one profile of all their services, in order. `waits`
    /// are the times that remote sides take to answer, in place of those in `parts`.
    pub fn together(parts: Vec<Profile>, waits: RemoteWaits) -> Profile {
        let typical: Vec<_> = parts.iter().map(|part| part.typical).collect();
        let mut services = Vec::new();
        let mut parameters: Vec<ProfileParameter> = Vec::new();
        for part in parts {
            services.extend(part.services);
            for parameter in part.parameters {
                let waits = parameter.key.starts_with("remote_wait");
                if !waits && !parameters.contains(&parameter) {
                    parameters.push(parameter);
                }
            }
        }
        let mut whole = Profile::new(services, waits, parameters);
        for accel in 0..Accel::MOST {
            let mut known = typical.iter().filter_map(|costs| costs[accel]);
            whole.typical[accel] = whole.typical[accel].or_else(|| known.next());
        }
        whole
    }

    /// Replaces the times of application logic of each service. `times` maps the name of a service
    /// to a pair. First, the time of each CPU phase (phase of application logic) in order, or
    /// `None`. Second, the total time of the phases that have `None`, each of which takes an equal
    /// part; if the total is also `None`, these phases keep their times.
    #[must_use]
    pub fn with_cpu_times(
        mut self,
        times: impl Fn(&str) -> (Vec<Option<Time>>, Option<Time>),
    ) -> Profile {
        for profile in &mut self.services {
            let (own, app) = times(profile.service.name());
            let phases = profile.service.cpu_phases();
            let timed = own.iter().take(phases).flatten().count();
            let mut open = (phases - timed) as u64;
            let mut left_ps = app.map(Time::as_ps);
            let mut own = own.into_iter();
            for phase in &mut profile.phases {
                let PhaseProfile::Cpu(part) = phase else {
                    continue;
                };
                match (own.next().flatten(), &mut left_ps) {
                    (Some(time), _) => *part = time,
                    (None, Some(left_ps)) => {
                        *part = Time::from_ps(*left_ps / open);
                        *left_ps -= part.as_ps();
                        open -= 1;
                    }
                    (None, None) => {}
                }
            }
            if let Some(app) = app {
                self.parameters.push(number(
                    format!("app.{}_ns", profile.service.name()),
                    app.as_ns_f64(),
                    Provenance::Derived,
                    "application logic of the phases without a time of their own, as the workload states it",
                ));
            }
        }
        self
    }
}

const FIRST: MessagePlace = MessagePlace {
    phase: 0,
    chain: 0,
    trace: 0,
};

fn priced(
    walk: ChainWalk,
    (phase, chain): (u16, u16),
    service: &Service,
    image: &Image,
    costs: &StatedCosts,
    sizes: &PayloadSizes,
) -> Result<Vec<OperationProfile>, StatedCostsError> {
    let traces = walk.traces;
    let operations = walk.operations.into_iter().map(|operation| {
        let accel = operation.accel;
        let missing = || StatedCostsError::Missing {
            service: service.name().to_owned(),
            accel: image.accel_name(accel).to_owned(),
        };
        let trace = traces
            .iter()
            .position(|trace| *trace == operation.trace)
            .unwrap_or(0) as u16;
        let place = MessagePlace {
            phase,
            chain,
            trace,
        };
        let mean = sizes.distribution(service.name(), place).mean();
        let cost = costs[accel.index()].ok_or_else(missing)?.at_mean(mean);
        Ok(OperationProfile {
            operation,
            cost,
            payload: None,
            spread: None,
        })
    });
    operations.collect()
}

fn stated_parameters(service: &str, accel: &str, cost: StatedCost) -> [ProfileParameter; 2] {
    let (provenance, note) = match cost.relative_error {
        Some(error) => (
            Provenance::Measured,
            format!("as the workload's file states it, with a relative standard error of {error}"),
        ),
        None => (
            Provenance::Assumed,
            "as the workload's file states it".to_owned(),
        ),
    };
    [("ns", cost.ns), ("per_byte_ns", cost.ns_per_byte)].map(|(unit, value)| {
        let key = format!("cost.{service}.{accel}_{unit}");
        number(key, value, provenance, note.clone())
    })
}
