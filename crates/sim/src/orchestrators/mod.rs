//! The systems under comparison: who decides what comes next, and what that costs whom.
//!
//! An orchestrator is asked one thing: *an operation has completed; who decides what comes next,
//! and for how long is each of them busy with it?* Accelerators, wires, cores and workload are the
//! same objects for all of them.

mod accelflow;
mod cohort;
mod cpu_centric;
mod deadlines;
mod direct;
mod ideal;
mod non_acc;
mod relief;

pub(crate) use accelflow::AccelFlow;

use std::collections::BTreeSet;

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use crate::config::{Config, Policy};

/// What a dispatcher has found at the end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The accelerator that has completed.
    pub from: Accel,
    /// What is to happen.
    pub next: Next,
    /// Branches that were resolved.
    pub branches: u8,
    /// Words that were read from the trace memory.
    pub loads: u8,
    /// Transformations on the way.
    pub transforms: u8,
    /// Size of the payload.
    pub size: Bytes,
    /// What it means for a join.
    pub arm: Arm,
}

/// What a completion means for a join that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arm {
    /// None comes next.
    #[default]
    None,
    /// Other arms have not come: what follows is not started by this completion.
    Waits,
    /// All others have come.
    Last,
}

impl Completion {
    /// Whether the payload is more than a queue entry holds.
    pub fn is_large(&self, config: &Config) -> bool {
        self.size > config.accelerator.inline
    }
}

/// Where a trace goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this accelerator.
    Forward(Accel),
    /// At this TCP, when a message arrives.
    Park,
    /// Nowhere: the core is to be notified.
    End,
}

/// Who is busy with a completion, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The accelerator's output dispatcher.
    pub dispatcher: Time,
    /// Instructions the dispatcher executed.
    pub instructions: u64,
    /// The central manager.
    pub manager: Option<Manager>,
    /// The core of the request; the trace waits for it.
    pub core: Time,
    /// The core of the request, while the trace waits for a message anyway.
    pub background: Time,
}

/// A visit to the central manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manager {
    /// How long the manager serves nobody else.
    pub occupancy: Time,
    /// How long until its decision takes effect.
    pub latency: Time,
}

impl Manager {
    /// A visit to RELIEF's manager.
    pub fn of(config: &Config) -> Manager {
        Manager {
            occupancy: config.relief.occupancy,
            latency: config.relief.latency,
        }
    }

    /// A visit in which it also resolves branches and transforms the payload, with the instructions
    /// that an output dispatcher needs for them.
    pub fn resolving(completion: &Completion, config: &Config) -> Manager {
        let extra =
            accelflow::instructions(completion, config).saturating_sub(config.dispatcher.plain);
        let resolving = config.dispatch(extra);
        let visit = Manager::of(config);
        Manager {
            occupancy: visit.occupancy + resolving,
            latency: visit.latency + resolving,
        }
    }
}

/// Where operations wait for a processing element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queueing {
    /// Each accelerator has an input queue, and its elements take from it by themselves.
    #[default]
    PerAccelerator,
    /// One queue at the manager, which gives the elements of all accelerators their work.
    Central,
}

/// How a core is told that a trace has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notification {
    /// By a flag in memory, which it looks at as `core.notification` says.
    #[default]
    Flag,
    /// By an interrupt.
    Interrupt,
    /// It finds it when it has done what it was given before, and is charged what that costs.
    Found,
}

/// A way of orchestrating the ensemble.
///
/// Implementations are stateless: everything that changes lives in the simulated hardware.
pub trait Orchestrator: Send + Sync {
    /// The identifier in commands, files and results.
    fn id(&self) -> &'static str;

    /// The name the paper uses.
    fn paper_name(&self) -> &'static str;

    /// Whether there are accelerators at all. Without them every operation runs on a core, and
    /// the other methods are never asked.
    fn accelerated(&self) -> bool {
        true
    }

    /// Whether the accelerators keep the trace that waits for a message; otherwise it takes no
    /// entry until the message arrives.
    fn parks(&self) -> bool {
        false
    }

    /// Where operations wait. With [`Queueing::Central`] every decision must visit the manager,
    /// which otherwise never learns that an element is free.
    fn queueing(&self) -> Queueing {
        Queueing::PerAccelerator
    }

    /// In which order input dispatchers load what is ready.
    fn policy(&self, config: &Config) -> Policy {
        config.scheduling.policy
    }

    /// What it costs the core to start a chain of operations.
    fn start(&self, config: &Config) -> Time;

    /// The visit to the manager before a chain that a core has submitted starts and, with
    /// [`Queueing::Central`], before a message is given an element.
    fn submission(&self, _config: &Config) -> Option<Manager> {
        None
    }

    /// Who decides after `completion`.
    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision;

    /// Whether what asks a core for a decision interrupts it; otherwise the core finds it when it
    /// has done what it was given before.
    fn interrupts(&self) -> bool {
        true
    }

