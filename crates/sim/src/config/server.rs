//! The configuration of the simulated server.

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
    /// Cores, and the costs of software on them.
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
    /// Answers of remote sides, where they are drawn.
    pub facts: FactsConfig,
}

impl Config {
    /// The time that `accel` takes for every operation, if it does not depend on what a core takes.
    pub(crate) fn fixed(&self, accel: Accel) -> Option<Time> {
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

    /// Returns the time of an operation on `accel` that takes `on_core` on a core of the base
    /// server.
    pub fn accelerated(&self, accel: Accel, on_core: Time) -> Time {
        let by_speedup = || on_core.scale(1.0 / self.accelerator.speedup[accel.index()]);
        self.fixed(accel).unwrap_or_else(by_speedup)
    }

    /// Returns the time of an operation on `accel` that takes `on_core` on a core, and reads `input`. A
    /// whole RPC processor takes a time for payloads that depends on their size alone.
    pub fn accelerated_input(&self, accel: Accel, on_core: Time, input: Bytes) -> Time {
        match self.element_of(accel) == accel {
            true => self.accelerated(accel, on_core),
            false => self.accelerator.rpc_payload_time(input),
        }
    }

    /// Returns the time that a dispatcher's transformation engine takes for `payload`.
    pub fn transformation(&self, payload: Bytes) -> Time {
        let rate = self.dispatcher.transform_rate;
        rate.map_or(Time::ZERO, |rate| rate.transfer(payload))
    }

    /// Returns the time that an output dispatcher takes for `instructions`.
    pub fn dispatch(&self, instructions: u64) -> Time {
        let cycles = instructions as f64 / self.dispatcher.ipc;
        Time::from_s_f64(cycles / self.core.clock.as_hz() as f64)
    }
}
