//! Errors of a shaper.

use accelflow_units::{Bytes, Cycles, Time};

use crate::limits::{CLOCK_MAX_HZ, REGISTER_MAX};

/// The error of an invalid value. The failed call has no effect except to advance the time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ShapingError {
    /// A refill of zero tokens. After the first burst, nothing would ever pass.
    #[error("refill = 0 tokens: must be from 1 to {}", REGISTER_MAX)]
    ZeroRefill,
    /// A bucket of size zero. Nothing would ever pass.
    #[error("bucket = 0 tokens: must be from 1 to {}", REGISTER_MAX)]
    ZeroBucket,
    /// An interval of zero cycles between refills.
    #[error("interval = 0 cycles: must be from 1 to {}", REGISTER_MAX)]
    ZeroInterval,
    /// A value that does not fit a register.
    #[error("{register} = {value}: must be from 1 to {}", REGISTER_MAX)]
    RegisterOverflow {
        /// The register: refill, bucket or interval.
        register: &'static str,
        /// The value as given.
        value: u64,
    },
    /// A rate that is impossible with this bucket.
    #[error(
        "rate = {tokens_per_s} tokens/s with a bucket of {bucket}: must be above 0, at least one \
         token in {} cycles, and refill no more than the bucket at once",
        REGISTER_MAX
    )]
    ImpossibleRate {
        /// The rate as given.
        tokens_per_s: f64,
        /// The size of the bucket in tokens.
        bucket: u64,
    },
    /// A clock that never ticks.
    #[error("clock = 0 Hz: must be from 1 to {} Hz", CLOCK_MAX_HZ)]
    ZeroClock,
    /// A clock whose cycles are shorter than a picosecond, the unit of time.
    #[error("clock = {hz} Hz: must be from 1 to {} Hz", CLOCK_MAX_HZ)]
    FastClock {
        /// The frequency as given.
        hz: u64,
    },
    /// Segments without room for payload after the header.
    #[error(
        "segment = {} bytes: must be more than the header of {} bytes", .segment.get(), .header.get()
    )]
    SegmentWithoutPayload {
        /// The largest segment, including its header.
        segment: Bytes,
        /// The header that each segment repeats.
        header: Bytes,
    },
    /// Segments that need more tokens than the bucket's size.
    #[error("segment = {} bytes: must be at most {bucket} bytes, the tokens of the bucket", .segment.get())]
    SegmentNeverPasses {
        /// The largest segment, including its header.
        segment: Bytes,
        /// The size of the bucket in tokens.
        bucket: u32,
    },
    /// An unsplit message that needs more tokens than the bucket's size, under the current
    /// registers or under written ones that are not yet in effect.
    #[error(
        "message {tag} = {} bytes: a bucket of {bucket} tokens can never pass it; \
         split messages or enlarge the bucket", .size.get()
    )]
    MessageNeverPasses {
        /// The message.
        tag: u64,
        /// Its size.
        size: Bytes,
        /// The size of the bucket in tokens.
        bucket: u32,
    },
    /// A message of zero bytes, which shaping in bytes cannot limit.
    #[error("message {tag}: size = 0 bytes: must be at least 1 byte")]
    EmptyMessage {
        /// The message.
        tag: u64,
    },
    /// The flow's queue is full. Its sender has to wait.
    #[error("message {tag}: the queue of flow {flow} is full with {limit} messages")]
    QueueFull {
        /// The message.
        tag: u64,
        /// The flow's number.
        flow: usize,
        /// The size of the queue in messages.
        limit: usize,
    },
    /// An unknown flow.
    #[error("flow = {flow}: must be below {flows}, the number of flows")]
    UnknownFlow {
        /// The flow's number.
        flow: usize,
        /// The number of flows.
        flows: usize,
    },
    /// A limit in a unit for which the flow has no bucket.
    #[error("flow {flow}: has no limit in {unit}")]
    NoSuchLimit {
        /// The flow's number.
        flow: usize,
        /// The unit of the missing limit's tokens.
        unit: &'static str,
    },
    /// A time before that of an earlier call.
    #[error("time {} ps: must not be before {} ps, the time of an earlier call", .at.as_ps(), .now.as_ps())]
    TimeRunsBackwards {
        /// The time as given.
        at: Time,
        /// The latest time so far.
        now: Time,
    },
    /// A cycle before one that has been settled.
    #[error("cycle {}: must not be before {}, the cycle of an earlier call", .at.0, .now.0)]
    CycleRunsBackwards {
        /// The cycle as given.
        at: Cycles,
        /// The latest cycle so far.
        now: Cycles,
    },
}
