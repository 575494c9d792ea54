//! One message on each path, to the picosecond; accelerators' curves and outputs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::{
    Accelerator, Action, Answers, Arrivals, Curve, Egress, FRAME_OVERHEAD, Flow, Mechanism, Order,
    Path, Platform, PlatformError, Settings, StorageConfig, simulate, simulate_with,
};
use accelflow_shaping::{FlowConfig, Registers, Unit};
use accelflow_units::{Bandwidth, Bytes, Time};

use crate::dynamic::Once;

fn accelerator(egress: Egress) -> Accelerator {
    let peak = Bandwidth::from_bytes_per_s(5_000_000_000).unwrap();
    let setup = Time::from_ns(100);
    Accelerator {
        egress,
        latency: Time::from_ns(7),
        ..Accelerator::new("cipher", Curve::Saturating { setup, peak })
    }
}

/// The latency of every message of a flow whose client sends one at a time.
fn alone(platform: &Platform, flow: Flow, mechanism: &Mechanism) -> Time {
    let arrivals = Arrivals::Closed {
        clients: 1,
        think: Time::from_us(1),
    };
    let flow = Flow { arrivals, ..flow };
    let settings = Settings::lasting(Time::from_us(2_000));
    let result = simulate(platform, &[flow], mechanism, &settings).unwrap();
    let latencies: Vec<Time> = result.flows[0]
        .completions
        .iter()
        .map(|completion| completion.latency)
        .collect();
    assert!(latencies.len() > 10);
    assert!(
        latencies.iter().all(|latency| *latency == latencies[0]),
        "{latencies:?}"
    );
    latencies[0]
}

fn flow(path: Path, size: u64) -> Flow {
    Flow::new(0, path, Bytes(size), Arrivals::Backlogged)
}

fn none() -> Mechanism {
    Mechanism::NoShaping
}

/// Wire time of packets of these payloads with this overhead.
fn wire(platform: &Platform, payloads: &[u64], overhead: u64) -> Time {
    let rate = platform.pcie.bandwidth();
    payloads
        .iter()
        .map(|payload| rate.transfer(Bytes(payload + overhead)))
        .sum()
}

#[test]
fn a_message_from_a_generator_is_computed_and_written() {
    let platform = Platform::prototype(vec![accelerator(Egress::Ratio(1.0))]);
    let expected = Time::from_ns(100) + Time::from_ns(60) + Time::from_ns(7) // 300 bytes of 5 GB/s
        + wire(&platform, &[256, 44], 24)
        + Time::from_ns(100) + Time::from_ns(200);
    assert_eq!(
        alone(&platform, flow(Path::InlineRx, 300), &none()),
        expected
    );
}

#[test]
fn a_call_reads_its_descriptor_and_message_computes_and_writes() {
    let platform = Platform::prototype(vec![accelerator(Egress::Ratio(0.5))]);
    // Descriptor and message, 332 bytes, are one request; its two completions follow each other.
    let expected = wire(&platform, &[0], 24)
        + Time::from_ns(100)
        + Time::from_ns(400)
        + wire(&platform, &[256, 76], 20)
        + Time::from_ns(100)
        + Time::from_ns(160)
        + Time::from_ns(7)
        + wire(&platform, &[150], 24)
        + Time::from_ns(100)
        + Time::from_ns(200);
    assert_eq!(
        alone(&platform, flow(Path::FunctionCall, 300), &none()),
        expected
    );
}

#[test]
fn what_leaves_by_a_port_is_framed() {
    let platform = Platform::prototype(vec![accelerator(Egress::Fixed(Bytes(64)))]);
    let line = platform.ports[0].transfer(Bytes(64) + FRAME_OVERHEAD);
    let expected = wire(&platform, &[0], 24)
        + Time::from_ns(100)
        + Time::from_ns(400)
        + wire(&platform, &[256, 76], 20)
        + Time::from_ns(100)
        + Time::from_ns(160)
        + Time::from_ns(7)
        + line;
    assert_eq!(
        alone(&platform, flow(Path::InlineTx, 300).over_port(0), &none()),
        expected
    );
}

