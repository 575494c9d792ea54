//! The shaper against the definition of the hardware, cycle by cycle.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;

use accelflow_shaping::{
    Clock, FlowConfig, FlowId, Message, Registers, Segment, Shaper, Splitting, Timing, Unit,
};
use accelflow_units::{Bytes, Cycles, Time};
use proptest::collection::vec;
use proptest::prelude::*;

const CYCLES: u64 = 400;
const RECONFIGURATION_CYCLES: u64 = 15;

/// 4 ns, a cycle that is exact in picoseconds, and one of 1,428.57 ps, which is not.
const CLOCKS_HZ: [u64; 2] = [250_000_000, 700_000_000];

#[derive(Clone, Debug)]
struct FlowPlan {
    config: FlowConfig,
    /// Cycle and size, in the order of cycles.
    messages: Vec<(u64, u64)>,
    /// Cycle in which the write begins, whether it is of the second limit, and what is written.
    writes: Vec<(u64, bool, Registers)>,
}

/// (cycle, flow, tag, index, last, size)
type Grant = (u64, usize, u64, u32, bool, u64);

struct Limiter {
    unit: Unit,
    registers: Registers,
    tokens: u64,
    timer: u64,
}

impl Limiter {
    fn new(unit: Unit, registers: Registers) -> Limiter {
        Limiter {
            unit,
            registers,
            tokens: u64::from(registers.bucket()),
            timer: 0,
        }
    }

    fn write(&mut self, registers: Registers) {
        self.registers = registers;
        self.tokens = self.tokens.min(u64::from(registers.bucket()));
    }

    fn tick(&mut self, cycle: u64) {
        if cycle > 0 {
            self.timer += 1;
        }
        if self.timer >= self.registers.interval().0 {
            self.timer = 0;
            let filled = self.tokens + u64::from(self.registers.refill());
            self.tokens = filled.min(u64::from(self.registers.bucket()));
        }
    }

    fn cost(&self, size: u64) -> u64 {
        match self.unit {
            Unit::Bytes => size,
            Unit::Operations => 1,
        }
    }
}

struct Hardware {
    limits: Vec<Limiter>,
    queue: VecDeque<(u64, u32, u64)>,
}

impl Hardware {
    fn new(config: &FlowConfig) -> Hardware {
        let mut limits = vec![Limiter::new(config.unit, config.registers)];
        limits.extend(
            config
                .also
                .map(|registers| Limiter::new(other(config.unit), registers)),
        );
        Hardware {
            limits,
            queue: VecDeque::new(),
        }
    }
}

fn other(unit: Unit) -> Unit {
    match unit {
        Unit::Bytes => Unit::Operations,
        Unit::Operations => Unit::Bytes,
    }
}

/// What the hardware does, one cycle after another.
fn reference(plans: &[FlowPlan]) -> Vec<Grant> {
    let mut grants = Vec::new();
    let mut turn = 0;
    let mut flows: Vec<Hardware> = plans
        .iter()
        .map(|plan| Hardware::new(&plan.config))
        .collect();
    for cycle in 0..CYCLES {
        for (flow, plan) in flows.iter_mut().zip(plans) {
            for (_, second, registers) in plan
                .writes
                .iter()
                .filter(|write| write.0 + RECONFIGURATION_CYCLES == cycle)
            {
                flow.limits[usize::from(*second)].write(*registers);
            }
            for limit in &mut flow.limits {
                limit.tick(cycle);
            }
            for (tag, (_, size)) in plan.messages.iter().enumerate() {
                if plan.messages[tag].0 == cycle {
                    flow.queue.push_back((tag as u64, 0, *size));
                }
            }
        }
        for step in 0..flows.len() {
            let number = (turn + step) % flows.len();
            if let Some(grant) = pass(&mut flows[number], &plans[number].config) {
                grants.push((cycle, number, grant.0, grant.1, grant.2, grant.3));
                turn = number + 1;
                break;
            }
        }
    }
    grants
}

fn pass(flow: &mut Hardware, config: &FlowConfig) -> Option<(u64, u32, bool, u64)> {
    let (tag, index, left) = *flow.queue.front()?;
    let (size, rest) = match config.splitting {
        Splitting::Segments { segment, header } if left > segment.get() => {
            (segment.get(), left - segment.get() + header.get())
        }
        _ => (left, 0),
    };
    if flow
        .limits
        .iter()
        .any(|limit| limit.tokens < limit.cost(size))
    {
        return None;
    }
    for it in &mut flow.limits {
        it.tokens -= it.cost(size);
    }
    flow.queue.pop_front();
    if rest > 0 {
        flow.queue.push_front((tag, index + 1, rest));
    }
    Some((tag, index, rest == 0, size))
}

