//! The parameters of an ensemble.

use std::time::Duration;

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Refusal, Row, Table};
use accelflow_shaping::dispatch::DispatchPolicy;
use accelflow_trace::Accel;

use super::handle::Notification;
use super::settings::PoolSettings;

/// The largest number of threads of one kind. Memory for all is allocated before the first starts.
const MOST_THREADS: f64 = 65_536.0;
/// The largest number of entries, runs and bytes.
const MOST: f64 = i32::MAX as f64;
/// The longest time limit, in seconds: over 30 years.
const LONGEST_S: f64 = 1e9;

/// The settings of an ensemble as a table of parameters: each has a range, a default and the
/// default's source. The fields `notification` and `workers_of` of [`PoolSettings`] are not in the
/// table.
pub const POOL_PARAMETERS: Table<PoolSettings> = Table::new(&[ROWS]);

impl Default for PoolSettings {
    fn default() -> PoolSettings {
        let mut settings = PoolSettings {
            instances: 0,
            workers: 0,
            workers_of: [0; Accel::COUNT],
            core_workers: 0,
            queue_entries: 0,
            overflow_entries: 0,
            least_bytes: 0,
            policy: DispatchPolicy::Fifo,
            most_runs: 0,
            tenant_runs: 0,
            response_timeout: Duration::ZERO,
            notification: Notification::Wake,
            pinned: false,
        };
        POOL_PARAMETERS.set_defaults(&mut settings);
        settings
    }
}

impl PoolSettings {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        POOL_PARAMETERS.check(self)
    }
}

const POLICIES: &[Choice] = &[
    Choice::named(0.0, "fifo", "in the order of arrival"),
    Choice::named(1.0, "priority", "the highest priority first"),
    Choice::named(
        2.0,
        "deadline",
        "in the order of arrival, but an entry that would be late changes places with one that has time",
    ),
    Choice::named(3.0, "edf", "the earliest deadline first"),
];

const ROWS: &[Row<PoolSettings>] = &[
    Row {
        parameter: Parameter {
            key: "instances",
            unit: "instances",
            kind: Kind::whole(1.0, MOST_THREADS),
            default: 1.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI: one instance of each accelerator",
            why: "",
        },
        get: |settings| settings.instances as f64,
        set: |settings, value| settings.instances = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "workers",
            unit: "threads",
            kind: Kind::whole(1.0, MOST_THREADS),
            default: 1.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The paper has 8 processing elements (Table III); threads share the machine's cores.",
        },
        get: |settings| settings.workers as f64,
        set: |settings, value| settings.workers = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "core_workers",
            unit: "threads",
            kind: Kind::whole(1.0, MOST_THREADS),
            default: 1.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Threads that act as cores and do the steps of full accelerators.",
        },
        get: |settings| settings.core_workers as f64,
        set: |settings, value| settings.core_workers = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "queue_entries",
            unit: "entries",
            kind: Kind::whole(1.0, MOST),
            default: 64.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |settings| settings.queue_entries as f64,
        set: |settings, value| settings.queue_entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "overflow_entries",
            unit: "entries",
            kind: Kind::whole(0.0, MOST),
            default: 64.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The overflow area is as large as the input queue.",
        },
        get: |settings| settings.overflow_entries as f64,
        set: |settings, value| settings.overflow_entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "least_bytes",
            unit: "B",
            kind: Kind::whole(0.0, MOST),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Every run is offloaded; docs/ensemble.md measures where offloads pay.",
        },
        get: |settings| settings.least_bytes as f64,
        set: |settings, value| settings.least_bytes = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "policy",
            unit: "",
            kind: Kind::Choice(POLICIES),
            default: 0.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section IV.C",
            why: "",
        },
        get: |settings| settings.policy as usize as f64,
        set: |settings, value| settings.policy = DispatchPolicy::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "most_runs",
            unit: "runs",
            kind: Kind::whole(1.0, MOST),
            default: 4_096.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "More traces at a time are refused. Servers have their own bounds on requests.",
        },
        get: |settings| settings.most_runs as f64,
        set: |settings, value| settings.most_runs = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "tenant_runs",
            unit: "runs",
            kind: Kind::whole_or(
                1.0,
                MOST,
                &[Choice::named(0.0, "unlimited", "no limit for a tenant")],
            ),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section IV.D: N traces of a tenant at a time, without a number",
            why: "",
        },
        get: |settings| settings.tenant_runs as f64,
        set: |settings, value| settings.tenant_runs = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "response_timeout_s",
            unit: "s",
            kind: Kind::number(0.0, LONGEST_S),
            default: 30.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section IV.B: a time-out, without a number",
            why: "",
        },
        get: |settings| settings.response_timeout.as_secs_f64(),
        set: |settings, value| settings.response_timeout = Duration::from_secs_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "pinned",
            unit: "",
            kind: Kind::Switch,
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Binds each worker to a core, in turn; the operating system places them otherwise.",
        },
        get: |settings| f64::from(u8::from(settings.pinned)),
        set: |settings, value| settings.pinned = value != 0.0,
    },
];
