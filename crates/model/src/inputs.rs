//! The inputs of the area model and of the power model.

/// The names of the nine accelerators, in the order of AccelFlow's section VI.
pub const ACCELERATORS: [&str; 9] = [
    "Ser", "Dser", "Cmp", "Dcmp", "TCP", "Encr", "Decr", "RPC", "LdB",
];

/// The size of one kind of accelerator: the numbers of its instances, processing elements and queue
/// entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// The number of instances (copies) of the accelerator.
    pub instances: f64,
    /// The number of processing elements of each instance.
    pub pes: f64,
    /// The number of entries of each instance's input queue.
    pub input_entries: f64,
    /// The number of entries of each instance's output queue.
    pub output_entries: f64,
}

impl Sizes {
    /// These sizes, with negative ones replaced by those of `all`. Without an element or an entry
    /// there are no instances.
    pub(crate) fn or(self, all: Sizes) -> Sizes {
        let own_or = |own: f64, common: f64| if own < 0.0 { common } else { own };
        let sizes = Sizes {
            instances: own_or(self.instances, all.instances),
            pes: own_or(self.pes, all.pes),
            input_entries: own_or(self.input_entries, all.input_entries),
            output_entries: own_or(self.output_entries, all.output_entries),
        };
        let parts = [sizes.pes, sizes.input_entries, sizes.output_entries];
        match parts.contains(&0.0) {
            true => Sizes {
                instances: 0.0,
                ..sizes
            },
            false => sizes,
        }
    }
}

impl Sizes {
    const ZERO: Sizes = Sizes {
        instances: 0.0,
        pes: 0.0,
        input_entries: 0.0,
        output_entries: 0.0,
    };
}

/// The inputs of the area model: areas of the paper's processor in mm2, and, for the processor
/// whose area is requested, the numbers of its cores, accelerators, queue entries and A-DMA
/// engines. The ratios at the end are for [`rpc_place`](crate::rpc_place) alone.
#[derive(Clone, Debug, PartialEq)]
pub struct AreaInputs {
    /// The area of the paper's cores with their private caches, in mm2.
    pub cores_mm2: f64,
    /// The area of the paper's last-level cache, in mm2.
    pub llc_mm2: f64,
    /// The area of the network between the paper's cores, in mm2.
    pub core_network_mm2: f64,
    /// The area of each of the paper's accelerators with its scratchpads, in mm2, in the order of
    /// [`ACCELERATORS`].
    pub accelerators_mm2: [f64; ACCELERATORS.len()],
    /// The area of the queues and dispatchers of all the paper's accelerators together, in mm2.
    pub queues_and_dispatchers_mm2: f64,
    /// The area of one dispatcher of an accelerator, in mm2.
    pub dispatcher_mm2: f64,
    /// The area of all the paper's A-DMA engines together, in mm2.
    pub adma_engines_mm2: f64,
    /// The area of the network between the paper's accelerators, in mm2.
    pub accelerator_network_mm2: f64,
    /// The number of cores of the processor whose area is requested.
    pub cores: f64,
    /// The size of each kind of accelerator for which `own` states no other size.
    pub all: Sizes,
    /// The sizes of individual accelerators, in the order of [`ACCELERATORS`]. -1 stands for the
    /// value in `all`. 0 means a chip without the accelerator.
    pub own: [Sizes; ACCELERATORS.len()],
    /// The size in bytes of one entry of an accelerator's queue.
    pub entry_bytes: f64,
    /// The number of A-DMA engines of the processor whose area is requested.
    pub adma_engines: f64,
    /// The total area of `private_rpc_cores` RPC accelerators, one per core, divided by the area of
    /// one RPC accelerator that all cores share (Cerebros, section 6.1).
    pub private_rpc_area_ratio: f64,
    /// The number of cores for which `private_rpc_area_ratio` and
    /// [`PowerInputs::private_rpc_power_ratio`] hold: 16 in the Cerebros paper.
    pub private_rpc_cores: f64,
    /// The total area of the RPC accelerators of a processor with 64 cores, one per core, divided
    /// by the area of a single core.
    pub private_rpc_core_share: f64,
    /// The share of a shared RPC accelerator's area that is saved by placing it in the NIC, from 0
    /// to 1.
    pub nic_rpc_saved_share: f64,
}

