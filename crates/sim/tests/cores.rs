//! What cores do when, and which core does it: interrupts and the choices of LdB.

#![allow(clippy::unwrap_used)]

mod common;

use accelflow_sim::Config;
use accelflow_sim::plan::Plan;
use accelflow_units::Time;
use common::{
    SYSTEMS, fixed_plan, frictionless, response, responses, round_cost, run, set, together, uniq_id,
};

/// UniqId with 100 us of application logic.
fn plan() -> Plan {
    fixed_plan(&uniq_id(), 100_000.0, 1_000, &round_cost)
}

fn server(values: &[(&str, f64)]) -> Config {
    let mut config = frictionless();
    for (key, value) in values {
        config.set(key, *value).unwrap();
    }
    config
}

/// `count` requests on one core with interrupts of 1 us: when later ones' operations end, the
/// first one's application logic runs.
fn on_one_core(policy: f64, id: &str, count: u64) -> Vec<Time> {
    let config = server(&[
        ("core.count", 1.0),
        ("core.interrupt_ns", 1_000.0),
        ("core.interrupt_policy", policy),
        ("accelerator.pes", 1.0),
    ]);
    responses(&config, &plan(), id, count)
}

#[test]
fn an_interrupt_takes_the_core_from_application_logic_or_waits_for_it() {
    let of = |policy| on_one_core(policy, "cpu_centric", 2);
    let [queued, first, preempt] = [0.0, 1.0, 2.0].map(of);
    assert_eq!(queued, first, "nothing else waits");
    // The response of the first needs the core while the second one's logic of 100 us runs.
    let logic = Time::from_us(100);
    assert!(
        first[0] - preempt[0] > Time::from_us(95),
        "{preempt:?} {first:?}"
    );
    // That logic is preempted for the four interrupts of the first one's response, and ends once.
    let later = preempt[1] - first[1];
    assert!(later < Time::from_us(4), "{preempt:?} {first:?}");
    assert!(preempt[1] - preempt[0] > logic);
}

#[test]
fn flags_and_polled_queues_interrupt_nobody() {
    for id in SYSTEMS {
        let of = |policy| on_one_core(policy, id, 3);
        let interrupts =
            ["cpu_centric", "relief", "per_acc_type_q"].contains(&id) || id.starts_with("direct");
        assert_eq!(of(2.0) != of(0.0), interrupts, "{id}");
    }
}

#[test]
fn ldb_gives_requests_to_cores_as_it_is_told() {
    // Eight requests on four cores: evenly, each core has two, and the last of them waits once.
    let of = |balancing: f64| {
        let config = server(&[("core.count", 4.0), ("core.balancing", balancing)]);
        *responses(&config, &plan(), "accelflow", 8).last().unwrap()
    };
    let [least, random, round_robin, two, idle] = [0.0, 1.0, 2.0, 3.0, 4.0].map(of);
    let (two_logics, three) = (Time::from_us(200), Time::from_us(300));
    for even in [least, round_robin, idle] {
        assert!(even > two_logics && even < three, "{even}");
    }
    assert!(random > three, "{random}: some core has three");
    assert!(two <= random, "{two} {random}");
}

#[test]
fn ldb_in_software_gives_requests_to_cores_too() {
    // T1 of each runs where its message was steered to. Eight requests on four cores: evenly, each
    // core has the logic of two.
    let of = |id: &str, values: &[(&str, f64)]| {
        let mut config = server(&[("core.count", 4.0)]);
        set(&mut config, values);
        *responses(&config, &plan(), id, 8).last().unwrap()
    };
    // A core with the logic of three also has its T1, 27.55 us, and its T2, 19.45 us.
    let three = Time::from_us(300 + 27 + 19);
    let even = of("non_acc", &[]);
    let random = of("non_acc", &[("core.balancing", 1.0)]);
    assert!(even < three && random > three, "{even} {random}");
    // The same where a trace falls back to a core: without entries, most T1 do.
    let full = [
        ("accelerator.input_entries", 1.0),
        ("accelerator.overflow_entries", 0.0),
    ];
    let even = of("accelflow", &full);
    let random = of("accelflow", &[full[0], full[1], ("core.balancing", 1.0)]);
    assert!(even < three && random > three, "{even} {random}");
}

#[test]
fn a_core_that_balances_keeps_a_request_among_equals() {
    // No switch to another core's thread for a request that meets an idle server.
    let config = server(&[("core.context_switch_ns", 1_000.0)]);
    let at_once = server(&[("core.context_switch_ns", 1_000.0), ("core.count", 1.0)]);
    let of = |config| response(config, &plan(), "non_acc");
    assert_eq!(of(&config), of(&at_once));
    // One after the other, the first goes to core 0 from the one that it was steered to.
    let mut moved = config.clone();
    moved.set("core.balancing", 2.0).unwrap();
    assert_eq!(of(&moved), of(&at_once) + Time::from_us(1));
}

#[test]
fn only_an_idle_core_wakes_up_for_a_flag() {
    let of = |notification, wake| {
        let config = server(&[
            ("core.count", 1.0),
            ("core.notification", notification),
            ("core.wake_ns", wake),
        ]);
        responses(&config, &plan(), "accelflow", 2)
    };
    let (slow, slower) = (of(2.0, 3_000.0), of(2.0, 4_000.0));
    let step = Time::from_us(1);
    // The second request finds the core awake, and is later for the first one's wake-up alone.
    assert_eq!(slower[0] - slow[0], step);
    assert_eq!(slower[1] - slow[1], step);
    assert_eq!(of(2.0, 0.0), of(0.0, 4_000.0));
}

#[test]
fn timers_of_cores_are_set_off_evenly() {
    // Core 1 of two looks half a period after core 0: that of the second request.
    let config = server(&[
        ("core.count", 2.0),
        ("core.balancing", 2.0),
        ("core.notice_period_ns", 1e6),
    ]);
    let times = responses(&config, &plan(), "accelflow", 2);
    let half = Time::from_us(500);
    let apart = times[1] - times[0];
    assert!(
        apart > half - Time::from_us(1) && apart < half + Time::from_us(1),
        "{apart}"
    );
}

#[test]
fn polling_costs_the_cores_all_of_their_time() {
    let of = |notification, id| {
        let config = server(&[("core.notification", notification)]);
        run(&config, &plan(), id, &together(100), 1).core_utilization
    };
    assert_eq!(of(1.0, "accelflow"), 1.0);
    assert!(of(0.0, "accelflow") < 1.0);
    for id in ["non_acc", "relief", "cohort", "ideal"] {
        assert_eq!(of(1.0, id), of(0.0, id), "{id} has no flags");
    }
    let config = server(&[("core.notification", 1.0)]);
    assert_eq!(
        response(&config, &plan(), "accelflow"),
        response(&frictionless(), &plan(), "accelflow")
    );
}
