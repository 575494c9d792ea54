//! Tight gates for the sharing of accelerators: queue order, instances, tenants, time-outs,
//! exceptions, and the cause of a saturation.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::{PhasePlan, Plan};
use accelflow_sim::stats::{Fallback, SimulationResult};
use accelflow_sim::{Config, Load};
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::RecordingOptions;
use accelflow_workload::services::{Chain, Operation, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, QuantileTable, SizeDistribution};

use crate::common::{
    ALL, NOTHING_NS, fixed_plan, frictionless, image, profile, receive, response, responses,
    round_cost, run, sink, together, uniq_id,
};

fn slow(accel: Accel) -> impl Fn(&Operation) -> f64 {
    move |operation| match operation.accel {
        it if it == accel => 10_000.0,
        _ => NOTHING_NS,
    }
}

/// `count` services that receive a message, which takes `accel` 10 us, and do nothing else.
fn sinks(count: usize, accel: Accel) -> Plan {
    let mut plan = fixed_plan(&sink(), NOTHING_NS, 0, &slow(accel));
    plan.services = vec![plan.services[0].clone(); count];
    plan
}

fn with(values: &[(&str, f64)]) -> Config {
    let mut config = frictionless();
    for (key, value) in values {
        config.set(key, *value).unwrap();
    }
    config
}

/// `count` requests of `service` at `us`.
fn at(service: usize, us: u64, count: u64) -> Load {
    let times = vec![Time::from_us(us); count as usize];
    Load::new(service, ArrivalProcess::Trace(times), count, 0)
}

fn times(outcome: &SimulationResult, service: usize) -> Vec<u64> {
    let latency = &outcome.services[service].latency;
    let mut times: Vec<u64> = latency
        .iter()
        .map(|time| time.as_ps() / 1_000_000)
        .collect();
    times.sort_unstable();
    times
}

#[test]
fn higher_levels_overtake_what_waits_but_not_what_runs() {
    let plan = sinks(2, Accel::Tcp);
    let loads = [at(0, 1, 3), at(1, 2, 2).at_priority(1)];
    let found = |policy| {
        let config = with(&[("accelerator.pes", 1.0), ("scheduling.policy", policy)]);
        let outcome = run(&config, &plan, "ideal", &loads, 1);
        (times(&outcome, 0), times(&outcome, 1))
    };
    assert_eq!(found(0.0), (vec![10, 20, 30], vec![39, 49]));
    assert_eq!(found(1.0), (vec![10, 40, 50], vec![19, 29]));
}

#[test]
fn a_late_entry_changes_places_with_one_that_has_slack() {
    let plan = sinks(2, Accel::Tcp);
    let config = with(&[("accelerator.pes", 1.0)]);
    let found = |id: &str, slack_us, tight_us| {
        let slack = at(0, 1, 3).within(Time::from_us(slack_us));
        let tight = at(1, 2, 1).within(Time::from_us(tight_us));
        let outcome = run(&config, &plan, id, &[slack, tight], 1);
        let [patient, urgent] = &outcome.services[..] else {
            unreachable!()
        };
        let counts = (urgent.exchanged, urgent.expected_late, urgent.slo_missed);
        assert_eq!(patient.slo_missed + urgent.slo_missed, urgent.slo_missed);
        (times(&outcome, 0), times(&outcome, 1)[0], counts)
    };
    // One runs to 11 us, two wait to 31 us, the last comes at 2 us and ends at 41 us. Each step's
    // deadline is the SLO, but for the picoseconds of the four operations that follow.
    let fifo = (vec![10, 20, 30], 39);
    let (patient, urgent, counts) = found("accelflow", 1_000, 25);
    assert_eq!((patient, urgent), fifo);
    assert_eq!(counts, (0, 0, 1));
    let deadline = |slack_us, tight_us| found("accelflow_deadline", slack_us, tight_us);
    assert_eq!(deadline(1_000, 40), (vec![10, 20, 30], 39, (0, 0, 0)));
    assert_eq!(deadline(1_000, 38), (vec![10, 20, 40], 29, (1, 0, 0)));
    assert_eq!(deadline(1_000, 30), (vec![10, 20, 40], 29, (1, 0, 0)));
    assert_eq!(deadline(1_000, 28), (vec![10, 30, 40], 19, (1, 0, 0)));
    assert_eq!(deadline(1_000, 20), (vec![10, 30, 40], 19, (1, 0, 0)));
    assert_eq!(deadline(1_000, 18), (vec![10, 20, 30], 39, (0, 1, 1)));
    // Those that wait need slack for 40 us.
    assert_eq!(deadline(41, 28), (vec![10, 30, 40], 19, (1, 0, 0)));
    assert_eq!(deadline(39, 28), (vec![10, 20, 30], 39, (0, 1, 1)));
}

