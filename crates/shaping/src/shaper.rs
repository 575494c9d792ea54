//! The traffic shaper: the queues of flows, their rate limiters and the arbiter between flows.

use std::collections::VecDeque;

use accelflow_units::{Bytes, Cycles, Time};

use crate::flow::Flow;
use crate::{FlowConfig, FlowId, Message, Registers, ShapingError, Timing, Unit};

/// A message, or a part of a split message, that a [`Shaper`] has let pass to the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The flow to which the segment belongs.
    pub flow: FlowId,
    /// The caller's identifier of the segment's message ([`Message::tag`]).
    pub tag: u64,
    /// The index of the segment in its message, from 0.
    pub index: u32,
    /// Whether the segment is the last of its message.
    pub last: bool,
    /// The size of the segment, including its header.
    pub size: Bytes,
    /// The beginning of the clock cycle in which the segment's tokens were spent.
    pub granted: Time,
    /// The time at which the segment reaches the accelerator: `granted` plus the shaping latency.
    pub released: Time,
}

/// A traffic shaper (ARCUS, section 4.2): a queue and a token bucket for each flow, and a
/// round-robin arbiter that lets one segment pass each clock cycle.
///
/// Messages of a flow pass in the order in which they are offered. Flows that have enough tokens
/// take turns, so a flow with enough tokens waits for at most one segment of each other flow
/// (section 5.1: "a simple round robin policy"; one grant a cycle is assumed). One segment passes
/// in each cycle in which at least one flow has a segment and enough tokens for it.
///
/// The result depends only on the times and contents of offers and register writes, not on how
/// often [`Shaper::poll`] is called. Calls must be in order of time; calls at the same instant take
/// effect in the order in which they are made.
#[derive(Clone, Debug)]
pub struct Shaper {
    timing: Timing,
    flows: Vec<Flow>,
    granted: VecDeque<Segment>,
    now: Time,
    /// The first cycle in which the arbiter is free.
    free: Cycles,
    /// The flow that the arbiter considers first.
    turn: usize,
}

impl Shaper {
    /// Creates a shaper with the clock and latencies `timing` and without flows.
    pub fn new(timing: Timing) -> Shaper {
        Shaper {
            timing,
            flows: Vec::new(),
            granted: VecDeque::new(),
            now: Time::ZERO,
            free: Cycles(0),
            turn: 0,
        }
    }

    /// Returns the clock and the latencies of the shaper.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Adds a flow with full token buckets, whose refill timers start with the next clock cycle
    /// that begins at or after `at`. Returns the index of the flow.
    ///
    /// # Errors
    /// [`ShapingError::SegmentWithoutPayload`] or [`ShapingError::SegmentNeverPasses`] for invalid
    /// splitting, and [`ShapingError::TimeRunsBackwards`] for a time before that of an earlier
    /// call.
    pub fn add_flow(&mut self, at: Time, config: FlowConfig) -> Result<FlowId, ShapingError> {
        self.check_time(at)?;
        let flow = Flow::new(config, self.timing.clock.next(at))?;
        self.settle_before(at);
        self.flows.push(flow);
        Ok(FlowId(self.flows.len() - 1))
    }

    /// Puts a message into the queue of `flow` at the time `at`.
    ///
    /// # Errors
    /// * [`ShapingError::MessageNeverPasses`] for an unsplit message that needs more tokens than a
    ///   bucket holds;
    /// * [`ShapingError::EmptyMessage`] for a message of 0 bytes;
    /// * [`ShapingError::QueueFull`] if the flow's queue is full;
    /// * [`ShapingError::UnknownFlow`] for an unknown flow;
    /// * [`ShapingError::TimeRunsBackwards`] for a time before that of an earlier call.
    pub fn offer(&mut self, at: Time, flow: FlowId, message: Message) -> Result<(), ShapingError> {
        self.check(at, flow)?;
        self.settle_before(at);
        let arrived = self.timing.clock.next(at);
        let it = &mut self.flows[flow.0];
        it.settle_before(arrived);
        it.offer(flow.0, message, arrived)
    }

    /// Writes the registers of the token bucket for a flow's first limit at the time `at`. Returns
    /// the time at which the registers take effect: the beginning of the first clock cycle at or
    /// after the end of the reconfiguration time ([`Timing::reconfiguration`]) in which no segment
    /// has passed yet.
    ///
    /// # Errors
    /// [`ShapingError::SegmentNeverPasses`] or [`ShapingError::MessageNeverPasses`] if a segment or
    /// a queued message needs more tokens than the new bucket holds; [`ShapingError::UnknownFlow`]
    /// and [`ShapingError::TimeRunsBackwards`].
    pub fn write(
        &mut self,
        at: Time,
        flow: FlowId,
        registers: Registers,
    ) -> Result<Time, ShapingError> {
        self.check(at, flow)?;
        self.write_limit(at, flow, self.flows[flow.0].unit(), registers)
    }

    /// Writes the registers of one of a flow's token buckets at the time `at`: the bucket whose
    /// tokens stand for `unit` (bytes or operations). Returns the time at which the registers take
    /// effect, as [`Shaper::write`] does.
    ///
    /// # Errors
    /// The errors of [`Shaper::write`], and [`ShapingError::NoSuchLimit`] if the flow has no such
    /// bucket.
    pub fn write_limit(
        &mut self,
        at: Time,
        flow: FlowId,
        unit: Unit,
        registers: Registers,
    ) -> Result<Time, ShapingError> {
        self.check(at, flow)?;
        self.settle_before(at);
        let clock = self.timing.clock;
        let it = &mut self.flows[flow.0];
        it.settle_before(clock.next(at));
        let effective = clock
            .next(later(at, self.timing.reconfiguration))
            .max(self.free);
        it.write(flow.0, unit, registers, effective)?;
        Ok(clock.edge(effective))
    }

