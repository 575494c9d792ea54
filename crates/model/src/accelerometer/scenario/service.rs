//! A service with the accelerators that its kernels are offloaded to.

mod evaluate;
mod relation;

pub use relation::RELATION_TOLERANCE;

use super::design::Design;
use super::granularity::Lucrative;
use super::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};
use super::queueing::Approximation;
use super::sizes::SizeCdf;
use crate::ModelError;

/// A service on one host, and what is offloaded from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// C: the cycles of the host in a second, for everything.
    pub host: CyclesPerSecond,
    /// The kernels with an accelerator each; their shares are of the same host.
    pub kernels: Vec<Kernel>,
}

/// A function of the service, and the accelerator that could do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// A name for messages and tables.
    pub name: String,
    /// Threading and placement.
    pub design: Design,
    /// alpha: its share of the host's cycles, all sizes together.
    pub share: f64,
    /// Its offloads in a second: n, or all candidates if [`Selection::Lucrative`] picks among them.
    pub offloads: OffloadsPerSecond,
    /// o0.
    pub setup: MeanCycles,
    /// L.
    pub transfer: Transfer,
    /// o1.
    pub thread_switch: MeanCycles,
    /// A; `None` where it is not known, which leaves what depends on it unknown.
    pub acceleration: Option<f64>,
    /// Q.
    pub queue: Queueing,
    /// What the kernel costs the host; without it, and without sizes, there is no break-even size.
    pub host_cost: HostCost,
    /// The sizes of the offloads.
    pub sizes: Option<SizeCdf>,
    /// Which of them are offloaded.
    pub selection: Selection,
}

/// L, the cycles to move one offload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer {
    /// Whatever the size: a mean, or a pipelined interface.
    pub fixed: MeanCycles,
    /// For each byte: an interface that is not pipelined.
    pub per_byte: MeanCycles,
}

/// C_b g^beta: the cycles that the host needs for one offload of g bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCost {
    /// C_b; derived from the share, the offloads and their sizes if it is not given.
    pub cycles_per_byte: Option<f64>,
    /// beta.
    pub complexity: f64,
}

/// Where Q comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Queueing {
    /// The mean.
    Mean(MeanCycles),
    /// The wait of each of a sample of offloads: their sum over n offloads is n times the mean.
    List(Vec<f64>),
    /// An M/G/k queue in front of the accelerator.
    Station {
        /// Processing elements.
        servers: u32,
        /// Hosts with the same load that share it.
        hosts: f64,
        /// The mean time of an offload; if not given, the host's time for it over A.
        service: Option<MeanCycles>,
        /// The squared coefficient of variation of that time; if not given, that of the host's
        /// time for the offloaded sizes, or 1 without sizes.
        service_scv: Option<f64>,
        /// For more than one processing element.
        approximation: Approximation,
    },
}

/// Which offloads go to the accelerator. The others stay on the host as they were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// All of them.
    All,
    /// Those that the scenario counts, out of this many in all: alpha is scaled by the ratio, as
    /// the paper does for Fig. 20.
    OutOf(OffloadsPerSecond),
    /// Those whose size pays in terms of speedup.
    Lucrative(Scaling),
}

/// What alpha becomes when not all offloads go to the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// In proportion to the number of offloads, as in the paper's Fig. 20.
    Offloads,
    /// In proportion to the host's cycles for them, C_b g^beta: larger offloads carry more.
    Cycles,
}

/// What each cost adds to the host's time, as a share of its time before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Kernel that stays on the host because its offload would not pay.
    pub not_offloaded: f64,
    /// Waiting for the accelerator's own work.
    pub accelerator: f64,
    /// o0.
    pub setup: f64,
    /// L.
    pub transfer: f64,
    /// Q.
    pub queue: f64,
    /// o1.
    pub thread_switches: f64,
}

/// What keeps the speedup of a kernel from being larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The rest of the service (Amdahl): over nine tenths of the ideal gain is reached.
    RestOfService,
    /// Offloads that do not pay.
    NotOffloaded,
    /// The accelerator's own speed.
    Accelerator,
    /// Preparing offloads.
    Setup,
    /// Moving data.
    Transfer,
    /// Waiting in line.
    Queue,
    /// Switching threads.
    ThreadSwitches,
}

/// What offloading one kernel comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelOutcome {
    /// alpha after selection: the share of the host's cycles that is offloaded.
    pub offloaded_share: f64,
    /// alpha scaled the other way, by cycles, where sizes are known.
    pub offloaded_share_by_cycles: Option<f64>,
    /// n.
    pub offloads: OffloadsPerSecond,
    /// The share of the candidates that go to the accelerator.
    pub lucrative_share: f64,
    /// C_b as given or derived.
    pub cycles_per_byte: Option<f64>,
    /// L, the mean over the offloads.
    pub transfer: MeanCycles,
    /// Q.
    pub queue: MeanCycles,
    /// The accelerator's utilisation, if Q comes from a queue.
    pub utilisation: Option<f64>,
    /// The sizes that raise throughput: equation (2), (4) or (7).
    pub pays_in_speedup: Option<Lucrative>,
    /// The sizes that lower latency.
    pub pays_in_latency: Option<Lucrative>,
    /// C / C_S with this accelerator alone.
    pub speedup: f64,
    /// C / C_L with this accelerator alone; `None` if it needs an unknown A.
    pub latency_reduction: Option<f64>,
    /// Time that this kernel's offloads spend outside the service, as a share of C: only with a
    /// remote accelerator whose response the host does not need, and if A is known.
    pub outside_service: Option<f64>,
    /// 1 / (1 - alpha): an accelerator of infinite speed without any cost.
    pub ideal_speedup: f64,
    /// Where the host's time goes.
    pub losses: Losses,
    /// What limits the speedup.
    pub limit: Limit,
}

/// What offloading comes to for the service.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// C / C_S.
    pub speedup: f64,
    /// C / C_L; `None` if it needs an unknown A.
    pub latency_reduction: Option<f64>,
    /// 1 / (1 - the sum of all alphas).
    pub ideal_speedup: f64,
    /// The kernels, in the order of the scenario.
    pub kernels: Vec<KernelOutcome>,
}

impl Scenario {
    /// Evaluates the scenario.
    ///
    /// Where queueing and selection depend on each other (what queues decides what pays, and what
    /// pays decides what queues), the result is their one common solution.
    ///
    /// # Errors
    /// [`ModelError`] for a value outside its range, shares that add up to more than 1, an
    /// accelerator that cannot keep up, a value that is missing for what is asked, and a share that
    /// differs by more than [`RELATION_TOLERANCE`] from what the offloads cost, where that is given.
    pub fn evaluate(&self) -> Result<Outcome, ModelError> {
        evaluate::scenario(self)
    }
}
