//! The plan of a simulation: services, and the facts, costs and sizes of their chains.

mod application;
mod calls;
mod chain_law;
mod law;
mod message;
mod retry;
mod spreads;
mod waits;

use accelflow_trace::{Accel, AtmAddress, Field, Image};
use accelflow_units::{Bytes, Time};
use accelflow_workload::profile::{
    Cost, Payload, PhaseProfile, Profile, RecordingError, ServiceProfile, WaitDistribution,
};
use accelflow_workload::services::{ChainFacts, FactOdds, Phase, Place, ServiceError};
use accelflow_workload::sizes::{MessagePlace, PayloadSizes, SizeDistribution};

use crate::orchestrators::Links;
use spreads::{CostSpreads, application_of};

pub(crate) use law::Law;
pub use message::{Form, MessageSize};
pub use retry::{MAX_ATTEMPTS, Retry};
pub use spreads::ServiceSpreads;

/// The highest ID of a simulated server: services may be on the servers 0 to 4095.
pub const MAX_SERVER: usize = 4_095;

/// The field that states whether a message arrives compressed.
const COMPRESSED: &str = "compressed";

/// Keeps draws of waits apart from other attributes of a request.
const WAIT: u64 = 0x3A17 << 48;

/// The services to simulate, with their paths and costs, and the traces (sequences of accelerator
/// operations) that they use.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The trace memory with the compiled traces.
    pub image: Image,
    /// The services to simulate. The index of a service in this list identifies the service.
    pub services: Vec<ServicePlan>,
    /// The pairs of accelerators that Cohort connects by a static link.
    pub links: Links,
    waits: Vec<WaitDistribution>,
    /// The time of a message from one server to another.
    one_way: WaitDistribution,
    compressed: Option<usize>,
    /// See [`Plan::with_own_speedups`].
    pub(crate) own_speedups: Vec<Option<f64>>,
}

/// A service to simulate: its path, its server, and the distributions of times that vary between
/// requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicePlan {
    /// The name of the service.
    pub name: String,
    /// The path of a request: phases that run one after the other. The first phase receives the
    /// request, and the last sends the response.
    pub phases: Vec<PhasePlan>,
    /// The ID of the server that the service runs on, 0 to [`MAX_SERVER`].
    pub server: usize,
    /// By phase, application logic whose time is drawn for each request.
    application: Vec<(u16, WaitDistribution)>,
    /// The distributions of the times that a request spends outside of its operations and
    /// application logic, such as in the operating system or at the client.
    pub spreads: ServiceSpreads,
}

/// One phase of a service's path: application logic, or chains of accelerator operations.
#[derive(Clone, Debug, PartialEq)]
pub enum PhasePlan {
    /// Application logic with this mean core time on the base server. For each request, the phase
    /// takes this mean, or a time drawn from a distribution with this mean.
    Cpu(Time),
    /// Chains of traces that run in parallel. The phase ends when the last chain that is not
    /// detached ends.
    Chains(Vec<ChainPlan>),
}

/// A chain to simulate: a trace (sequence of accelerator operations) and all traces that follow it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainPlan {
    /// The facts of the chain: values in its payloads that branches test.
    pub facts: ChainFacts,
    /// Index of the service that answers the messages of the chain. If `None`, the time until an
    /// answer arrives is drawn from a distribution.
    pub calls: Option<usize>,
    /// How the chain fails and is retried; `None` if the chain never fails.
    pub retry: Option<Retry>,
    /// Whether the chain is detached: neither its phase nor the response waits for its end.
    pub detached: bool,
    place: (u16, u16),
    operations: Vec<Option<OperationPlan>>,
    /// By [`slot`].
    spreads: CostSpreads,
    /// Number of accelerators of the trace memory.
    accels: usize,
    messages: Vec<(SizeDistribution, Bytes)>,
    /// The waits that differ from the plan's, by address of the trace that waits.
    waits: Vec<(AtmAddress, WaitDistribution)>,
    /// The time of the chain's messages from one server to another, if it differs from the plan's.
    one_way: Option<WaitDistribution>,
}

/// An accelerator operation on a payload of the mean size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OperationPlan {
    cost: Cost,
    payload: Option<Payload>,
}

