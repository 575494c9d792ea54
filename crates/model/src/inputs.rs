//! The inputs of the area model and of the power model.

/// The names of the nine accelerators, in the order of AccelFlow, section VI.
pub const ACCELERATORS: [&str; 9] = [
    "Ser", "Dser", "Cmp", "Dcmp", "TCP", "Encr", "Decr", "RPC", "LdB",
];

/// The numbers of an accelerator's instances, elements and queue entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Instances.
    pub instances: f64,
    /// Processing elements of each instance.
    pub pes: f64,
    /// Entries of each input queue.
    pub input_entries: f64,
    /// Entries of each output queue.
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

/// The inputs of the area model: areas of the paper's processor in mm2, and the sizes of the
/// requested processor.
#[derive(Clone, Debug, PartialEq)]
pub struct AreaInputs {
    /// Cores and private caches.
    pub cores_mm2: f64,
    /// The area of the last-level cache in mm2.
    pub llc_mm2: f64,
    /// The area of the cores' network in mm2.
    pub core_network_mm2: f64,
    /// Each accelerator with its scratchpads, in the order of [`ACCELERATORS`].
    pub accelerators_mm2: [f64; ACCELERATORS.len()],
    /// Queues and dispatchers of all accelerators together.
    pub queues_and_dispatchers_mm2: f64,
    /// One dispatcher.
    pub dispatcher_mm2: f64,
    /// The area of the A-DMA engines together in mm2.
    pub adma_engines_mm2: f64,
    /// The area of the accelerators' network in mm2.
    pub accelerator_network_mm2: f64,
    /// Number of cores.
    pub cores: f64,
    /// Sizes of every accelerator without an entry in `own`.
    pub all: Sizes,
    /// Sizes of individual accelerators, in the order of [`ACCELERATORS`]. -1 means the size in
    /// `all`, and 0 a chip without the accelerator.
    pub own: [Sizes; ACCELERATORS.len()],
    /// Bytes of a queue entry.
    pub entry_bytes: f64,
    /// Number of A-DMA engines.
    pub adma_engines: f64,
    /// Ratio of the total area of private RPC accelerators to that of a shared one, for
    /// `private_rpc_cores` cores.
    pub private_rpc_area_ratio: f64,
    /// The number of cores for which the paper states the ratios of area and power.
    pub private_rpc_cores: f64,
    /// Total area of the private RPC accelerators of 64 cores, as a share of the area of one core.
    pub private_rpc_core_share: f64,
    /// The share of the accelerator's area that is saved by placing it in the NIC.
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

    /// The sizes of each accelerator, in the order of [`ACCELERATORS`].
    pub fn sizes(&self) -> [Sizes; ACCELERATORS.len()] {
        self.own.map(|own| own.or(self.all))
    }
}

/// The inputs of the power model.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerInputs {
    /// Maximum power of all accelerators.
    pub accelerators_max_w: f64,
    /// The accelerators' share of the server's maximum power.
    pub accelerators_server_share: f64,
    /// Maximum power of the orchestration.
    pub orchestration_max_w: f64,
    /// The orchestration's share of the server's maximum power.
    pub orchestration_server_share: f64,
    /// Idle power over maximum power of the server without accelerators.
    pub server_idle_share: f64,
    /// Leakage of the added hardware, as a share of its maximum power.
    pub leakage_share: f64,
    /// Instructions of a dispatcher per nanosecond.
    pub dispatcher_clock_ghz: f64,
    /// Peak rate of an A-DMA engine and of a router.
    pub adma_gbyte_per_s: f64,
    /// Peak rate of a queue.
    pub queue_gbyte_per_s: f64,
    /// Power of RELIEF's manager.
    pub manager_w: f64,
    /// Total power of private RPC accelerators of 16 cores, over that of a shared one.
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
