//! The type [`Config`]: all parameters of the simulated server.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::parts::{
    AcceleratorConfig, AtmConfig, CohortConfig, CoreConfig, DispatcherConfig, ExceptionConfig,
    FactsConfig, MemoryConfig, NetworkConfig, PayloadConfig, ReliefConfig, RpcProcessor,
    SchedulingConfig, TcpConfig, TenantConfig, TlbConfig,
};

/// The size of a memory transaction: bytes that are looked up in the last-level cache and moved as
/// one. It is the payload that a queue entry holds.
pub(crate) const TRANSACTION: Bytes = Bytes::from_kib(2);

/// All parameters of the simulated server.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The parameters of the cores, and the costs of software that runs on the cores.
    pub core: CoreConfig,
    /// The parameters of the accelerators and their queues.
    pub accelerator: AcceleratorConfig,
    /// The parameters of exceptions that stop an accelerator.
    pub exception: ExceptionConfig,
    /// The parameters of the input dispatchers.
    pub scheduling: SchedulingConfig,
    /// The parameters that separate and limit tenants.
    pub tenant: TenantConfig,
    /// The parameters of the TCP accelerators.
    pub tcp: TcpConfig,
    /// The parameters of the output dispatchers.
    pub dispatcher: DispatcherConfig,
    /// The parameters of the accelerator trace memory.
    pub atm: AtmConfig,
    /// The parameters of the on-chip networks and A-DMA engines.
    pub network: NetworkConfig,
    /// The parameters of the last-level cache and main memory.
    pub memory: MemoryConfig,
    /// The parameters of address translation and page faults.
    pub tlb: TlbConfig,
    /// The parameters of RELIEF's central hardware manager.
    pub relief: ReliefConfig,
    /// The parameters of Cohort's software queues.
    pub cohort: CohortConfig,
    /// The parameters of messages and their buffers.
    pub payload: PayloadConfig,
    /// The probabilities of cache misses, errors and other facts, for runs that draw facts at
    /// random.
    pub facts: FactsConfig,
}

impl Config {
    /// Returns the fixed time per operation that the parameters state for the accelerator `accel`,
    /// without loading and writing back; `None` if they state none. Ser and Dser do not use this
    /// time if the RPC accelerator serializes payloads ([`super::RpcProcessor::Whole`]).
    pub fn fixed(&self, accel: Accel) -> Option<Time> {
        let own = self.accelerator.own[accel.index()].mean_operation;
        let of_rpc = self.accelerator.rpc_message;
        match accel {
            _ if own > Time::ZERO => Some(own),
            Accel::Rpc if of_rpc > Time::ZERO => Some(of_rpc),
            _ => None,
        }
    }

    /// The accelerator whose elements execute operations of `accel`: RPC's for payloads, if it is a
    /// whole RPC processor.
    pub(crate) fn element_of(&self, accel: Accel) -> Accel {
        let whole = self.accelerator.rpc_processor == RpcProcessor::Whole;
        match accel {
            Accel::Ser | Accel::Dser if whole => Accel::Rpc,
            own => own,
        }
    }

    /// Returns whether the time of an operation on the accelerator `accel` is the operation's time
    /// on a core divided by a speedup. `false` if `accel` has a fixed time per operation, and for
    /// Ser and Dser if the RPC accelerator serializes payloads ([`super::RpcProcessor::Whole`]).
    pub fn is_sped_up(&self, accel: Accel) -> bool {
        self.element_of(accel) == accel && self.fixed(accel).is_none()
    }

    /// Returns the time of an operation on the accelerator `accel`, without loading and writing
    /// back: `on_core`, the operation's time on a core of the base server, divided by the
    /// accelerator's speedup. If the accelerator has a fixed time per operation, returns the fixed
    /// time instead. The speedup is the one that the chip states
    /// ([`speedup`](super::AcceleratorConfig::speedup)). Three things are ignored: the dependence
    /// of the speedup on payload sizes ([`speedup_half`](super::AcceleratorConfig::speedup_half)),
    /// a speedup that a workload gives a custom accelerator, and an RPC accelerator that serializes
    /// payloads (see [`Config::accelerated_input`]).
    pub fn accelerated(&self, accel: Accel, on_core: Time) -> Time {
        let by_speedup = || on_core.scale(1.0 / self.accelerator.speedup[accel.index()]);
        self.fixed(accel).unwrap_or_else(by_speedup)
    }

    /// Returns the time of an operation on the accelerator `accel` that reads a payload of the size
    /// `input`. The time is the result of [`Config::accelerated`], with one exception: if the RPC
    /// accelerator serializes payloads ([`super::RpcProcessor::Whole`]), the times of Ser and Dser
    /// depend on `input` alone.
    pub fn accelerated_input(&self, accel: Accel, on_core: Time, input: Bytes) -> Time {
        match self.element_of(accel) == accel {
            true => self.accelerated(accel, on_core),
            false => self.accelerator.rpc_payload_time(input),
        }
    }

    /// Returns how long the transformation engine of an output dispatcher takes to change the
    /// format of `payload` bytes; zero without such an engine.
    pub fn transformation(&self, payload: Bytes) -> Time {
        let rate = self.dispatcher.transform_rate;
        rate.map_or(Time::ZERO, |rate| rate.transfer(payload))
    }

    /// Returns the time that an output dispatcher takes to execute `instructions` instructions.
    pub fn dispatch(&self, instructions: u64) -> Time {
        let cycles = instructions as f64 / self.dispatcher.ipc;
        Time::from_s_f64(cycles / self.core.clock.as_hz() as f64)
    }
}
