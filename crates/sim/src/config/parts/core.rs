//! Cores, and the costs of software on them.

use accelflow_units::{Frequency, Time};

use super::generation::Generation;

/// Cores, and the costs of software on them.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreConfig {
    /// Number of cores.
    pub count: usize,
    /// Clock of cores, accelerators and wires.
    pub clock: Frequency,
    /// Time of a user-level Enqueue, including the programming of an A-DMA engine.
    pub enqueue: Time,
    /// Time to see a user-level notification flag.
    pub notice: Time,
    /// Time to switch to the thread of a request.
    pub context_switch: Time,
    /// Time to take an interrupt.
    pub interrupt: Time,
    /// Time to hand an operation to an accelerator through a driver.
    pub submit: Time,
    /// Time to transform the format of 1 KiB of payload in software.
    pub transform_per_kib: Time,
    /// How LdB chooses the core of a request.
    pub balancing: Balancing,
    /// The number of services that affinity remembers for each core.
    pub function_map_depth: usize,
    /// How a core that executes LdB in software chooses the core of the request.
    pub software_balancing: SoftwareBalancing,
    /// Additional time of application logic on a core whose last request belonged to another
    /// service.
    pub cold_code: Time,
    /// Length of a time slice, for which a task runs while others wait. With zero, tasks run to
    /// completion.
    pub time_slice: Time,
    /// When a core serves an interrupt.
    pub interrupt_policy: InterruptPolicy,
    /// When a core checks the notification flags of traces.
    pub notification: Looks,
    /// Period of periodic checks; zero checks between any two tasks.
    pub notice_period: Time,
    /// Time to wake up, if an idle core sleeps.
    pub wake: Time,
    /// Generation of the processor.
    pub generation: Generation,
    /// Share of a generation's gain in application logic that also applies to datacenter tax
    /// operations, as an exponent: 0 for none, 1 for all.
    pub tax_gain: f64,
    /// Share of a generation's gain that also applies to the operating system, as an exponent.
    pub system_gain: f64,
}

/// How LdB chooses the core of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balancing {
    /// The core with the fewest requests in flight, then with the fewest tasks. Among equals the
    /// first, counted from the choosing core if LdB runs on a core.
    #[default]
    LeastLoaded,
    /// A random core.
    Random,
    /// One core after the other.
    RoundRobin,
    /// The less loaded of two random cores; the first drawn if they are equal.
    TwoChoices,
    /// The core that has been idle for longest; a random core if none is idle.
    JoinIdleQueue,
    /// A core whose last request belonged to the same service, among those with the fewest requests
    /// in flight.
    Affinity,
}

impl Balancing {
    /// All policies, indexed by the numeric value of `core.balancing`.
    pub const ALL: [Balancing; 6] = [
        Balancing::LeastLoaded,
        Balancing::Random,
        Balancing::RoundRobin,
        Balancing::TwoChoices,
        Balancing::JoinIdleQueue,
        Balancing::Affinity,
    ];
}

/// How a core that executes LdB in software chooses the core of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoftwareBalancing {
    /// As the accelerator does.
    #[default]
    Same,
    /// The core keeps the request: the network card has chosen this core.
    None,
}

impl SoftwareBalancing {
    /// Both, indexed by the numeric value of `core.software_balancing`.
    pub const ALL: [SoftwareBalancing; 2] = [SoftwareBalancing::Same, SoftwareBalancing::None];
}

/// When a core serves an interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterruptPolicy {
    /// After all tasks that wait.
    Queued,
    /// After the running task.
    First,
    /// At once. The interrupted task continues afterwards.
    #[default]
    Preempt,
}

impl InterruptPolicy {
    /// All policies. The index of a policy is its number in the parameter `core.interrupt_policy`.
    pub const ALL: [InterruptPolicy; 3] = [
        InterruptPolicy::Queued,
        InterruptPolicy::First,
        InterruptPolicy::Preempt,
    ];
}

/// When a core checks the notification flags of traces (AccelFlow, section IV.A). Tasks that are
/// already queued come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// "The CPU core can be performing other work and periodically check the notification flag."
    #[default]
    Periodically,
    /// "By continuously polling the flag", whenever the core has no other work.
    Always,
    /// "By executing an MWAIT-like instruction and automatically waking up".
    WhenWoken,
}

impl Looks {
    /// All choices. The index of a choice is its number in the parameter `core.notification`.
    pub const ALL: [Looks; 3] = [Looks::Periodically, Looks::Always, Looks::WhenWoken];
}
