//! Who gets what under each mechanism; conservation, determinism, bad input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::{
    Accelerator, Action, Arrivals, Controller, Counters, Curve, Flow, Mechanism, Operation, Order,
    Path, Platform, PlatformError, RunResult, Settings, Sizes, SoftwareConfig, SoftwareRate,
    StorageConfig, simulate, simulate_with,
};
use accelflow_kernel::Samples;
use accelflow_shaping::{FlowConfig, Registers, Splitting, Unit};
use accelflow_units::{Bandwidth, Bytes, Time};
use proptest::prelude::*;

fn platform() -> Platform {
    let peak = Bandwidth::from_bytes_per_s(4_000_000_000).unwrap();
    let setup = Time::from_ns(50);
    Platform::prototype(vec![Accelerator::new(
        "a",
        Curve::Saturating { setup, peak },
    )])
}

fn backlog(vm: usize, size: u64) -> Flow {
    Flow::new(vm, Path::InlineRx, Bytes(size), Arrivals::Backlogged)
}

fn run(flows: &[Flow], mechanism: &Mechanism) -> RunResult {
    let settings = Settings::lasting(Time::from_us(1_000));
    simulate(&platform(), flows, mechanism, &settings).unwrap()
}

fn panic(order: Order) -> Mechanism {
    Mechanism::Panic {
        order,
        buffer: 4_096,
    }
}

#[test]
fn turns_go_by_message_and_weights_by_byte() {
    let flows = [backlog(0, 3_000), backlog(1, 1_000).with_weight(2.0)];
    let turns = run(&flows, &Mechanism::NoShaping);
    assert!((turns.gbit_per_s(0) / turns.gbit_per_s(1) - 3.0).abs() < 0.02);
    let fair = run(&flows, &panic(Order::WeightedFair));
    assert!((fair.gbit_per_s(1) / fair.gbit_per_s(0) - 2.0).abs() < 0.02);
}

#[test]
fn flows_of_one_accelerator_share_it_whatever_the_other_accelerators_do() {
    let unit = |name| {
        let peak = Bandwidth::from_bytes_per_s(4_000_000_000).unwrap();
        let setup = Time::from_ns(50);
        Accelerator::new(name, Curve::Saturating { setup, peak })
    };
    let platform = Platform::prototype(vec![unit("a"), unit("b")]);
    let settings = Settings::lasting(Time::from_us(1_000));
    for (mechanism, weights) in [
        (Mechanism::NoShaping, [1.0; 4]),
        (panic(Order::WeightedFair), [1.0, 1.0, 3.0, 1.0]),
    ] {
        // Flows in turn use the two accelerators in turn, so that their turns are in step.
        for count in [3, 4] {
            let flow = |number: usize| Flow {
                accelerators: vec![number % 2],
                ..backlog(number, 1_500).with_weight(weights[number])
            };
            let flows: Vec<Flow> = (0..count).map(flow).collect();
            let result = simulate(&platform, &flows, &mechanism, &settings).unwrap();
            let share = result.gbit_per_s(2) / result.gbit_per_s(0);
            let due = weights[2] / weights[0];
            assert!((share / due - 1.0).abs() < 0.02, "{mechanism:?}: {share}");
            let least = (0..count).map(|flow| result.gbit_per_s(flow));
            assert!(least.fold(f64::MAX, f64::min) > 5.0, "{mechanism:?}");
        }
    }
}

#[test]
fn priority_starves_whoever_comes_after_it() {
    let flows = [backlog(0, 1_000).with_priority(1), backlog(1, 1_000)];
    let result = run(&flows, &panic(Order::Priority));
    assert!(result.flows[0].completions.is_empty());
    assert!(
        result.gbit_per_s(1) > 26.0,
        "1000 bytes every 300 ns are 26.7 Gbit/s"
    );
    let equal = [0, 1].map(|vm| Flow {
        queue_limit: 4,
        ..backlog(vm, 1_000)
    });
    let result = run(&equal, &panic(Order::Priority));
    assert!((result.gbit_per_s(0) / result.gbit_per_s(1) - 1.0).abs() < 0.02);
}