/// The cost and the payload sizes of one accelerator operation of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The time of the operation on a core of the base server.
    pub core: Time,
    /// Size of the payload that the operation reads.
    pub input: Bytes,
    /// Size of the payload that the operation writes.
    pub output: Bytes,
}

impl Plan {
    /// Creates the plan of the services in `profile`, which has the costs of operations. The traces
    /// of the services are in `image`. Message sizes are drawn from `sizes`; payload sizes that the
    /// profile has recorded are scaled by the ratio of a message's drawn size to the mean size.
    ///
    /// # Errors
    /// [`ServiceError`] for a service with traces or facts that `image` does not have.
    pub fn new(
        profile: &Profile,
        image: &Image,
        sizes: &PayloadSizes,
    ) -> Result<Plan, ServiceError> {
        let services = profile
            .services()
            .iter()
            .map(|service| ServicePlan::new(service, profile, image, sizes))
            .collect::<Result<Vec<_>, _>>()?;
        let waits = image
            .names()
            .iter()
            .map(|name| profile.waits().distribution(name))
            .collect();
        let links = Links::most_frequent(&transitions(profile));
        let fields = image.predicates().fields();
        let compressed = fields.iter().position(|name| name == COMPRESSED);
        Ok(Plan {
            image: image.clone(),
            services,
            links,
            waits,
            one_way: WaitDistribution::constant(Time::ZERO),
            compressed,
            own_speedups: Vec::new(),
        })
    }

    /// Returns the plan with the speedups of custom accelerators over a core, indexed by
    /// [`Accel::custom_number`]. Accelerators with `None`, or no entry, have the chip's speedup.
    #[must_use]
    pub fn with_own_speedups(mut self, speedups: Vec<Option<f64>>) -> Plan {
        self.own_speedups = speedups;
        self
    }

    /// The names of the accelerators of its trace memory, by [`Accel::index`].
    pub(crate) fn accelerator_names(&self) -> Vec<String> {
        let all = self.image.accelerators();
        all.map(|accel| self.image.accel_name(accel).to_owned())
            .collect()
    }

    /// Returns the speedup of the custom accelerator `accel` over a core, as stated in the
    /// workload; `None` if the workload states no speedup or `accel` is not a custom accelerator.
    pub fn own_speedup(&self, accel: Accel) -> Option<f64> {
        *self.own_speedups.get(accel.custom_number()?)?
    }

    /// Returns the plan with facts (payload values that branches test) that are drawn for each
    /// request, with the probabilities `odds`. Facts without odds keep the values of the most
    /// common path.
    #[must_use]
    pub fn with_odds(mut self, odds: &FactOdds) -> Plan {
        let phases = self
            .services
            .iter_mut()
            .flat_map(|service| &mut service.phases);
        for phase in phases {
            let PhasePlan::Chains(chains) = phase else {
                continue;
            };
            for chain in chains {
                let facts = chain.facts.clone();
                chain.facts = facts.with_odds(odds, chain.place, &self.image);
            }
        }
        self
    }

    /// Returns the plan with facts (payload values that branches test) drawn for each request, as
    /// by [`Plan::with_odds`], but with probabilities for each chain: `odds` returns them, given
    /// the name of the service, the index of the phase and the index of the chain in the phase.
    #[must_use]
    pub fn with_chain_odds(mut self, odds: impl Fn(&str, usize, usize) -> FactOdds) -> Plan {
        for service in &mut self.services {
            for chain in service.phases.iter_mut().flat_map(PhasePlan::chains_mut) {
                let [phase, number] = [chain.place.0, chain.place.1].map(usize::from);
                let odds = odds(&service.name, phase, number);
                let facts = chain.facts.clone();
                chain.facts = facts.with_odds(&odds, chain.place, &self.image);
            }
        }
        self
    }

