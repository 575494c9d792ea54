//! Cores: interrupts, time slices, notifications, and the choices of LdB.

#![allow(clippy::unwrap_used)]

use accelflow_sim::orchestrators::{Completion, Decision, Links, Orchestrator, Properties};
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Part;
use accelflow_sim::{Config, Load, Run, simulate};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;

use crate::common::services::{self, FRONT, STOCK, apart};
use crate::common::{
    NOTHING_NS, SYSTEMS, fixed_plan, frictionless, response, responses, round_cost, run, set,
    together, uniq_id,
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
        let interrupts = ["cpu_centric", "relief", "cohort", "per_acc_type_q"].contains(&id)
            || id.starts_with("direct");
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
    let [least, random, round_robin, two, idle, affine] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(of);
    let (two_logics, three) = (Time::from_us(200), Time::from_us(300));
    for even in [least, round_robin, idle, affine] {
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
        let mut config = server(&[("core.count", 4.0), ("core.balancing", 0.0)]);
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
    let config = server(&[("core.context_switch_ns", 1_000.0), ("core.balancing", 0.0)]);
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

#[test]
fn a_core_may_keep_what_the_network_card_gave_it() {
    let of = |balancing: f64, software: f64| {
        let config = server(&[
            ("core.count", 4.0),
            ("core.context_switch_ns", 1_000.0),
            ("core.balancing", balancing),
            ("core.software_balancing", software),
        ]);
        responses(&config, &plan(), "non_acc", 8)
    };
    // The hash gives some core three or more: their T1, the logic of three and a T2, at least.
    let kept = of(0.0, 1.0);
    assert!(*kept.last().unwrap() > Time::from_us(3 * 127), "{kept:?}");
    assert!(of(0.0, 0.0).last() < kept.last());
    for balancing in [1.0, 2.0, 3.0, 4.0] {
        assert_eq!(of(balancing, 1.0), kept, "no policy is used");
    }
    // One after the other would take the first to another core, for a switch.
    let alone = |software| {
        let config = server(&[
            ("core.context_switch_ns", 1_000.0),
            ("core.balancing", 2.0),
            ("core.software_balancing", software),
        ]);
        response(&config, &plan(), "non_acc")
    };
    assert_eq!(alone(0.0), alone(1.0) + Time::from_us(1));
}

/// On one core with switches of 1 us, in us: a request with 10 ms of application logic at 1 us,
/// one with 10 us of it at 1,000 us, and what both spent on a core's time.
fn long_and_short(id: &str, slice_us: u64) -> [u64; 3] {
    let of = |app_ns| fixed_plan(&uniq_id(), app_ns, 0, &|_| NOTHING_NS);
    let mut plan = of(10e6);
    plan.services.extend(of(10e3).services);
    let config = server(&[
        ("core.count", 1.0),
        ("core.context_switch_ns", 1_000.0),
        ("core.time_slice_ns", slice_us as f64 * 1e3),
    ]);
    let at = |service, us| {
        let once = ArrivalProcess::Trace(vec![Time::from_us(us)]);
        Load::new(service, once, 1, 0)
    };
    let outcome = run(&config, &plan, id, &[at(0, 1), at(1, 1_000)], 1);
    assert!(outcome.totals.drained);
    let us = |time: Time| time.as_ps() / 1_000_000;
    let [long, short] = &outcome.services[..] else {
        unreachable!()
    };
    let cpu = long.spent.of(Part::Cpu) + short.spent.of(Part::Cpu);
    let first =
        |stats: &accelflow_sim::stats::ServiceStats| us(stats.latency.iter().next().unwrap());
    [first(long), first(short), us(cpu)]
}

/// In us, what two services whose requests arrive one by one, in turn, spend on two cores with code
/// that takes 10 us to come back, under a policy of LdB.
fn by_turns(policy: f64) -> u64 {
    let mut plan = fixed_plan(&uniq_id(), 100e3, 0, &|_| NOTHING_NS);
    plan.services.extend(plan.services.clone());
    let config = server(&[
        ("core.count", 2.0),
        ("core.balancing", policy),
        ("core.cold_code_ns", 10_000.0),
    ]);
    let at = |service, ms: [u64; 3]| {
        let times = ms.map(|ms| Time::from_us(1_000 * ms)).to_vec();
        Load::new(service, ArrivalProcess::Trace(times), 3, 0)
    };
    let loads = [at(0, [1, 3, 5]), at(1, [2, 4, 6])];
    let outcome = run(&config, &plan, "ideal", &loads, 1);
    let cpu = |stats: &accelflow_sim::stats::ServiceStats| stats.spent.of(Part::Cpu);
    let spent: Time = outcome.services.iter().map(cpu).sum();
    spent.as_ps() / 1_000_000
}

#[test]
fn affinity_gives_a_service_the_core_that_has_its_code() {
    // Least loaded takes the first of two idle cores, which had the other service's request.
    assert_eq!(by_turns(0.0), 6 * 110);
    // With affinity only the first request of each finds its code nowhere.
    assert_eq!(by_turns(5.0), 6 * 100 + 2 * 10);
}

/// In us, what three services whose requests arrive one by one, in turn, spend on two cores with
/// affinity that remembers so many services of each.
fn three_by_turns(depth: f64) -> u64 {
    let mut plan = fixed_plan(&uniq_id(), 100e3, 0, &|_| NOTHING_NS);
    let one = plan.services[0].clone();
    plan.services.extend([one.clone(), one]);
    let config = server(&[
        ("core.count", 2.0),
        ("core.balancing", 5.0),
        ("core.function_map_depth", depth),
        ("core.cold_code_ns", 10_000.0),
    ]);
    let at = |service: usize| {
        let times = (0..4).map(|n| Time::from_us(1_000 * (1 + 3 * n + service as u64)));
        Load::new(service, ArrivalProcess::Trace(times.collect()), 4, 0)
    };
    let outcome = run(&config, &plan, "ideal", &[at(0), at(1), at(2)], 1);
    let cpu = |stats: &accelflow_sim::stats::ServiceStats| stats.spent.of(Part::Cpu);
    let spent: Time = outcome.services.iter().map(cpu).sum();
    spent.as_ps() / 1_000_000
}

#[test]
fn a_deeper_function_map_keeps_a_service_at_its_core() {
    // With one service remembered, the third takes the core of the first, and all go on in circles.
    assert_eq!(three_by_turns(1.0), 12 * 110);
    // With two, each goes back to its core; only the core that two share is cold for them.
    assert_eq!(three_by_turns(2.0), 12 * 100 + 9 * 10);
}

#[test]
fn a_time_slice_lets_short_tasks_past_long_ones() {
    // The long one runs from 1 us: a switch and its logic, to 10,002 us.
    assert_eq!(long_and_short("ideal", 0), [10_001, 9_013, 10_012]);
    // It runs to 3,001 us; the short one, a switch and its logic, to 3,012 us; it goes on for a
    // switch and 7,001 us, alone.
    assert_eq!(long_and_short("ideal", 3_000), [10_013, 2_012, 10_013]);
    // At the end of the 9th slice it is 901 us: no task waits. The 10th ends at 1,001 us.
    assert_eq!(long_and_short("ideal", 100), [10_013, 12, 10_013]);
    // A slice of the length of the task ends with it.
    assert_eq!(long_and_short("ideal", 10_001), [10_001, 9_013, 10_012]);
}

#[test]
fn the_polling_thread_gets_the_core_at_the_end_of_a_slice() {
    // Cohort's core hands the short request on: without slices, when the long one's logic ends.
    let [long, short, _] = long_and_short("cohort_polling", 0);
    assert!(long < 10_100 && short > 9_000, "{long} {short}");
    // With them each of its hand-overs waits for the end of one slice, or two.
    let [long, short, _] = long_and_short("cohort_polling", 100);
    assert!(
        long < 10_100 && short > 500 && short < 2_000,
        "{long} {short}"
    );
}

#[test]
fn slices_leave_interrupts_and_threads_that_go_on_alone() {
    // On an otherwise idle core no task waits at the end of a slice: neither interrupted logic, nor
    // a trace in software and the logic after it, pays a switch.
    for id in SYSTEMS {
        let of = |slice| {
            let mut config = Config::default();
            set(&mut config, &[("core.time_slice_ns", slice)]);
            response(&config, &plan(), id)
        };
        assert_eq!(of(7_000.0), of(0.0), "{id}");
    }
}

/// Responses of `Stock`, which misses a small cache, during a phase of `Front` of `phase_us`, and
/// the bytes of main memory.
fn beside_a_long_phase(phase_us: u64) -> (Vec<Time>, u64) {
    let mut config = Config::default();
    let cache = [
        ("memory.llc_slice_kib", 64.0),
        ("memory.llc_slices", 1.0),
        ("memory.llc_ways", 4.0),
        ("memory.dram_gb_per_s", 1.0),
        ("memory.core_fill_gb_per_s", 1.0),
    ];
    set(&mut config, &cache);
    let plan = apart(phase_us as f64 * 1e3, 10_000.0);
    let (front, stock) = (
        services::together(FRONT, 1),
        services::poisson(STOCK, 10_000.0, 50),
    );
    let loads = [front, stock];
    let outcome = simulate(&services::run(&config, &plan, "accelflow", &loads, 1)).unwrap();
    let responses = outcome.services[STOCK].latency.iter().collect();
    (responses, outcome.data.dram_bytes)
}

#[test]
fn a_long_phase_takes_its_data_bit_by_bit() {
    let (beside_short, _) = beside_a_long_phase(10_000);
    let (beside_long, bytes) = beside_a_long_phase(1_000_000);
    assert_eq!(beside_short, beside_long);
    // All of it comes, at the stated rate for the time of the two phases.
    let more = bytes - beside_a_long_phase(900_000).1;
    assert!(more.abs_diff(200_000_000) <= 2_048, "{more}");
}

/// Cores only notice that traces have ended.
struct Noticing;

const NOTICE: Time = Time::from_us(7);

impl Orchestrator for Noticing {
    fn id(&self) -> &'static str {
        "noticing"
    }

    fn paper_name(&self) -> &'static str {
        "Noticing"
    }

    fn properties(&self, config: &Config) -> Properties {
        Properties {
            notified: NOTICE,
            ..Properties::new(config)
        }
    }

    fn decide(&self, _: &Completion, _: &Config, _: &Links) -> Decision {
        Decision::default()
    }
}

#[test]
fn a_core_that_notices_that_a_message_is_late_orchestrates() {
    let plan = apart(3_000.0, 20_000.0);
    let loads = [services::together(FRONT, 1)];
    let found = |timeout_us: f64| {
        let config = server(&[("tcp.timeout_us", timeout_us)]);
        let run = Run {
            config: &config,
            plan: &plan,
            orchestrator: &Noticing,
            loads: &loads,
            seed: 1,
        };
        let outcome = simulate(&run).unwrap();
        let timed_out = outcome.services[FRONT].timed_out;
        (timed_out, outcome.orchestration.cores)
    };
    // The traces that receive the request, call, and send the response.
    assert_eq!(found(1e6), (0, NOTICE * 3));
    assert_eq!(found(1.0), (1, NOTICE * 2));
}
