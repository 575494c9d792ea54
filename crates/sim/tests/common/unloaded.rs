//! What the timing tests share: an idle server that is easy to calculate by hand, and the steps of
//! its parameters.

#![allow(clippy::unwrap_used, dead_code)]

use accelflow_sim::Config;
use accelflow_sim::plan::Plan;
use accelflow_trace::Accel;
use accelflow_workload::services::Operation;

use super::{fixed_plan, response, round_cost, set, uniq_id};

/// The columns of the tables: RELIEF with a queue for each accelerator, whose entries go the ways
/// that they go elsewhere. `ladder.rs` has the one with a central queue.
pub(crate) const TIMED: [&str; 6] = [
    "non_acc",
    "cpu_centric",
    "per_acc_type_q",
    "cohort_polling",
    "accelflow",
    "ideal",
];

/// Round costs, but 2 us for RPC on an accelerator: longer than a switch, so that a core of Cohort
/// has gone back to polling by the end of each operation.
pub(crate) fn cost(operation: &Operation) -> f64 {
    match operation.accel {
        Accel::Rpc => 41_000.0,
        _ => round_cost(operation),
    }
}

/// One UniqId request: payloads of `bytes` everywhere and 10 us of application logic.
pub(crate) fn uniq_id_plan(bytes: u64) -> Plan {
    fixed_plan(&uniq_id(), 10_000.0, bytes, &cost)
}

/// A context switch of a core, in picoseconds.
pub(crate) const CONTEXT_SWITCH: u64 = 1_000_000;

/// An interrupt, two context switches, a submission.
pub(crate) const INTERRUPTED: u64 = 1_333_000 + 2 * CONTEXT_SWITCH + 800_000;

/// The base server with one cache slice, at the corner of the mesh, and one memory controller, so
/// that all ways to memory are known, and without page faults.
pub(crate) fn one_slice() -> Config {
    let mut config = Config::default();
    set(
        &mut config,
        &[
            ("core.balancing", 0.0),
            ("memory.llc_slices", 1.0),
            ("memory.controllers", 1.0),
            ("tlb.faults_per_million", 0.0),
        ],
    );
    config
}

/// A parameter, its value in the reference, its value one step on, and how many picoseconds later
/// the response is for each orchestrator in the order of [`TIMED`].
pub(crate) type Row = (&'static str, f64, f64, [i64; 6]);

/// The same for every system with accelerators.
pub(crate) const fn accelerated(picoseconds: i64) -> [i64; 6] {
    let ps = picoseconds;
    [0, ps, ps, ps, ps, ps]
}

/// [`one_slice`] at 2.5 GHz, so that a cycle is 400 ps, and with 104 B of overhead, so that an
/// entry of 1,104 B takes 27.6 ns at 40 GB/s.
pub(crate) fn reference() -> Config {
    let mut config = one_slice();
    config.set("core.clock_ghz", 2.5).unwrap();
    config.set("network.entry_overhead_bytes", 104.0).unwrap();
    config
}

/// Checks how much later responses are after each step from [`reference`].
pub(crate) fn check_steps(plan: &Plan, rows: &[Row]) {
    for (key, from, to, expected) in rows {
        let [before, after] = [from, to].map(|value| {
            let mut config = reference();
            config.set(key, *value).unwrap();
            TIMED.map(|id| response(&config, plan, id).as_ps() as i64)
        });
        let found: [i64; 6] = std::array::from_fn(|system| after[system] - before[system]);
        assert_eq!(found, *expected, "{key} from {from} to {to}");
    }
}