    /// Returns the plan in which individual chains have their own distributions of the time that a
    /// trace waits for a message. `waits` returns the distribution, given the name of the service,
    /// the indices (phase, chain) of the chain and the name of the waiting trace. `None` means the
    /// plan's distribution for that trace.
    #[must_use]
    pub fn with_chain_waits(
        mut self,
        waits: impl Fn(&str, (usize, usize), &str) -> Option<WaitDistribution>,
    ) -> Plan {
        let entries = (0..self.image.words().len()).filter_map(AtmAddress::new);
        let entries: Vec<_> = entries.filter(|at| self.image.is_entry(*at)).collect();
        for service in &mut self.services {
            for chain in service.phases.iter_mut().flat_map(PhasePlan::chains_mut) {
                let place = (usize::from(chain.place.0), usize::from(chain.place.1));
                let own = |at: &AtmAddress| {
                    let own = waits(&service.name, place, self.image.name(*at))?;
                    Some((*at, own))
                };
                chain.waits = entries.iter().filter_map(own).collect();
            }
        }
        self
    }

    /// Returns the plan in which each request has the facts (payload values that branches test) of
    /// a request that is drawn from the service's recorded requests in `profile`, whose services
    /// are the plan's, in the same order.
    ///
    /// # Errors
    /// [`RecordingError::NoRequests`] for a service without recorded requests,
    /// [`RecordingError::Service`] for recorded traces or facts that the plan lacks.
    pub fn with_recorded_facts(mut self, profile: &Profile) -> Result<Plan, RecordingError> {
        for (service, recorded) in self.services.iter_mut().zip(profile.services()) {
            let requests = recorded.requests();
            if requests.count() == 0 {
                return Err(RecordingError::NoRequests(service.name.clone()));
            }
            for phase in &mut service.phases {
                let PhasePlan::Chains(chains) = phase else {
                    continue;
                };
                for chain in chains {
                    let [phase, number] = [chain.place.0, chain.place.1].map(usize::from);
                    let place = Place {
                        service: service.name.clone(),
                        phase,
                        chain: number,
                    };
                    let variants = requests.chains(phase, number);
                    let facts = chain.facts.clone();
                    chain.facts = facts.with_recorded(variants, &place, &self.image)?;
                }
            }
        }
        Ok(self)
    }

    /// Returns the payload field that states whether a message is compressed; `None` if no trace
    /// tests this field.
    pub fn compressed_field(&self) -> Option<Field<'_>> {
        let (index, name) = (self.compressed?, COMPRESSED);
        Some(Field { index, name })
    }
}

impl PhasePlan {
    fn chains_mut(&mut self) -> &mut [ChainPlan] {
        match self {
            PhasePlan::Cpu(_) => &mut [],
            PhasePlan::Chains(chains) => chains,
        }
    }
}

impl ServicePlan {
    /// Returns the service with message sizes drawn from `sizes`. An operation on a message of a
    /// given size costs the same as before.
    #[must_use]
    pub fn with_messages(mut self, sizes: &SizeDistribution) -> ServicePlan {
        for phase in &mut self.phases {
            if let PhasePlan::Chains(chains) = phase {
                let messages = chains.iter_mut().flat_map(|chain| &mut chain.messages);
                messages.for_each(|message| message.0 = sizes.clone());
            }
        }
        self
    }

    fn new(
        service: &ServiceProfile,
        profile: &Profile,
        image: &Image,
        sizes: &PayloadSizes,
    ) -> Result<ServicePlan, ServiceError> {
        let name = service.service().name().to_owned();
        let parts = service.service().path().iter().zip(service.phases());
        let phases = parts
            .enumerate()
            .map(|(index, (phase, costs))| match (phase, costs) {
                (Phase::Traces(chains), PhaseProfile::Traces(_)) => {
                    let plan = |chain: usize| {
                        let place = Place {
                            service: name.clone(),
                            phase: index,
                            chain,
                        };
                        let facts = ChainFacts::resolve(&chains[chain], &place, image)?;
                        Ok(ChainPlan::new(
                            facts, &place, service, profile, image, sizes,
                        ))
                    };
                    let chains = (0..chains.len())
                        .map(plan)
                        .collect::<Result<_, ServiceError>>()?;
                    Ok(PhasePlan::Chains(chains))
                }
                (_, PhaseProfile::Cpu(time)) => Ok(PhasePlan::Cpu(*time)),
                (Phase::Cpu, PhaseProfile::Traces(_)) => Ok(PhasePlan::Cpu(Time::ZERO)),
            })
            .collect::<Result<_, ServiceError>>()?;
        Ok(ServicePlan {
            name,
            phases,
            server: 0,
            application: application_of(service),
            spreads: ServiceSpreads::new(service),
        })
    }
}

