//! The whole server: exact times of single requests, agreement with the analytic model, and laws.

#![allow(clippy::unwrap_used)]

use accelflow_cerebros::catalogue::describe;
use accelflow_cerebros::platform::PARAMETERS;
use accelflow_cerebros::schema::{Type, Value};
use accelflow_cerebros::services::{Call, Function, Service};
use accelflow_cerebros::{
    Arrivals, Design, Load, Message, Platform, Queue, SimulationResult, Steering, Summary,
    analytic, breakdown, simulate,
};
use accelflow_units::{Bytes, Time};
use proptest::prelude::*;

const LEAST: Steering = Steering::LeastLoaded;

#[test]
fn the_size_of_code_does_not_depend_on_the_blocks_of_caches() {
    let platform = with(&[("l1i_block_bytes", 128.0)]);
    let code = |platform: &Platform| {
        let services = describe(platform);
        let functions = services.iter().flat_map(|service| &service.functions);
        functions
            .map(|function| function.code_kb)
            .collect::<Vec<_>>()
    };
    assert_eq!(code(&platform), code(&Platform::default()));
}

fn serve(service: &Service, platform: &Platform, design: Design, load: &Load) -> SimulationResult {
    simulate(service, platform, design, LEAST, load).unwrap()
}

fn service(name: &str) -> Service {
    Service::named(name).unwrap()
}

fn with(changes: &[(&str, f64)]) -> Platform {
    let mut platform = Platform::default();
    for (name, value) in changes {
        platform.set(name, *value).unwrap();
    }
    platform
}

/// One request of UniqueId.
fn alone(platform: &Platform, design: Design) -> SimulationResult {
    serve(
        &service("UID"),
        platform,
        design,
        &Load::new(Arrivals::Closed(1), 1),
    )
}

#[test]
fn every_parameter_is_simulated_at_its_largest_value_or_refused() {
    for parameter in PARAMETERS.parameters() {
        let (_, most) = parameter.kind.range(parameter.default);
        let platform = with(&[(parameter.key, most)]);
        if platform.check().is_ok() {
            let load = Load::new(Arrivals::Closed(1), 2);
            for design in Design::ALL {
                let found = simulate(&service("USR"), &platform, design, LEAST, &load);
                assert!(found.is_ok(), "{} = {most}", parameter.key);
            }
        }
    }
}

#[test]
fn code_has_the_same_bytes_in_blocks_of_any_size() {
    let misses_in_blocks_of = |bytes: f64| {
        let platform = with(&[("l1i_block_bytes", bytes)]);
        let uid = service("UID").in_blocks_of(bytes);
        let load = Load::new(Arrivals::Closed(1), 1);
        let result = serve(&uid, &platform, Design::Full, &load);
        result.all.misses + result.all.layer_misses
    };
    assert_eq!(misses_in_blocks_of(64.0), 2 * misses_in_blocks_of(128.0));
    assert_eq!(misses_in_blocks_of(32.0), 2 * misses_in_blocks_of(64.0));
}

#[test]
fn one_request_takes_what_the_analytic_model_says_under_every_design() {
    let platform = Platform::default();
    for service in Service::all() {
        for design in Design::ALL {
            let run = serve(
                &service,
                &platform,
                design,
                &Load::new(Arrivals::Closed(1), 60),
            );
            assert_eq!(run.all.spent.queued, Time::ZERO);
            for (function, group) in service.functions.iter().zip(&run.functions) {
                if group.requests == 0 {
                    continue;
                }
                let exact = analytic(&platform, function).total_cycles(design);
                let ours = platform.cycles(group.spent.rpc()) / group.requests as f64;
                // The closed form splits the accelerator's cycles in proportion to software's;
                // otherwise each step is rounded to a picosecond.
                let allowed = if design == Design::PayloadOnly {
                    0.02
                } else {
                    1e-4
                };
                assert!(
                    (ours / exact - 1.0).abs() < allowed,
                    "{} {}: {ours} and {exact}",
                    function.call.name,
                    design.name()
                );
            }
        }
    }
}

