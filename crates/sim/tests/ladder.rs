//! The steps from RELIEF to AccelFlow: unloaded times by hand, and the central queue.

#![allow(clippy::unwrap_used)]

use accelflow_sim::Config;
use accelflow_sim::orchestrators::LADDER;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Fallback;
use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::common::{
    NOTHING_NS, fixed_plan, frictionless, response, responses, round_cost, run, sink, together,
    uniq_id,
};

fn uniq_id_plan() -> Plan {
    fixed_plan(&uniq_id(), 10_000.0, 1_000, &round_cost)
}

fn response_ps(config: &Config, id: &str) -> i64 {
    response(config, &uniq_id_plan(), id).as_ps() as i64
}

/// How much later the response is if a parameter is one step on.
fn step(id: &str, key: &str, value: f64) -> i64 {
    let mut config = Config::default();
    let before = response_ps(&config, id);
    config.set(key, value).unwrap();
    response_ps(&config, id) - before
}

#[test]
fn each_rung_replaces_what_it_says() {
    let ps = |id| response_ps(&Config::default(), id);
    let dispatch = |instructions| Config::default().dispatch(instructions).as_ps() as i64;
    // A submission less; the dispatchers' 15 instructions for each operation and 20 at the end;
    // no manager but at the branch; the flag in the place of the interrupt; Enqueue for submit.
    let dispatchers = 7 * dispatch(15) + dispatch(35);
    assert_eq!(
        ps("per_acc_type_q") - ps("direct"),
        (9 - 1) * 1_500_000 + (800_000 - 50_000) + (1_333_000 - 50_000) - dispatchers
    );
    // The branch: the manager, the interrupt with two switches and a submission; 7 instructions.
    let branch = dispatch(22) - dispatch(15);
    assert_eq!(
        ps("direct") - ps("cntr_flow"),
        1_500_000 + 4_133_000 - branch
    );
    assert_eq!(ps("direct") - ps("direct_list"), 1_500_000);
    // Nothing to transform and nothing large.
    assert_eq!(ps("cntr_flow"), ps("accelflow"));
}

#[test]
fn large_payloads_need_the_manager_and_a_core_below_accelflow() {
    let large = fixed_plan(&uniq_id(), 10_000.0, 2_049, &round_cost);
    let [flow, ours] =
        ["cntr_flow", "accelflow"].map(|id| response(&Config::default(), &large, id).as_ps());
    // Seven hand-overs before the response has left.
    assert_eq!(flow - ours, 7 * (1_500_000 + 4_133_000));
}

#[test]
fn a_central_queue_costs_its_manager_a_decision_a_message_and_a_detour() {
    // 1,102 B over links of 38.4 GB/s, and 10 ns to program an engine.
    let entry = 10_000 + 28_698;
    // The message goes from the queue, beside the port, to TCP; what a core submits from the queue
    // to Ser. Forwards find their element free and go straight there.
    // (Without hops and crossings, which depend on where the payload is in the cache.)
    let mut config = Config::default();
    config.set("network.hop_cycles", 0.0).unwrap();
    config.set("network.inter_chiplet_cycles", 0.0).unwrap();
    let [central, distributed] = ["relief", "per_acc_type_q"].map(|id| response_ps(&config, id));
    assert_eq!(central - distributed, 1_500_000 + 2 * entry);
    assert_eq!(step("relief", "relief.latency_ns", 1_501.0), 10_000);
    assert_eq!(step("per_acc_type_q", "relief.latency_ns", 1_501.0), 9_000);
    assert_eq!(step("direct", "relief.latency_ns", 1_501.0), 1_000);
    assert_eq!(step("direct_list", "relief.latency_ns", 1_501.0), 0);
    assert_eq!(step("cntr_flow", "relief.latency_ns", 1_501.0), 0);
    for id in ["relief", "per_acc_type_q", "direct", "cntr_flow"] {
        // One request at a time never fills a queue, and its order does not matter.
        assert_eq!(step(id, "relief.queue_entries", 1.0), 0, "{id}");
        assert_eq!(step(id, "relief.deadline_ratio", 1.0), 0, "{id}");
    }
}

/// TCP takes 10 us, the others nothing.
fn tcp_only() -> Plan {
    fixed_plan(&sink(), NOTHING_NS, 0, &|operation| match operation.accel {
        Accel::Tcp => 10_000.0,
        _ => NOTHING_NS,
    })
}

#[test]
fn an_element_of_a_central_queue_waits_for_the_manager() {
    let mut config = frictionless();
    config.set("accelerator.pes", 1.0).unwrap();
    config.set("relief.latency_ns", 1_500.0).unwrap();
    let gap = |id: &str| {
        let found = responses(&config, &tcp_only(), id, 2);
        (found[1] - found[0]).as_ps() as f64 / 1e6
    };
    // The second starts when the manager has heard of the first, or when the element is free.
    assert!((gap("relief") - 11.5).abs() < 1e-3, "{}", gap("relief"));
    assert!((gap("per_acc_type_q") - 10.0).abs() < 1e-3);
}

#[test]
fn overflow_of_the_central_queue_waits_in_memory_then_falls_back() {
    let mut config = frictionless();
    config.set("accelerator.pes", 1.0).unwrap();
    // All six are there before the manager has decided on the first.
    config.set("relief.latency_ns", 1_500.0).unwrap();
    let fallbacks = |entries: f64, overflow: f64| {
        let mut config = config.clone();
        config.set("relief.queue_entries", entries).unwrap();
        config
            .set("accelerator.overflow_entries", overflow)
            .unwrap();
        let outcome = run(&config, &tcp_only(), "relief", &together(6), 1);
        assert!(outcome.totals.drained);
        let found = outcome.services[0].fallbacks.get(&Fallback::OverflowFull);
        found.copied().unwrap_or(0)
    };
    assert_eq!(fallbacks(6.0, 0.0), 0);
    assert_eq!(fallbacks(5.0, 0.0), 1);
    assert_eq!(fallbacks(4.0, 2.0), 0);
    assert_eq!(fallbacks(4.0, 1.0), 1);
    assert_eq!(fallbacks(1.0, 5.0), 0);
}

#[test]
fn a_central_queue_full_of_one_kind_holds_up_the_others() {
    // Thirteen messages want the one element of TCP for 10 us each. Their responses want Ser
    // first, which is idle, but the messages share the queue with them.
    let mut config = frictionless();
    config.set("accelerator.pes", 1.0).unwrap();
    let plan = fixed_plan(&uniq_id(), 1_000.0, 0, &|operation| match operation.accel {
        Accel::Tcp if operation.receives => 10_000.0,
        _ => NOTHING_NS,
    });
    let denied = |id: &str, entries: f64| {
        let mut config = config.clone();
        config.set("relief.queue_entries", entries).unwrap();
        let outcome = run(&config, &plan, id, &together(13), 1);
        let found = outcome.services[0].fallbacks.get(&Fallback::EnqueueDenied);
        found.copied().unwrap_or(0)
    };
    assert_eq!(denied("relief", 64.0), 0);
    // When the k-th response is due, the k + 1-st message is at TCP and 12 - k wait.
    assert_eq!(denied("relief", 4.0), 8);
    assert_eq!(denied("relief", 5.0), 7);
    assert_eq!(denied("per_acc_type_q", 4.0), 0);
}

#[test]
fn the_ladder_never_gets_slower_on_an_idle_server() {
    let times: Vec<Time> = LADDER
        .iter()
        .map(|system| response(&Config::default(), &uniq_id_plan(), system.id()))
        .collect();
    assert!(times.is_sorted_by(|time, next| time >= next), "{times:?}");
}
