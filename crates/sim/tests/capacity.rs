//! Tight gates: the first entry, operation and transfer that must wait.

#![allow(clippy::unwrap_used)]

use accelflow_sim::Config;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Fallback;
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::services::{Chain, Operation, Phase, Service};

use crate::common::{
    NOTHING_NS, SYSTEMS, fixed_plan, frictionless, receive, response, responses, round_cost, run,
    set, sink, together,
};

/// 10 us for the TCP of a request; the rest takes a picosecond.
fn slow_tcp(operation: &Operation) -> f64 {
    match operation.accel {
        Accel::Tcp => 10_000.0,
        _ => NOTHING_NS,
    }
}

#[test]
fn the_ninth_operation_waits_for_the_eight_elements() {
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &slow_tcp);
    let mut config = frictionless();
    set(&mut config, &[("accelerator.pes", 8.0)]);
    let eight = responses(&config, &plan, "ideal", 8);
    assert_eq!(eight[0], eight[7]);
    let nine = responses(&config, &plan, "ideal", 9);
    assert_eq!(nine[7], eight[0]);
    assert_eq!(nine[8], nine[7] + Time::from_us(10));
    set(&mut config, &[("accelerator.pes", 9.0)]);
    let enough = responses(&config, &plan, "ideal", 9);
    assert_eq!(enough[0], enough[8]);
}

#[test]
fn the_eleventh_transfer_waits_for_the_ten_engines() {
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &|_| 1_000.0);
    let mut config = frictionless();
    set(
        &mut config,
        &[
            ("accelerator.pes", 16.0),
            ("network.dma_engines", 10.0),
            ("network.dma_setup_ns", 10.0),
        ],
    );
    let ten = responses(&config, &plan, "ideal", 10);
    assert_eq!(ten[0], ten[9]);
    let eleven = responses(&config, &plan, "ideal", 11);
    assert_eq!(eleven[9], ten[0]);
    assert_eq!(eleven[10], eleven[9] + Time::from_ns(10));
}

#[test]
fn a_full_queue_overflows_and_a_full_overflow_area_falls_back() {
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &slow_tcp);
    // One operation runs, four wait in the queue, three in the overflow area.
    let mut config = frictionless();
    set(
        &mut config,
        &[
            ("accelerator.pes", 1.0),
            ("accelerator.input_entries", 4.0),
            ("accelerator.overflow_entries", 3.0),
        ],
    );
    let at = |count| {
        let outcome = run(&config, &plan, "accelflow", &together(count), 1);
        let fallbacks = outcome.services[0].fallbacks.clone();
        (
            outcome.accelerators[Accel::Tcp.index()].peak_input,
            fallbacks,
        )
    };
    assert_eq!(at(4), (3, [].into()));
    assert_eq!(at(5), (4, [].into()));
    assert_eq!(at(8), (4, [].into()));
    assert_eq!(at(9), (4, [(Fallback::OverflowFull, 1)].into()));
    assert_eq!(at(11), (4, [(Fallback::OverflowFull, 3)].into()));
}

#[test]
fn the_way_back_from_the_overflow_area_is_that_from_memory() {
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &slow_tcp);
    let mut config = frictionless();
    set(
        &mut config,
        &[("accelerator.pes", 1.0), ("accelerator.input_entries", 4.0)],
    );
    let mut sixth = |memory_us: u64| {
        let cycles = (memory_us * 2_400) as f64;
        set(&mut config, &[("memory.llc_cycles", cycles)]);
        responses(&config, &plan, "ideal", 6)[5]
    };
    // One runs, four wait, the sixth overflows. It starts its way back when the second operation
    // starts, at 10 us, and is due at 50 us; its result takes the way to memory once more.
    let near = sixth(0);
    assert_eq!(sixth(40), near + Time::from_us(40));
    assert_eq!(sixth(41), near + Time::from_us(41 + 1));
    assert_eq!(sixth(60), near + Time::from_us(60 + 20));
}

