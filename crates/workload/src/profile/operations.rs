//! Cost profiles from costs that a workload file states, and profiles combined from several.

use accelflow_parameters::Provenance;
use accelflow_trace::{Accel, Image};
use accelflow_units::{Bytes, Time};

use super::cost::Cost;
use super::number::{ProfileParameter, number};
use super::services::{ChainCosts, Drawn, OperationProfile, PhaseProfile, Profile, ServiceProfile};
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
    /// traces. Application logic takes no time until [`Profile::with_cpu_times`] sets its time. The
    /// times of remote sides are [`RemoteWaits::short`].
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
        let stated = stated_by_chain(service, image, costs, sizes)?;
        let mut phases = Vec::new();
        for (walk, stated) in service.walk(image)?.into_iter().zip(&stated) {
            let PhaseWalk::Traces(chains) = walk else {
                phases.push(PhaseProfile::Cpu(Time::ZERO));
                continue;
            };
            let priced = chains
                .into_iter()
                .zip(stated)
                .map(|(walk, stated)| priced(walk, service, image, stated));
            phases.push(PhaseProfile::Traces(priced.collect::<Result<_, _>>()?));
        }
        let profile = ServiceProfile {
            service: service.clone(),
            phases,
            requests: RecordedRequests::default(),
            drawn: Drawn::default(),
            stated,
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

    /// Returns the profile with the costs that `costs` states in the place of its own. Accelerator
    /// calls for which `costs` states none keep theirs. A cost per byte is taken at the mean size
    /// of the call's messages, which `sizes` has; larger messages cost more. `image` has the
    /// traces.
    ///
    /// # Errors
    /// The errors of [`Service::walk`].
    pub fn with_stated(
        mut self,
        image: &Image,
        costs: &StatedCosts,
        sizes: &PayloadSizes,
    ) -> Result<Profile, ServiceError> {
        for profile in &mut self.services {
            profile.stated = stated_by_chain(&profile.service, image, costs, sizes)?;
            for (phase, stated) in profile.phases.iter_mut().zip(&profile.stated) {
                let PhaseProfile::Traces(chains) = phase else {
                    continue;
                };
                for (operations, stated) in chains.iter_mut().zip(stated) {
                    for one in operations {
                        let own = stated.cost(&one.operation.trace, one.operation.accel);
                        one.cost = own.unwrap_or(one.cost);
                    }
                }
            }
        }
        Ok(self)
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

/// The costs of a service's operations by phase and chain; no chains for application logic.
fn stated_by_chain(
    service: &Service,
    image: &Image,
    costs: &StatedCosts,
    sizes: &PayloadSizes,
) -> Result<Vec<Vec<ChainCosts>>, ServiceError> {
    let at = |phase: usize, chain: usize, trace: usize| {
        let place = MessagePlace {
            phase: phase as u16,
            chain: chain as u16,
            trace: trace as u16,
        };
        let mean = sizes.distribution(service.name(), place).mean();
        costs.map(|cost| cost.map(|cost| cost.at_mean(mean)))
    };
    let walks = service.walk(image)?.into_iter().enumerate();
    let phases = walks.map(|(phase, walk)| {
        let PhaseWalk::Traces(chains) = walk else {
            return Vec::new();
        };
        let chains = chains.into_iter().enumerate().map(|(chain, walk)| {
            let named = walk.traces.into_iter().enumerate();
            ChainCosts {
                traces: named
                    .map(|(trace, name)| (name, at(phase, chain, trace)))
                    .collect(),
                // A trace off the path is never the first one of its chain.
                others: at(phase, chain, 1),
            }
        });
        chains.collect()
    });
    Ok(phases.collect())
}

fn priced(
    walk: ChainWalk,
    service: &Service,
    image: &Image,
    stated: &ChainCosts,
) -> Result<Vec<OperationProfile>, StatedCostsError> {
    let operations = walk.operations.into_iter().map(|operation| {
        let accel = operation.accel;
        let missing = || StatedCostsError::Missing {
            service: service.name().to_owned(),
            accel: image.accel_name(accel).to_owned(),
        };
        let cost = stated.cost(&operation.trace, accel).ok_or_else(missing)?;
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
