//! The decisions of each orchestrator, and how runs under different ones differ.

#![allow(clippy::unwrap_used)]

use accelflow_sim::orchestrators::{
    Arm, Completion, Decision, LADDER, Links, ManagerVisit, Next, ORCHESTRATORS, Queueing,
    orchestrator,
};
use accelflow_sim::plan::{Form, PhasePlan, Plan};
use accelflow_sim::{Config, Load};
use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::services::{Chain, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use crate::common::{
    ALL, NOTHING_NS, SYSTEMS, fixed_plan, frictionless, image, receive, responses, run, set, sink,
    together,
};

/// Seven kinds of completion, all of Decr.
fn completions() -> [(&'static str, Completion); 7] {
    let plain = Completion {
        from: Accel::Decr,
        next: Next::Forward(Accel::Rpc),
        arm: Arm::None,
        branches: 0,
        loads: 0,
        transforms: 0,
        size: Bytes(2_048),
    };
    let branch = Completion {
        branches: 1,
        ..plain
    };
    let transform = Completion {
        branches: 1,
        transforms: 1,
        ..plain
    };
    let large = Completion {
        size: Bytes(2_049),
        ..plain
    };
    let large_transform = Completion {
        transforms: 1,
        size: Bytes(4_096),
        ..plain
    };
    let park = Completion {
        next: Next::Park,
        loads: 1,
        ..plain
    };
    let end = Completion {
        next: Next::End,
        ..plain
    };
    [
        ("plain", plain),
        ("branch", branch),
        ("transform", transform),
        ("large", large),
        ("large transform", large_transform),
        ("park", park),
        ("end", end),
    ]
}

fn us(microseconds: f64) -> Time {
    Time::from_ns_f64(microseconds * 1e3)
}

fn decisions(id: &str, links: &Links) -> Vec<Decision> {
    let config = Config::default();
    let decide = |(_, completion): &(&str, Completion)| {
        orchestrator(id).unwrap().decide(completion, &config, links)
    };
    completions().iter().map(decide).collect()
}

fn core(microseconds: f64) -> Decision {
    Decision {
        core: us(microseconds),
        ..Decision::default()
    }
}

fn background(microseconds: f64) -> Decision {
    Decision {
        background: us(microseconds),
        ..Decision::default()
    }
}

#[test]
fn ideal_and_non_acc_charge_nobody() {
    for id in ["ideal", "non_acc"] {
        let nothing = vec![Decision::default(); 7];
        assert_eq!(decisions(id, &Links::default()), nothing, "{id}");
    }
}

#[test]
fn cpu_centric_interrupts_the_core_for_every_hand_over() {
    let expected = [
        core(4.133),
        core(4.133),
        core(4.133 + 2.0),
        core(4.133),
        core(4.133 + 4.0),
        background(3.333),
        Decision::default(),
    ];
    assert_eq!(decisions("cpu_centric", &Links::default()), expected);
}

#[test]
fn relief_asks_its_manager_always_and_the_core_when_a_chain_is_not_simple() {
    let manager = Some(ManagerVisit {
        occupancy: us(0.13),
        latency: us(1.5),
    });
    let expected = [
        Decision::default(),
        core(4.133),
        core(4.133 + 2.0),
        core(4.133),
        core(4.133 + 4.0),
        background(3.333),
        Decision::default(),
    ]
    .map(|decision| Decision {
        manager,
        ..decision
    });
    for id in ["relief", "per_acc_type_q"] {
        assert_eq!(decisions(id, &Links::default()), expected, "{id}");
    }
}

#[test]
fn a_manager_that_does_what_chains_cannot_leaves_the_core_alone() {
    // Branches add 7 instructions each and a transformation 12 for each 2 KB, at 2.4 a ns.
    let mut config = Config::default();
    set(
        &mut config,
        &[("relief.fallback", 1.0), ("relief.occupancy_ns", 100.0)],
    );
    for id in ["relief", "per_acc_type_q", "direct", "cntr_flow"] {
        let system = orchestrator(id).unwrap();
        for (kind, completion) in completions() {
            let decision = system.decide(&completion, &config, &Links::default());
            assert_eq!(decision.core, Time::ZERO, "{id}, {kind}");
        }
    }
    let branching = Completion {
        branches: 1,
        transforms: 1,
        ..completions()[0].1
    };
    let resolving = config.dispatch(7 + 12);
    let visit = ManagerVisit {
        occupancy: Time::from_ns(100) + resolving,
        latency: us(1.5) + resolving,
    };
    for id in ["relief", "direct"] {
        let system = orchestrator(id).unwrap();
        let decision = system.decide(&branching, &config, &Links::default());
        assert_eq!(decision.manager, Some(visit), "{id}");
    }
}

#[test]
fn direct_systems_differ_in_what_their_dispatchers_can_do() {
    let config = Config::default();
    let expected = |id: &str, instructions: [u64; 7], fallbacks: [f64; 7], manager: bool| {
        let visit = manager.then(|| ManagerVisit::of(&config));
        let rows = instructions.into_iter().zip(fallbacks);
        let expected: Vec<_> = rows
            .map(|(instructions, fallback)| Decision {
                dispatcher: config.dispatch(instructions),
                instructions,
                manager: visit.filter(|_| fallback > 0.0),
                ..core(fallback)
            })
            .collect();
        assert_eq!(decisions(id, &Links::default()), expected, "{id}");
    };
    let all = [0.0, 4.133, 4.133 + 2.0, 4.133, 4.133 + 4.0, 0.0, 0.0];
    expected("direct_list", [15, 15, 15, 15, 15, 27, 35], all, false);
    expected("direct", [15, 15, 15, 15, 15, 27, 35], all, true);
    let few = [0.0, 0.0, 4.133 + 2.0, 4.133, 4.133 + 4.0, 0.0, 0.0];
    expected("cntr_flow", [15, 22, 22, 15, 15, 27, 35], few, true);
}

#[test]
fn the_ladder_adds_one_technique_at_a_time() {
    let names = LADDER.map(|system| (system.id(), system.paper_name()));
    assert_eq!(
        names,
        [
            ("relief", "RELIEF"),
            ("per_acc_type_q", "PerAccTypeQ"),
            ("direct", "Direct"),
            ("cntr_flow", "CntrFlow"),
            ("accelflow", "AccelFlow"),
        ]
    );
    let config = Config::default();
    let visit = Some(ManagerVisit::of(&config));
    let submissions = LADDER.map(|system| system.properties(&config).submission);
    assert_eq!(submissions, [visit, visit, None, None, None]);
    let central = LADDER.map(|system| system.properties(&config).queueing == Queueing::Central);
    assert_eq!(central, [true, false, false, false, false]);
    assert_eq!(
        accelflow_sim::orchestrators::SYSTEMS.map(|system| system.id()),
        SYSTEMS
    );
}

#[test]
fn cohort_spares_the_core_between_linked_accelerators_only() {
    let linked = Links::most_frequent(&[((Accel::Decr, Accel::Rpc), 1)]);
    let mut expected = vec![
        Decision::default(),
        core(1.25),
        core(1.25 + 2.0),
        core(1.25),
        core(1.25 + 4.0),
        background(1.25),
        Decision::default(),
    ];
    assert_eq!(decisions("cohort_polling", &linked), expected);
    expected[0] = core(1.25);
    let backwards = Links::most_frequent(&[((Accel::Rpc, Accel::Decr), 1)]);
    assert_eq!(decisions("cohort_polling", &backwards), expected);
    // To the letter, the core does outside a pair what it does in CPU-Centric.
    let central = decisions("cpu_centric", &Links::default());
    assert_eq!(decisions("cohort", &backwards), central);
    let mut expected = central;
    expected[0] = Decision::default();
    assert_eq!(decisions("cohort", &linked), expected);
}

#[test]
fn accelflow_charges_dispatchers_by_the_instruction() {
    let config = Config::default();
    let expected = [15, 22, 34, 15, 15 + 24, 27, 35].map(|instructions| Decision {
        dispatcher: config.dispatch(instructions),
        instructions,
        ..Decision::default()
    });
    assert_eq!(decisions("accelflow", &Links::default()), expected);
    assert_eq!(config.dispatch(24), Time::from_ns(10));
}

#[test]
fn starts_and_ends_of_chains_cost_what_each_system_does() {
    let (config, all) = (Config::default(), accelflow_sim::orchestrators::SYSTEMS);
    let expected = [
        ("non_acc", "Non-acc", 0.0, 0.0, false, false),
        ("cpu_centric", "CPU-Centric", 0.8, 1.333, true, false),
        ("relief", "RELIEF", 0.8, 1.333, true, false),
        ("cohort", "Cohort", 0.8, 1.333, true, false),
        ("cohort_polling", "Cohort (polling)", 0.1, 0.15, true, false),
        ("per_acc_type_q", "PerAccTypeQ", 0.8, 1.333, true, false),
        ("direct_list", "Direct (Fig. 3)", 0.05, 0.05, true, true),
        ("direct", "Direct", 0.05, 0.05, true, true),
        ("cntr_flow", "CntrFlow", 0.05, 0.05, true, true),
        ("accelflow", "AccelFlow", 0.05, 0.05, true, true),
        (
            "accelflow_deadline",
            "AccelFlow+Deadlines",
            0.05,
            0.05,
            true,
            true,
        ),
        ("accelflow_edf", "AccelFlow+EDF", 0.05, 0.05, true, true),
        ("ideal", "Ideal", 0.0, 0.0, true, true),
    ];
    assert_eq!(ORCHESTRATORS.map(|system| system.id()), ALL);
    assert_eq!(SYSTEMS.len(), expected.len());
    for (system, (id, name, start, notified, accelerated, parks)) in all.into_iter().zip(expected) {
        assert_eq!((system.id(), system.paper_name()), (id, name));
        let properties = system.properties(&config);
        assert_eq!(properties.start, us(start), "{id}");
        assert_eq!(properties.notified, us(notified), "{id}");
        let found = (properties.accelerated, properties.parks);
        assert_eq!(found, (accelerated, parks), "{id}");
        assert_eq!(orchestrator(&name.to_uppercase()).unwrap().id(), id);
    }
    assert_eq!(
        orchestrator("centaur").err().unwrap().to_string(),
        "orchestrator = 'centaur': must be one of non_acc, cpu_centric, relief, cohort, \
         cohort_polling, per_acc_type_q, direct_list, direct, cntr_flow, accelflow, \
         accelflow_deadline, accelflow_edf, ideal"
    );
}

#[test]
fn links_are_the_most_frequent_pairs_and_no_accelerator_is_in_two() {
    use accelflow_trace::nine::{Decr, Dser, Encr, Ldb, Rpc, Ser, Tcp};
    let pairs = |transitions: &[((Accel, Accel), u64)]| {
        Links::most_frequent(transitions)
            .pairs()
            .collect::<Vec<_>>()
    };
    // TCP is Encr's, so that Decr is free for RPC; Dser-Dser is no pair.
    assert_eq!(
        pairs(&[
            ((Tcp, Decr), 9),
            ((Encr, Tcp), 10),
            ((Dser, Dser), 99),
            ((Ser, Tcp), 8),
            ((Decr, Rpc), 3),
            ((Rpc, Dser), 2),
            ((Dser, Ldb), 0),
        ]),
        [(Encr, Tcp), (Decr, Rpc)]
    );
    // Ties go to the lower accelerators.
    assert_eq!(
        pairs(&[((Ser, Rpc), 5), ((Rpc, Dser), 5), ((Rpc, Encr), 5)]),
        [(Rpc, Encr)]
    );
    assert_eq!(pairs(&[]), []);
}

fn social(sizes: SizePreset) -> Plan {
    let image = image();
    let services = social_network().unwrap();
    let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
    Plan::new(&profile, &image, &PayloadSizes::preset(sizes)).unwrap()
}

#[test]
fn cohort_links_what_the_eight_services_do_most() {
    use accelflow_trace::nine::{Cmp, Decr, Dser, Encr, Ldb, Rpc, Ser, Tcp};
    let plan = social(SizePreset::SocialNetwork);
    let pairs: Vec<_> = plan.links.pairs().collect();
    assert_eq!(
        pairs,
        [(Tcp, Decr), (Rpc, Encr), (Dser, Ldb), (Cmp, Ser)],
        "27, 17, 14 and 11 of the 192 hand-overs of the eight most common paths"
    );
    assert!(plan.links.linked(Tcp, Decr));
    assert!(!plan.links.linked(Decr, Tcp) && !plan.links.linked(Decr, Rpc));
}

fn ten_us_each() -> Plan {
    fixed_plan(&sink(), NOTHING_NS, 0, &|_| 10_000.0)
}

#[test]
fn the_manager_serves_one_completion_after_the_other() {
    let mut config = frictionless();
    for (latency, occupancy) in [(1_500.0, 130.0), (1_500.0, 1_500.0), (100.0, 900.0)] {
        config.set("relief.latency_ns", latency).unwrap();
        config.set("relief.occupancy_ns", occupancy).unwrap();
        let two = responses(&config, &ten_us_each(), "relief", 2);
        assert_eq!(two[1] - two[0], Time::from_ns_f64(occupancy));
        let three = responses(&config, &ten_us_each(), "relief", 3);
        assert_eq!(three[2] - three[0], Time::from_ns_f64(2.0 * occupancy));
    }
}

#[test]
fn decisions_are_taken_by_the_requests_own_core() {
    let (base, plan) = (Config::default(), ten_us_each());
    // Cohort's core is asked twice, after Decr and Dser. The second request comes when the first
    // has been handed on, and by the second time the core has to go back to polling for it.
    for (id, cost) in [("cpu_centric", 4.133), ("cohort_polling", 1.25 + 1.0)] {
        let mut config = frictionless();
        for key in [
            "core.interrupt_ns",
            "core.context_switch_ns",
            "core.submit_ns",
            "cohort.pop_ns",
            "cohort.push_ns",
            "cohort.poll_period_ns",
        ] {
            config.set(key, base.get(key).unwrap()).unwrap();
        }
        // On one core the second request's decision waits for the first's ...
        config.set("core.count", 1.0).unwrap();
        let two = responses(&config, &plan, id, 2);
        assert_eq!(two[1] - two[0], us(cost), "{id}");
        // ... and on two, as these requests are steered to different ones, for nothing.
        config.set("core.count", 1_024.0).unwrap();
        let two = responses(&config, &plan, id, 2);
        assert_eq!(two[1], two[0], "{id}");
    }
}

#[test]
fn a_request_stays_with_the_core_that_its_first_trace_chose() {
    // Application logic of 100 us, a write of 5 us, the same again, on two cores in turn. The third
    // request comes while the first waits for its write, takes the same core and holds it.
    let write = Chain::new("T8").with("T7", "exception", 0);
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::one(write),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("StoreP", "StorePost", path).unwrap();
    let plan = fixed_plan(&service, 100_000.0, 0, &|_| NOTHING_NS);
    let load = Load::new(
        0,
        ArrivalProcess::Trace([1, 2, 103].map(Time::from_us).to_vec()),
        3,
        0,
    );
    let mut config = frictionless();
    config.set("core.count", 2.0).unwrap();
    config.set("core.balancing", 2.0).unwrap();
    let outcome = run(&config, &plan, "ideal", &[load], 1);
    let found: Vec<u64> = outcome.services[0]
        .latency
        .iter()
        .map(|time| time.as_ps() / 1_000_000)
        .collect();
    // The first is on its core from 1 to 101 and, after the third's 103 to 203, until 303 us; the
    // third again until 403. The other core is idle from 207 us on.
    assert_eq!(found, [205, 302, 300]);
}

fn loads(requests: u64) -> Vec<Load> {
    let load = |service| {
        Load::new(
            service,
            ArrivalProcess::Poisson { rate_rps: 2_000.0 },
            requests,
            20,
        )
    };
    (0..8).map(load).collect()
}

#[test]
fn every_system_sees_the_same_requests() {
    let plan = social(SizePreset::SocialNetwork);
    // All payloads fit, so that no element waits for memory, and for who else uses it.
    let mut config = Config::default();
    config.set("accelerator.inline_bytes", 65_536.0).unwrap();
    let outcomes = SYSTEMS.map(|id| run(&config, &plan, id, &loads(100), 11));
    let arrivals = |index: usize| {
        outcomes[index]
            .services
            .iter()
            .map(|service| service.measured)
    };
    for index in 1..SYSTEMS.len() {
        assert!(arrivals(index).eq(arrivals(0)), "{}", SYSTEMS[index]);
        // Sizes decide what the elements have to do.
        let work = outcomes[index].totals.element_work;
        assert_eq!(work, outcomes[1].totals.element_work, "{}", SYSTEMS[index]);
        assert!(
            outcomes[index]
                .services
                .iter()
                .all(|service| service.fallbacks.is_empty())
        );
    }
}

#[test]
fn sizes_are_a_function_of_seed_and_request() {
    let plan = social(SizePreset::Fleet);
    let PhasePlan::Chains(chains) = &plan.services[0].phases[2] else {
        panic!("the third phase of CPost is four chains");
    };
    let sizes = |seed| (0..50).map(move |request| chains[0].message(1, seed, request).size);
    assert!(sizes(1).eq(sizes(1)));
    assert!(!sizes(1).eq(sizes(2)));
    let [first, second] = [0, 1].map(|chain: usize| chains[chain].message(1, 1, 7).size);
    assert_ne!(first, second, "parallel chains have messages of their own");
    let message = chains[0].message(0, 1, 7);
    let entry = chains[0].facts.entry();
    let plain = Form {
        compressed: false,
        ratio: 2.0,
    };
    let operation = chains[0]
        .operation(entry, Accel::Ser, false, message, plain)
        .unwrap();
    assert_eq!(
        (operation.input, operation.output),
        (message.size, message.size)
    );
    assert_eq!(
        chains[0].operation(
            AtmAddress::new(255).unwrap(),
            Accel::Ser,
            false,
            message,
            plain
        ),
        None
    );
}

#[test]
fn a_seed_gives_bit_identical_results_and_another_gives_others() {
    let plan = social(SizePreset::Fleet);
    for id in SYSTEMS {
        let text = |seed| format!("{:?}", run(&Config::default(), &plan, id, &loads(60), seed));
        assert_eq!(text(3), text(3), "{id}");
        assert_ne!(text(3), text(4), "{id}");
    }
}

#[test]
fn dispatchers_are_charged_for_all_arms_of_a_fork() {
    // Login has 29 operations. Branches: T1, T5, three in T6 (one of them in the arm that writes),
    // T7. Words from the trace memory: three tails, the rest of T5, and T6's two further words, of
    // which the writing arm reads one. Ends: T1, T6's other arm, T7, T2.
    let plan = social(SizePreset::SocialNetwork);
    let login = Load {
        service: 4,
        ..together(1)[0].clone()
    };
    let outcome = run(&Config::default(), &plan, "accelflow", &[login], 1);
    let total = outcome.dispatcher_instructions.unwrap() * 29.0;
    let expected = 29 * 15 + 6 * 7 + (3 + 3) * 12 + 4 * 20;
    assert!((total - f64::from(expected)).abs() < 1e-9, "{total}");
}

#[test]
fn the_mean_dispatcher_operation_is_as_long_as_the_papers() {
    // "On average 18" (section VII.B.2) over equal numbers of the eight services' requests.
    let plan = social(SizePreset::SocialNetwork);
    let outcome = run(&Config::default(), &plan, "accelflow", &loads(60), 1);
    let mean = outcome.dispatcher_instructions.unwrap();
    assert!((17.0..22.0).contains(&mean), "{mean}");
    for id in [
        "cpu_centric",
        "relief",
        "cohort",
        "cohort_polling",
        "ideal",
        "non_acc",
    ] {
        let other = run(&Config::default(), &plan, id, &loads(60), 1);
        assert_eq!(other.dispatcher_instructions, None, "{id}");
    }
}
