//! A flow of messages: its queue, its rate limiters, and the splitting of its messages.

use std::collections::VecDeque;

use accelflow_units::{Bytes, Cycles};

use crate::{Registers, ShapingError, Splitting, TokenBucket, Unit};

/// The index of a flow in a [`crate::Shaper`], from 0 in the order in which flows were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub usize);

/// The settings of a flow in a [`crate::Shaper`]: its limits, and the splitting of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowConfig {
    /// The unit that a token of the first token bucket stands for: a byte or an operation.
    pub unit: Unit,
    /// The initial registers of the first token bucket: refill, bucket size and interval.
    pub registers: Registers,
    /// The initial registers of a second token bucket, whose tokens stand for the other unit;
    /// `None` for a single limit. A segment passes once both buckets have enough tokens, and spends
    /// tokens of both.
    pub also: Option<Registers>,
    /// Whether and how the flow's messages are split into segments.
    pub splitting: Splitting,
    /// The largest number of messages in the flow's queue. A split message counts until its last
    /// segment has passed.
    pub queue_limit: usize,
}

impl FlowConfig {
    /// Creates settings of a flow with one limit, without splitting and with an unlimited queue.
    /// The queue has no limit because in ARCUS it is a buffer in the sender's own memory, from
    /// which the shaper fetches messages.
    pub fn new(unit: Unit, registers: Registers) -> FlowConfig {
        FlowConfig {
            unit,
            registers,
            also: None,
            splitting: Splitting::Never,
            queue_limit: usize::MAX,
        }
    }

    /// Adds a second limit to these settings. Its tokens stand for the other unit (bytes or
    /// operations).
    #[must_use]
    pub fn and(self, registers: Registers) -> FlowConfig {
        FlowConfig {
            also: Some(registers),
            ..self
        }
    }
}

/// A message that is offered to a [`crate::Shaper`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The caller's identifier of the message, which the shaper only copies to the segments.
    pub tag: u64,
    /// The size of the message, including its header.
    pub size: Bytes,
}

/// The flow inside the shaper.
///
/// Every queued segment fits each bucket under the registers in effect and under all written ones.
/// So a segment that may pass in some cycle may also pass in every later one, and `ready` stays
/// valid while the arbiter serves other flows.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    config: FlowConfig,
    /// One or two token buckets, with the unit of their tokens.
    limits: Vec<(Unit, TokenBucket)>,
    queue: VecDeque<Queued>,
    /// The first cycle in which the buckets have the tokens of the first segment; `None` if nothing
    /// is queued.
    ready: Option<Cycles>,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    tag: u64,
    /// The size of the message, or of its remaining part with a repeated header.
    left: Bytes,
    segments_gone: u32,
    arrived: Cycles,
}

/// A segment that the arbiter has granted.
pub(crate) struct Cut {
    pub(crate) tag: u64,
    pub(crate) index: u32,
    pub(crate) last: bool,
    pub(crate) size: Bytes,
}

impl Flow {
    pub(crate) fn new(config: FlowConfig, at: Cycles) -> Result<Flow, ShapingError> {
        config.splitting.check()?;
        let both = [
            Some((config.unit, config.registers)),
            config
                .also
                .map(|registers| (config.unit.other(), registers)),
        ];
        let limits = both.into_iter().flatten();
        let flow = Flow {
            limits: limits
                .clone()
                .map(|(unit, registers)| (unit, TokenBucket::new(registers, at)))
                .collect(),
            config,
            queue: VecDeque::new(),
            ready: None,
        };
        for (unit, registers) in limits {
            flow.check_segment(unit, registers)?;
        }
        Ok(flow)
    }

    pub(crate) fn ready(&self) -> Option<Cycles> {
        self.ready
    }

    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The bucket whose tokens have the unit `unit`.
    pub(crate) fn bucket(&self, unit: Unit) -> Option<&TokenBucket> {
        let found = self.limits.iter().find(|limit| limit.0 == unit);
        found.map(|limit| &limit.1)
    }

    pub(crate) fn unit(&self) -> Unit {
        self.config.unit
    }