#[test]
fn unique_id_gives_the_papers_ratios() {
    let platform = Platform::default();
    let cycles = |design| platform.cycles(alone(&platform, design).all.spent.rpc());
    // Tasks end at whole picoseconds.
    let near = |ours: f64, exact: f64| assert!((ours - exact).abs() < 0.01, "{ours}, {exact}");
    let none = cycles(Design::None);
    assert_eq!(none, 4_500.0);
    let spent = alone(&platform, Design::PayloadAndHeader).all.spent;
    assert_eq!(platform.cycles(spent.offload), 1_600.0);
    near(platform.cycles(spent.accelerator), 90.0);
    near(cycles(Design::Full), 90.0);
    let ratio = |design| format!("{:.1}", none / cycles(design));
    assert_eq!(ratio(Design::PayloadOnly), "1.7");
    assert_eq!(ratio(Design::PayloadAndHeader), "2.3");
    assert_eq!(ratio(Design::Full), "50.0");
    let over = cycles(Design::PayloadAndHeader) / cycles(Design::Full);
    assert_eq!(format!("{over:.1}"), "21.5");
    let coalesced = cycles(Design::Coalesced);
    assert!(cycles(Design::Private) < coalesced && coalesced < cycles(Design::PayloadAndHeader));
}

#[test]
fn unique_id_breaks_down_as_the_analytic_model_has_it() {
    let parts = breakdown(&Platform::default(), &service("UID").functions[0]);
    assert!((parts.header_cycles - 1_555.0).abs() < 1e-9);
    assert!((parts.dispatch_cycles - 245.0).abs() < 1e-9);
    assert!((parts.payload_cycles - 2_700.0).abs() < 1e-9);
    // The nested call's payload has one field more than the request's.
    let field = Platform::default().software_field_cycles;
    assert!((parts.nested_cycles - (4_500.0 + field) / 2.0).abs() < 1e-9);
}

#[test]
fn a_request_is_the_sum_of_its_parts() {
    let platform = Platform::default();
    // Notification, the layer, the function, and each of its 688 blocks once from afar.
    let function = 6_100.0 + 688.0 * 2.0;
    let near = |ours: f64, exact: f64| assert!((ours - exact).abs() < 0.01, "{ours}, {exact}");
    for (design, on_core) in [(Design::None, 4_500.0), (Design::PayloadAndHeader, 1_935.0)] {
        let run = alone(&platform, design);
        near(platform.cycles(run.makespan), 40.0 + on_core + function);
        assert_eq!(run.all.misses, 688);
    }
    // A core waits for the two messages of the nested call, not for its own request and response.
    let run = alone(&platform, Design::Full);
    near(platform.cycles(run.makespan), 40.0 + 90.0 + function);
    // Each has a header of 5 cycles for its fields; the request's own have 6.
    let messages = (5.0 + 7.375 + 6.0 + 7.375) + (5.0 + 7.375 + 7.375);
    near(platform.cycles(run.all.spent.on_core), messages);
}

#[test]
fn one_step_of_any_cost_changes_a_request_by_what_it_occurs() {
    let makespan = |changes: &[(&str, f64)], design| {
        let platform = with(changes);
        platform.cycles(alone(&platform, design).makespan)
    };
    for (name, default, design, occurs) in [
        ("software_header_cycles", 388.75, Design::None, 4.0),
        ("software_dispatch_cycles", 61.25, Design::None, 4.0),
        (
            "software_dispatch_cycles",
            61.25,
            Design::PayloadAndHeader,
            4.0,
        ),
        ("software_payload_cycles", 452.0, Design::None, 4.0),
        ("software_word_cycles", 2.0, Design::None, 6.0),
        ("traversal_cycles", 40.0, Design::PayloadAndHeader, 40.0),
        ("traversal_cycles", 40.0, Design::Full, 0.0),
        ("cache_access_cycles", 7.375, Design::PayloadAndHeader, 8.0),
        ("cache_access_cycles", 7.375, Design::Private, 8.0),
        ("cache_access_cycles", 7.375, Design::Full, 8.0),
        ("schema_map_cycles", 0.0, Design::Full, 2.0),
        ("schema_map_cycles", 0.0, Design::PayloadAndHeader, 0.0),
        ("notification_cycles", 40.0, Design::Full, 1.0),
        ("miss_stall_cycles", 2.0, Design::Full, 688.0),
        (
            "offload_traversals_before",
            3.0,
            Design::PayloadAndHeader,
            8.0 * 40.0,
        ),
    ] {
        let step = 4.0;
        let difference = makespan(&[(name, default + step)], design) - makespan(&[], design);
        let expected = occurs * step;
        assert!(
            (difference - expected).abs() < 0.01,
            "{name}: {difference}, not {expected}"
        );
    }
}

