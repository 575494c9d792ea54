//! Accelerators and their queues.

use accelflow_trace::Accel;
use accelflow_units::{Bandwidth, Bytes, Time};

use super::own_sizes::OwnSizes;

/// The accelerators and their queues.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceleratorConfig {
    /// Instances of each accelerator.
    pub instances: usize,
    /// Attempts of a core to find a free input entry before it falls back to software.
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
    /// Rate at which a wiped scratchpad is initialised for the next tenant.
    pub initial_bandwidth: Bandwidth,
    /// Size of the state that Ser and Dser load when an element switches to another service.
    pub service_state: Bytes,
    /// Payload size at which an accelerator has half of its asymptotic speedup. 0 for a speedup
    /// that is independent of the payload.
    pub speedup_half: Bytes,
    /// Fixed time of the RPC accelerator per message, as in a dedicated RPC processor. 0 means that
    /// its speedup applies instead.
    pub rpc_message: Time,
    /// Where payloads of RPCs are transformed.
    pub rpc_processor: RpcProcessor,
    /// The RPC processor's fixed time for a payload, in addition to that of its bytes.
    pub rpc_payload: Time,
    /// The rate at which an element of the RPC processor moves the words of a payload.
    pub rpc_payload_bandwidth: Bandwidth,
    /// The RPC processor's time for the type of each field of a payload.
    pub rpc_field: Time,
    /// The mean size of a payload's fields.
    pub rpc_field_size: Bytes,
    /// Functions in the schema map of the RPC processor, those with most requests; a core executes the
    /// RPC operations of all others.
    pub rpc_schema_map_entries: usize,
    /// Memory of the NIC for messages and their payloads; 0 for no limit.
    pub rpc_memory: Bytes,
    /// The memory that is reserved for a payload, as a multiple of its message's size.
    pub rpc_reservation_ratio: f64,
    /// The time after which a sender repeats a message that found no memory.
    pub rpc_retry_after: Time,
    /// The largest number of times that a sender repeats such a message; after the last refusal the
    /// request is terminated.
    pub rpc_retries: u64,
    /// Speedup of each accelerator over a core, by [`Accel::index`].
    pub speedup: [f64; Accel::MOST],
    /// Whether idle elements execute operations of other accelerators.
    pub reuse: Reuse,
    /// The condition under which a trace falls back to its core at a hand-over.
    pub fallback: FallBackWhen,
    /// The speed of elements for other accelerators' operations, relative to the operation's own
    /// accelerator.
    pub reuse_speed: f64,
    /// Sizes of individual accelerator types, which override the numbers above, by
    /// [`Accel::index`].
    pub own: [OwnSizes; Accel::MOST],
}

impl AcceleratorConfig {
    /// Instances of `accel`; 0 if the chip does not have it.
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

    /// The RPC processor's time for a payload of `size` bytes: its access to the memory, its fields and
    /// its words.
    pub fn rpc_payload_time(&self, size: Bytes) -> Time {
        let fields = size.get().div_ceil(self.rpc_field_size.get().max(1));
        self.rpc_payload + self.rpc_field * fields + self.rpc_payload_bandwidth.transfer(size)
    }

    /// Whether the chip has `accel`.
    pub fn has(&self, accel: Accel) -> bool {
        self.instances_of(accel) > 0
    }

    /// Entries of the overflow area of each input queue of `accel`.
    pub fn overflow_entries_of(&self, accel: Accel) -> usize {
        let own = self.own[accel.index()].overflow_entries;
        own.unwrap_or(self.overflow_entries)
    }

    /// Processing elements of each instance of `accel`.
    pub fn pes_of(&self, accel: Accel) -> usize {
        self.own[accel.index()].pes.unwrap_or(self.pes)
    }

    /// Entries of each input queue of `accel`.
    pub fn input_entries_of(&self, accel: Accel) -> usize {
        let own = self.own[accel.index()].input_entries;
        own.unwrap_or(self.input_entries)
    }

    /// Entries of each output queue of `accel`.
    pub fn output_entries_of(&self, accel: Accel) -> usize {
        let own = self.own[accel.index()].output_entries;
        own.unwrap_or(self.output_entries)
    }
}

/// Where payloads of RPCs are transformed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RpcProcessor {
    /// By separate accelerators, Ser and Dser.
    #[default]
    None,
    /// By the RPC accelerator, whose pipelines process header and payload of a message one after
    /// the other without a movement between them, as in Cerebros (MICRO 2021, section 4.2).
    Whole,
}

impl RpcProcessor {
    /// Both, indexed by the numeric value of `accelerator.rpc_processor`.
    pub const ALL: [RpcProcessor; 2] = [RpcProcessor::None, RpcProcessor::Whole];
}

/// Whether idle elements do the operations of other accelerators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// "Each accelerator is highly optimized for a single task" (section VII.B.4).
    #[default]
    None,
    /// An operation that finds no free element of its own kind goes to one of another kind.
    Idle,
}

impl Reuse {
    /// Both, indexed by the numeric value of `accelerator.reuse`.
    pub const ALL: [Reuse; 2] = [Reuse::None, Reuse::Idle];
}

/// The condition under which the rest of a trace falls back to its core at a hand-over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallBackWhen {
    /// If input queue and overflow area of the next accelerator are full (section IV.A).
    #[default]
    Full,
    /// Also if the core is idle and would end the operation sooner than the accelerator, because of
    /// its queue. This is one of the "adaptive control-flow decisions based on real-time system
    /// load" of section IX.
    Sooner,
}

impl FallBackWhen {
    /// Both, indexed by the numeric value of `accelerator.fallback`.
    pub const ALL: [FallBackWhen; 2] = [FallBackWhen::Full, FallBackWhen::Sooner];
}
