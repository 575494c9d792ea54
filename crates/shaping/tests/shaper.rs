//! Queues and the arbiter: order, turns, splitting, latencies, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_shaping::{
    FlowConfig, FlowId, Message, PARAMETERS, Registers, Segment, Shaper, ShapingError, Splitting,
    Timing, Unit,
};
use accelflow_units::{Bytes, Cycles, Time};
use proptest::collection::vec;
use proptest::prelude::*;

fn registers(refill: u64, bucket: u64, interval: u64) -> Registers {
    Registers::new(refill, bucket, interval).unwrap()
}

fn bytes(refill: u64, bucket: u64, interval: u64) -> FlowConfig {
    FlowConfig::new(Unit::Bytes, registers(refill, bucket, interval))
}

fn message(tag: u64, size: u64) -> Message {
    let size = Bytes(size);
    Message { tag, size }
}

/// A shaper with these flows.
fn shaper(flows: &[FlowConfig]) -> Shaper {
    let mut shaper = Shaper::new(Timing::default());
    for (number, config) in flows.iter().enumerate() {
        assert_eq!(shaper.add_flow(Time::ZERO, *config), Ok(FlowId(number)));
    }
    shaper
}

fn drain(shaper: &mut Shaper) -> Vec<Segment> {
    std::iter::from_fn(|| {
        let next = shaper.next_grant()?;
        shaper.poll(next).unwrap()
    })
    .collect()
}

const A: FlowId = FlowId(0);
const B: FlowId = FlowId(1);

#[test]
fn a_message_waits_for_the_next_edge_and_takes_the_shaping_latency() {
    let mut shaper = shaper(&[bytes(64, 64, 10)]);
    shaper
        .offer(Time::from_ps(4_001), A, message(7, 64))
        .unwrap();
    assert_eq!(shaper.poll(Time::from_ps(7_999)), Ok(None));
    let segment = shaper.poll(Time::from_ns(8)).unwrap().unwrap();
    assert_eq!((segment.tag, segment.size), (7, Bytes(64)));
    assert_eq!(segment.granted, Time::from_ns(8));
    assert_eq!(segment.released, Time::from_ns(8 + 36));
}

#[test]
fn the_gate_between_two_messages_is_tight() {
    let mut shaper = shaper(&[bytes(4_096, 4_096, 800)]);
    for tag in 0..2 {
        shaper.offer(Time::ZERO, A, message(tag, 4_096)).unwrap();
    }
    assert_eq!(shaper.poll(Time::ZERO).unwrap().unwrap().tag, 0);
    assert_eq!(shaper.next_grant(), Some(Time::from_ns(3_200)));
    assert_eq!(shaper.poll(Time::from_ps(3_199_999)), Ok(None));
    assert_eq!(shaper.queued(A), Ok(1));
    assert_eq!(shaper.poll(Time::from_ns(3_200)).unwrap().unwrap().tag, 1);
    assert_eq!((shaper.queued(A), shaper.next_grant()), (Ok(0), None));
}

#[test]
fn operations_count_messages_of_any_size() {
    let config = FlowConfig::new(Unit::Operations, registers(2, 2, 100));
    let mut shaper = shaper(&[config]);
    for (tag, size) in [1, 1_000_000, 5, 64].into_iter().enumerate() {
        shaper
            .offer(Time::ZERO, A, message(tag as u64, size))
            .unwrap();
    }
    let granted: Vec<Time> = drain(&mut shaper)
        .iter()
        .map(|segment| segment.granted)
        .collect();
    assert_eq!(granted, [0, 4, 400, 404].map(Time::from_ns));
}

#[test]
fn splitting_repeats_the_header_and_keeps_the_payload() {
    let mut config = bytes(100, 100, 10);
    config.splitting = Splitting::segments(Bytes(100), Bytes(16)).unwrap();
    let mut shaper = shaper(&[config]);
    shaper.offer(Time::ZERO, A, message(1, 250)).unwrap();
    shaper.offer(Time::ZERO, A, message(2, 100)).unwrap();
    shaper.offer(Time::ZERO, A, message(3, 101)).unwrap();
    let segments: Vec<_> = drain(&mut shaper)
        .iter()
        .map(|segment| (segment.tag, segment.index, segment.last, segment.size.get()))
        .collect();
    let expected = [
        (1, 0, false, 100),
        (1, 1, false, 100), // 16 and 84
        (1, 2, true, 82),   // 16 and the 66 that are left
        (2, 0, true, 100),
        (3, 0, false, 100),
        (3, 1, true, 17),
    ];
    assert_eq!(segments, expected);
}