#[test]
fn an_unknown_function_is_left_to_the_core_and_its_nested_call_is_not() {
    let platform = Platform::default();
    let load = Load {
        unknown: 1.0,
        ..Load::new(Arrivals::Closed(1), 1)
    };
    let run = serve(&service("UID"), &platform, Design::Full, &load);
    assert_eq!((run.fallbacks, run.answered), (1, 1));
    let spent = run.all.spent;
    // Request and response in software: two headers, dispatches and payloads, of which one has
    // five fields and three words.
    let fields = 5.0 * platform.software_field_cycles + 3.0 * platform.software_word_cycles;
    let software = 2.0 * (388.75 + 61.25 + 452.0) + fields;
    assert!((platform.cycles(spent.software) - software).abs() < 0.01);
    // The header that told Cerebros so, and the nested call.
    let accelerator = platform.cycles(spent.accelerator);
    assert!(
        (accelerator - (12.375 + 45.5)).abs() < 0.01,
        "{accelerator}"
    );
    assert_eq!(platform.cycles(spent.execute), 6_100.0);
}

#[test]
fn a_malformed_request_is_answered_without_its_function() {
    let load = Load {
        malformed: 1.0,
        ..Load::new(Arrivals::Closed(1), 1)
    };
    for design in Design::ALL {
        let run = serve(&service("UID"), &Platform::default(), design, &load);
        assert_eq!(run.answered, 1);
        assert_eq!(run.all.spent.function(), Time::ZERO, "{}", design.name());
        assert_eq!(run.fallbacks, u64::from(design == Design::Full));
    }
}

/// A service of one function whose request is a list of many small integers.
fn small_integers() -> Service {
    let list = Value::List(Type::I64, vec![Value::I64(1); 200]);
    let mut service = service("UID");
    service.functions = vec![Function {
        call: Call {
            name: "Sum".into(),
            request: Message::new(vec![list]),
            response: Message::new(vec![Value::I64(1)]),
        },
        nested: Vec::new(),
        ..service.functions[0].clone()
    }];
    service
}

#[test]
fn a_payload_that_outgrows_its_reservation_is_left_to_the_core() {
    let load = Load::new(Arrivals::Closed(1), 3);
    let run = serve(&small_integers(), &Platform::default(), Design::Full, &load);
    assert_eq!(run.fallbacks, 3);
    let larger = with(&[("reservation_ratio", 8.0)]);
    assert_eq!(
        serve(&small_integers(), &larger, Design::Full, &load).fallbacks,
        0
    );
}

/// Bytes of UID's request, and of the response to the call that it nests.
fn unique_id_sizes() -> (u64, u64) {
    let function = &service("UID").functions[0];
    let request = 19 + function.call.request.wire().get();
    (request, 19 + function.nested[0].response.wire().get())
}

#[test]
fn without_memory_messages_get_nacks_and_come_again() {
    let (request, nested) = unique_id_sizes();
    // Room for two requests and one nested response, each with four times its size beside it.
    let capacity = 10 * request + 5 * nested;
    let platform = with(&[("buffer_bytes", capacity as f64)]);
    let load = Load::new(Arrivals::Closed(16), 400);
    let run = serve(&service("UID"), &platform, Design::Full, &load);
    assert!(run.nacks > 0 && run.refused > 0 && run.answered > 0);
    assert_eq!(run.answered + run.refused, 400);
    assert_eq!(run.buffer_peak, Bytes(capacity));
    assert_eq!(run.buffer_left, Bytes(0));
    // Too little for two requests: one, and its nested response.
    let less = with(&[("buffer_bytes", (10 * request - 1) as f64)]);
    let run = serve(&service("UID"), &less, Design::Full, &load);
    assert_eq!(run.buffer_peak, Bytes(5 * (request + nested)));
    let none = with(&[("buffer_bytes", 1.0), ("retries", 2.0)]);
    let run = serve(&service("UID"), &none, Design::Full, &load);
    assert_eq!((run.answered, run.refused, run.nacks), (0, 400, 1_200));
}

