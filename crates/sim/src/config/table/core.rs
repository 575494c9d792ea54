//! The table of parameters of cores, and of the costs of software that runs on the cores.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};
use accelflow_units::Time;

use crate::config::parts::{Balancing, FlagChecks, Generation, InterruptPolicy, SoftwareBalancing};
use crate::config::rates::hertz;
use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "core.count",
            unit: "cores",
            kind: Kind::whole(1.0, 1024.0),
            default: 36.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.core.count as f64,
        set: |config, value| config.core.count = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "core.clock_ghz",
            unit: "GHz",
            kind: Kind::number(0.1, 10.0),
            default: 2.4,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "The clock of networks, caches, TLBs and dispatchers: what is stated in cycles takes cycles of it. Times of software are stated in ns and do not depend on it.",
        },
        get: |config| config.core.clock.as_hz() as f64 / 1e9,
        set: |config, value| config.core.clock = hertz(value),
    },
    Row {
        parameter: Parameter {
            key: "core.enqueue_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 50.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Enqueue is one user-mode instruction and programming an A-DMA engine a few stores: about 120 cycles.",
        },
        get: |config| config.core.enqueue.as_ns_f64(),
        set: |config, value| config.core.enqueue = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.notice_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 50.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Polling a flag that an accelerator has just invalidated: one miss to the last-level cache.",
        },
        get: |config| config.core.notice.as_ns_f64(),
        set: |config, value| config.core.notice = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.context_switch_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 1000.0,
            provenance: Provenance::Assumed,
            source: "published measurements of thread switches: 2.7 us (Microsoft Premier Developer, 2012)",
            why: "Switching to the thread of another request; every system pays it when a request resumes. Newer cores and kernels are faster by an unknown amount.",
        },
        get: |config| config.core.context_switch.as_ns_f64(),
        set: |config, value| config.core.context_switch = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.interrupt_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 1333.0,
            provenance: Provenance::Derived,
            source: "RELIEF (HPCA 2024) release: 2.0 us of service an interrupt in its logs, on a core of 1.6 GHz; AccelFlow, Table III: 2.4 GHz",
            why: "The 3,200 cycles of RELIEF's logs, at the clock of AccelFlow's cores. RELIEF's core executes in order and AccelFlow's do not, so an interrupt may take fewer cycles.",
        },
        get: |config| config.core.interrupt.as_ns_f64(),
        set: |config, value| config.core.interrupt = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.submit_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 800.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Driver work to hand one operation to an accelerator. With an interrupt and two context switches a completion costs a core 4.1 us.",
        },
        get: |config| config.core.submit.as_ns_f64(),
        set: |config, value| config.core.submit = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.transform_ns_per_kib",
            unit: "ns/KiB",
            kind: Kind::number(0.0, 1000000.0),
            default: 1000.0,
            provenance: Provenance::Assumed,
            source: "JSON and BSON libraries at about 1 GB/s",
            why: "Systems whose dispatchers cannot transform payloads do it on the core.",
        },
        get: |config| config.core.transform_per_kib.as_ns_f64(),
        set: |config, value| config.core.transform_per_kib = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.balancing",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(
                    0.0,
                    "least_loaded",
                    "the core with the fewest requests in flight",
                ),
                Choice::named(1.0, "random", "any core"),
                Choice::named(2.0, "round_robin", "one core after the other"),
                Choice::named(3.0, "two_choices", "the less loaded of two random cores"),
                Choice::named(
                    4.0,
                    "join_idle_queue",
                    "the core that has been idle for longest; a random one if none is idle",
                ),
                Choice::named(
                    5.0,
                    "affinity",
                    "of the cores with the fewest requests in flight, one that the function map has for the service (Cerebros, section 4.3)",
                ),
            ]),
            default: 2.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section II: 'a load balancer picks a core to execute the function'",
            why: "The paper gives no policy. Of the first five, round robin is the nearest to the rows of Fig. 11 (docs/reproduce.md).",
        },
        get: |config| config.core.balancing as usize as f64,
        set: |config, value| config.core.balancing = Balancing::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "core.function_map_depth",
            unit: "services",
            kind: Kind::whole(1.0, 1000.0),
            default: 1.0,
            provenance: Provenance::Paper,
            source: "Cerebros, MICRO 2021, section 4.3; deeper maps are its open question",
            why: "The services of its last requests that balancing by affinity remembers for each core: a service of a workload is a function. Code of older ones may be gone, so core.cold_code_ns looks at the last request alone.",
        },
        get: |config| config.core.function_map_depth as f64,
        set: |config, value| config.core.function_map_depth = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "core.cold_code_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow does not model instruction caches; Cerebros, MICRO 2021, section 6.3, for another value",
            why: "Additional time of the application logic of a request if LdB gives it to a core whose last request was of another service. Cerebros's F3 to F5 lose about half of their time in this way: 24 KB of code take 768 cycles of 2 GHz, 384 ns, to come back (docs/cerebros.md).",
        },
        get: |config| config.core.cold_code.as_ns_f64(),
        set: |config, value| config.core.cold_code = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.software_balancing",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(
                    0.0,
                    "same",
                    "a core that executes LdB gives the request to a core by core.balancing",
                ),
                Choice::named(
                    1.0,
                    "none",
                    "a core that executes LdB keeps the request: the hash of the network card has chosen it",
                ),
            ]),
            default: 0.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section II",
            why: "\"Using a software or hardware algorithm, a load balancer picks a core to execute the function.\"",
        },
        get: |config| config.core.software_balancing as usize as f64,
        set: |config, value| {
            config.core.software_balancing = SoftwareBalancing::ALL[value as usize]
        },
    },
    Row {
        parameter: Parameter {
            key: "core.time_slice_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000000.0),
            default: 3000000.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VI: Linux 6.8; its kernel/sched/fair.c, sysctl_sched_base_slice",
            why: "0 for none: a task runs to its end. Linux's base slice is 0.75 ms x (1 + log2 of the CPUs, 8 at most), so 3 ms on 8 CPUs and more; at its end a task goes behind those that wait, for a context switch.",
        },
        get: |config| config.core.time_slice.as_ns_f64(),
        set: |config, value| config.core.time_slice = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.interrupt_policy",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "queued", "behind all tasks that wait"),
                Choice::named(1.0, "first", "after the task that runs"),
                Choice::named(2.0, "preempt", "at once"),
            ]),
            default: 2.0,
            provenance: Provenance::Assumed,
            source: "how processors and operating systems work",
            why: "An interrupt preempts the running task, and the thread that it wakes belongs to a driver, which goes before others.",
        },
        get: |config| config.core.interrupt_policy as usize as f64,
        set: |config, value| config.core.interrupt_policy = InterruptPolicy::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "core.notification",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "periodic", "a periodic check of the flag"),
                Choice::named(
                    1.0,
                    "polling",
                    "continuous polling by cores that have nothing else to do",
                ),
                Choice::named(2.0, "wake", "waking up as by MWAIT"),
            ]),
            default: 0.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section IV.A",
            why: "The paper names all three; the first is the one in which a core does other work.",
        },
        get: |config| config.core.notification as usize as f64,
        set: |config, value| config.core.notification = FlagChecks::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "core.notice_period_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000000.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The time between two periodic checks. With 0, a core checks between any two tasks and continuously without tasks: a check that finds nothing is a hit in the first-level cache.",
        },
        get: |config| config.core.notice_period.as_ns_f64(),
        set: |config, value| config.core.notice_period = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.wake_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 500.0,
            provenance: Provenance::Assumed,
            source: "Linux's intel_idle driver: 1 us from C1 on Ice Lake servers",
            why: "An idle core that waits with an MWAIT-like instruction of users is in a lighter sleep than C1: half of its exit latency.",
        },
        get: |config| config.core.wake.as_ns_f64(),
        set: |config, value| config.core.wake = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "core.generation",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(
                    0.0,
                    "haswell",
                    "application logic at 0.73 of the base's speed",
                ),
                Choice::named(1.0, "skylake", "at 0.85"),
                Choice::named(2.0, "ice_lake", "the base, on which the paper measured"),
                Choice::named(3.0, "sapphire_rapids", "at 1.19"),
                Choice::named(4.0, "emerald_rapids", "at 1.26"),
            ]),
            default: 2.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section VII.C.4; instructions per cycle as Intel is reported to have stated at launches",
            why: "The statements were not found again. The clock and the times of accelerators are those of the base.",
        },
        get: |config| config.core.generation as usize as f64,
        set: |config, value| config.core.generation = Generation::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "core.tax_gain",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.5,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section VII.C.4; Accelerometer (ASPLOS 2020), Fig. 8",
            why: "Newer processors offer less benefit to tax operations. In Cache1, C libraries scale well over three generations, and memory functions hardly do. Serialization and protocols use both, so an operation has the square root of the gain.",
        },
        get: |config| config.core.tax_gain,
        set: |config, value| config.core.tax_gain = value,
    },
    Row {
        parameter: Parameter {
            key: "core.system_gain",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.25,
            provenance: Provenance::Assumed,
            source: "Accelerometer (ASPLOS 2020), section 2.3.5",
            why: "Kernel IPC is low and scales poorly over generations: interrupts, context switches, drivers and faults have a quarter of the gain, as an exponent.",
        },
        get: |config| config.core.system_gain,
        set: |config, value| config.core.system_gain = value,
    },
];
