//! Parameters of accelerators and their queues.

use accelflow_trace::Accel;
use accelflow_units::{Bandwidth, Bytes, Time};

use super::own_sizes::OwnSizes;

/// The parameters of the accelerators and their queues. The numbers of instances, elements and
/// queue entries apply to every accelerator type, unless [`AcceleratorConfig::own`] overrides them.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceleratorConfig {
    /// Number of instances of each accelerator type.
    pub instances: usize,
    /// Number of times that a core tries to put a trace into an input queue before the core
    /// executes the trace in software.
    pub enqueue_attempts: u64,
    /// Number of processing elements of each instance.
    pub pes: usize,
    /// Number of entries of each input queue.
    pub input_entries: usize,
    /// Number of entries of each output queue.
    pub output_entries: usize,
    /// Number of payload bytes that a queue entry holds; the rest of a larger payload is in memory.
    pub inline: Bytes,
    /// Number of entries of the overflow area in memory that each input queue has, and so has the
    /// queue of a central manager.
    pub overflow_entries: usize,
    /// Latency of a transfer between a queue and the scratchpad of a processing element, in either
    /// direction.
    pub scratchpad_latency: Time,
    /// Rate of a transfer between a queue and the scratchpad of a processing element, in either
    /// direction.
    pub scratchpad_bandwidth: Bandwidth,
    /// Size of the scratchpad of a processing element.
    pub scratchpad: Bytes,
    /// Rate at which a processing element wipes its scratchpad between operations of different
    /// tenants.
    pub wipe_bandwidth: Bandwidth,
    /// Rate at which a processing element initialises its wiped scratchpad for the next tenant.
    pub initial_bandwidth: Bandwidth,
    /// Size of the state that a processing element of Ser or Dser loads when it switches to another
    /// service or tenant; 0 for no state.
    pub service_state: Bytes,
    /// Payload size at which an accelerator reaches half of the speedup that it has for very large
    /// payloads; 0 if the speedup is the same for all sizes.
    pub speedup_half: Bytes,
    /// Fixed time of the RPC accelerator per message, as in a dedicated RPC processor (Cerebros). 0
    /// means that the RPC accelerator's speedup applies instead. [`OwnSizes::mean_operation`] of
    /// RPC precedes this time.
    pub rpc_message: Time,
    /// Which accelerators serialize and deserialize the payloads of RPCs: Ser and Dser, or the RPC
    /// accelerator.
    pub rpc_processor: RpcProcessor,
    /// Fixed time of the RPC processor ([`RpcProcessor::Whole`]) per payload, for the access to
    /// memory. The times for the payload's fields and words are added.
    pub rpc_payload: Time,
    /// Rate at which a processing element of the RPC processor ([`RpcProcessor::Whole`]) moves the
    /// words of a payload.
    pub rpc_payload_bandwidth: Bandwidth,
    /// Time that the RPC processor ([`RpcProcessor::Whole`]) takes to process the type of one field
    /// of a payload.
    pub rpc_field: Time,
    /// Mean size of a field of a payload. The time of the RPC processor ([`RpcProcessor::Whole`])
    /// depends on the number of fields: the payload's size divided by this mean.
    pub rpc_field_size: Bytes,
    /// Number of services whose message types the RPC processor ([`RpcProcessor::Whole`]) knows:
    /// the services with the highest arrival rates of requests from clients. A trace of another
    /// service falls back to a core when the trace reaches RPC, Ser or Dser.
    pub rpc_schema_map_entries: usize,
    /// Memory of the RPC processor ([`RpcProcessor::Whole`]) for messages and their payloads; 0 for
    /// no limit.
    pub rpc_memory: Bytes,
    /// Memory that the RPC processor ([`RpcProcessor::Whole`]) reserves for a deserialized payload,
    /// as a multiple of the message's size.
    pub rpc_reservation_ratio: f64,
    /// Time after which a sender repeats a message for which the RPC processor
    /// ([`RpcProcessor::Whole`]) had no memory.
    pub rpc_retry_after: Time,
    /// Largest number of times that a sender repeats a message for which the RPC processor
    /// ([`RpcProcessor::Whole`]) had no memory. If the last repetition is refused too, the request
    /// ends without a response.
    pub rpc_retries: u64,
    /// Speedup of each accelerator type over a core of the base server (Ice Lake), indexed by
    /// [`Accel::index`].
    pub speedup: [f64; Accel::MOST],
    /// Whether idle processing elements execute operations of other accelerator types.
    pub reuse: Reuse,
    /// When a core takes over the rest of a trace from the accelerators.
    pub fallback: FallBackWhen,
    /// Speed of a processing element at an operation of another accelerator type, as a multiple of
    /// the speed of that type's own elements: above 0, at most 1.
    pub reuse_speed: f64,
    /// Sizes and fixed operation times of individual accelerator types, which override the values
    /// that apply to all types, indexed by [`Accel::index`].
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

    /// Returns how long the RPC processor ([`RpcProcessor::Whole`]) takes to serialize or
    /// deserialize a payload of `size` bytes. The result is the sum of the times for the access to
    /// memory, for the payload's fields and for its words.
    pub fn rpc_payload_time(&self, size: Bytes) -> Time {
        let fields = size.get().div_ceil(self.rpc_field_size.get().max(1));
        self.rpc_payload + self.rpc_field * fields + self.rpc_payload_bandwidth.transfer(size)
    }

    /// Returns whether the chip has a usable instance of `accel`: one with processing elements and
    /// queue entries.
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

/// Which accelerators serialize and deserialize the payloads of RPCs: Ser and Dser, or the RPC
/// accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RpcProcessor {
    /// The separate accelerators Ser and Dser serialize and deserialize payloads.
    #[default]
    None,
    /// The RPC accelerator is an RPC processor, which also serializes and deserializes payloads.
    /// Its pipelines process the header and then the payload of a message, without moving data
    /// between the two, as in Cerebros (MICRO 2021, section 4.2).
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
    /// for a single task" (AccelFlow, section VII.B.4).
    #[default]
    None,
    /// If an accelerator hands over an operation that finds no free element of its own type, the
    /// operation goes to the least loaded of the paper's accelerators with a free element. This
    /// does not apply to TCP and LdB: their elements execute only their own operations, and no
    /// other elements execute operations of TCP or LdB. It applies neither to operations that a
    /// core starts, nor to those after a join, nor to those in the queue of a central manager.
    Idle,
}

impl Reuse {
    /// Both choices, indexed by the numeric value of the parameter `accelerator.reuse`.
    pub const ALL: [Reuse; 2] = [Reuse::None, Reuse::Idle];
}

/// When the core of a request takes over the rest of a trace (a sequence of operations) from the
/// accelerators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallBackWhen {
    /// The core takes over if the input queue and the overflow area of the next accelerator are
    /// full (AccelFlow, section IV.A).
    #[default]
    Full,
    /// The core takes over if input queue and overflow area are full. An idle core also takes over
    /// if it would end the next operation sooner than the accelerator, which first executes the
    /// operations ahead in its queue. AccelFlow, section IX, proposes such "adaptive control-flow
    /// decisions based on real-time system load".
    Sooner,
}

impl FallBackWhen {
    /// Both choices, indexed by the numeric value of the parameter `accelerator.fallback`.
    pub const ALL: [FallBackWhen; 2] = [FallBackWhen::Full, FallBackWhen::Sooner];
}