#[test]
fn nested_responses_need_memory_too() {
    let (request, nested) = unique_id_sizes();
    let load = Load::new(Arrivals::Closed(1), 10);
    for design in Design::ALL {
        let with_bytes = |bytes: u64| {
            let platform = with(&[("buffer_bytes", bytes as f64)]);
            serve(&service("UID"), &platform, design, &load)
        };
        let both = 5 * (request + nested);
        let enough = with_bytes(both);
        assert_eq!((enough.answered, enough.nacks), (10, 0));
        assert_eq!(enough.buffer_peak, Bytes(both));
        // The sender of the response tries three times more, and the request cannot be answered.
        let less = with_bytes(both - 1);
        assert_eq!((less.answered, less.refused, less.nacks), (0, 10, 40));
        assert_eq!(less.buffer_left, Bytes(0));
    }
}

#[test]
fn a_core_waits_for_a_response_that_comes_again() {
    let (request, nested) = unique_id_sizes();
    // Two requests, of which one can have its nested response at a time.
    let platform = with(&[("buffer_bytes", (10 * request + 5 * nested) as f64)]);
    let load = Load::new(Arrivals::Closed(2), 2);
    let run = serve(&service("UID"), &platform, Design::Full, &load);
    assert_eq!((run.answered, run.refused), (2, 0));
    let waited = Time::from_ns_f64(platform.retry_after_ns);
    assert_eq!(run.all.spent.refused, waited * run.nacks);
    assert!(run.nacks > 0);
}

#[test]
fn nested_responses_that_outgrow_their_memory_are_left_to_the_core() {
    let mut service = service("UID");
    let outgrown = small_integers().functions[0].call.request.clone();
    service.functions[0].nested[0].response = outgrown;
    let load = Load::new(Arrivals::Closed(1), 3);
    let run = serve(&service, &Platform::default(), Design::Full, &load);
    assert_eq!((run.answered, run.fallbacks), (3, 3));
    assert!(run.all.spent.software > Time::ZERO);
    let larger = with(&[("reservation_ratio", 8.0)]);
    let run = serve(&service, &larger, Design::Full, &load);
    assert_eq!((run.fallbacks, run.all.spent.software), (0, Time::ZERO));
}

#[test]
fn contention_for_pipelines_is_the_one_difference_to_the_analytic_model_under_load() {
    let sg = service("SG");
    let load = Load::new(Arrivals::Closed(60), 3_000);
    for design in [Design::PayloadAndHeader, Design::Full] {
        let one = with(&[("pipelines", 1.0)]);
        let run = serve(&sg, &one, design, &load);
        assert!(run.all.spent.queued > Time::ZERO, "{}", design.name());
        let exact: f64 = sg
            .functions
            .iter()
            .zip(&run.functions)
            .map(|(f, g)| analytic(&one, f).total_cycles(design) * g.requests as f64)
            .sum();
        let ours = one.cycles(run.all.spent.rpc());
        assert!((ours / exact - 1.0).abs() < 1e-5);
    }
    let run = serve(&sg, &with(&[("pipelines", 1.0)]), Design::Private, &load);
    assert_eq!(run.all.spent.queued, Time::ZERO);
}

/// What the pipelines could serve over what the cores could: of a run on `platform`.
fn headroom(platform: &Platform, design: Design, load: &Load) -> Option<f64> {
    let sg = service("SG");
    let run = serve(&sg, platform, design, load);
    let summary = Summary::of(&sg, platform, design, run).unwrap();
    summary.accelerator_headroom_ratio
}

