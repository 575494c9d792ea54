//! The parameters of the simulated server, each with its origin.

use accelflow_model::cerebros::RpcLayer;
use accelflow_parameters::{Kind, Parameter, Provenance, Refusal, Row, Table};
use accelflow_units::{Bytes, Time};

use crate::schema::{Message, header_wire};

/// The largest value of a parameter for which no other is given: above it, sums of times could
/// overflow. Parameters that size the simulation's memory have smaller largest values.
const MOST: f64 = 1e12;

/// The largest value of a parameter.
macro_rules! most {
    () => {
        MOST
    };
    ($most:literal) => {
        $most
    };
}

macro_rules! platform {
    ($($what:literal $name:ident = $default:expr, $unit:literal, $least:literal $(to $most:literal)?, $kind:ident, $provenance:ident, $source:literal;)*) => {
        /// The parameters of the simulated server. Parameters that are counts must be whole
        /// numbers, which [`Platform::set`] and [`Platform::check`] enforce.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Platform {
            $(#[doc = $what] pub $name: f64,)*
        }

        impl Default for Platform {
            fn default() -> Platform {
                Platform { $($name: $default,)* }
            }
        }

        /// The table of the simulated server's parameters, each with its unit, range, default and
        /// origin.
        pub const PARAMETERS: Table<Platform> = Table::new(&[&[$(Row {
            parameter: Parameter {
                key: stringify!($name),
                unit: $unit,
                kind: Kind::$kind($least, most!($($most)?)),
                default: $default,
                provenance: Provenance::$provenance,
                source: $source,
                why: "",
            },
            get: |platform| platform.$name,
            set: |platform, value| platform.$name = value,
        },)*]]);
    };
}

