//! The parameters of the simulated server: one set for every experiment.
//!
//! [`Config`] holds them as quantities; [`PARAMETERS`] names each one for files, command lines and
//! `accelflow explain`, with its unit, its allowed range and where its default comes from.

mod blank;
mod facts;
mod generation;
mod own;
mod parameters;
mod table;

use accelflow_trace::Accel;
use accelflow_units::{Bandwidth, Bytes, Cycles, Frequency, Time};

pub use crate::hardware::{Balancing, InterruptPolicy, Looks, Policy};
pub use facts::FactsConfig;
pub use generation::Generation;
pub use own::OwnSizes;
pub use parameters::{Choice, Parameter, Provenance};
pub use table::PARAMETERS;

/// Bytes that are asked of memory, looked up in the last-level cache and moved as one: what a queue
/// entry holds of a payload.
pub(crate) const TRANSACTION: Bytes = Bytes::from_kib(2);

/// A parameter that does not exist or cannot have the given value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// No such parameter.
    #[error("unknown parameter '{key}'{}", hint(.key))]
    Unknown {
        /// The key as given.
        key: String,
    },
    /// A value outside the range.
    #[error("{key} = {value}: allowed is {allowed}")]
    Range {
        /// The parameter.
        key: &'static str,
        /// The value as given.
        value: f64,
        /// The range, with its unit.
        allowed: String,
    },
    /// Two values that do not go together.
    #[error("{key} = {value} with {other} = {other_value}: {key} must be a multiple of {of}")]
    Multiple {
        /// The parameter.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The parameter it depends on.
        other: &'static str,
        /// The value of that.
        other_value: f64,
        /// What it must be a multiple of, in its own unit.
        of: f64,
    },
}

fn hint(key: &str) -> String {
    let last = key.rsplit('.').next().unwrap_or(key);
    let similar: Vec<&str> = PARAMETERS
        .iter()
        .map(|p| p.key)
        .filter(|k| k.rsplit('.').next() == Some(last) || k.starts_with(key))
        .take(5)
        .collect();
    if similar.is_empty() {
        "; 'accelflow explain' lists them".to_owned()
    } else {
        format!("; did you mean {}?", similar.join(", "))
    }
}

/// All parameters of the simulated server.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Cores and what involving them costs.
    pub core: CoreConfig,
    /// The accelerators.
    pub accelerator: AcceleratorConfig,
    /// Exceptions that stop an accelerator.
    pub exception: ExceptionConfig,
    /// Input dispatchers.
    pub scheduling: SchedulingConfig,
    /// Limits of tenants.
    pub tenant: TenantConfig,
    /// TCP accelerators.
    pub tcp: TcpConfig,
    /// Output dispatchers.
    pub dispatcher: DispatcherConfig,
    /// The trace memory.
    pub atm: AtmConfig,
    /// Wires and DMA engines.
    pub network: NetworkConfig,
    /// The last-level cache and main memory.
    pub memory: MemoryConfig,
    /// Address translation.
    pub tlb: TlbConfig,
    /// RELIEF's manager.
    pub relief: ReliefConfig,
    /// Cohort's software queues.
    pub cohort: CohortConfig,
    /// Messages.
    pub payload: PayloadConfig,
    /// What remote sides answer, where it is drawn.
    pub facts: FactsConfig,
}

/// Cores, and what software on them costs.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreConfig {
    /// Number of cores.
    pub count: usize,
    /// Clock of cores, accelerators and wires.
    pub clock: Frequency,
    /// User-level Enqueue and programming of an A-DMA engine.
    pub enqueue: Time,
    /// Seeing a user-level notification flag.
    pub notice: Time,
    /// Switching to the thread of a request.
    pub context_switch: Time,
    /// Taking an interrupt.
    pub interrupt: Time,
    /// Handing an operation to an accelerator through a driver.
    pub submit: Time,
    /// Transforming a payload's format in software, per KiB.
    pub transform_per_kib: Time,
    /// How LdB chooses the core of a request.
    pub balancing: Balancing,
    /// Whether a core that executes LdB does so, too.
    pub software_balancing: SoftwareBalancing,
    /// How long a task runs before others that wait are served; zero for to its end.
    pub time_slice: Time,
    /// When they serve interrupts.
    pub interrupt_policy: InterruptPolicy,
    /// When they look at the flags of traces that have ended.
    pub notification: Looks,
    /// How often, if they look periodically; zero for whenever they have nothing else to do.
    pub notice_period: Time,
    /// Waking up, if they sleep when they have nothing to do.
    pub wake: Time,
    /// Which processors they are.
    pub generation: Generation,
    /// How much of a generation's gain in application logic operations of the datacenter tax have,
    /// as an exponent: 0 for none, 1 for all.
    pub tax_gain: f64,
    /// The same of the operating system.
    pub system_gain: f64,
}