#[test]
fn a_shaped_flow_gets_its_rate_to_the_token() {
    // 4,096 bytes every 800 cycles: 10.24 Gbit/s, a message every 3.2 us.
    let ten = Registers::new(4_096, 4_096, 800).unwrap();
    let open = Registers::new(1 << 16, 1 << 20, 64).unwrap();
    let shaping = [ten, open]
        .map(|registers| FlowConfig::new(Unit::Bytes, registers))
        .to_vec();
    let flows = [backlog(0, 4_096), backlog(1, 1_000)];
    let result = run(&flows, &Mechanism::arcus(shaping));
    assert_eq!(result.gbit_per_s(0), 10.223616, "312 messages in 1 ms");
    let split = Splitting::segments(Bytes(1_024), Bytes(0)).unwrap();
    let segments = FlowConfig {
        splitting: split,
        ..FlowConfig::new(Unit::Bytes, ten)
    };
    let result = run(&[backlog(0, 16_384)], &Mechanism::arcus(vec![segments]));
    assert!(
        (result.gbit_per_s(0) - 10.24).abs() < 0.15,
        "{}",
        result.gbit_per_s(0)
    );
}

#[test]
fn software_keeps_its_rate_unless_it_is_interrupted() {
    let rates = vec![SoftwareRate {
        unit: Unit::Operations,
        per_s: 100e3,
    }];
    let never = Time::from_us(1_000_000_000);
    let calm = SoftwareConfig {
        interrupted_every: never,
        ..SoftwareConfig::REFLEX
    };
    let flow = Flow::new(0, Path::FunctionCall, Bytes(1_000), Arrivals::Backlogged);
    let rate = |config: SoftwareConfig| {
        let mechanism = Mechanism::Software {
            config,
            rates: rates.clone(),
        };
        let settings = Settings::lasting(Time::from_us(50_000));
        simulate(
            &platform(),
            std::slice::from_ref(&flow),
            &mechanism,
            &settings,
        )
        .unwrap()
        .per_s(0)
    };
    assert!((rate(calm) / 100e3 - 1.0).abs() < 0.01, "{}", rate(calm));
    assert!(rate(SoftwareConfig::REFLEX) < 97e3, "lost tokens stay lost");
    let deep = rate(SoftwareConfig::FIRECRACKER);
    assert!(
        (deep / 100e3 - 1.0).abs() < 0.02,
        "a deep bucket makes up for it: {deep}"
    );
}

struct Once(Vec<Action>, Time);

impl Controller for Once {
    fn tick(&mut self, now: Time, _period: Time, _counters: &[Counters]) -> Vec<Action> {
        if now == self.1 {
            std::mem::take(&mut self.0)
        } else {
            Vec::new()
        }
    }
}

#[test]
fn new_registers_count_10_us_later() {
    let [slow, fast] = [800, 400].map(|interval| Registers::new(4_096, 4_096, interval).unwrap());
    let shaping = vec![FlowConfig::new(Unit::Bytes, slow)];
    let settings = Settings {
        warmup: Time::ZERO,
        control_period: Time::from_us(100),
        ..Settings::lasting(Time::from_us(200))
    };
    let mut once = Once(
        vec![Action::Write(0, Unit::Bytes, fast)],
        Time::from_us(100),
    );
    let flows = [backlog(0, 4_096)];
    let result = simulate_with(
        &platform(),
        &flows,
        &Mechanism::arcus(shaping),
        &settings,
        &mut once,
    )
    .unwrap();
    let ends: Vec<Time> = result.flows[0]
        .completions
        .iter()
        .map(|completion| completion.at)
        .collect();
    let gaps: Vec<u64> = ends
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_ps() / 1_000)
        .collect();
    let change = gaps.iter().position(|gap| *gap < 3_200).unwrap();
    assert!(gaps[..change].iter().all(|gap| *gap == 3_200));
    assert!(
        gaps[change + 1..].iter().all(|gap| *gap == 1_600),
        "{gaps:?}"
    );
    let at = ends[change + 1].as_us_f64();
    assert!(
        (110.0..=113.4).contains(&at),
        "written at 100 us, effective at 110 us: {at}"
    );
}

#[test]
fn messages_that_complete_before_the_first_slice_count_in_none() {
    let settings = Settings {
        warmup: Time::ZERO,
        ..Settings::lasting(Time::from_us(200))
    };
    let flows = [backlog(0, 1_000)];
    let result = simulate(&platform(), &flows, &Mechanism::NoShaping, &settings).unwrap();
    let width = Time::from_us(50);
    let all = result.flows[0].slices(Time::ZERO, width, 4);
    let later = result.flows[0].slices(width * 2, width, 2);
    let rates = |slices: &[(f64, Samples)]| slices.iter().map(|slice| slice.0).collect::<Vec<_>>();
    assert!(all[0].0 > 0.0);
    assert_eq!(rates(&later), rates(&all[2..]));
}