#[test]
fn two_flows_take_turns_and_one_without_tokens_is_passed_over() {
    let mut shaper = shaper(&[bytes(1_000, 1_000, 10), bytes(30, 30, 1_000)]);
    for tag in 0..5 {
        shaper.offer(Time::ZERO, A, message(tag, 10)).unwrap();
        shaper.offer(Time::ZERO, B, message(tag, 15)).unwrap();
    }
    let order: Vec<_> = drain(&mut shaper)
        .iter()
        .map(|segment| (segment.flow.0, segment.tag, segment.granted.as_ns_f64()))
        .collect();
    let turns = [(0, 0, 0.0), (1, 0, 4.0), (0, 1, 8.0), (1, 1, 12.0)];
    let alone = [(0, 2, 16.0), (0, 3, 20.0), (0, 4, 24.0)];
    let refilled = [(1, 2, 4_000.0), (1, 3, 4_004.0), (1, 4, 8_000.0)];
    assert_eq!(order, [&turns[..], &alone, &refilled].concat());
}

#[test]
fn registers_are_in_effect_ten_us_after_they_were_written() {
    let mut shaper = shaper(&[bytes(100, 100, 250)]);
    for tag in 0..40 {
        shaper.offer(Time::ZERO, A, message(tag, 100)).unwrap();
    }
    // 100 bytes a microsecond until the new registers are in effect, then every 100 ns.
    let written = shaper.write(Time::from_ns(500), A, registers(100, 100, 25));
    assert_eq!(written, Ok(Time::from_ns(10_500)));
    let granted: Vec<u64> = drain(&mut shaper)
        .iter()
        .map(|segment| segment.granted.as_ps() / 1_000)
        .collect();
    let slow = (0..=10).map(|us| us * 1_000);
    let fast = (0..29).map(|step| 10_500 + step * 100);
    assert_eq!(granted, slow.chain(fast).collect::<Vec<_>>());
}

#[test]
fn a_flow_that_joins_late_starts_with_a_full_bucket() {
    let mut shaper = shaper(&[bytes(10, 10, 10)]);
    let late = Time::from_us(1);
    let flow = shaper.add_flow(late, bytes(5, 50, 100)).unwrap();
    assert_eq!(shaper.tokens(late, flow), Ok(50));
    shaper.offer(late, flow, message(0, 50)).unwrap();
    shaper.offer(late, flow, message(1, 1)).unwrap();
    let granted: Vec<Time> = drain(&mut shaper)
        .iter()
        .map(|segment| segment.granted)
        .collect();
    assert_eq!(granted, [late, late + Time::from_ns(400)]);
}

#[test]
fn work_larger_than_the_bucket_is_refused_on_arrival() {
    let mut shaper = shaper(&[bytes(100, 100, 10)]);
    let never = |tag, size, bucket| ShapingError::MessageNeverPasses {
        tag,
        size: Bytes(size),
        bucket,
    };
    assert_eq!(
        shaper.offer(Time::ZERO, A, message(1, 101)),
        Err(never(1, 101, 100))
    );
    shaper.offer(Time::ZERO, A, message(2, 90)).unwrap();
    shaper.offer(Time::ZERO, A, message(3, 90)).unwrap();
    // Message 2 has passed before the write, message 3 has not.
    let at = Time::from_ns(20);
    assert_eq!(
        shaper.write(at, A, registers(80, 80, 10)),
        Err(never(3, 90, 80))
    );
    // The write that is on its way counts as well, and no longer once a larger one is in effect.
    let at = Time::from_ns(100);
    shaper.write(at, A, registers(80, 80, 10)).unwrap();
    shaper.write(at, A, registers(200, 200, 10)).unwrap();
    assert_eq!(shaper.offer(at, A, message(4, 81)), Err(never(4, 81, 80)));
    let at = Time::from_us(11);
    shaper.offer(at, A, message(5, 200)).unwrap();
    let tags: Vec<u64> = drain(&mut shaper)
        .iter()
        .map(|segment| segment.tag)
        .collect();
    assert_eq!(tags, [2, 3, 5]);
}