    /// Whether accelerators and cores meet in queues in memory: what asks a core for a decision,
    /// or ends, waits there until the core looks, and what a core hands on until an accelerator
    /// does. Only without interrupts.
    fn software_queues(&self) -> bool {
        false
    }

    /// How a core is told that a trace has ended.
    fn notification(&self) -> Notification {
        Notification::Flag
    }

    /// What the core is charged when it is told that a trace has ended, before it switches to
    /// the request's thread.
    fn notified(&self, config: &Config) -> Time;
}

/// The systems that the paper's figures compare, in its order: what a comparison runs unless told
/// otherwise.
pub const ORCHESTRATORS: [&dyn Orchestrator; 6] = [
    &non_acc::NonAcc,
    &cpu_centric::CpuCentric,
    &relief::RELIEF,
    &cohort::COHORT,
    &accelflow::AccelFlow,
    &ideal::Ideal,
];

/// The steps from RELIEF to AccelFlow (AccelFlow, section VII.A.2, Fig. 13): each adds one
/// technique to the one before it.
pub const LADDER: [&dyn Orchestrator; 5] = [
    &relief::RELIEF,
    &relief::PER_ACC_TYPE_Q,
    &direct::DIRECT,
    &direct::CNTR_FLOW,
    &accelflow::AccelFlow,
];

/// All systems, from the one without accelerators to the ideal one.
pub const SYSTEMS: [&dyn Orchestrator; 13] = [
    &non_acc::NonAcc,
    &cpu_centric::CpuCentric,
    &relief::RELIEF,
    &cohort::COHORT,
    &cohort::COHORT_POLLING,
    &relief::PER_ACC_TYPE_Q,
    &direct::DIRECT_LIST,
    &direct::DIRECT,
    &direct::CNTR_FLOW,
    &accelflow::AccelFlow,
    &deadlines::EXCHANGE,
    &deadlines::EDF,
    &ideal::Ideal,
];

/// An orchestrator that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown orchestrator '{id}'; known are {}", SYSTEMS.map(|o| o.id()).join(", "))]
pub struct UnknownOrchestrator {
    /// The identifier as given.
    pub id: String,
}

/// The orchestrator called `id`, one of [`SYSTEMS`]; the paper's spelling is understood too.
///
/// # Errors
/// [`UnknownOrchestrator`].
pub fn orchestrator(id: &str) -> Result<&'static dyn Orchestrator, UnknownOrchestrator> {
    let same = |o: &&&dyn Orchestrator| o.id() == id || o.paper_name().eq_ignore_ascii_case(id);
    let found = SYSTEMS.iter().find(same).copied();
    found.ok_or_else(|| UnknownOrchestrator { id: id.to_owned() })
}

/// Pairs of accelerators with a static link, as Cohort has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(BTreeSet<(Accel, Accel)>);

impl Links {
    /// Links the pairs that follow one another most often: "links pairs of accelerators that
    /// frequently go together" (AccelFlow, section VI). They are pairs: no accelerator is in two.
    ///
    /// `transitions` counts how often the second follows the first. The most frequent is linked,
    /// then the most frequent of those without the two, and so on; ties go to the lower nibbles.
    pub fn most_frequent(transitions: &[((Accel, Accel), u64)]) -> Links {
        let mut ranked = transitions.to_vec();
        ranked.sort_by_key(|&(pair, count)| (std::cmp::Reverse(count), pair));
        let (mut linked, mut taken) = (BTreeSet::new(), BTreeSet::new());
        for ((from, to), count) in ranked {
            if count > 0 && from != to && !taken.contains(&from) && !taken.contains(&to) {
                linked.insert((from, to));
                taken.extend([from, to]);
            }
        }
        Links(linked)
    }

    /// Whether `from` hands on to `to` without a core.
    pub fn linked(&self, from: Accel, to: Accel) -> bool {
        self.0.contains(&(from, to))
    }

    /// The pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (Accel, Accel)> + '_ {
        self.0.iter().copied()
    }
}

/// Core time to resolve in software what a dispatcher would have resolved in hardware.
fn software_transforms(completion: &Completion, config: &Config) -> Time {
    let kib = completion.size.get() as f64 / 1024.0;
    config
        .core
        .transform_per_kib
        .scale(kib * f64::from(completion.transforms))
}

/// Core time of a completion that interrupts: the interrupt, to the thread that handles it and
/// back, and handing over the next operation, unless that waits for other arms of a join: the last
/// of them hands it over.
fn interrupt_and_submit(completion: &Completion, config: &Config) -> Time {
    let submit = match completion.arm {
        Arm::Waits => Time::ZERO,
        Arm::None | Arm::Last => config.core.submit,
    };
    config.core.interrupt + config.core.context_switch * 2 + submit
}