impl AreaInputs {
    /// Inputs before their defaults are set.
    pub(crate) const ZERO: AreaInputs = AreaInputs {
        cores_mm2: 0.0,
        llc_mm2: 0.0,
        core_network_mm2: 0.0,
        accelerators_mm2: [0.0; ACCELERATORS.len()],
        queues_and_dispatchers_mm2: 0.0,
        dispatcher_mm2: 0.0,
        adma_engines_mm2: 0.0,
        accelerator_network_mm2: 0.0,
        cores: 0.0,
        all: Sizes::ZERO,
        own: [Sizes::ZERO; ACCELERATORS.len()],
        entry_bytes: 0.0,
        adma_engines: 0.0,
        private_rpc_area_ratio: 0.0,
        private_rpc_cores: 0.0,
        private_rpc_core_share: 0.0,
        nic_rpc_saved_share: 0.0,
    };

    /// Returns the size of each kind of accelerator, in the order of [`ACCELERATORS`]. Each number
    /// comes from `own`; a number of -1 there is replaced by the number in `all`. A kind without
    /// processing elements, input entries or output entries gets 0 instances.
    pub fn sizes(&self) -> [Sizes; ACCELERATORS.len()] {
        self.own.map(|own| own.or(self.all))
    }
}

/// The inputs of the power model: powers, rates and ratios that the AccelFlow and Cerebros papers
/// print, and values that are derived or assumed, such as a dispatcher's clock and the leakage.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerInputs {
    /// The maximum power of all accelerators together, in watts.
    pub accelerators_max_w: f64,
    /// The accelerators' share of the server's maximum power, from 0 to 1.
    pub accelerators_server_share: f64,
    /// The maximum power of AccelFlow's orchestration (queues, dispatchers, A-DMA engines and their
    /// network), in watts.
    pub orchestration_max_w: f64,
    /// The orchestration's share of the server's maximum power, from 0 to 1.
    pub orchestration_server_share: f64,
    /// The server's idle power divided by its maximum power, both without accelerators; from 0 to
    /// 1.
    pub server_idle_share: f64,
    /// The leakage power of accelerators and orchestration, as a share of their maximum power, from
    /// 0 to 1.
    pub leakage_share: f64,
    /// The clock of a dispatcher in GHz. A dispatcher executes one instruction per cycle.
    pub dispatcher_clock_ghz: f64,
    /// The peak rate of one A-DMA engine, and of one router of the accelerators' network, in
    /// gigabytes per second.
    pub adma_gbyte_per_s: f64,
    /// The peak rate of one queue, in gigabytes per second.
    pub queue_gbyte_per_s: f64,
    /// The power of RELIEF's manager, in watts.
    pub manager_w: f64,
    /// The total power of [`AreaInputs::private_rpc_cores`] RPC accelerators, one per core, divided
    /// by the power of one RPC accelerator that all cores share (Cerebros, section 6.1).
    pub private_rpc_power_ratio: f64,
}

impl PowerInputs {
    /// Inputs before their defaults are set.
    pub(crate) const ZERO: PowerInputs = PowerInputs {
        accelerators_max_w: 0.0,
        accelerators_server_share: 0.0,
        orchestration_max_w: 0.0,
        orchestration_server_share: 0.0,
        server_idle_share: 0.0,
        leakage_share: 0.0,
        dispatcher_clock_ghz: 0.0,
        adma_gbyte_per_s: 0.0,
        queue_gbyte_per_s: 0.0,
        manager_w: 0.0,
        private_rpc_power_ratio: 0.0,
    };
}