    /// Settles the buckets up to `cycle`, exclusive. No more tokens are spent before it.
    pub(crate) fn settle_before(&mut self, cycle: Cycles) {
        if let Some(before) = cycle.0.checked_sub(1) {
            for (_, bucket) in &mut self.limits {
                bucket.settle(Cycles(before));
            }
        }
    }

    pub(crate) fn offer(
        &mut self,
        number: usize,
        message: Message,
        arrived: Cycles,
    ) -> Result<(), ShapingError> {
        let Message { tag, size } = message;
        if size == Bytes(0) {
            return Err(ShapingError::EmptyMessage { tag });
        }
        if self.queue.len() >= self.config.queue_limit {
            let (flow, limit) = (number, self.config.queue_limit);
            return Err(ShapingError::QueueFull { tag, flow, limit });
        }
        for (unit, bucket) in &self.limits {
            for registers in bucket.coming_registers() {
                self.check_message(tag, size, *unit, registers)?;
            }
        }
        self.queue.push_back(Queued {
            tag,
            left: size,
            segments_gone: 0,
            arrived,
        });
        if self.queue.len() == 1 {
            self.find_ready();
        }
        Ok(())
    }

    pub(crate) fn write(
        &mut self,
        number: usize,
        unit: Unit,
        registers: Registers,
        at: Cycles,
    ) -> Result<(), ShapingError> {
        let Some(limit) = self.limits.iter().position(|limit| limit.0 == unit) else {
            let (flow, unit) = (number, unit.name());
            return Err(ShapingError::NoSuchLimit { flow, unit });
        };
        self.check_segment(unit, registers)?;
        for queued in &self.queue {
            self.check_message(queued.tag, queued.left, unit, registers)?;
        }
        self.limits[limit].1.write(registers, at);
        self.find_ready();
        Ok(())
    }

    /// Spends the tokens of the first segment in `cycle`, which is not before [`Flow::ready`].
    pub(crate) fn grant(&mut self, cycle: Cycles) -> Option<Cut> {
        let head = self.queue.front_mut()?;
        let (size, left) = self.config.splitting.cut(head.left);
        for (unit, bucket) in &mut self.limits {
            let paid = bucket.take(cost(*unit, size), cycle);
            debug_assert_eq!(paid, Ok(true), "a segment was granted before it was ready");
        }
        let cut = Cut {
            tag: head.tag,
            index: head.segments_gone,
            last: left == Bytes(0),
            size,
        };
        head.left = left;
        head.segments_gone = head.segments_gone.saturating_add(1);
        if cut.last {
            self.queue.pop_front();
        }
        self.find_ready();
        Some(cut)
    }

    fn find_ready(&mut self) {
        self.ready = self.queue.front().map(|head| {
            let (size, _) = self.config.splitting.cut(head.left);
            let ready = |limit: &(Unit, TokenBucket)| {
                let ready = limit.1.ready(cost(limit.0, size), head.arrived);
                // None is a cycle beyond the last that can be counted.
                ready.unwrap_or(Cycles(u64::MAX))
            };
            // Tokens remain until they are spent, so in the later of the two cycles both buckets
            // have enough.
            let both = self.limits.iter().map(ready).max();
            both.unwrap_or(head.arrived)
        });
    }

    fn check_segment(&self, unit: Unit, registers: Registers) -> Result<(), ShapingError> {
        let bucket = registers.bucket();
        match self.config.splitting {
            Splitting::Segments { segment, .. } if cost(unit, segment) > u64::from(bucket) => {
                Err(ShapingError::SegmentNeverPasses { segment, bucket })
            }
            _ => Ok(()),
        }
    }

    fn check_message(
        &self,
        tag: u64,
        size: Bytes,
        unit: Unit,
        registers: Registers,
    ) -> Result<(), ShapingError> {
        let bucket = registers.bucket();
        let (largest, _) = self.config.splitting.cut(size);
        if cost(unit, largest) > u64::from(bucket) {
            return Err(ShapingError::MessageNeverPasses { tag, size, bucket });
        }
        Ok(())
    }
}

fn cost(unit: Unit, size: Bytes) -> u64 {
    match unit {
        Unit::Bytes => size.get(),
        Unit::Operations => 1,
    }
}