#[test]
fn segments_must_fit_the_bucket_and_hold_payload() {
    let mut config = bytes(100, 100, 10);
    assert_eq!(
        Splitting::segments(Bytes(16), Bytes(16)),
        Err(ShapingError::SegmentWithoutPayload {
            segment: Bytes(16),
            header: Bytes(16)
        })
    );
    let segment = Bytes(101);
    config.splitting = Splitting::segments(segment, Bytes(16)).unwrap();
    let mut shaper = Shaper::new(Timing::default());
    let bucket = 100;
    assert_eq!(
        shaper.add_flow(Time::ZERO, config),
        Err(ShapingError::SegmentNeverPasses { segment, bucket })
    );
    config.registers = registers(100, 101, 10);
    let flow = shaper.add_flow(Time::ZERO, config).unwrap();
    assert_eq!(
        shaper.write(Time::ZERO, flow, registers(1, 100, 1)),
        Err(ShapingError::SegmentNeverPasses { segment, bucket })
    );
}

#[test]
fn strangers_empty_messages_full_queues_and_the_past_are_refused() {
    let mut config = bytes(10, 10, 10);
    config.queue_limit = 1;
    let mut shaper = shaper(&[config]);
    let unknown = ShapingError::UnknownFlow { flow: 1, flows: 1 };
    assert_eq!(
        shaper.offer(Time::ZERO, B, message(0, 1)),
        Err(unknown.clone())
    );
    assert_eq!(shaper.queued(B), Err(unknown.clone()));
    assert_eq!(shaper.tokens(Time::ZERO, B), Err(unknown.clone()));
    assert_eq!(shaper.write(Time::ZERO, B, config.registers), Err(unknown));
    assert_eq!(
        shaper.offer(Time::ZERO, A, message(3, 0)),
        Err(ShapingError::EmptyMessage { tag: 3 })
    );
    shaper.offer(Time::ZERO, A, message(0, 10)).unwrap();
    let (tag, flow, limit) = (1, 0, 1);
    assert_eq!(
        shaper.offer(Time::ZERO, A, message(1, 10)),
        Err(ShapingError::QueueFull { tag, flow, limit })
    );
    // A cycle later the first has left the queue, though nobody has polled.
    let now = Time::from_ns(4);
    shaper.offer(now, A, message(1, 10)).unwrap();
    let at = Time::ZERO;
    let past = ShapingError::TimeRunsBackwards { at, now };
    assert_eq!(shaper.poll(at), Err(past.clone()));
    assert_eq!(shaper.offer(at, A, message(2, 10)), Err(past.clone()));
    assert_eq!(shaper.add_flow(at, config), Err(past.clone()));
    assert_eq!(
        past.to_string(),
        "time = 0 ps: must not be before 4000 ps, the time of an earlier call"
    );
}

#[test]
fn the_table_of_parameters_says_what_the_code_does() {
    let timing = Timing::default();
    assert_eq!(PARAMETERS.faults(Timing::default), Vec::<String>::new());
    let value = |key: &str| PARAMETERS.parameter(key).unwrap().default;
    let latency = Cycles(value("shaping.latency_cycles") as u64);
    assert_eq!(timing.clock.edge(latency), timing.shaping_latency);
    let width = value("shaping.register_width") as u32;
    assert_eq!(u64::from(Registers::MAX), (1 << width) - 1);
    let full = shaper(&[bytes(3, 200, 10)]).tokens(Time::ZERO, A).unwrap();
    assert_eq!(full as f64, 200.0 * value("shaping.initial_fill"));
}