platform! {
    "Clock frequency of the cores in hertz; all cycles are cycles of this clock."
    clock_hz = 2e9, "Hz", 1.0, whole, Paper, "Cerebros, Table 1";
    "Number of cores of the chip."
    cores = 16.0, "cores", 1.0 to 1024.0, whole, Paper, "Cerebros, Table 1";
    "Number of cores that the operating system keeps for itself."
    system_cores = 1.0, "cores", 0.0, whole, Paper, "Cerebros, section 5: workloads are pinned on 15 of 16 cores";
    "Requests that a core may have at a time, the one that runs included; more wait in the NIC. A value below `core_threads` counts as `core_threads`."
    core_slots = 1.0, "requests", 1.0, whole, Paper, "Cerebros, section 4.1: messages wait in the NIC until a core becomes available";
    "Cycles of a core to process a message's header in software."
    software_header_cycles = 388.75, "cycles", 0.0, number, Derived, "Cerebros, Fig. 6 solved for UniqueId: (4500 - 2700 - 245) / 4 headers";
    "Cycles of a core to dispatch a message in software."
    software_dispatch_cycles = 61.25, "cycles", 0.0, number, Derived, "Cerebros, Fig. 6 solved for UniqueId: 245 / 4 messages";
    "Cycles of a core to transform a payload in software, in addition to those for its fields and strings."
    software_payload_cycles = 452.0, "cycles", 0.0, number, Derived, "UniqueId's 2700 cycles for 4 payloads, less those of their 11 fields and 6 words of strings: calls, buffers and the object";
    "Cycles of a core for each field of a payload in software."
    software_field_cycles = 80.0, "cycles", 0.0, number, Assumed, "between two printed figures that pull apart: payloads are about 60 % of the layer (lower is better), and the layer shrinks by up to 64 times (higher is better)";
    "Cycles of a core for each 8 bytes of a string in software."
    software_word_cycles = 2.0, "cycles", 0.0, number, Assumed, "copy, and its share of an allocation";
    "Number of traversals of the chip's network between core and accelerator before the accelerator starts a task."
    offload_traversals_before = 3.0, "traversals", 0.0, whole, Paper, "Cerebros, section 5: invocation, metadata, data";
    "Number of traversals of the chip's network between accelerator and core after the accelerator ended a task."
    offload_traversals_after = 2.0, "traversals", 0.0, whole, Paper, "Cerebros, section 5: write back, notification";
    "Cycles of one traversal of the chip's network."
    traversal_cycles = 40.0, "cycles", 0.0, number, Paper, "Cerebros, section 5: measured by simulation";
    "Number of traversals before the accelerator starts a task if the request to it contains the data."
    coalesced_traversals_before = 1.0, "traversals", 0.0, whole, Derived, "Cerebros, section 6.1: the two reads fall away";
    "Cycles of one traversal of a chip network of low diameter."
    low_diameter_cycles = 200.0 / 3.36 / 3.0, "cycles", 0.0, number, Derived, "Cerebros, section 6.1: offloads cost 3.36 times less";
    "Time from the request of a nested call to its response, in addition to the processing of these messages, in nanoseconds."
    nested_latency_ns = 0.0, "ns", 0.0, number, Paper, "Cerebros, section 5: the other microservices are mocks that respond at once";
    "Number of requests that a core has in progress at a time: with more than one, it continues another while one waits for a nested call."
    core_threads = 1.0, "requests", 1.0, whole, Paper, "Cerebros, section 5: synchronous; more are its asynchronous model";
    "Cycles of a core to switch to a request whose nested call has been answered."
    switch_cycles = 200.0, "cycles", 0.0, number, Assumed, "a user-level thread of Arachne, which section 5 names: about 100 ns";
    "Number of transformation pipelines of the shared accelerator or of Cerebros."
    pipelines = 7.0, "pipelines", 1.0 to 1e6, whole, Derived, "Cerebros, section 5: the array processes 2.5 to 100 times what the cores can ask for; 6 miss the least, 9 the most by more than a quarter";
    "Number of units in a pipeline that transform fields in parallel."
    field_units = 2.0, "units", 1.0 to 65536.0, whole, Assumed, "Cerebros, section 4.2: a set of units for parallel sub-tasks; two is the smallest set, and with one no service reaches 64 times";
    "Cycles of an accelerator task's access to the caches, of which it makes one."
    cache_access_cycles = 7.375, "cycles", 0.0, number, Derived, "UniqueId's eight tasks take 90 cycles (section 6.1), 31 of them for their fields; Table 1 has 8 for a bank of the LLC";
    "Number of functions that the schema map can hold; the most popular are registered."
    schema_map_entries = 64.0, "functions", 1.0, whole, Assumed, "Cerebros, section 4.3: a small table, for a few tens of functions";
    "Cycles of a pipeline to look up a function in the schema map."
    schema_map_cycles = 0.0, "cycles", 0.0, number, Derived, "the 90 cycles leave no room for it: it overlaps the write of the header";
    "Cycles to notify a core: from the NIC to the core's queue pair."
    notification_cycles = 40.0, "cycles", 0.0, number, Derived, "one traversal of the chip's network";
    "Size of the NIC's memory for messages, in bytes."
    buffer_bytes = 1048576.0, "B", 1.0, whole, Assumed, "Cerebros, section 4.1 has arenas and does not print their size";
    "Number of arenas that this memory is divided into; a message lies in one of them."
    arenas = 1.0, "arenas", 1.0 to 1e6, whole, Assumed, "Cerebros, section 4.1 has a set of arenas and does not print their number";
    "Memory reserved for a deserialized payload, as a multiple of the message's size."
    reservation_ratio = 4.0, "", 0.0, number, Paper, "Cerebros, section 4.1";
    "Time after a NACK until the sender sends the message again, in nanoseconds."
    retry_after_ns = 10000.0, "ns", 1.0, number, Assumed, "Cerebros, section 4.1: the policy is the sender's; a round trip of some us";
    "Number of times that a sender sends a refused message again before it gives up."
    retries = 3.0, "retries", 0.0, whole, Assumed, "Cerebros, section 4.1: the policy is the sender's";
    "Number of functions that the function map remembers for each core: those that it ran last."
    function_map_depth = 1.0, "functions", 1.0 to 4096.0, whole, Paper, "Cerebros, section 4.3; deeper ones are its open question";
    "Size of a core's instruction cache, in bytes."
    l1i_bytes = 65536.0, "B", 64.0 to 4194304.0, whole, Paper, "Cerebros, Table 1";
    "Associativity (number of ways) of a core's instruction cache."
    l1i_ways = 4.0, "ways", 1.0 to 65536.0, whole, Paper, "Cerebros, Table 1";
    "Block size of a core's instruction cache, in bytes."
    l1i_block_bytes = 64.0, "B", 1.0, whole, Paper, "Cerebros, Table 1";
    "Size of the RPC layer's instructions in a user-defined service, in bytes."
    own_rpc_code_bytes = 51200.0, "B", 0.0 to 16777216.0, whole, Assumed, "the mean of the five services', 44 KB, and a little more: between USR's 52 and SG's 50";
    "Size of the instructions that all functions of a user-defined service share, in bytes."
    own_shared_code_bytes = 16384.0, "B", 0.0 to 16777216.0, whole, Assumed, "as CP's; Cerebros, section 5: most microservices are similar to SG and CP";
    "Size of each function's own instructions in a user-defined service, in bytes."
    own_function_code_bytes = 4096.0, "B", 0.0 to 16777216.0, whole, Assumed, "CP's functions have 2 KB each, USR's up to 56";
    "Size of other instructions, such as the operating system's, that a core executes between two requests, in bytes."
    other_code_bytes = 0.0, "B", 0.0 to 16777216.0, whole, Assumed, "the paper does not print it; docs/cerebros.md shows what it changes";
    "Share of the RPC layer's instructions that process headers, from 0 to 1."
    header_code_ratio = 0.25, "", 0.0, number, Assumed, "one format for all messages";
    "Share of the RPC layer's instructions that dispatch messages, from 0 to 1. The rest transforms payloads."
    dispatch_code_ratio = 0.15, "", 0.0, number, Assumed, "a table and its calls";
    "Cycles that a core stalls for each block missing in its instruction cache."
    miss_stall_cycles = 2.0, "cycles", 0.0, number, Derived, "Cerebros, Figs. 2a, 7 and 9: with more, UID or USR would spend less than 40 % of their cycles in the layer; the prefetcher hides the rest of an LLC access";
    "Instructions per cycle of a core that is not stalled on instruction fetches."
    instructions_per_cycle = 1.0, "", 0.01, number, Assumed, "no source: it scales all misses per thousand instructions alike, and no ratio of them";
}