#[test]
fn a_new_route_takes_the_messages_to_another_accelerator() {
    let slow = Accelerator::new(
        "slow",
        Curve::Saturating {
            setup: Time::from_ns(950),
            peak: Bandwidth::from_bytes_per_s(4_000_000_000).unwrap(),
        },
    );
    let mut platform = platform();
    platform.accelerators.insert(0, slow);
    let route = Action::Route {
        flow: 0,
        accelerators: vec![1],
        engine: 0,
        path: Path::InlineRx,
    };
    let settings = Settings {
        warmup: Time::ZERO,
        ..Settings::lasting(Time::from_us(200))
    };
    let mut once = Once(vec![route], Time::from_us(100));
    let result = simulate_with(
        &platform,
        &[backlog(0, 1_000)],
        &Mechanism::NoShaping,
        &settings,
        &mut once,
    )
    .unwrap();
    let slices = result.flows[0].slices(Time::ZERO, Time::from_us(100), 2);
    for (slice, ns) in slices.iter().zip([1_200.0, 300.0]) {
        let expected = 8_000.0 / ns;
        assert!(
            (slice.0 / expected - 1.0).abs() < 0.03,
            "{} for {expected}",
            slice.0
        );
    }
    let mut wrong = Once(
        vec![Action::Route {
            flow: 0,
            accelerators: vec![2],
            engine: 0,
            path: Path::InlineRx,
        }],
        Time::from_us(100),
    );
    let refused = simulate_with(
        &platform,
        &[backlog(0, 1_000)],
        &Mechanism::NoShaping,
        &settings,
        &mut wrong,
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("accelerator = 2: must be below")
    );
}

#[test]
fn a_client_waits_for_its_answer() {
    // Little's law with one accelerator of 300 ns: 3 clients who think 3 us.
    let think = Time::from_us(3);
    let flow = Flow {
        arrivals: Arrivals::Closed { clients: 3, think },
        ..backlog(0, 1_000)
    };
    let result = run(&[flow], &Mechanism::NoShaping);
    let mean = result.flows[0].latencies().mean_ps().unwrap() / 1e12;
    let clients = result.per_s(0) * (mean + 3e-6);
    assert!((clients - 3.0).abs() < 0.02, "{clients}");
}

#[test]
fn what_finds_the_buffer_full_is_dropped_and_counted() {
    let arrivals = Arrivals::Paced(Time::from_ns(150));
    let flow = Flow {
        arrivals,
        ..backlog(0, 1_000)
    };
    let result = run(
        &[flow],
        &Mechanism::Panic {
            order: Order::Priority,
            buffer: 8,
        },
    );
    let it = &result.flows[0];
    let share = it.dropped as f64 / it.arrived as f64;
    assert!(
        (share - 0.5).abs() < 0.01,
        "it takes 300 ns for what comes every 150 ns: {share}"
    );
    let longest = it.latency(100.0).unwrap();
    assert!(
        longest < Time::from_ns(300) * 15,
        "8 in the buffer, 4 in front of the accelerator"
    );
}

#[test]
fn storage_units_are_parallel_and_writes_keep_them() {
    let mut storage = StorageConfig::paper(1);
    (storage.units, storage.read_sigma, storage.write_buffer) = (2, 0.0, 1);
    let stream = accelflow_kernel::Stream::new(1, 1);
    let mut array = accelflow_arcus::Storage::new(storage, stream);
    for tag in 0..3 {
        array.read(0, tag);
    }
    let begun = [
        array.begin(0, Time::ZERO),
        array.begin(0, Time::ZERO),
        array.begin(0, Time::ZERO),
    ];
    let done = Time::from_us(50);
    assert_eq!(
        begun.map(|begun| begun.map(|begun| begun.done)),
        [Some(done), Some(done), None]
    );
    assert_eq!(array.write(0, 10, Time::ZERO), Some(Time::from_us(20)));
    assert_eq!(array.write(0, 11, Time::ZERO), None, "the buffer takes one");
    assert_eq!(array.end(0, Operation::Read(0), done), None);
    assert_eq!(
        array.begin(0, done).map(|begun| begun.operation),
        Some(Operation::Read(2))
    );
    array.end(0, Operation::Read(1), done);
    let program = array.begin(0, done).unwrap();
    assert_eq!(
        (program.operation, program.done),
        (Operation::Program, done + storage.write_busy)
    );
    let later = program.done;
    assert_eq!(
        array.end(0, Operation::Program, later),
        Some((11, later + Time::from_us(20)))
    );
}