    /// Returns the next segment that has passed up to the time `at` and has not been returned yet;
    /// `None` if there is none. Segments are returned in the order in which they passed.
    ///
    /// # Errors
    /// [`ShapingError::TimeRunsBackwards`] for a time before that of an earlier call.
    pub fn poll(&mut self, at: Time) -> Result<Option<Segment>, ShapingError> {
        self.check_time(at)?;
        self.now = at;
        if self.granted.is_empty() {
            self.settle(self.timing.clock.begun(at));
        }
        Ok(self.granted.pop_front())
    }

    /// Returns the time at which to call [`Shaper::poll`] next: the time at which the next segment
    /// passes if there are no other calls. If that segment has already passed, the result is the
    /// time of the latest call. `None` if nothing is queued.
    pub fn next_grant(&self) -> Option<Time> {
        let next = || self.next_cycle().map(|cycle| self.timing.clock.edge(cycle));
        let granted = self.granted.front().map(|segment| segment.granted);
        granted.or_else(next).map(|time| time.max(self.now))
    }

    /// Returns the number of messages in a flow's queue as of the latest offer, register write, or
    /// [`Shaper::poll`] that returned `None`. After a `poll` that returned a segment, messages that
    /// have passed since may still count.
    ///
    /// # Errors
    /// [`ShapingError::UnknownFlow`].
    pub fn queued(&self, flow: FlowId) -> Result<usize, ShapingError> {
        self.check_flow(flow)?;
        Ok(self.flows[flow.0].queued())
    }

    /// Returns the number of tokens in the token bucket for a flow's first limit, in the clock
    /// cycle that contains the time `at`. Tokens of segments that pass after the latest call are
    /// not subtracted yet.
    ///
    /// # Errors
    /// [`ShapingError::UnknownFlow`].
    pub fn tokens(&self, at: Time, flow: FlowId) -> Result<u64, ShapingError> {
        self.check_flow(flow)?;
        self.tokens_of(at, flow, self.flows[flow.0].unit())
    }

    /// Returns the number of tokens in the token bucket of a flow whose tokens stand for `unit`
    /// (bytes or operations), like [`Shaper::tokens`] for the first limit.
    ///
    /// # Errors
    /// [`ShapingError::UnknownFlow`], and [`ShapingError::NoSuchLimit`] if the flow has no such
    /// bucket.
    pub fn tokens_of(&self, at: Time, flow: FlowId, unit: Unit) -> Result<u64, ShapingError> {
        self.check_flow(flow)?;
        let found = self.flows[flow.0].bucket(unit);
        let bucket = found.ok_or(ShapingError::NoSuchLimit {
            flow: flow.0,
            unit: unit.name(),
        })?;
        Ok(bucket.tokens(self.timing.clock.begun(at)))
    }

    /// Grants all segments due in cycles before that of a call at `at`.
    fn settle_before(&mut self, at: Time) {
        self.now = at;
        if let Some(before) = self.timing.clock.next(at).0.checked_sub(1) {
            self.settle(Cycles(before));
        }
    }

    /// Grants all segments due up to and including `cycle`.
    fn settle(&mut self, cycle: Cycles) {
        while let Some(next) = self.next_cycle().filter(|&next| next <= cycle) {
            self.grant(next);
        }
    }

    /// The cycle of the next grant.
    fn next_cycle(&self) -> Option<Cycles> {
        let ready = self.flows.iter().filter_map(Flow::ready).min()?;
        Some(ready.max(self.free))
    }

    fn grant(&mut self, cycle: Cycles) {
        let count = self.flows.len();
        let is_ready = |flow: &usize| {
            self.flows[*flow]
                .ready()
                .is_some_and(|ready| ready <= cycle)
        };
        let in_turn = (0..count).map(|step| (self.turn + step) % count);
        let Some(number) = in_turn.clone().find(is_ready) else {
            return;
        };
        self.free = Cycles(cycle.0.saturating_add(1));
        self.turn = (number + 1) % count;
        if let Some(cut) = self.flows[number].grant(cycle) {
            let granted = self.timing.clock.edge(cycle);
            self.granted.push_back(Segment {
                flow: FlowId(number),
                tag: cut.tag,
                index: cut.index,
                last: cut.last,
                size: cut.size,
                granted,
                released: later(granted, self.timing.shaping_latency),
            });
        }
    }

    fn check(&self, at: Time, flow: FlowId) -> Result<(), ShapingError> {
        self.check_time(at)?;
        self.check_flow(flow)
    }

    fn check_time(&self, at: Time) -> Result<(), ShapingError> {
        if at < self.now {
            let now = self.now;
            return Err(ShapingError::TimeRunsBackwards { at, now });
        }
        Ok(())
    }

    fn check_flow(&self, flow: FlowId) -> Result<(), ShapingError> {
        let flows = self.flows.len();
        if flow.0 >= flows {
            let flow = flow.0;
            return Err(ShapingError::UnknownFlow { flow, flows });
        }
        Ok(())
    }
}

fn later(at: Time, by: Time) -> Time {
    Time::from_ps(at.as_ps().saturating_add(by.as_ps()))
}