/// Runs the shaper on the same plans, polling at `polls` and at the end, and just before the next
/// grant if `eager`.
fn shaped(plans: &[FlowPlan], clock: Clock, polls: &[u64], eager: bool) -> Vec<Segment> {
    let mut shaper = Shaper::new(Timing {
        clock,
        shaping_latency: Time::from_ns(36),
        reconfiguration: clock.edge(Cycles(RECONFIGURATION_CYCLES)),
    });
    for plan in plans {
        shaper.add_flow(Time::ZERO, plan.config).unwrap();
    }
    let mut segments = Vec::new();
    for cycle in 0..CYCLES {
        let at = clock.edge(Cycles(cycle));
        for (flow, plan) in plans.iter().enumerate() {
            for (_, second, registers) in plan.writes.iter().filter(|write| write.0 == cycle) {
                let unit = plan.config.unit;
                let written = match second {
                    false => shaper.write(at, FlowId(flow), *registers),
                    true => shaper.write_limit(at, FlowId(flow), other(unit), *registers),
                };
                // 700 MHz: the sum of two rounded edges is up to a picosecond behind an edge.
                let effective = written.unwrap();
                assert!(effective >= at);
            }
            for (tag, (_, size)) in plan.messages.iter().enumerate() {
                if plan.messages[tag].0 == cycle {
                    let message = Message {
                        tag: tag as u64,
                        size: Bytes(*size),
                    };
                    shaper.offer(at, FlowId(flow), message).unwrap();
                }
            }
        }
        let due = eager && shaper.next_grant().is_some_and(|next| next <= at);
        if due || polls.contains(&cycle) {
            segments.extend(std::iter::from_fn(|| shaper.poll(at).unwrap()));
        }
    }
    let end = clock.edge(Cycles(CYCLES - 1));
    segments.extend(std::iter::from_fn(|| shaper.poll(end).unwrap()));
    segments
}

fn as_grants(segments: &[Segment], clock: Clock) -> Vec<Grant> {
    let grant = |segment: &Segment| {
        let cycle = clock.begun(segment.granted).0;
        (
            cycle,
            segment.flow.0,
            segment.tag,
            segment.index,
            segment.last,
            segment.size.get(),
        )
    };
    segments.iter().map(grant).collect()
}

fn registers(smallest_bucket: u64) -> impl Strategy<Value = Registers> {
    (1..80u64, smallest_bucket..=smallest_bucket + 60, 1..40u64)
        .prop_map(|(refill, bucket, interval)| Registers::new(refill, bucket, interval).unwrap())
}

/// Sizes up to the smallest bucket that any write may set, or larger ones that are split.
fn flow_plan(smallest_bucket: u64, writes: usize) -> impl Strategy<Value = FlowPlan> {
    let segment = 5..=smallest_bucket;
    let splitting = prop_oneof![
        Just(Splitting::Never),
        (segment, 0..4u64).prop_map(|(segment, header)| {
            Splitting::segments(Bytes(segment), Bytes(header)).unwrap()
        }),
    ];
    let unit = prop_oneof![Just(Unit::Bytes), Just(Unit::Operations)];
    let also = prop::option::of(registers(smallest_bucket));
    let limits = (unit, splitting, registers(smallest_bucket), also);
    limits.prop_flat_map(move |(unit, splitting, first, also)| {
        let in_bytes = unit == Unit::Bytes || also.is_some();
        let whole = splitting == Splitting::Never && in_bytes;
        let largest = if whole { smallest_bucket } else { 120 };
        let messages = vec((0..CYCLES, 1..=largest), 0..30);
        let write = (0..CYCLES, any::<bool>(), registers(smallest_bucket));
        let writes = vec(write, 0..=writes);
        (messages, writes).prop_map(move |(mut messages, mut writes)| {
            messages.sort_by_key(|message| message.0);
            writes.sort_by_key(|write| write.0);
            for write in &mut writes {
                write.1 &= also.is_some();
            }
            FlowPlan {
                config: FlowConfig {
                    registers: first,
                    also,
                    splitting,
                    ..FlowConfig::new(unit, first)
                },
                messages,
                writes,
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_grant_is_in_the_cycle_of_the_definition(
        plans in vec((8..40u64).prop_flat_map(|bucket| flow_plan(bucket, 3)), 1..5),
    ) {
        let expected = reference(&plans);
        let segments = shaped(&plans, Clock::PAPER, &[], false);
        prop_assert_eq!(as_grants(&segments, Clock::PAPER), expected);
        for it in &segments {
            prop_assert_eq!(it.released - it.granted, Time::from_ns(36));
        }
    }

    #[test]
    fn polling_reveals_and_changes_nothing(
        plans in vec((8..40u64).prop_flat_map(|bucket| flow_plan(bucket, 3)), 1..4),
        polls in vec(0..CYCLES, 0..20),
        eager: bool,
    ) {
        let lazy = shaped(&plans, Clock::PAPER, &[], false);
        prop_assert_eq!(shaped(&plans, Clock::PAPER, &polls, eager), lazy);
    }

    #[test]
    fn cycles_that_are_no_whole_picoseconds_are_kept(
        plans in vec((8..40u64).prop_flat_map(|bucket| flow_plan(bucket, 0)), 1..4),
        clock_hz in prop::sample::select(&CLOCKS_HZ),
        polls in vec(0..CYCLES, 0..5),
    ) {
        let clock = Clock::from_hz(clock_hz).unwrap();
        let segments = shaped(&plans, clock, &polls, true);
        prop_assert_eq!(as_grants(&segments, clock), reference(&plans));
    }
}