/// What a core does about a request whose LdB it executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoftwareBalancing {
    /// It gives the request to a core as the accelerator does.
    #[default]
    Same,
    /// It keeps the request: the network card has chosen it.
    None,
}

impl SoftwareBalancing {
    /// By their numbers in `core.software_balancing`.
    pub const ALL: [SoftwareBalancing; 2] = [SoftwareBalancing::Same, SoftwareBalancing::None];
}

/// The accelerators and their queues.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceleratorConfig {
    /// Instances of each accelerator.
    pub instances: usize,
    /// How often a core tries to find a free input entry before it goes on in software.
    pub enqueue_attempts: u64,
    /// Processing elements of each instance.
    pub pes: usize,
    /// Entries of each input queue.
    pub input_entries: usize,
    /// Entries of each output queue.
    pub output_entries: usize,
    /// Payload bytes inside a queue entry.
    pub inline: Bytes,
    /// Entries of the overflow area of each input queue.
    pub overflow_entries: usize,
    /// Latency from a queue to a scratchpad.
    pub scratchpad_latency: Time,
    /// Rate from a queue to a scratchpad.
    pub scratchpad_bandwidth: Bandwidth,
    /// Size of an element's scratchpad.
    pub scratchpad: Bytes,
    /// Rate at which a scratchpad is wiped between tenants.
    pub wipe_bandwidth: Bandwidth,
    /// Rate at which it is then initialised for the next.
    pub initial_bandwidth: Bandwidth,
    /// What Ser and Dser load when an element goes on with another service.
    pub service_state: Bytes,
    /// The payload at which an accelerator has half of the speedup that it has for endless ones;
    /// 0 for a speedup that does not depend on the payload.
    pub speedup_half: Bytes,
    /// What the RPC accelerator takes for a message whatever a core takes, as a dedicated RPC
    /// processor does; 0 for its speedup.
    pub rpc_message: Time,
    /// How often faster an accelerator is than a core, by [`Accel::index`].
    pub speedup: [f64; Accel::COUNT],
    /// Whether idle elements do the operations of other accelerators.
    pub reuse: Reuse,
    /// How fast they are at that, as a share of the speed of an operation's own accelerator.
    pub reuse_speed: f64,
    /// What each type has in place of the numbers above, by [`Accel::index`].
    pub own: [OwnSizes; Accel::COUNT],
}

/// Whether idle elements do the operations of other accelerators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// "Each accelerator is highly optimized for a single task" (section VII.B.4).
    #[default]
    None,
    /// What finds no free element of its own kind goes to one of another.
    Idle,
}

impl Reuse {
    /// Both, by their numbers in `accelerator.reuse`.
    pub const ALL: [Reuse; 2] = [Reuse::None, Reuse::Idle];
}

/// Exceptions that stop an accelerator and interrupt a core (section IV.A).
#[derive(Clone, Debug, PartialEq)]
pub struct ExceptionConfig {
    /// Operations that raise one, of a million.
    pub per_million: f64,
    /// What the operating system does about one, beside taking the interrupt.
    pub handling: Time,
    /// Share of them after which the core goes on in software.
    pub fall_back_share: f64,
}

/// Input dispatchers (section IV.C).
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulingConfig {
    /// In which order they load ready entries.
    pub policy: Policy,
}

/// What a tenant may use (section IV.D).
#[derive(Clone, Debug, PartialEq)]
pub struct TenantConfig {
    /// Traces that may run at once; 0 for no limit.
    pub max_traces: u64,
    /// Which trace of a shaped tenant gets the next tokens.
    pub shaping_order: ShapingOrder,
    /// Whether tenants share elements and queues.
    pub isolation: Isolation,
}

/// Whether tenants share the elements and queues of accelerators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// All have all of them (section IV.D).
    #[default]
    Shared,
    /// Each has its own, the same number as the others, and no other may use them.
    Reserved,
}

impl Isolation {
    /// Both, by their numbers in `tenant.isolation`.
    pub const ALL: [Isolation; 2] = [Isolation::Shared, Isolation::Reserved];
}

/// The order in which traces of a tenant behind a traffic shaper get its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapingOrder {
    /// That of asking.
    Asking,
    /// Traces of requests of which others have passed, then first traces; that of asking among
    /// either.
    BegunFirst,
}

impl ShapingOrder {
    /// Both, by their numbers in `tenant.shaping_order`.
    pub const ALL: [ShapingOrder; 2] = [ShapingOrder::Asking, ShapingOrder::BegunFirst];
}

