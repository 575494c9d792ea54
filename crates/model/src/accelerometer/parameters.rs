//! The inputs of the Accelerometer model and of its simulation that have a default.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance};

/// The most cycles of an offload, about ten years of a processor.
const MOST_CYCLES: f64 = 1e18;
/// The most requests, hosts, threads of a host and kernels of a request.
const MOST: f64 = 1e6;

/// All inputs of the Accelerometer model and its simulation that have a default. Input files state
/// the inputs without a default: the host's cycles (C), the kernel's share of them (alpha), the
/// offloads (n) and the threading design and, if known, the acceleration (A) and the cycles per
/// byte (C_b).
pub const PARAMETERS: &[&Parameter] = &[
    &PLACEMENT,
    &LATENCY_THREAD_SWITCHES,
    &SETUP_CYCLES,
    &TRANSFER_CYCLES,
    &TRANSFER_CYCLES_PER_BYTE,
    &QUEUE_CYCLES,
    &THREAD_SWITCH_CYCLES,
    &COMPLEXITY_EXPONENT,
    &SELECTION,
    &SCALING,
    &QUEUE_SERVERS,
    &QUEUE_APPROXIMATION,
    &SIZES_INTERPOLATION,
    &HOSTS,
    &THREADS,
    &RESPONSES_FIRST,
    &KERNELS_PER_REQUEST,
    &OWN_WORK,
    &KERNEL_WORK,
    &LOAD_RATIO,
    &REQUESTS,
];

/// Where the accelerator is: on the processor's die, off the chip or on another machine.
pub const PLACEMENT: Parameter = choice(
    "placement",
    &[
        Choice::named(0.0, "on_chip", "on the processor's die"),
        Choice::named(1.0, "off_chip", "behind PCIe or a coherent link"),
        Choice::named(2.0, "remote", "on another machine"),
    ],
    1.0,
    "The costs of an offload are given apart; the place decides which of them count.",
);

/// The number of thread switches that count in a request's latency if the request's thread blocks
/// during an offload (the design Sync-OS): 1 or 2.
pub const LATENCY_THREAD_SWITCHES: Parameter = Parameter {
    key: "latency_thread_switches",
    unit: "switches",
    kind: Kind::whole(1.0, 2.0),
    default: 1.0,
    provenance: Provenance::Paper,
    source: "Accelerometer, equation (5)",
    why: "The 1.4 % of Fig. 20 follow from 2.",
};

/// o0: the cycles to prepare an offload.
pub const SETUP_CYCLES: Parameter = cost(
    "setup_cycles",
    "cycles",
    "o0 in the paper's Table 5. Files state the costs that an offload has.",
);
/// The fixed part of L, the cycles to move an offload: the cycles that do not depend on its size.
pub const TRANSFER_CYCLES: Parameter = cost(
    "transfer_cycles",
    "cycles",
    "L in the paper's Table 5, the part that is independent of the size.",
);
/// The cycles that each byte of an offload adds to L, the cycles to move the offload.
pub const TRANSFER_CYCLES_PER_BYTE: Parameter = cost(
    "transfer_cycles_per_byte",
    "cycles/B",
    "L in the paper's Table 5, the part that is proportional to the size.",
);
/// Q: the mean cycles that an offload waits in the accelerator's queue.
pub const QUEUE_CYCLES: Parameter = cost(
    "queue_cycles",
    "cycles",
    "Q in the paper's Table 5. Without a wait, the accelerator is always free.",
);
/// o1: the cycles of a thread switch.
pub const THREAD_SWITCH_CYCLES: Parameter = cost(
    "thread_switch_cycles",
    "cycles",
    "o1 in the paper's Table 5. Only designs that switch threads pay it.",
);

/// beta: the exponent in C_b g^beta, the host's cycles for the work of an offload of g bytes.
pub const COMPLEXITY_EXPONENT: Parameter = Parameter {
    key: "complexity_exponent",
    unit: "",
    kind: Kind::number(1e-3, 1e3),
    default: 1.0,
    provenance: Provenance::Paper,
    source: "Accelerometer, section 3: beta = 1 for work that is linear in the size",
    why: "",
};

/// Which offloads of a kernel go to the accelerator: all, or those of a size that saves cycles.
pub const SELECTION: Parameter = choice(
    "selection",
    &[
        Choice::named(0.0, "all", "all offloads"),
        Choice::named(1.0, "lucrative", "those whose size pays"),
    ],
    0.0,
    "Selection needs the distribution of sizes.",
);

/// The rule that reduces alpha, the kernel's share of the host's cycles, if only some of the
/// kernel's offloads go to the accelerator. Alpha is multiplied by the share of these offloads in
/// all offloads, by number or by the host's cycles for them.
pub const SCALING: Parameter = Parameter {
    provenance: Provenance::Paper,
    source: "Accelerometer, Fig. 20",
    ..choice(
        "scaling",
        &[
            Choice::named(0.0, "offloads", "by the number of offloads"),
            Choice::named(1.0, "cycles", "by the host's cycles for them"),
        ],
        0.0,
        "",
    )
};

