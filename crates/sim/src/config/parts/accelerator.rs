//! Accelerators and their queues.

use accelflow_trace::Accel;
use accelflow_units::{Bandwidth, Bytes, Time};

use super::own_sizes::OwnSizes;

/// The parameters of the accelerators and their queues. Numbers hold for each accelerator type,
/// unless `own` overrides them.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceleratorConfig {
    /// Number of instances of each accelerator type.
    pub instances: usize,
    /// Number of times that a core tries to put a trace into an input queue before it executes the
    /// trace in software.
    pub enqueue_attempts: u64,
    /// Number of processing elements of each instance.
    pub pes: usize,
    /// Number of entries of each input queue.
    pub input_entries: usize,
    /// Number of entries of each output queue.
    pub output_entries: usize,
    /// Bytes of payload that fit a queue entry; the rest is in memory.
    pub inline: Bytes,
    /// Number of entries of the overflow area in memory that each input queue has.
    pub overflow_entries: usize,
    /// Latency of a transfer from a queue to the scratchpad of a processing element.
    pub scratchpad_latency: Time,
    /// Rate of a transfer from a queue to the scratchpad of a processing element.
    pub scratchpad_bandwidth: Bandwidth,
    /// Size of the scratchpad of a processing element.
    pub scratchpad: Bytes,
    /// Rate at which a processing element wipes its scratchpad between operations of different
    /// tenants.
    pub wipe_bandwidth: Bandwidth,
    /// Rate at which a processing element initialises its wiped scratchpad for the next tenant.
    pub initial_bandwidth: Bandwidth,
    /// Size of the state that a processing element of Ser or Dser loads when it switches to another
    /// service.
    pub service_state: Bytes,
    /// Payload size at which an accelerator has half of the speedup that it has for very large
    /// payloads. 0 for a speedup that is the same for all sizes.
    pub speedup_half: Bytes,
    /// Fixed time of the RPC accelerator per message, as in a dedicated RPC processor (Cerebros). 0
    /// means that the RPC accelerator's speedup applies instead.
    pub rpc_message: Time,
    /// Whether Ser and Dser or the RPC accelerator transform the payloads of RPCs.
    pub rpc_processor: RpcProcessor,
    /// Fixed time of the RPC processor per payload, in addition to the time for its fields and
    /// bytes.
    pub rpc_payload: Time,
    /// Rate at which a processing element of the RPC processor moves the words of a payload.
    pub rpc_payload_bandwidth: Bandwidth,
    /// Time of the RPC processor for the type of each field of a payload.
    pub rpc_field: Time,
    /// Mean size of a field of a payload, from which the RPC processor's time is calculated.
    pub rpc_field_size: Bytes,
    /// Number of services whose message types the RPC processor knows, those with most requests; a
    /// core executes the RPC operations of all others.
    pub rpc_schema_map_entries: usize,
    /// Memory of the RPC processor's NIC for messages and their payloads; 0 for no limit.
    pub rpc_memory: Bytes,
    /// Memory that the RPC processor reserves for a payload, as a multiple of its message's size.
    pub rpc_reservation_ratio: f64,
    /// Time after which a sender repeats a message for which the RPC processor had no memory.
    pub rpc_retry_after: Time,
    /// Largest number of times that a sender repeats a message for which the RPC processor had no
    /// memory. After the last refusal the request is ended.
    pub rpc_retries: u64,
    /// Speedup of each accelerator type over a core, indexed by [`Accel::index`].
    pub speedup: [f64; Accel::MOST],
    /// Whether idle processing elements execute operations of other accelerators.
    pub reuse: Reuse,
    /// Under which condition a core executes the rest of a trace instead of the next accelerator.
    pub fallback: FallBackWhen,
    /// Speed of a processing element at an operation of another accelerator type, relative to an
    /// element of that type.
    pub reuse_speed: f64,
    /// Sizes of individual accelerator types, which override the numbers above, indexed by
    /// [`Accel::index`].
    pub own: [OwnSizes; Accel::MOST],
}