/// TCP accelerators.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// How long a trace waits for a message before its request is terminated.
    pub timeout: Time,
    /// Which systems keep what waits for a message in a queue.
    pub parking: Parking,
}

/// Which systems keep what waits for a message in an entry of TCP's input queue, or of the queue
/// that all accelerators share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parking {
    /// Those that have traces.
    #[default]
    Traces,
    /// All.
    All,
    /// None: the message asks for an entry when it comes.
    None,
}

impl Parking {
    /// By their numbers in `tcp.parking`.
    pub const ALL: [Parking; 3] = [Parking::Traces, Parking::All, Parking::None];
}

/// Output dispatchers (sections V.2 and VII.B.2): instructions, and what they wait for.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatcherConfig {
    /// Every operation.
    pub plain: u64,
    /// Each branch.
    pub branch: u64,
    /// Loading the next word from the trace memory.
    pub load_atm: u64,
    /// Ending a trace: result to memory, core informed.
    pub end: u64,
    /// Transforming 2 KiB.
    pub transform: u64,
    /// Instructions per cycle.
    pub ipc: f64,
    /// How long a dispatcher handles no other entry.
    pub busy: Busy,
    /// Rate of the transformation engine; none if a transformation takes its instructions alone.
    pub transform_rate: Option<Bandwidth>,
}

/// How long an output dispatcher that hands an entry on handles no other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Busy {
    /// Until its instructions end.
    Instructions,
    /// Until the A-DMA engine confirms that the entry has been moved.
    #[default]
    UntilConfirmed,
}

impl Busy {
    /// Both, by their numbers in `dispatcher.busy`.
    pub const ALL: [Busy; 2] = [Busy::Instructions, Busy::UntilConfirmed];
}

/// The trace memory (section IV.A), which all output dispatchers read.
#[derive(Clone, Debug, PartialEq)]
pub struct AtmConfig {
    /// Reading a word.
    pub latency: Time,
    /// Reads that can be under way at once.
    pub ports: usize,
}

/// Networks and A-DMA engines.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// A-DMA engines, shared by all accelerators.
    pub dma_engines: usize,
    /// Programming an engine.
    pub dma_setup: Time,
    /// One hop of a chiplet's mesh.
    pub hop: Cycles,
    /// Bytes that a mesh link moves a cycle.
    pub link_bytes: u64,
    /// Chiplets: 1, 2, 3, 4 or 6, as in Fig. 18.
    pub chiplets: usize,
    /// Crossing between chiplets.
    pub inter_chiplet: Cycles,
    /// Rate between chiplets.
    pub inter_chiplet_bandwidth: Bandwidth,
    /// An accelerator notifying a core.
    pub notification: Cycles,
    /// Bytes of a queue entry besides the payload.
    pub entry_overhead: Bytes,
}

/// The last-level cache and main memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryConfig {
    /// Slices of the last-level cache.
    pub llc_slices: usize,
    /// Size of a slice.
    pub llc_slice: Bytes,
    /// Ways of a slice.
    pub llc_ways: usize,
    /// Latency of a slice.
    pub llc: Cycles,
    /// Bytes that a slice reads or writes a cycle.
    pub llc_bytes: u64,
    /// Getting data from the private caches of a core.
    pub snoop: Cycles,
    /// Removing private copies.
    pub invalidate: Cycles,
    /// Bytes a second that a busy core brings into the last-level cache.
    pub core_fill_bytes_per_s: u64,
    /// Memory controllers.
    pub controllers: usize,
    /// Rate of each controller.
    pub dram_bandwidth: Bandwidth,
    /// Latency of main memory.
    pub dram_latency: Time,
    /// Limit of each tenant's traffic with memory.
    pub tenant_limit: Option<Bandwidth>,
}

/// Address translation and page faults.
#[derive(Clone, Debug, PartialEq)]
pub struct TlbConfig {
    /// Entries of each accelerator's TLB.
    pub entries: usize,
    /// Ways of each set of it.
    pub ways: usize,
    /// Looking a page up.
    pub hit: Cycles,
    /// Size of a page.
    pub page: Bytes,
    /// Concurrent walks of all IOMMUs together.
    pub walkers: usize,
    /// Levels of a page table.
    pub walk_levels: u32,
    /// Entries of the last but one level that an IOMMU keeps.
    pub walk_cache_entries: usize,
    /// Operations of a million that meet a page fault.
    pub faults_per_million: u64,
    /// The operating system's work on a page fault.
    pub fault_service: Time,
}

