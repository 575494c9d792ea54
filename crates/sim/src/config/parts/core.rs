//! Parameters of cores, and the costs of software that runs on the cores.

use accelflow_units::{Frequency, Time};

use super::generation::Generation;

/// The parameters of the cores, and the costs of software that runs on the cores.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreConfig {
    /// Number of cores.
    pub count: usize,
    /// Clock frequency of networks, caches, TLBs and dispatchers. The times of software and of
    /// operations on processing elements do not depend on the clock.
    pub clock: Frequency,
    /// Core time of the user-mode instruction Enqueue, including the programming of an A-DMA
    /// engine.
    pub enqueue: Time,
    /// Core time to read the notification flag of a trace that has ended.
    pub notice: Time,
    /// Core time to switch to another thread. Each stretch of application logic begins with a
    /// switch, also if no other request had the core in between; an interrupt takes two.
    pub context_switch: Time,
    /// Core time to take an interrupt.
    pub interrupt: Time,
    /// Core time to submit an operation to an accelerator through a driver.
    pub submit: Time,
    /// Core time to transform the format of 1 KiB of payload in software.
    pub transform_per_kib: Time,
    /// How the load balancer LdB chooses the core that handles a request.
    pub balancing: Balancing,
    /// Number of requests that [`Balancing::Affinity`] remembers for each core: the latest requests
    /// that LdB gave to the core. Of each remembered request, only the service is stored.
    pub function_map_depth: usize,
    /// How a core that executes the load balancer LdB in software chooses the core of the request.
    pub software_balancing: SoftwareBalancing,
    /// Additional core time of a request's first application logic after LdB has given the request
    /// to a core, unless the last request that LdB gave to this core belonged to the same service:
    /// the core's instruction caches do not hold the code of the service.
    pub cold_code: Time,
    /// Length of a time slice, after which a core switches to another waiting task; 0 lets tasks
    /// run to completion.
    pub time_slice: Time,
    /// When a core serves an interrupt: after the waiting tasks, after the running task, or at
    /// once.
    pub interrupt_policy: InterruptPolicy,
    /// When a core checks the notification flags of traces.
    pub notification: FlagChecks,
    /// Period at which a core checks the notification flags ([`FlagChecks::Periodically`]). With 0,
    /// a core checks between any two tasks, and all the time if it has no task.
    pub notice_period: Time,
    /// Time that an idle core needs to wake up if it sleeps ([`FlagChecks::WhenWoken`]).
    pub wake: Time,
    /// Generation of the processor, which determines the speed of the cores.
    pub generation: Generation,
    /// How much of a processor generation's gain in application logic also applies to datacenter
    /// tax operations. The speed of these operations, relative to the base server, is the gain to
    /// the power of this number: with 0 they gain nothing, with 1 as much as application logic.
    pub tax_gain: f64,
    /// How much of a processor generation's gain in application logic also applies to the operating
    /// system. The operating system's speed, relative to the base server, is the gain to the power
    /// of this number: with 0 it gains nothing, with 1 as much as application logic.
    pub system_gain: f64,
}

/// How the load-balancing accelerator LdB chooses the core that handles a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balancing {
    /// The core with the fewest requests in flight; among equals, the one with the fewest tasks. If
    /// several remain, the one with the lowest index is taken. If a core executes LdB in software,
    /// that core is taken instead if it is among the remaining cores; otherwise, the remaining core
    /// with the next higher index is taken (core 0 comes after the last core).
    #[default]
    LeastLoaded,
    /// A random core, all with the same probability.
    Random,
    /// The cores take turns, in the order of their indices.
    RoundRobin,
    /// The less loaded of two random cores, compared as in [`Balancing::LeastLoaded`]; the first
    /// drawn if both are equal.
    TwoChoices,
    /// The core that has been idle for longest. Idle cores have no tasks and no requests in flight.
    /// A random core if none is idle.
    JoinIdleQueue,
    /// One of the cores with the fewest requests in flight: preferably a core to which LdB recently
    /// gave a request of the same service ([`CoreConfig::function_map_depth`]). Among equals, the
    /// core with the fewest tasks is taken.
    Affinity,
}

impl Balancing {
    /// All choices, indexed by the numeric value of the parameter `core.balancing`.
    pub const ALL: [Balancing; 6] = [
        Balancing::LeastLoaded,
        Balancing::Random,
        Balancing::RoundRobin,
        Balancing::TwoChoices,
        Balancing::JoinIdleQueue,
        Balancing::Affinity,
    ];
}

/// How a core that executes the operation of the load-balancing accelerator LdB in software chooses
/// the core that handles the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoftwareBalancing {
    /// The core chooses as the LdB accelerator does ([`Balancing`]).
    #[default]
    Same,
    /// The core keeps the request: the network card has already chosen this core.
    None,
}

impl SoftwareBalancing {
    /// Both choices, indexed by the numeric value of the parameter `core.software_balancing`.
    pub const ALL: [SoftwareBalancing; 2] = [SoftwareBalancing::Same, SoftwareBalancing::None];
}

/// When a core serves an interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterruptPolicy {
    /// The core serves an interrupt after all tasks that already wait for the core.
    Queued,
    /// The core serves an interrupt after the running task, before all tasks that wait.
    First,
    /// The core serves an interrupt at once, or after earlier interrupts. The interrupted task
    /// continues afterwards.
    #[default]
    Preempt,
}

impl InterruptPolicy {
    /// All policies, indexed by the numeric value of the parameter `core.interrupt_policy`.
    pub const ALL: [InterruptPolicy; 3] = [
        InterruptPolicy::Queued,
        InterruptPolicy::First,
        InterruptPolicy::Preempt,
    ];
}

/// When a core checks the flags in memory by which accelerators report that a trace (a sequence of
/// operations) has ended (AccelFlow, section IV.A). A core that finds a flag set handles the end of
/// the trace after the tasks that already wait for the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlagChecks {
    /// The core checks once per period ([`CoreConfig::notice_period`]): "The CPU core can be
    /// performing other work and periodically check the notification flag."
    #[default]
    Periodically,
    /// The core checks "by continuously polling the flag", whenever it has no other work.
    Always,
    /// The core checks when a flag wakes it up from sleep: "By executing an MWAIT-like instruction
    /// and automatically waking up".
    WhenWoken,
}

impl FlagChecks {
    /// All choices, indexed by the numeric value of the parameter `core.notification`.
    pub const ALL: [FlagChecks; 3] = [
        FlagChecks::Periodically,
        FlagChecks::Always,
        FlagChecks::WhenWoken,
    ];
}