impl Platform {
    /// Sets the parameter called `key` to `value`.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown parameter or a value that is not allowed.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), Refusal> {
        PARAMETERS.set(self, key, value)
    }

    /// Checks that the value of every parameter is allowed.
    ///
    /// # Errors
    /// [`Refusal`] for the first value that is not allowed or contradicts another value.
    pub fn check(&self) -> Result<(), Refusal> {
        PARAMETERS.check(self)?;
        if self.cores <= self.system_cores {
            let allowed = format!("must be above system_cores = {}", self.system_cores);
            return Err(Refusal::number("cores", self.cores, allowed));
        }
        let code = self.header_code_ratio + self.dispatch_code_ratio;
        if code > 1.0 {
            let place = "header_code_ratio + dispatch_code_ratio";
            return Err(Refusal::number(place, code, "must be at most 1"));
        }
        let set_bytes = self.l1i_ways * self.l1i_block_bytes;
        if self.l1i_bytes % set_bytes != 0.0 {
            let allowed = format!("must be a multiple of l1i_ways x l1i_block_bytes = {set_bytes}");
            return Err(Refusal::number("l1i_bytes", self.l1i_bytes, allowed));
        }
        Ok(())
    }

    /// The number of cores that serve requests: all cores except those of the operating system.
    pub fn workers(&self) -> usize {
        (self.cores - self.system_cores) as usize
    }

    /// The time that `cycles` cycles of the cores take, rounded to a picosecond.
    pub fn time(&self, cycles: f64) -> Time {
        Time::from_ps((cycles * 1e12 / self.clock_hz).round() as u64)
    }

    /// The number of cycles of the cores in `time`.
    pub fn cycles(&self, time: Time) -> f64 {
        time.as_ps() as f64 * self.clock_hz / 1e12
    }

    /// The amount of memory that the NIC reserves for a message of `wire` bytes on the wire: a
    /// transport buffer and a payload buffer.
    pub fn reservation(&self, wire: Bytes) -> Bytes {
        Bytes(wire.get() + (wire.get() as f64 * self.reservation_ratio).ceil() as u64)
    }

    /// Returns whether `payload`, of a call of the function `name`, fits in the memory that the NIC
    /// reserves for it. The payload needs memory for its deserialized form and for the addresses of
    /// its fields ([`Message::address_schema`]).
    pub fn fits(&self, name: &str, payload: &Message) -> bool {
        let wire = header_wire(name) + payload.wire();
        let needed = payload.application() + payload.address_schema();
        needed.get() <= self.reservation(wire).get() - wire.get()
    }

    /// The analytic model with this server's costs, without the tasks of an RPC layer.
    pub(crate) fn layer(&self) -> RpcLayer {
        RpcLayer {
            traversals: (self.offload_traversals_before + self.offload_traversals_after) as u32,
            traversal_cycles: self.traversal_cycles,
            coalesced_traversals: (self.coalesced_traversals_before + self.offload_traversals_after)
                as u32,
            low_diameter_cycles: self.low_diameter_cycles,
            ..RpcLayer::default()
        }
    }
}