impl ChainPlan {
    /// Number of messages of a chain with distributions of their own; later ones are like the last.
    const MESSAGES: u16 = 8;

    fn new(
        facts: ChainFacts,
        place: &Place,
        service: &ServiceProfile,
        profile: &Profile,
        image: &Image,
        sizes: &PayloadSizes,
    ) -> ChainPlan {
        let (phase, chain) = (place.phase as u16, place.chain as u16);
        let message = |trace| {
            let at = MessagePlace {
                phase,
                chain,
                trace,
            };
            let distribution = sizes.distribution(&place.service, at).clone();
            let mean = distribution.mean();
            (distribution, mean)
        };
        ChainPlan {
            facts,
            calls: None,
            retry: None,
            detached: false,
            place: (phase, chain),
            operations: operations(place, service, profile, image),
            spreads: CostSpreads::new((phase, chain), spreads(place, service, image)),
            accels: image.accelerators().count(),
            messages: (0..Self::MESSAGES).map(message).collect(),
            waits: Vec::new(),
            one_way: None,
        }
    }

    /// Returns the size of the message of this chain's trace number `trace` (from 0; all have the
    /// same size from 7 on) in one request, of the sequence number `request`, with the random seed
    /// `seed`. The size depends only on the arguments.
    pub fn message(&self, trace: u16, seed: u64, request: u64) -> MessageSize {
        let trace = trace.min(Self::MESSAGES - 1);
        let (distribution, mean) = &self.messages[usize::from(trace)];
        let (phase, chain) = self.place;
        let size = distribution.draw(
            MessagePlace {
                phase,
                chain,
                trace,
            },
            seed,
            request,
        );
        MessageSize { size, mean: *mean }
    }

    /// Returns the size of the message after parallel arms of a trace have joined, for the
    /// operation of `accel` that follows in the trace at `trace`. `message` and `form` are the size
    /// and the form of the first arm's message; `input` is the size of the data of all arms
    /// together. The result is `message`, scaled so that the operation reads `input` bytes. If the
    /// operation has recorded sizes, which include all arms, the result is `message` unscaled.
    pub fn joined(
        &self,
        trace: AtmAddress,
        accel: Accel,
        message: MessageSize,
        form: Form,
        input: Bytes,
    ) -> MessageSize {
        let alone = form.size_of(message, form.compressed).get();
        let plan = self.operations.get(self.slot(trace, accel, false));
        match plan.copied().flatten() {
            Some(plan) if plan.payload.is_none() && alone > 0 => {
                let factor = input.get() as f64 / alone as f64;
                let size = (message.size.get() as f64 * factor).round() as u64;
                MessageSize {
                    size: Bytes(size),
                    ..message
                }
            }
            _ => message,
        }
    }

    fn slot(&self, trace: AtmAddress, accel: Accel, receives: bool) -> usize {
        slot(self.accels, trace, accel, receives)
    }

    /// Returns the core time and the payload sizes of the operation of `accel` in the trace that
    /// begins at the address `trace`, on `message` in the form `form`; `None` if the plan has no
    /// such operation. `receives` is true if a TCP operation receives, false if it sends.
    ///
    /// The size of `message` is the size before compression; payloads between Cmp (compression) and
    /// Dcmp are smaller. Recorded payload sizes are scaled by the ratio of the message's size to
    /// the mean size. The core time depends on the same ratio, not on compression; if requests draw
    /// it, it is the mean here, and [`ChainPlan::cost`] draws it.
    pub fn operation(
        &self,
        trace: AtmAddress,
        accel: Accel,
        receives: bool,
        message: MessageSize,
        form: Form,
    ) -> Option<Operation> {
        let plan = self.operations.get(self.slot(trace, accel, receives))?;
        Some(plan.as_ref()?.on(accel, message, form))
    }