#[test]
fn the_accelerators_headroom_does_not_depend_on_waits() {
    let at = |share| Load::new(Arrivals::Share(share), 3_000);
    for (design, threads) in [
        (Design::PayloadAndHeader, 1.0),
        (Design::Full, 1.0),
        (Design::Full, 4.0),
    ] {
        let of = |pipelines, share| {
            let platform = with(&[("pipelines", pipelines), ("core_threads", threads)]);
            headroom(&platform, design, &at(share)).unwrap()
        };
        let (queued, idle) = (of(1.0, 0.9), of(7.0, 0.1) / 7.0);
        assert!(
            (queued / idle - 1.0).abs() < 0.02,
            "{} {threads}: {queued} {idle}",
            design.name()
        );
    }
    // Waits for memory. No request is given up, as that would change the mix of functions.
    let scarce = with(&[("buffer_bytes", 50_000.0)]);
    let closed = Load::new(Arrivals::Closed(60), 3_000);
    let run = serve(&service("SG"), &scarce, Design::Full, &closed);
    assert!(run.all.spent.refused > Time::ZERO);
    assert_eq!(run.refused, 0);
    let refused = headroom(&scarce, Design::Full, &closed).unwrap();
    let ample = headroom(&Platform::default(), Design::Full, &closed).unwrap();
    assert!((refused / ample - 1.0).abs() < 0.02, "{refused} {ample}");
}

#[test]
fn pipelines_without_tasks_have_no_headroom() {
    let load = Load::new(Arrivals::Closed(4), 100);
    for design in [Design::None, Design::Private] {
        assert_eq!(headroom(&Platform::default(), design, &load), None);
    }
}

#[test]
fn affinity_finds_warm_cores_and_saves_what_the_paper_says_it_does() {
    let usr = service("USR");
    let load = Load {
        warmup: 1_000,
        ..Load::new(Arrivals::Share(0.3), 8_000)
    };
    let run =
        |steering| simulate(&usr, &Platform::default(), Design::Full, steering, &load).unwrap();
    let (without, affinity) = (run(LEAST), run(Steering::Affinity));
    let steered = affinity.all.steered as f64 / affinity.all.requests as f64;
    assert!(steered > 0.95, "{steered}; paper 0.98");
    for n in 0..6 {
        let of = |o: &SimulationResult| o.functions[n].mean(o.functions[n].spent.function());
        let faster = of(&without) / of(&affinity);
        match n {
            0 | 1 => assert!(
                (faster - 1.0).abs() < 0.03,
                "F{n} is bound by capacity: {faster}"
            ),
            2 => assert!(faster > 1.05, "F2: {faster}"),
            _ => assert!(
                (1.5..2.2).contains(&faster),
                "F{n}: {faster}; paper 1.8 to 2"
            ),
        }
    }
}

#[test]
fn deeper_maps_call_more_cores_affine() {
    let usr = service("USR");
    let load = Load {
        warmup: 500,
        ..Load::new(Arrivals::Share(0.7), 4_000)
    };
    let steered: Vec<u64> = [1.0, 2.0, 4.0]
        .map(|depth| {
            let platform = with(&[("function_map_depth", depth)]);
            let run = simulate(&usr, &platform, Design::Full, Steering::Affinity, &load).unwrap();
            run.all.steered
        })
        .to_vec();
    assert!(
        steered[0] < steered[1] && steered[1] < steered[2],
        "{steered:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn requests_are_answered_or_refused_and_memory_comes_back(
        seed in 0_u64..1_000, senders in 1_usize..40, kilobytes in 1_u64..40, slots in 1_u64..4,
        threads in 1_u64..4, arenas in 1_u64..3, design in 0_usize..6, open: bool,
    ) {
        let arrivals = if open { Arrivals::Rate(3e6) } else { Arrivals::Closed(senders) };
        let load = Load { seed, unknown: 0.1, malformed: 0.1, ..Load::new(arrivals, 150) };
        let platform = with(&[
            ("buffer_bytes", (kilobytes * 1_024) as f64),
            ("core_slots", slots as f64),
            ("core_threads", threads as f64),
            ("arenas", arenas as f64),
            ("pipelines", 1.0),
        ]);
        let cp = service("CP");
        let run = serve(&cp, &platform, Design::ALL[design], &load);
        prop_assert_eq!(run.answered + run.refused, 150);
        prop_assert_eq!(run.buffer_left, Bytes(0));
        prop_assert!(run.buffer_peak <= Bytes(kilobytes * 1_024));
        prop_assert!(run.pipeline_utilisation <= 1.0 + 1e-9 && run.core_utilisation <= 1.0 + 1e-9);
        let by_function: u64 = run.functions.iter().map(|g| g.requests).sum();
        prop_assert_eq!(by_function, run.all.requests);
        let spent = &run.all.spent;
        let waited = spent.queued + spent.refused + spent.away + spent.switched;
        prop_assert!(spent.on_core <= spent.rpc() + waited);
        let again = serve(&cp, &platform, Design::ALL[design], &load);
        prop_assert_eq!(run, again);
    }
}