/// RELIEF's central hardware manager.
#[derive(Clone, Debug, PartialEq)]
pub struct ReliefConfig {
    /// From a completion to the next operation's start, at an idle manager.
    pub latency: Time,
    /// Time the manager cannot serve another completion.
    pub occupancy: Time,
    /// Entries of the central queue.
    pub queue_entries: usize,
    /// Deadline of a request, in unloaded execution times of its service.
    pub deadline: f64,
    /// Who does what a chain cannot.
    pub fallback: FallbackTo,
}

/// Who resolves branches, transforms payloads and moves large ones where a hardware manager
/// orchestrates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackTo {
    /// The request's core, which the manager interrupts.
    Core,
    /// The manager.
    Manager,
}

/// Cohort's software queues.
#[derive(Clone, Debug, PartialEq)]
pub struct CohortConfig {
    /// How long a core that has other work does not look at its queues.
    pub poll_period: Time,
    /// Core time of a look.
    pub poll: Time,
    /// Core time to take an entry.
    pub pop: Time,
    /// Core time to add an entry.
    pub push: Time,
    /// From an added entry to the accelerator's seeing it.
    pub engine: Time,
    /// Entries of a core's queue.
    pub queue_entries: usize,
}

/// Messages.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadConfig {
    /// Size of a message over its size when compressed.
    pub compression_ratio: f64,
    /// Whose heaps give out the buffers of payloads.
    pub heaps: Heaps,
}

/// Whose heaps give out the buffers of payloads: each gives out what was freed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heaps {
    /// One of each core for each service.
    #[default]
    OfCores,
    /// One of each service.
    OfServices,
}

impl Heaps {
    /// By their numbers in `payload.heaps`.
    pub const ALL: [Heaps; 2] = [Heaps::OfCores, Heaps::OfServices];
}

impl Default for Config {
    /// The base server of the paper: the `default` column of [`PARAMETERS`].
    fn default() -> Config {
        let mut config = blank::blank();
        for parameter in PARAMETERS {
            (parameter.set)(&mut config, parameter.default);
        }
        config
    }
}

impl Config {
    /// Sets the parameter `key` to `value`, in the parameter's unit.
    ///
    /// # Errors
    /// [`ConfigError`] for an unknown key or a value outside its range.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), ConfigError> {
        let parameter = Parameter::find(key)?;
        parameter.check(value)?;
        (parameter.set)(self, value);
        Ok(())
    }

    /// The value of the parameter `key`, in the parameter's unit.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`].
    pub fn get(&self, key: &str) -> Result<f64, ConfigError> {
        Ok((Parameter::find(key)?.get)(self))
    }

    /// Checks all values, for a configuration whose fields were written directly.
    ///
    /// # Errors
    /// [`ConfigError::Range`] for the first value outside its range, [`ConfigError::Multiple`]
    /// for values that do not go together.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut rows = PARAMETERS.iter();
        rows.try_for_each(|row| row.check((row.get)(self)))?;
        self.check_multiple("tlb.entries", "tlb.ways", 1.0)?;
        let transaction_kib = TRANSACTION.get() as f64 / 1024.0;
        self.check_multiple("memory.llc_slice_kib", "memory.llc_ways", transaction_kib)
    }

    /// Whether the value of `key` is a multiple of `scale` times that of `other`.
    fn check_multiple(
        &self,
        key: &'static str,
        other: &'static str,
        scale: f64,
    ) -> Result<(), ConfigError> {
        let (value, other_value) = (self.get(key)?, self.get(other)?);
        let of = scale * other_value;
        if value % of == 0.0 {
            return Ok(());
        }
        Err(ConfigError::Multiple {
            key,
            value,
            other,
            other_value,
            of,
        })
    }

    /// Whether `accel` takes the same time for every message.
    pub(crate) fn is_fixed(&self, accel: Accel) -> bool {
        accel == Accel::Rpc && self.accelerator.rpc_message > Time::ZERO
    }

    /// The accelerator's time for what takes a core `on_core`.
    pub fn accelerated(&self, accel: Accel, on_core: Time) -> Time {
        if self.is_fixed(accel) {
            return self.accelerator.rpc_message;
        }
        on_core.scale(1.0 / self.accelerator.speedup[accel.index()])
    }

    /// How long the transformation engine of a dispatcher takes for `payload`.
    pub fn transformation(&self, payload: Bytes) -> Time {
        let rate = self.dispatcher.transform_rate;
        rate.map_or(Time::ZERO, |rate| rate.transfer(payload))
    }

    /// How long an output dispatcher takes for `instructions`.
    pub fn dispatch(&self, instructions: u64) -> Time {
        let cycles = instructions as f64 / self.dispatcher.ipc;
        Time::from_s_f64(cycles / self.core.clock.as_hz() as f64)
    }
}