    /// The same, with the cost drawn for the request whose seed and number `request` returns.
    #[inline(always)]
    pub(crate) fn operation_of(
        &self,
        (trace, accel, receives): (AtmAddress, Accel, bool),
        message: MessageSize,
        form: Form,
        request: impl FnOnce() -> (u64, u64),
    ) -> Option<Operation> {
        let slot = self.slot(trace, accel, receives);
        let mut operation = self
            .operations
            .get(slot)?
            .as_ref()?
            .on(accel, message, form);
        if !self.spreads.is_empty() {
            let (seed, number) = request();
            operation.core = self.spreads.cost(slot, operation.core, seed, number);
        }
        Some(operation)
    }

    /// Returns the core time of an operation for one request, drawn from the operation's
    /// distribution, or `mean` if it has none. The operation is given as (address of the trace,
    /// accelerator, whether it receives a message). `request` is the sequence number of the
    /// request, and `seed` the random seed. The time depends only on the arguments.
    pub fn cost(
        &self,
        (trace, accel, receives): (AtmAddress, Accel, bool),
        mean: Time,
        seed: u64,
        request: u64,
    ) -> Time {
        let slot = self.slot(trace, accel, receives);
        self.spreads.cost(slot, mean, seed, request)
    }
}

impl OperationPlan {
    /// The operation of `accel` on `message` in the form `form`.
    #[inline]
    fn on(&self, accel: Accel, message: MessageSize, form: Form) -> Operation {
        let core = self.cost.at(message.size, message.mean);
        let (input, output) = match self.payload {
            Some(payload) => (
                message.spread(payload.input),
                message.spread(payload.output),
            ),
            None => (
                form.size_of(message, form.compressed),
                form.size_of(message, form.after(accel)),
            ),
        };
        Operation {
            core,
            input,
            output,
        }
    }
}

/// The operations of a chain, by [`slot`]. Those off the common path have the costs that are stated
/// for the service, or else typical ones.
fn operations(
    place: &Place,
    service: &ServiceProfile,
    profile: &Profile,
    image: &Image,
) -> Vec<Option<OperationPlan>> {
    let words = image.words().len();
    let accels = image.accelerators().count();
    let mut operations = vec![None; words * accels * 2];
    let entries = (0..words)
        .filter_map(AtmAddress::new)
        .filter(|address| image.is_entry(*address));
    for address in entries {
        let trace = image.name(address);
        for accel in image.accelerators() {
            for receives in [false, true] {
                let stated = service.operation(place.phase, place.chain, trace, accel, receives);
                let stated = stated.map(|operation| OperationPlan {
                    cost: operation.cost,
                    payload: operation.payload,
                });
                let typical = || {
                    let cost = service.cost_off_path(place, trace, accel, profile)?;
                    let payload = None;
                    Some(OperationPlan { cost, payload })
                };
                operations[slot(accels, address, accel, receives)] = stated.or_else(typical);
            }
        }
    }
    operations
}

/// The distributions of a chain's costs, by [`slot`].
fn spreads(
    place: &Place,
    service: &ServiceProfile,
    image: &Image,
) -> Vec<Option<WaitDistribution>> {
    let (words, accels) = (image.words().len(), image.accelerators().count());
    let mut spreads = vec![None; words * accels * 2];
    let entries = (0..words).filter_map(AtmAddress::new);
    for address in entries.filter(|address| image.is_entry(*address)) {
        let trace = image.name(address);
        for accel in image.accelerators() {
            for receives in [false, true] {
                let of = service.operation(place.phase, place.chain, trace, accel, receives);
                spreads[slot(accels, address, accel, receives)] =
                    of.and_then(|of| of.spread.clone());
            }
        }
    }
    spreads
}

/// The index of an operation in [`ChainPlan::operations`], with a memory of `accels` accelerators.
fn slot(accels: usize, trace: AtmAddress, accel: Accel, receives: bool) -> usize {
    (trace.index() * accels + accel.index()) * 2 + usize::from(receives)
}

/// The number of times that one accelerator follows another within a trace, over all services.
fn transitions(profile: &Profile) -> Vec<((Accel, Accel), u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for service in profile.services() {
        for phase in service.phases() {
            let PhaseProfile::Traces(chains) = phase else {
                continue;
            };
            for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
                let (from, to) = (&pair[0].operation, &pair[1].operation);
                if from.trace == to.trace && from.arm == to.arm {
                    *counts.entry((from.accel, to.accel)).or_insert(0) += 1;
                }
            }
        }
    }
    counts.into_iter().collect()
}