/// Receives, calls `count` others at once, and answers.
fn calls(count: usize) -> Plan {
    let rpc = Chain::new("T9")
        .with("T10", "exception", 0)
        .with("T10", "compressed", 0);
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::parallel(count, &rpc),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("CPost", "ComposePost", path).unwrap();
    fixed_plan(&service, NOTHING_NS, 0, &round_cost)
}

#[test]
fn each_parallel_chain_is_started_and_a_request_switches_in_once_a_phase() {
    let mut config = frictionless();
    // Four calls and the response.
    let later = |config: &mut Config, key: &str, id: &str| {
        let before = response(config, &calls(4), id);
        set(config, &[(key, 1.0)]);
        let after = response(config, &calls(4), id);
        set(config, &[(key, 0.0)]);
        after - before
    };
    for (key, id) in [
        ("core.enqueue_ns", "accelflow"),
        ("cohort.push_ns", "cohort_polling"),
        ("core.submit_ns", "relief"),
    ] {
        let again = match id {
            // RELIEF submits again after the branches of T1 and T10.
            "relief" => 1 + 4,
            // Cohort links TCP-Decr and RPC-Encr. It adds entries for Decr-RPC, RPC-Dser and
            // Dser-LdB of T1, for Ser-RPC of the four calls one after the other, for the other four
            // of the last of them, and for T2's Ser-RPC and Encr-TCP.
            "cohort_polling" => 3 + 4 + 4 + 2,
            _ => 0,
        };
        let found = later(&mut config, key, id);
        assert_eq!(found, Time::from_ns(4 + 1 + again), "{key}, {id}");
    }
    let switches = later(&mut config, "core.context_switch_ns", "accelflow");
    assert_eq!(switches, Time::from_ns(2));
    // The thread that is denied an entry has the core, and goes on with that chain at once.
    set(&mut config, &[("accelerator.input_entries", 3.0)]);
    let switches = later(&mut config, "core.context_switch_ns", "accelflow");
    assert_eq!(switches, Time::from_ns(2));
}

#[test]
fn enqueue_is_denied_from_the_first_entry_too_many() {
    // A core starts all chains at once: their entries are reserved before any data has moved.
    let mut config = frictionless();
    set(
        &mut config,
        &[
            ("accelerator.input_entries", 3.0),
            ("relief.queue_entries", 3.0),
            ("accelerator.enqueue_attempts", 1.0),
        ],
    );
    for id in &SYSTEMS[1..] {
        for (count, denied) in [(3, 0), (4, 1), (6, 3)] {
            let outcome = run(&config, &calls(count), id, &together(1), 1);
            let fallbacks = &outcome.services[0].fallbacks;
            let found = fallbacks.get(&Fallback::EnqueueDenied).copied();
            assert_eq!(found.unwrap_or(0), denied, "{id}, {count} calls");
            assert_eq!(fallbacks.get(&Fallback::OverflowFull), None, "{id}");
            // From Ser to the TCP that sends: four operations each.
            let on_cores: u64 = outcome.totals.on_cores.iter().sum();
            assert_eq!(on_cores, 4 * denied, "{id}, {count} calls");
        }
    }
}

#[test]
fn a_full_output_queue_keeps_the_element() {
    // One output entry and a transfer of 10 us: the second result waits in its element.
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &|operation| match operation.accel {
        Accel::Tcp => 1_000.0,
        _ => NOTHING_NS,
    });
    let mut config = frictionless();
    set(
        &mut config,
        &[("accelerator.pes", 1.0), ("network.dma_setup_ns", 10_000.0)],
    );
    let blocked = |entries, count| {
        let mut config = config.clone();
        set(&mut config, &[("accelerator.output_entries", entries)]);
        run(&config, &plan, "ideal", &together(count), 1)
            .totals
            .element_blocked
    };
    // TCP's results are there at 1, 2 and 3 us; its first entry is free again at 11 us.
    assert_eq!(blocked(1.0, 1), Time::ZERO);
    assert_eq!(blocked(2.0, 2), Time::ZERO);
    assert_eq!(blocked(1.0, 2), Time::from_us(9));
}