#[test]
fn functions_beyond_the_schema_map_are_left_to_cores() {
    let load = Load::new(Arrivals::Closed(1), 400);
    let usr = service("USR");
    let run = serve(
        &usr,
        &with(&[("schema_map_entries", 1.0)]),
        Design::Full,
        &load,
    );
    let known: u64 = run.functions[2].requests;
    assert!(known > 0 && run.fallbacks > 0);
    assert_eq!(run.fallbacks, run.answered - known);
    let all = serve(&usr, &Platform::default(), Design::Full, &load);
    assert_eq!(all.fallbacks, 0);
}

#[test]
fn an_asynchronous_core_goes_on_while_nested_calls_are_away() {
    let latency = ("nested_latency_ns", 20_000.0);
    let load = Load::new(Arrivals::Closed(400), 3_000);
    let cp = service("CP");
    let of = |changes: &[(&str, f64)]| serve(&cp, &with(changes), Design::Full, &load);
    let waiting = of(&[latency]);
    let going_on = of(&[latency, ("core_threads", 8.0)]);
    // A core that waits for each of several calls of 20 us does next to nothing else.
    assert!(going_on.throughput_rps > 5.0 * waiting.throughput_rps);
    assert!(going_on.throughput_rps < 8.1 * waiting.throughput_rps);
    // It pays for that with a switch for each nested call, of which the waiting core has none.
    assert_eq!(waiting.all.spent.switched, Time::ZERO);
    let platform = Platform::default();
    let calls: f64 = cp
        .functions
        .iter()
        .map(|f| f.nested.len() as f64 / 6.0)
        .sum();
    let switches = platform.cycles(going_on.all.spent.switched) / 200.0 / 3_000.0;
    assert!((switches / calls - 1.0).abs() < 0.1, "{switches}, {calls}");
    assert_eq!(going_on.answered, 3_000);
    assert_eq!(going_on.all.spent.execute, waiting.all.spent.execute);
    assert!(going_on.all.spent.on_core < waiting.all.spent.on_core);
}

/// The queue that grew, if one did.
fn saturated(
    service: &Service,
    changes: &[(&str, f64)],
    design: Design,
    share: f64,
) -> Option<Queue> {
    let load = Load::new(Arrivals::Share(share), 3_000);
    let run = serve(service, &with(changes), design, &load);
    assert!(run.offered_rps.is_some());
    run.saturated.map(|saturation| saturation.queue)
}

#[test]
fn a_server_that_cannot_keep_up_says_which_queue_grows() {
    let uid = service("UID");
    for design in [Design::None, Design::PayloadAndHeader, Design::Full] {
        assert_eq!(saturated(&uid, &[], design, 0.5), None, "{}", design.name());
        assert_eq!(saturated(&uid, &[], design, 2.0), Some(Queue::Cores));
    }
    // Without nested calls no core waits for the pipelines, but requests do.
    let slow = [("pipelines", 1.0), ("cache_access_cycles", 2_000.0)];
    let mut alone = service("UID");
    alone.functions[0].nested.clear();
    assert_eq!(
        saturated(&alone, &slow, Design::Full, 2.0),
        Some(Queue::Pipelines)
    );
    let one = [("pipelines", 1.0), ("cache_access_cycles", 200.0)];
    assert_eq!(
        saturated(&service("SG"), &one, Design::PayloadAndHeader, 2.0),
        Some(Queue::CoresForPipelines)
    );
    let small = [("buffer_bytes", 1_500.0)];
    assert_eq!(
        saturated(&uid, &small, Design::Full, 0.9),
        Some(Queue::Memory)
    );
    let closed = Load::new(Arrivals::Closed(1_000), 3_000);
    let run = serve(&service("UID"), &Platform::default(), Design::None, &closed);
    assert_eq!((run.offered_rps, run.saturated), (None, None));
}