/// The number of the accelerator's processing elements behind one queue.
pub const QUEUE_SERVERS: Parameter = whole("queue.servers", "servers", (1.0, 1e5), 1.0, "");

/// The approximation of the mean wait in the queue of several processing elements.
pub const QUEUE_APPROXIMATION: Parameter = Parameter {
    provenance: Provenance::Measured,
    source: "within 5 % of simulations with 2 to 8 servers; Allen and Cunneen's up to 58 % off",
    ..choice(
        "queue.approximation",
        &[
            Choice::named(0.0, "kimura", "Kimura (1986)"),
            Choice::named(1.0, "allen_cunneen", "Allen and Cunneen"),
        ],
        0.0,
        "Both are exact for one server.",
    )
};

/// Which offload sizes occur between two points of a distribution of sizes: all of them, or none.
pub const SIZES_INTERPOLATION: Parameter = choice(
    "sizes.interpolation",
    &[
        Choice::named(0.0, "linear", "sizes between two points are equally likely"),
        Choice::named(1.0, "step", "only the sizes of the points occur"),
    ],
    0.0,
    "Measured sizes come as bins of a histogram.",
);

/// The number of hosts that share the accelerator in a simulation, unless a kernel's queue states
/// it (`queue.hosts`).
pub const HOSTS: Parameter = whole(
    "simulation.hosts",
    "hosts",
    (1.0, MOST),
    1.0,
    "A kernel's queue states the number itself.",
);

/// The number of threads of each host in a simulation. If all kernels have the design Sync, each
/// host has one thread instead.
pub const THREADS: Parameter = whole(
    "simulation.threads",
    "threads",
    (1.0, MOST),
    64.0,
    "Enough that a core is idle only if all wait for the accelerator.",
);

/// Whether a simulated core continues the requests that the accelerator has answered before it
/// starts new requests. Otherwise the core runs requests in the order in which they became ready.
pub const RESPONSES_FIRST: Parameter = Parameter {
    key: "simulation.responses_first",
    unit: "",
    kind: Kind::Switch,
    default: 0.0,
    provenance: Provenance::Assumed,
    source: "no source",
    why: "Off: requests run in the order in which they become ready.",
};

/// The number of kernel calls in a request of a simulation.
pub const KERNELS_PER_REQUEST: Parameter = whole(
    "simulation.kernels_per_request",
    "kernels",
    (1.0, MOST),
    1.0,
    "",
);

/// How the service's own work before a kernel call varies about its mean in a simulation.
pub const OWN_WORK: Parameter = spread("simulation.own_work");

/// How the work of a kernel call varies about its mean in a simulation. Used only if the sizes of
/// offloads are not given. If the accelerator's queue states `service_scv_ratio`, that variation
/// applies to the accelerator's work instead.
pub const KERNEL_WORK: Parameter = spread("simulation.kernel_work");

/// The rate at which requests arrive at each host of a simulation, as a share of a host's maximum
/// throughput without offloading.
pub const LOAD_RATIO: Parameter = Parameter {
    key: "simulation.load_ratio",
    unit: "",
    kind: Kind::number(1e-12, 1e6),
    default: 0.7,
    provenance: Provenance::Assumed,
    source: "no source",
    why: "A load at which requests wait, but not for long.",
};

/// The number of requests, of all hosts together, that a simulation measures after its warm-up.
pub const REQUESTS: Parameter = whole(
    "simulation.requests",
    "requests",
    (1.0, MOST),
    10_000.0,
    "With three seeds, 300 requests are above the P99.",
);

/// A cost of an offload.
const fn cost(key: &'static str, unit: &'static str, why: &'static str) -> Parameter {
    Parameter {
        key,
        unit,
        kind: Kind::number(0.0, MOST_CYCLES),
        default: 0.0,
        provenance: Provenance::Assumed,
        source: "no source",
        why,
    }
}

const fn whole(
    key: &'static str,
    unit: &'static str,
    range: (f64, f64),
    default: f64,
    why: &'static str,
) -> Parameter {
    Parameter {
        key,
        unit,
        kind: Kind::whole(range.0, range.1),
        default,
        provenance: Provenance::Assumed,
        source: "no source",
        why,
    }
}

const fn choice(
    key: &'static str,
    choices: &'static [Choice],
    default: f64,
    why: &'static str,
) -> Parameter {
    Parameter {
        key,
        unit: "",
        kind: Kind::Choice(choices),
        default,
        provenance: Provenance::Assumed,
        source: "no source",
        why,
    }
}

const fn spread(key: &'static str) -> Parameter {
    const SPREADS: &[Choice] = &[
        Choice::named(0.0, "constant", "always the mean"),
        Choice::named(1.0, "exponential", ""),
    ];
    choice(
        key,
        SPREADS,
        1.0,
        "The squared coefficient of variation that the equations assume without sizes, 1.",
    )
}