proptest! {
    #[test]
    fn order_payload_and_turns_are_kept(
        flows in vec((1..50u64, 0..60u64, 1..30u64), 1..6),
        messages in vec((0..500u64, 0..6usize, 1..300u64), 1..80),
    ) {
        let header = 8;
        let configs: Vec<FlowConfig> = flows
            .iter()
            .map(|&(refill, more, interval)| {
                let mut config = bytes(refill, 20 + more, interval);
                config.splitting = Splitting::segments(Bytes(20), Bytes(header)).unwrap();
                config
            })
            .collect();
        let mut shaper = shaper(&configs);
        let mut messages = messages;
        messages.sort_by_key(|message| message.0);
        for (tag, &(at, flow, size)) in messages.iter().enumerate() {
            let flow = FlowId(flow % flows.len());
            shaper.offer(Time::from_ns(at * 4), flow, message(tag as u64, size)).unwrap();
        }
        let segments = drain(&mut shaper);
        // One a cycle, in the order of time.
        prop_assert!(segments.windows(2).all(|pair| pair[0].granted < pair[1].granted));
        for flow in 0..flows.len() {
            let own: Vec<_> = segments.iter().filter(|segment| segment.flow == FlowId(flow)).collect();
            prop_assert!(own.windows(2).all(|pair| (pair[0].tag, pair[0].index) < (pair[1].tag, pair[1].index)));
        }
        for (tag, &(_, _, size)) in messages.iter().enumerate() {
            let own: Vec<_> = segments.iter().filter(|segment| segment.tag == tag as u64).collect();
            let sum: u64 = own.iter().map(|segment| segment.size.get()).sum();
            prop_assert_eq!(sum - header * (own.len() as u64 - 1), size);
            prop_assert!(own.iter().all(|segment| segment.size <= Bytes(20)));
            let count = configs[0].splitting.count(Bytes(size));
            prop_assert_eq!(own.len() as u64, count);
            prop_assert_eq!(own.iter().filter(|segment| segment.last).count(), 1);
        }
    }

    #[test]
    fn a_flow_with_tokens_waits_for_at_most_one_segment_of_each_other(
        floods in 1..12usize,
        at in 0..200u64,
        segments in 1..100u64,
    ) {
        // The others always have tokens and more to send; each alone could fill the arbiter.
        let flood = bytes(1_000_000, 1_000_000, 1);
        let quiet = bytes(1, 1_000_000, 1_000_000);
        let mut shaper = shaper(&vec![flood; floods]);
        let flow = shaper.add_flow(Time::ZERO, quiet).unwrap();
        for tag in 0..400 {
            for other in 0..floods {
                shaper.offer(Time::ZERO, FlowId(other), message(tag, 1_500)).unwrap();
            }
        }
        let at = Time::from_ns(at * 4);
        for tag in 0..segments {
            shaper.offer(at, flow, message(tag, 100)).unwrap();
        }
        let all = drain(&mut shaper);
        // While anything waits, no cycle is left unused.
        let busy = all.iter().zip(0..).all(|(it, cycle)| it.granted == Time::from_ns(4 * cycle));
        prop_assert!(busy);
        let turn = Time::from_ns(4) * (floods as u64 + 1);
        let own = all.iter().filter(|segment| segment.flow == flow);
        let mut last = at;
        for (it, number) in own.zip(0..) {
            prop_assert_eq!(it.tag, number);
            prop_assert!(it.granted <= last + turn);
            last = it.granted;
        }
        prop_assert!(last >= at + Time::from_ns(4) * (segments - 1));
    }
}

/// Five messages a refill and a kilobyte a refill: small messages are held by the one, large by the
/// other.
#[test]
fn a_flow_with_both_limits_keeps_both() {
    let registers = |tokens: u64| Registers::new(tokens, tokens, 100).unwrap();
    let both = FlowConfig::new(Unit::Bytes, registers(1_000)).and(registers(5));
    let passed_in_ten_refills = |size: u64| {
        let mut shaper = Shaper::new(Timing::default());
        let flow = shaper.add_flow(Time::ZERO, both).unwrap();
        for tag in 0..1_000 {
            let size = Bytes(size);
            shaper
                .offer(Time::ZERO, flow, Message { tag, size })
                .unwrap();
        }
        let end = Time::from_ns(100 * 4 * 10 - 1);
        let tokens = [Unit::Bytes, Unit::Operations]
            .map(|unit| shaper.tokens_of(Time::ZERO, flow, unit).unwrap());
        assert_eq!(tokens, [1_000, 5]);
        std::iter::from_fn(|| shaper.poll(end).unwrap()).count()
    };
    assert_eq!(passed_in_ten_refills(10), 50);
    assert_eq!(passed_in_ten_refills(500), 20);
    assert_eq!(passed_in_ten_refills(200), 50, "both at once");
}

#[test]
fn a_limit_that_a_flow_has_not_cannot_be_written() {
    let registers = Registers::new(1, 1, 1).unwrap();
    let mut shaper = Shaper::new(Timing::default());
    let config = FlowConfig::new(Unit::Operations, registers);
    let flow = shaper.add_flow(Time::ZERO, config).unwrap();
    let in_segments = FlowConfig {
        splitting: Splitting::Segments {
            segment: Bytes(1_000),
            header: Bytes(10),
        },
        ..config
    };
    let cut = shaper.add_flow(Time::ZERO, in_segments).unwrap();
    for (number, flow) in [flow, cut].into_iter().enumerate() {
        let error = shaper.write_limit(Time::ZERO, flow, Unit::Bytes, registers);
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("flow {number}: unit = bytes: must be a unit in which the flow has a limit")
        );
    }
    let never = shaper
        .add_flow(Time::ZERO, config.and(registers))
        .and_then(|flow| {
            let size = Bytes(2);
            shaper.offer(Time::ZERO, flow, Message { tag: 7, size })
        });
    assert_eq!(
        never,
        Err(ShapingError::MessageNeverPasses {
            tag: 7,
            size: Bytes(2),
            bucket: 1
        })
    );
}