#[test]
fn a_verdict_comes_back_from_a_call_where_an_inline_message_passes() {
    let mut checker = accelerator(Egress::Ratio(1.0));
    checker.call_egress = Some(Egress::Fixed(Bytes(64)));
    let platform = Platform::prototype(vec![checker]);
    let call = alone(&platform, flow(Path::FunctionCall, 300), &none());
    let read = wire(&platform, &[0], 24) + wire(&platform, &[256, 76], 20) + Time::from_ns(600);
    let back = wire(&platform, &[64], 24) + Time::from_ns(300);
    assert_eq!(call, read + Time::from_ns(167) + back);
}

#[test]
fn accelerators_of_a_chain_follow_each_other_with_the_sizes_between_them() {
    let second = Accelerator {
        latency: Time::ZERO,
        ..accelerator(Egress::Fixed(Bytes(20)))
    };
    let platform = Platform::prototype(vec![accelerator(Egress::Ratio(2.0)), second]);
    let expected = Time::from_ns(160) + Time::from_ns(7) // 300 bytes
        + Time::from_ns(220) // 600 bytes
        + wire(&platform, &[20], 24) + Time::from_ns(300);
    assert_eq!(
        alone(
            &platform,
            flow(Path::InlineRx, 300).through(&[0, 1]),
            &none()
        ),
        expected
    );
}

#[test]
fn the_shaper_costs_36_ns_and_the_wait_for_its_clock() {
    let platform = Platform::prototype(vec![accelerator(Egress::Ratio(1.0))]);
    let registers = Registers::new(4_096, 4_096, 64).unwrap();
    let shaped = Mechanism::arcus(vec![FlowConfig::new(Unit::Bytes, registers)]);
    let arrivals = Arrivals::Paced(Time::from_us(4));
    let run = |mechanism: &Mechanism| {
        let flow = Flow {
            arrivals,
            ..flow(Path::InlineRx, 300)
        };
        let settings = Settings::lasting(Time::from_us(100));
        simulate(&platform, &[flow], mechanism, &settings)
            .unwrap()
            .flows[0]
            .latency(50.0)
            .unwrap()
    };
    assert_eq!(
        run(&shaped),
        run(&none()) + Time::from_ns(36),
        "every 4 us is an edge of 250 MHz"
    );
}

#[test]
fn storage_reads_and_writes_cross_the_link() {
    let mut platform = Platform::prototype(Vec::new());
    let mut storage = StorageConfig::paper(1);
    storage.read_sigma = 0.0;
    platform.storage = Some(storage);
    let read = alone(
        &platform,
        flow(Path::StorageRead, 512).through(&[]),
        &none(),
    );
    let own = storage.bandwidth.transfer(Bytes(512));
    assert_eq!(
        read,
        Time::from_us(50) + own + wire(&platform, &[256, 256], 20) + Time::from_ns(100)
    );
    let write = alone(
        &platform,
        flow(Path::StorageWrite, 512).through(&[]),
        &none(),
    );
    assert_eq!(
        write,
        wire(&platform, &[256, 256], 24) + Time::from_ns(100) + Time::from_us(20)
    );
}

