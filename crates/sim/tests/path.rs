//! The breakdown of response times: by hand on an idle server, and for requests that wait.

#![allow(clippy::unwrap_used)]

use accelflow_sim::Config;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{BreakdownSum, Part, SimulationResult};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::services::{Chain, Phase, Service};

use crate::common::{
    NOTHING_NS, SYSTEMS, fixed_plan, frictionless, receive, response, round_cost, run, sink,
    together, uniq_id,
};

fn uniq_id_plan() -> Plan {
    fixed_plan(&uniq_id(), 10_000.0, 1_000, &round_cost)
}

fn alone(plan: &Plan, id: &str) -> SimulationResult {
    run(&Config::default(), plan, id, &together(1), 1)
}

fn parts(spent: &BreakdownSum) -> [u64; 8] {
    Part::ALL.map(|part| spent.of(part).as_ps())
}

/// Context switch and application logic.
const CPU: u64 = 11_000_000;
/// TCP twice, RPC twice, five others at 1 us, each with 40 ns for the scratchpad.
const ELEMENTS: u64 = 2 * 2_040_000 + 2 * 140_000 + 5 * 1_040_000;
/// 15 instructions seven times, 7 for a branch, and 35 at the end.
const DISPATCHERS: u64 = 6 * 6_250 + 9_167 + 14_583;
/// An interrupt, two switches, a submission.
const INTERRUPTED: u64 = 4_133_000;
#[test]
fn the_parts_of_an_unloaded_request_are_those_that_one_adds_up() {
    let expected = [
        ("ideal", 0, 0, 0),
        ("accelflow", DISPATCHERS, 0, 100_000),
        (
            "direct",
            DISPATCHERS - 2_917,
            1_500_000,
            100_000 + INTERRUPTED,
        ),
        (
            "per_acc_type_q",
            0,
            9 * 1_500_000,
            800_000 + 1_333_000 + INTERRUPTED,
        ),
        ("cpu_centric", 0, 0, 800_000 + 1_333_000 + 7 * INTERRUPTED),
        // A push, and five hand-overs without a link and an end of 20 ns for a look and 150 ns for
        // what it finds. What an engine takes to see a push is communication. When RPC ends between
        // two of them, its core is still on the way back to polling: from its push 100 ns for the
        // engine, 39.948 for the entry and 140 for the operation have passed.
        (
            "cohort_polling",
            0,
            0,
            100_000 + 5 * (1_000_000 + 270_000) + 170_000 + 1_000_000 - 279_948,
        ),
    ];
    // All the rest of the ideal system's time, which `timing.rs` adds up.
    let ideal = response(&Config::default(), &uniq_id_plan(), "ideal");
    let moves = ideal.as_ps() - CPU - ELEMENTS;
    for (id, dispatcher, manager, cores) in expected {
        let outcome = alone(&uniq_id_plan(), id);
        let spent = outcome.services[0].spent;
        let engines = if id == "cohort_polling" {
            6 * 100_000
        } else {
            0
        };
        let expected = [
            CPU,
            ELEMENTS,
            dispatcher,
            manager,
            cores,
            moves + engines,
            0,
            0,
        ];
        assert_eq!(parts(&spent), expected, "{id}");
        assert_eq!(
            spent.orchestration(),
            Time::from_ps(dispatcher + manager + cores)
        );
    }
    let software = 2 * 7_000_000 + 2 * 2_050_000 + 2 * 6_600_000 + 2 * 3_800_000 + 8_100_000;
    // LdB gives the request to another core, which switches to its thread, too.
    let software = software + 1_000_000;
    let spent = alone(&uniq_id_plan(), "non_acc").services[0].spent;
    assert_eq!(parts(&spent), [CPU + software, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_path_is_that_of_the_chain_that_ends_last() {
    // Of two calls at the same time, one is the path.
    let chain = || {
        Chain::new("T9")
            .with("T10", "exception", 0)
            .with("T10", "compressed", 0)
    };
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::Traces(vec![chain(), chain()]),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("Two", "Two", path).unwrap();
    let one = fixed_plan(&service, 10_000.0, 1_000, &round_cost);
    for id in SYSTEMS {
        let outcome = alone(&one, id);
        let spent = outcome.services[0].spent;
        assert_eq!(
            spent.total(),
            response(&Config::default(), &one, id),
            "{id}"
        );
        if id != "non_acc" {
            // One receive, one call, one response: 9 + 9 operations, not 27.
            let elements = 4 * 2_040_000 + 4 * 140_000 + 10 * 1_040_000;
            let found = spent.of(Part::Accelerator).as_ps();
            assert_eq!(found, elements, "{id}");
        }
    }
}

#[test]
fn waits_are_counted_where_they_happen() {
    // Two messages at one element of TCP: the second waits for 10 us.
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &|operation| match operation.accel {
        Accel::Tcp => 10_000.0,
        _ => NOTHING_NS,
    });
    let mut config = frictionless();
    config.set("accelerator.pes", 1.0).unwrap();
    let waited = |config: &Config, id: &str, part| {
        let two = run(config, &plan, id, &together(2), 1);
        (two.services[0].spent.of(part).as_us_f64() * 10.0).round() / 10.0
    };
    assert_eq!(waited(&config, "accelflow", Part::Queueing), 10.0);
    // A manager that is occupied for 2 us: the first completions come together and take 2 and 4 us;
    // each of the four others comes 2 us before the manager is done with the other request.
    let mut config = frictionless();
    config.set("relief.occupancy_ns", 2_000.0).unwrap();
    let manager = waited(&config, "per_acc_type_q", Part::Manager);
    assert_eq!(manager, 2.0 + 4.0 + 4.0 * (4.0 + 4.0));
}

#[test]
fn hardware_is_busy_orchestrating_for_as_long_as_it_decides() {
    // `dispatchers.rs` has dispatchers that wait for engines.
    let plan = uniq_id_plan();
    let mut config = Config::default();
    config.set("dispatcher.busy", 0.0).unwrap();
    let of = |id: &str| {
        let found = run(&config, &plan, id, &together(1), 1).orchestration;
        [found.dispatchers, found.manager, found.cores].map(Time::as_ps)
    };
    // Also after the response: the ninth completion and the notification of the end.
    assert_eq!(of("ideal"), [0, 0, 0]);
    assert_eq!(of("non_acc"), [0, 0, 0]);
    assert_eq!(of("accelflow"), [DISPATCHERS + 14_583, 0, 150_000]);
    assert_eq!(
        of("per_acc_type_q"),
        [0, 10 * 130_000, 800_000 + 2 * 1_333_000 + INTERRUPTED]
    );
}