impl AcceleratorConfig {
    /// Returns the number of instances of `accel`; 0 if the chip does not have this accelerator.
    pub fn instances_of(&self, accel: Accel) -> usize {
        let own = self.own[accel.index()];
        let is_usable = self.pes_of(accel) > 0
            && self.input_entries_of(accel) > 0
            && self.output_entries_of(accel) > 0;
        match is_usable {
            true => own.instances.unwrap_or(self.instances),
            false => 0,
        }
    }

    /// Returns the RPC processor's time for a payload of `size` bytes: its access to the memory,
    /// its fields and its words.
    pub fn rpc_payload_time(&self, size: Bytes) -> Time {
        let fields = size.get().div_ceil(self.rpc_field_size.get().max(1));
        self.rpc_payload + self.rpc_field * fields + self.rpc_payload_bandwidth.transfer(size)
    }

    /// Whether the chip has at least one instance of `accel`.
    pub fn has(&self, accel: Accel) -> bool {
        self.instances_of(accel) > 0
    }

    /// Returns the number of entries of the overflow area that each input queue of `accel` has.
    pub fn overflow_entries_of(&self, accel: Accel) -> usize {
        let own = self.own[accel.index()].overflow_entries;
        own.unwrap_or(self.overflow_entries)
    }

    /// Returns the number of processing elements of each instance of `accel`.
    pub fn pes_of(&self, accel: Accel) -> usize {
        self.own[accel.index()].pes.unwrap_or(self.pes)
    }

    /// Returns the number of entries of each input queue of `accel`.
    pub fn input_entries_of(&self, accel: Accel) -> usize {
        let own = self.own[accel.index()].input_entries;
        own.unwrap_or(self.input_entries)
    }

    /// Returns the number of entries of each output queue of `accel`.
    pub fn output_entries_of(&self, accel: Accel) -> usize {
        let own = self.own[accel.index()].output_entries;
        own.unwrap_or(self.output_entries)
    }
}

/// Which accelerators transform the payloads of RPCs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RpcProcessor {
    /// The separate accelerators Ser and Dser transform payloads.
    #[default]
    None,
    /// The RPC accelerator transforms payloads: its pipelines process header and payload of a
    /// message one after the other without a movement between them, as in Cerebros (MICRO 2021,
    /// section 4.2).
    Whole,
}

impl RpcProcessor {
    /// Both choices, indexed by the numeric value of the parameter `accelerator.rpc_processor`.
    pub const ALL: [RpcProcessor; 2] = [RpcProcessor::None, RpcProcessor::Whole];
}

/// Whether idle processing elements execute operations of other accelerator types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Elements execute only operations of their own type: "Each accelerator is highly optimized
    /// for a single task" (section VII.B.4).
    #[default]
    None,
    /// An operation that finds no free element of its own type goes to a free one of another type.
    Idle,
}

impl Reuse {
    /// Both choices, indexed by the numeric value of the parameter `accelerator.reuse`.
    pub const ALL: [Reuse; 2] = [Reuse::None, Reuse::Idle];
}

/// Under which condition the core of a request executes the rest of a trace instead of the next
/// accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallBackWhen {
    /// The core takes over if input queue and overflow area of the next accelerator are full
    /// (section IV.A).
    #[default]
    Full,
    /// The core takes over if both are full. An idle core also takes over if it would end the next
    /// operation before the accelerator does, whose queue is not empty. Section IX proposes such
    /// "adaptive control-flow decisions based on real-time system load".
    Sooner,
}

impl FallBackWhen {
    /// Both choices, indexed by the numeric value of the parameter `accelerator.fallback`.
    pub const ALL: [FallBackWhen; 2] = [FallBackWhen::Full, FallBackWhen::Sooner];
}