fn any_flow() -> impl Strategy<Value = Flow> {
    let path = prop::sample::select(Path::ALL.to_vec());
    let sizes = prop::collection::vec((1u64..40_000, 0.1f64..4.0), 1..4);
    let arrivals = prop_oneof![
        Just(Arrivals::Backlogged),
        (50u64..5_000).prop_map(|ns| Arrivals::Poisson(Time::from_ns(ns))),
        (1u32..9, 500u64..5_000).prop_map(|(burst, ns)| Arrivals::Bursts {
            burst,
            every: Time::from_ns(ns)
        }),
        (1u32..20, 0u64..5_000).prop_map(|(clients, ns)| Arrivals::Closed {
            clients,
            think: Time::from_ns(ns)
        }),
    ];
    (path, sizes, arrivals, 0usize..2, 1usize..40).prop_map(
        |(path, sizes, arrivals, engine, queue_limit)| {
            let sizes = sizes
                .into_iter()
                .map(|(size, weight)| (Bytes(size), weight))
                .collect();
            let port = (path == Path::InlineTx).then_some(0);
            let flow = Flow::new(0, path, Bytes(1), arrivals).by_engine(engine);
            Flow {
                sizes: Sizes::Mix(sizes),
                port,
                queue_limit,
                ..flow
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Debug builds also check in the engine that what is under way is what the books say.
    #[test]
    fn messages_are_neither_lost_nor_made_and_a_seed_is_a_run(
        flows in prop::collection::vec(any_flow(), 1..5),
        kind in 0usize..4,
        seed in 0u64..100,
    ) {
        let mut platform = platform();
        platform.dma.engines = 2;
        platform.storage = Some(StorageConfig::paper(2));
        let rates = vec![SoftwareRate { unit: Unit::Bytes, per_s: 1e9 }; flows.len()];
        let registers = Registers::new(1 << 12, 1 << 16, 640).unwrap();
        let mechanism = match kind {
            0 => Mechanism::NoShaping,
            1 => panic(Order::WeightedFair),
            2 => Mechanism::Software { config: SoftwareConfig::REFLEX, rates },
            _ => Mechanism::arcus(vec![FlowConfig::new(Unit::Bytes, registers); flows.len()]),
        };
        let settings = Settings::lasting(Time::from_us(150)).seeded(seed);
        let result = simulate(&platform, &flows, &mechanism, &settings).unwrap();
        for it in &result.flows {
            let done = it.before + it.completions.len() as u64;
            prop_assert_eq!(it.arrived, it.dropped + done + it.under_way);
            prop_assert!(it.completions.is_sorted_by_key(|completion| completion.at));
        }
        prop_assert_eq!(&result, &simulate(&platform, &flows, &mechanism, &settings).unwrap());
    }
}

#[test]
fn what_cannot_run_is_refused_with_its_place() {
    let good = || backlog(0, 64);
    let refused = |flow: Flow| {
        let settings = Settings::lasting(Time::from_us(1));
        simulate(&platform(), &[flow], &Mechanism::NoShaping, &settings)
            .unwrap_err()
            .to_string()
    };
    let text = refused(good().through(&[3]));
    assert_eq!(
        text,
        "flow 0: index of the accelerator = 3: must be below 1; indices begin at 0"
    );
    assert!(refused(good().by_engine(1)).contains("DMA engine = 1: must be below"));
    assert!(refused(good().over_port(2)).contains("port = 2: must be below"));
    assert!(
        refused(Flow {
            path: Path::InlineTx,
            ..good()
        })
        .contains("path = inline_tx: needs an Ethernet port")
    );
    assert!(
        refused(Flow {
            path: Path::StorageRead,
            ..good()
        })
        .contains("needs storage")
    );
    assert!(refused(backlog(0, 0)).contains("size of a flow's messages = 0"));
    assert!(refused(good().with_weight(f64::NAN)).contains("weight of a flow = NaN"));
    assert!(
        refused(Flow {
            queue_limit: 0,
            ..good()
        })
        .contains("queue limit of a flow = 0")
    );
}

#[test]
fn arrivals_that_cannot_be_are_refused_by_field_and_value() {
    let [never, some] = [Time::ZERO, Time::from_us(1)];
    let bursts = |burst, every| Arrivals::Bursts { burst, every };
    let step = |before, after| Arrivals::PoissonStep {
        before,
        at: some,
        after,
    };
    let interval = "interval between messages of a flow in us = 0: must be above 0";
    let many = Arrivals::Closed {
        clients: 65_537,
        think: never,
    };
    for (arrivals, message) in [
        (Arrivals::Poisson(never), interval),
        (Arrivals::Paced(never), interval),
        (
            step(never, some),
            "interval between messages of a flow before the step in us = 0: must be above 0",
        ),
        (
            step(some, never),
            "interval between messages of a flow after the step in us = 0: must be above 0",
        ),
        (
            bursts(7, never),
            "interval between bursts of a flow in us = 0: must be above 0",
        ),
        (
            bursts(0, some),
            "messages in each burst of a flow = 0: must be at least 1",
        ),
        (many, "clients of a flow = 65537: must be from 1 to 65536"),
    ] {
        let flow = Flow::new(0, Path::InlineRx, Bytes(64), arrivals);
        let error = platform().check(&[flow]).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn the_largest_array_of_ssds_has_the_reads_of_all_its_units() {
    let largest = StorageConfig {
        devices: 65_536,
        units: 65_536,
        ..StorageConfig::paper(1)
    };
    largest.check().unwrap();
    let one = StorageConfig {
        units: 1,
        ..StorageConfig::paper(1)
    };
    assert_eq!(
        largest.reads_per_s(),
        one.reads_per_s() * 65_536.0 * 65_536.0
    );
}

#[test]
fn an_accelerator_is_not_called_like_the_storage() {
    let mut platform = platform();
    platform.accelerators[0].name = "storage".to_owned();
    assert_eq!(
        platform.check(&[]).unwrap_err().to_string(),
        "accelerator: name = 'storage': must not be 'storage', which stands for the SSDs"
    );
}

#[test]
fn curves_that_were_not_checked_have_times_too() {
    let peak = Bandwidth::from_bytes_per_s(1_000_000_000).unwrap();
    let curve = |block| Curve::Blocks {
        block: Bytes(block),
        peak,
    };
    // Blocks of 0 bytes, which a platform refuses, count as blocks of 1 byte.
    assert_eq!(curve(0).busy(Bytes(64)), Time::from_ns(64));
    assert_eq!(curve(1).busy(Bytes(64)), Time::from_ns(64));
    let huge = curve(u64::MAX - 1);
    assert_eq!(huge.busy(Bytes(u64::MAX)), Time::MAX);
    let falling = vec![
        (Bytes(64), Time::from_ns(9)),
        (Bytes(128), Time::from_ns(5)),
    ];
    assert_eq!(Curve::Points(falling).busy(Bytes(96)), Time::from_ns(9));
}

#[test]
fn mechanisms_and_settings_that_cannot_be_are_refused() {
    let good = || backlog(0, 64);
    let settings = Settings::lasting(Time::from_us(1));
    let two = [good(), good()];
    let registers = Registers::new(64, 64, 64).unwrap();
    let one = Mechanism::arcus(vec![FlowConfig::new(Unit::Bytes, registers)]);
    let text = simulate(&platform(), &two, &one, &settings)
        .unwrap_err()
        .to_string();
    assert_eq!(
        text,
        "mechanism Arcus: number of flows with settings = 1: must be 2, the number of flows in the \
         simulation"
    );
    let nothing = Settings::lasting(Time::ZERO);
    let error = simulate(&platform(), &two, &Mechanism::NoShaping, &nothing).unwrap_err();
    assert!(matches!(
        error,
        PlatformError::OutOfRange {
            name: "duration in us",
            ..
        }
    ));
    let never = Mechanism::arcus(vec![FlowConfig::new(Unit::Bytes, registers)]);
    let error = simulate(&platform(), &[backlog(0, 65)], &never, &settings)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("must be at most 64, the tokens that the bucket holds"),
        "{error}"
    );
}