#[test]
fn the_earliest_deadline_goes_first_by_policy_and_by_system() {
    let plan = sinks(2, Accel::Tcp);
    let found = |id: &str, policy: f64, tight_us| {
        let config = with(&[("accelerator.pes", 1.0), ("scheduling.policy", policy)]);
        let slack = at(0, 1, 3).within(Time::from_us(1_000));
        let tight = at(1, 2, 1).within(Time::from_us(tight_us));
        let outcome = run(&config, &plan, id, &[slack, tight], 1);
        assert_eq!(outcome.services[1].exchanged, 0);
        (times(&outcome, 0), times(&outcome, 1)[0])
    };
    // One runs to 11 us and two wait; the last comes at 2 us and goes before both, also where no
    // exchange would help it (18 us) or where it need not (900 us).
    for (id, policy) in [("accelflow", 3.0), ("accelflow_edf", 0.0)] {
        for tight_us in [18, 900] {
            assert_eq!(found(id, policy, tight_us), (vec![10, 30, 40], 19), "{id}");
        }
        assert_eq!(found(id, policy, 1_100), (vec![10, 20, 30], 39), "{id}");
    }
}

#[test]
fn every_operation_of_a_service_with_an_slo_has_a_deadline() {
    let plan = fixed_plan(&uniq_id(), 10_000.0, 1_000, &round_cost);
    let unloaded = response(&Config::default(), &plan, "accelflow_deadline");
    let missed = |slo| {
        let load = together(1)[0].clone().within(slo);
        let outcome = run(&Config::default(), &plan, "accelflow_deadline", &[load], 1);
        let stats = &outcome.services[0];
        (stats.deadlines, stats.deadlines_missed, stats.slo_missed)
    };
    // Deadlines are in proportion to time in elements; the rest is what twice the time is for.
    assert_eq!(missed(unloaded * 2), (9, 0, 0));
    assert_eq!(missed(unloaded).2, 0);
    assert_eq!(missed(unloaded.saturating_sub(Time::from_ps(1))).2, 1);
    assert_eq!(missed(Time::from_ns(1)), (9, 9, 1));
    let without = run(
        &Config::default(),
        &plan,
        "accelflow_deadline",
        &together(1),
        1,
    );
    assert_eq!(without.services[0].deadlines, 0);
}

#[test]
fn hand_overs_go_to_the_least_loaded_instance() {
    let plan = sinks(1, Accel::Decr);
    let found = |instances, count| {
        let config = with(&[
            ("accelerator.pes", 1.0),
            ("accelerator.instances", instances),
        ]);
        let outcome = run(&config, &plan, "ideal", &together(count), 1);
        assert!(outcome.totals.drained);
        times(&outcome, 0)
    };
    assert_eq!(found(1.0, 3), [10, 20, 30]);
    assert_eq!(found(2.0, 3), [10, 10, 20]);
    assert_eq!(found(3.0, 4), [10, 10, 10, 20]);
}