#[test]
fn a_client_waits_for_the_answer_to_come_back_through_the_accelerator() {
    let platform = Platform::prototype(vec![accelerator(Egress::Ratio(1.0))]);
    let (asking, answering) = (
        flow(Path::InlineRx, 300),
        flow(Path::InlineTx, 64).over_port(0),
    );
    let (service, think) = (Time::from_ns(500), Time::from_us(1));
    let there = alone(&platform, asking.clone(), &none());
    let back = alone(&platform, answering.clone(), &none());
    let answered = |by| Flow {
        arrivals: Arrivals::Closed { clients: 1, think },
        answers: Some(Answers {
            by,
            service,
            sizes: vec![(Bytes(300), Bytes(64))],
        }),
        ..asking.clone()
    };
    let answering = Flow {
        arrivals: Arrivals::Answers,
        ..answering
    };
    let settings = Settings::lasting(Time::from_us(2_000));
    let run = |by| {
        let flows = [answered(by), answering.clone()];
        simulate(&platform, &flows, &none(), &settings)
    };
    let result = run(1).unwrap();
    let answers = &result.flows[1].completions;
    let whole = there + service + back;
    assert!(answers.len() > 10);
    for pair in answers.windows(2) {
        assert_eq!((pair[1].latency, pair[1].size), (whole, Bytes(64)));
        assert_eq!(pair[1].at - pair[0].at, whole + think);
    }
    // The asking flow can take another route, here the same accelerator again.
    let flows = [answered(1), answering.clone()];
    let mut again = Once(Some(Action::Route {
        flow: 0,
        accelerators: vec![0],
        engine: 0,
        path: Path::InlineRx,
    }));
    let routed = simulate_with(&platform, &flows, &none(), &settings, &mut again).unwrap();
    assert_eq!(routed.flows[1].completions, *answers);
    // Only a flow of answers can carry them.
    assert!(matches!(run(2), Err(PlatformError::UnknownPart { .. })));
    assert!(run(0).is_err());
}

#[test]
fn the_network_of_a_closed_loop_loses_no_message_of_a_full_buffer() {
    let platform = Platform::prototype(vec![accelerator(Egress::Ratio(1.0))]);
    let panic = Mechanism::Panic {
        order: Order::WeightedFair,
        buffer: 4,
    };
    let sending = |clients| {
        let think = Time::ZERO;
        let arrivals = Arrivals::Closed { clients, think };
        let flow = Flow {
            arrivals,
            ..flow(Path::InlineRx, 300).over_port(0)
        };
        let settings = Settings::lasting(Time::from_us(2_000));
        simulate(&platform, &[flow], &panic, &settings).unwrap()
    };
    let (few, many) = (sending(4), sending(64));
    for result in [&few, &many] {
        assert_eq!(result.flows[0].dropped, 0);
    }
    assert!((many.per_s(0) / few.per_s(0) - 1.0).abs() < 0.01);
}

#[test]
fn curves_are_what_they_say() {
    let peak = Bandwidth::from_bytes_per_s(1_000_000_000).unwrap();
    let blocks = Curve::Blocks {
        block: Bytes(64),
        peak,
    };
    let busy = |size| blocks.busy(Bytes(size)).as_ns_f64();
    assert_eq!(
        [busy(1), busy(64), busy(65), busy(128)],
        [64.0, 64.0, 128.0, 128.0]
    );
    let points = [(100, 10), (200, 30)].map(|(size, ns)| (Bytes(size), Time::from_ns(ns)));
    let points = Curve::Points(points.to_vec());
    let busy = |size| points.busy(Bytes(size)).as_ns_f64();
    assert_eq!(
        [busy(1), busy(100), busy(150), busy(200), busy(400)],
        [10.0, 10.0, 20.0, 30.0, 60.0]
    );
    assert_eq!(points.gbit_per_s(Bytes(200)), 200.0 * 8.0 / 30.0);
    assert_eq!(Egress::Ratio(0.5).of(Bytes(5)), Bytes(3));
    assert_eq!(Egress::Fixed(Bytes(64)).of(Bytes(5)), Bytes(64));
}

#[test]
fn a_large_message_is_streamed_and_takes_the_time_of_its_own_size() {
    // 64 KiB in bursts of 16 KiB: the setup is paid once, and a digest comes once.
    let platform = Platform::prototype(vec![accelerator(Egress::Fixed(Bytes(64)))]);
    let settings = Settings::lasting(Time::from_us(2_000));
    let flow = flow(Path::FunctionCall, 65_536);
    let result = simulate(&platform, &[flow], &none(), &settings).unwrap();
    let expected = 65_536.0 * 8.0 / (100.0 + 65_536.0 / 5.0);
    assert!(
        (result.gbit_per_s(0) / expected - 1.0).abs() < 0.01,
        "{}",
        result.gbit_per_s(0)
    );
    assert!(result.up_bytes.get() < result.down_bytes.get() / 15);
}