#[test]
fn messages_come_and_go_by_the_tcp_that_has_the_connection() {
    // TCP is slow both ways, everything else is not: a request's response finds its own TCP.
    let plan = fixed_plan(&uniq_id(), NOTHING_NS, 0, &slow(Accel::Tcp));
    let config = with(&[("accelerator.pes", 1.0), ("accelerator.instances", 2.0)]);
    let found = times(&run(&config, &plan, "ideal", &together(8), 1), 0);
    // A TCP with k connections receives k times and sends k times, one operation after another;
    // the first to have been received is sent after the last one.
    let split = |k: u64| {
        (1..=k)
            .map(move |n| 10 * (k + n))
            .chain((1..=8 - k).map(move |n| 10 * (8 - k + n)))
    };
    let mut fits = (0..=8).filter(|&k| {
        let mut expected: Vec<u64> = split(k).collect();
        expected.sort_unstable();
        expected == found
    });
    assert!(
        fits.next().is_some_and(|k| (1..8).contains(&k)),
        "{found:?}"
    );
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
fn enqueue_tries_other_instances_before_it_falls_back() {
    let denied = |instances, attempts, count| {
        let config = with(&[
            ("accelerator.input_entries", 3.0),
            ("accelerator.instances", instances),
            ("accelerator.enqueue_attempts", attempts),
            ("core.enqueue_ns", 1.0),
            ("network.dma_setup_ns", 100.0),
        ]);
        let outcome = run(&config, &calls(count), "accelflow", &together(1), 1);
        let fallbacks = &outcome.services[0].fallbacks;
        fallbacks
            .get(&Fallback::EnqueueDenied)
            .copied()
            .unwrap_or(0)
    };
    assert_eq!(denied(1.0, 1.0, 5), 2);
    assert_eq!(
        denied(1.0, 3.0, 4),
        1,
        "the payloads of the first three take 100 ns"
    );
    assert_eq!(
        denied(1.0, 200.0, 4),
        0,
        "so one of 100 tries finds an entry"
    );
    assert_eq!(denied(2.0, 1.0, 6), 3);
    assert_eq!(denied(2.0, 2.0, 6), 0);
    assert_eq!(denied(2.0, 2.0, 7), 1);
    assert_eq!(denied(3.0, 3.0, 9), 0);
}

#[test]
fn no_more_traces_of_a_tenant_run_than_its_limit() {
    let plan = sinks(1, Accel::Tcp);
    let single = response(&frictionless(), &plan, "ideal");
    for limit in [1, 4, 5] {
        let config = with(&[
            ("tenant.max_traces", limit as f64),
            ("accelerator.pes", 64.0),
        ]);
        let outcome = run(&config, &plan, "ideal", &together(20), 1);
        let [tenant] = outcome.tenants[..] else {
            unreachable!()
        };
        assert_eq!((tenant.peak_running, tenant.waited), (limit, 20 - limit));
        assert_eq!(tenant.started, 20);
        assert!(outcome.totals.drained);
        // In the order of arrival, so many at a time.
        let mut found: Vec<Time> = outcome.services[0].latency.iter().collect();
        found.sort_unstable();
        let expected: Vec<Time> = (0..20).map(|n| single * (n / limit + 1)).collect();
        assert_eq!(found, expected);
    }
    let free = run(&frictionless(), &plan, "ideal", &together(20), 1);
    assert_eq!(
        (free.tenants[0].peak_running, free.tenants[0].waited),
        (20, 0)
    );
}

#[test]
fn enqueues_and_responses_wait_for_the_limit_too() {
    for count in [1, 3, 6] {
        let config = with(&[("tenant.max_traces", 1.0)]);
        let outcome = run(&config, &calls(count), "accelflow", &together(2), 1);
        assert_eq!(outcome.tenants[0].peak_running, 1, "{count} calls");
        // T1, T9 and T10 of each call, T2.
        assert_eq!(outcome.tenants[0].started, 2 * (2 * count as u64 + 2));
        assert_eq!(outcome.services[0].completed, 2);
        assert!(outcome.totals.drained);
    }
}

#[test]
fn a_tenant_that_floods_the_server_does_not_take_it_from_others() {
    let plan = sinks(2, Accel::Tcp);
    let poisson = |rate_rps| ArrivalProcess::Poisson { rate_rps };
    // Eight elements serve 800,000 a second; the flood alone asks for more.
    let mine = Load::new(0, poisson(50_000.0), 2_000, 200);
    let flood = Load::new(1, poisson(1_200_000.0), 48_000, 0).of_tenant(7);
    let p99 = |limit, loads: &[Load]| {
        let config = with(&[
            ("tenant.max_traces", limit),
            ("accelerator.overflow_entries", 65_536.0),
        ]);
        let mut outcome = run(&config, &plan, "accelflow", loads, 3);
        let [.., last] = outcome.tenants[..] else {
            unreachable!()
        };
        assert!(limit == 0.0 || last.peak_running <= limit as u64);
        outcome.services[0]
            .latency
            .percentile(99.0)
            .unwrap()
            .as_us_f64()
    };
    let alone = p99(0.0, std::slice::from_ref(&mine));
    let both = [mine, flood];
    let (unlimited, limited) = (p99(0.0, &both), p99(6.0, &both));
    assert!(unlimited > 10.0 * alone, "{unlimited} {alone}");
    // Elements that change tenants are wiped and initialised, which takes longer than an operation.
    assert!(limited < 2.2 * alone, "{limited} {alone}");
}

#[test]
fn an_element_is_wiped_and_initialised_between_tenants_and_not_between_services() {
    let plan = sinks(2, Accel::Tcp);
    let second = |tenant, initialise| {
        let config = with(&[
            ("accelerator.pes", 1.0),
            ("accelerator.wipe_gb_per_s", 1.0),
            ("accelerator.initialise_gb_per_s", initialise),
            ("accelerator.scratchpad_bytes", 65_536.0),
        ]);
        let loads = [at(0, 1, 1), at(1, 1, 1).of_tenant(tenant)];
        let outcome = run(&config, &plan, "ideal", &loads, 1);
        outcome.services[1].latency.mean().unwrap()
    };
    // 64 KiB at a byte a nanosecond, in TCP, Decr, RPC, Dser and LdB; then the same at two bytes.
    let wiped = Time::from_ns(65_536) * 5;
    let initialised = Time::from_ns(32_768) * 5;
    assert_eq!(second(1, 2.0), second(0, 2.0) + wiped + initialised);
    assert_eq!(second(0, 2.0), second(0, 1.0));
    assert_eq!(second(1, 1.0), second(0, 1.0) + wiped * 2);
}

#[test]
fn payloads_larger_than_the_scratchpad_pass_through_in_pieces() {
    let plan = fixed_plan(&uniq_id(), 10_000.0, 3_072, &round_cost);
    let at = |scratchpad, latency| {
        let mut config = Config::default();
        for (key, value) in [
            ("accelerator.scratchpad_bytes", scratchpad),
            ("accelerator.scratchpad_latency_ns", latency),
        ] {
            config.set(key, value).unwrap();
        }
        response(&config, &plan, "ideal")
    };
    // Nine operations load and store; each further piece is one more way from memory and from
    // the queue.
    let whole = at(3_072.0, 10.0);
    let piece = at(3_071.0, 10.0) - whole;
    let longer = at(3_071.0, 11.0) - at(3_072.0, 11.0);
    assert_eq!(longer, piece + Time::from_ns(9 * 2));
    assert!(piece > Time::from_ns(9 * 2 * 50), "{piece}");
    assert_eq!(at(65_536.0, 10.0), whole);
    assert_eq!(at(1_536.0, 10.0), whole + piece);
    assert_eq!(at(1_535.0, 10.0), whole + piece * 2);
    assert_eq!(at(1_024.0, 10.0), whole + piece * 2);
}

#[test]
fn speedups_grow_with_the_payload_around_their_mean() {
    // Half of the payloads are of 1,000 B, half of 3,000 B, at the same cost on a core.
    let points = [(0.0, 1_000), (0.5, 1_000), (0.5, 3_000), (1.0, 3_000)];
    let points = points.map(|(share, bytes)| (share, Bytes(bytes)));
    let options = RecordingOptions {
        size_shares: [0.0; Accel::COUNT],
        ..RecordingOptions::default()
    };
    let profile = profile(&sink(), NOTHING_NS, 2_000, &options, &slow(Accel::Tcp));
    let table = SizeDistribution::Quantiles(QuantileTable::new(&points).unwrap());
    let plan = Plan::new(&profile, &image(), &PayloadSizes::same(table)).unwrap();
    let work = |half| {
        let config = with(&[
            ("accelerator.speedup_half_bytes", half),
            ("accelerator.scratchpad_gb_per_s", 100_000.0),
            ("accelerator.inline_bytes", 65_536.0),
            ("network.link_bytes", 4_096.0),
        ]);
        let load = Load::new(0, ArrivalProcess::Poisson { rate_rps: 1.0 }, 400, 0);
        let outcome = run(&config, &plan, "ideal", &[load], 1);
        let times = outcome.services[0].latency.iter().map(Time::as_us_f64);
        let (low, high) = times.fold((f64::MAX, 0.0_f64), |(low, high), time| {
            (low.min(time), high.max(time))
        });
        (low, high)
    };
    let (low, high) = work(0.0);
    assert!(
        (low - 10.0).abs() < 0.1 && (high - 10.0).abs() < 0.1,
        "{low} {high}"
    );
    // Shares of the speedup for endless payloads: 1/2 and 3/4, with a mean of 5/8.
    let (low, high) = work(1_000.0);
    assert!((high / low - 1.5).abs() < 0.02, "{low} {high}");
    assert!((high - 12.5).abs() < 0.6, "{high}");
    assert!((low - 10.0 / 1.2).abs() < 0.4, "{low}");
}

/// Receives, writes to a database, answers: T1, T8 and T7, T2.
fn store() -> Plan {
    let write = Chain::new("T8").with("T7", "exception", 0);
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::one(write),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("StoreP", "StorePost", path).unwrap();
    fixed_plan(&service, NOTHING_NS, 0, &round_cost)
}

#[test]
fn a_message_later_than_the_time_out_terminates_its_request() {
    let plan = store();
    let PhasePlan::Chains(chains) = &plan.services[0].phases[2] else {
        unreachable!()
    };
    let trace = image().entry("T7").unwrap();
    let wait_us = plan.wait(&chains[0], trace, 1, 0).as_us_f64();
    assert!(wait_us > 1.0 && wait_us.fract() == 0.0, "{wait_us}");
    for id in ALL {
        for (timeout, ended) in [(wait_us, (1, 0)), (wait_us - 1.0, (0, 1))] {
            let config = with(&[("tcp.timeout_us", timeout)]);
            let load = together(1)[0].clone().within(Time::from_us(1_000_000));
            let outcome = run(&config, &plan, id, &[load], 1);
            let stats = &outcome.services[0];
            assert_eq!((stats.completed, stats.timed_out), ended, "{id}");
            let handed = stats.fallbacks.get(&Fallback::TimedOut).copied();
            assert_eq!(handed.unwrap_or(0), ended.1, "{id}");
            // Who has no response has no response time, but has missed the SLO.
            assert_eq!(stats.latency.count() as u64, ended.0);
            assert_eq!((stats.with_slo, stats.slo_missed), (1, ended.1));
            assert_eq!(outcome.totals.population_ps, outcome.totals.latency_ps);
            assert!(outcome.totals.drained, "{id}");
        }
    }
}

#[test]
fn a_time_out_frees_the_entry_and_ends_a_request_once() {
    // Seven calls; with four entries, three parked traces are in the overflow area.
    for (entries, overflow) in [(64.0, 256.0), (4.0, 3.0), (4.0, 0.0)] {
        let config = with(&[
            ("tcp.timeout_us", 1.0),
            ("accelerator.input_entries", entries),
            ("accelerator.overflow_entries", overflow),
        ]);
        let outcome = run(&config, &calls(7), "accelflow", &together(3), 1);
        let stats = &outcome.services[0];
        assert_eq!((stats.completed, stats.timed_out), (0, 3));
        assert_eq!(stats.fallbacks[&Fallback::TimedOut], 21);
        assert!(outcome.totals.drained);
    }
}

#[test]
fn an_exception_stops_the_element_until_a_core_has_handled_it() {
    let plan = sinks(1, Accel::Tcp);
    let config = |share| {
        with(&[
            ("exception.per_million", 1e6),
            ("exception.handling_ns", 500.0),
            ("exception.fall_back_share", share),
            ("core.interrupt_ns", 2_000.0),
            ("accelerator.pes", 1.0),
        ])
    };
    let (plain, resumed) = (
        responses(&frictionless(), &plan, "accelflow", 1)[0],
        responses(&config(0.0), &plan, "accelflow", 2),
    );
    // Five operations: the interrupt and its handling each time.
    let stop = Time::from_ns(2_500);
    assert_eq!(resumed[0], plain + stop * 5);
    // The element is taken while it is stopped.
    assert!(resumed[1] >= resumed[0] + Time::from_us(10) + stop);
    let outcome = run(&config(1.0), &plan, "accelflow", &together(3), 1);
    let totals = &outcome.totals;
    // The core goes on with the whole trace, and the next operation has the element.
    assert_eq!(outcome.services[0].fallbacks[&Fallback::Exception], 3);
    assert_eq!(
        (totals.exceptions, totals.on_accelerators.iter().sum()),
        (3, 0_u64)
    );
    assert_eq!(totals.on_cores.iter().sum::<u64>(), 15);
    assert_eq!(totals.element_stopped, stop * 3);
    assert_eq!(totals.element_busy, totals.element_stopped);
    assert!(totals.drained);
}

#[test]
fn exceptions_are_as_frequent_as_they_are_said_to_be() {
    let plan = sinks(1, Accel::Tcp);
    let mut config = Config::default();
    config.set("exception.per_million", 50_000.0).unwrap();
    let load = Load::new(0, ArrivalProcess::Poisson { rate_rps: 1e5 }, 20_000, 0);
    let outcome = run(&config, &plan, "accelflow", &[load], 1);
    let operations: u64 = outcome.totals.on_accelerators.iter().sum();
    let share = outcome.totals.exceptions as f64 / operations as f64;
    assert!((share - 0.05).abs() < 0.003, "{share}");
    let totals = &outcome.totals;
    assert_eq!(
        totals.element_busy,
        totals.element_work + totals.element_blocked + totals.element_stopped
    );
}

#[test]
fn a_saturated_run_names_the_busiest_of_what_cannot_keep_up() {
    let plan = sinks(1, Accel::Tcp);
    let saturation = |id: &str, rate_rps, values: &[(&str, f64)]| {
        let load = Load::new(0, ArrivalProcess::Poisson { rate_rps }, 20_000, 2_000);
        run(&with(values), &plan, id, &[load], 1).saturated
    };
    // 36 cores serve 3.6 million a second, eight elements 0.8 million.
    assert_eq!(saturation("non_acc", 2e6, &[]), None);
    let found = saturation("non_acc", 5e6, &[]).unwrap();
    assert_eq!(found.cause, "cores");
    assert!(found.utilization > 0.95 && found.waiting.1 > found.waiting.0);
    let found = saturation("ideal", 1.2e6, &[]).unwrap();
    assert_eq!((found.cause.as_str(), found.turned_away), ("TCP", 0));
    // With small queues what TCP turns away queues up at few cores; TCP is the cause.
    let small = [
        ("accelerator.input_entries", 8.0),
        ("accelerator.overflow_entries", 8.0),
        ("core.count", 2.0),
    ];
    let found = saturation("accelflow", 1.2e6, &small).unwrap();
    assert_eq!(found.longest_queue, "cores");
    assert!(found.turned_away > 0 || found.cause == "cores", "{found:?}");
    // LdB's dispatcher takes 10 us for each end; LdB's elements wait for it.
    let ends = [
        ("dispatcher.end", 24_000.0),
        ("accelerator.output_entries", 64.0),
    ];
    let found = saturation("accelflow", 0.2e6, &ends).unwrap();
    assert_eq!(found.cause, "LdB's dispatcher");
    // One of 64 entries is at the dispatcher, eight results wait in elements.
    assert_eq!((found.utilization, found.waiting.1), (1.0, 63 + 8));
    let found = saturation("ideal", 0.6e6, &[("tenant.max_traces", 4.0)]).unwrap();
    assert_eq!(found.cause, "tenant limit");
}

#[test]
fn a_full_queue_of_all_accelerators_is_named_unless_an_accelerator_fills_it() {
    let plan = sinks(1, Accel::Tcp);
    let saturation = |rate_rps, latency_ns| {
        let load = Load::new(0, ArrivalProcess::Poisson { rate_rps }, 20_000, 2_000);
        let values = [
            ("relief.queue_entries", 1_000.0),
            ("relief.latency_ns", latency_ns),
        ];
        run(&with(&values), &plan, "relief", &[load], 1).saturated
    };
    // Entries wait 10 ms for the manager's decision, so that the queue admits 0.1 million a second
    // or a little more. TCP could serve 0.8 million.
    let found = saturation(0.5e6, 1e7).unwrap();
    assert_eq!(
        (found.cause.as_str(), found.utilization),
        ("manager's queue", 1.0)
    );
    assert!(found.turned_away > 5_000, "{found:?}");
    // Without this wait, the queue fills behind TCP.
    let found = saturation(1.6e6, 0.0).unwrap();
    assert_eq!(found.cause, "TCP");
    assert!(found.utilization > 0.95, "{found:?}");
}
