//! Errors of a traffic shaper.

use accelflow_units::{Bytes, Cycles, Time};

use crate::limits::{CLOCK_MAX_HZ, REGISTER_MAX};

/// The error of an invalid setting or call of a traffic shaper. The failed call has no effect,
/// except that the shaper's time may advance to the time of the call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ShapingError {
    /// The refill of a token bucket is zero. After the first burst, nothing would ever pass.
    #[error("refill = 0 tokens: must be from 1 to {}", REGISTER_MAX)]
    ZeroRefill,
    /// The size of a token bucket is zero. Nothing would ever pass.
    #[error("bucket = 0 tokens: must be from 1 to {}", REGISTER_MAX)]
    ZeroBucket,
    /// The interval between refills is zero cycles.
    #[error("interval = 0 cycles: must be from 1 to {}", REGISTER_MAX)]
    ZeroInterval,
    /// A value does not fit a register.
    #[error("{register} = {value}: must be from 1 to {}", REGISTER_MAX)]
    RegisterOverflow {
        /// The name of the register: refill, bucket or interval.
        register: &'static str,
        /// The register's value as it was given.
        value: u64,
    },
    /// The rate is not above 0, is too low for the longest interval between refills, or cannot be
    /// approximated within 1 % by refills that fit the token bucket.
    #[error(
        "rate = {tokens_per_s} tokens/s with a bucket of {bucket} tokens: must be above 0, give \
         at least one token in {} cycles, and be reachable within 1 % by refills that fit the \
         bucket (a larger bucket may help)",
        REGISTER_MAX
    )]
    ImpossibleRate {
        /// The rate as it was given, in tokens per second.
        tokens_per_s: f64,
        /// The size of the bucket in tokens.
        bucket: u64,
    },
    /// The clock has 0 Hz, so it would never tick.
    #[error("clock = 0 Hz: must be from 1 to {} Hz", CLOCK_MAX_HZ)]
    ZeroClock,
    /// The cycles of the clock are shorter than a picosecond, the unit of simulated time.
    #[error("clock = {hz} Hz: must be from 1 to {} Hz", CLOCK_MAX_HZ)]
    FastClock {
        /// The frequency as it was given, in hertz.
        hz: u64,
    },
    /// A segment of a split message has no room for payload after the header.
    #[error(
        "segment = {} bytes: must be more than the header of {} bytes", .segment.get(), .header.get()
    )]
    SegmentWithoutPayload {
        /// The size of the largest segment, including its header.
        segment: Bytes,
        /// The size of the header that each segment repeats.
        header: Bytes,
    },
    /// A segment of a split message needs more tokens than a full bucket holds.
    #[error("segment = {} bytes: must be at most {bucket} bytes, the size of the bucket", .segment.get())]
    SegmentNeverPasses {
        /// The size of the largest segment, including its header.
        segment: Bytes,
        /// The size of the bucket in tokens.
        bucket: u32,
    },
    /// An unsplit message needs more tokens than the bucket holds, under the current registers or
    /// under written ones that are not yet in effect.
    #[error(
        "message {tag}: size = {} bytes: must be at most {bucket}, the tokens that the bucket holds; \
         split messages or enlarge the bucket", .size.get()
    )]
    MessageNeverPasses {
        /// The caller's identifier of the message.
        tag: u64,
        /// The size of the message.
        size: Bytes,
        /// The size of the bucket in tokens.
        bucket: u32,
    },
    /// A message has zero bytes, so a limit in bytes could not hold it back.
    #[error("message {tag}: size = 0 bytes: must be at least 1 byte")]
    EmptyMessage {
        /// The caller's identifier of the message.
        tag: u64,
    },
    /// The queue of the flow is full, so the flow's sender has to wait.
    #[error("message {tag}: the queue of flow {flow} is full: it holds at most {limit} messages")]
    QueueFull {
        /// The caller's identifier of the message.
        tag: u64,
        /// The index of the flow whose queue is full.
        flow: usize,
        /// The largest number of messages in the queue.
        limit: usize,
    },
    /// The shaper has no flow with this index.
    #[error("flow = {flow}: must be below {flows}, the number of flows")]
    UnknownFlow {
        /// The index of the unknown flow as it was given.
        flow: usize,
        /// The number of flows that the shaper has.
        flows: usize,
    },
    /// The flow has no token bucket whose tokens have this unit.
    #[error("flow {flow}: unit = {unit}: must be a unit in which the flow has a limit")]
    NoSuchLimit {
        /// The index of the flow that lacks the limit.
        flow: usize,
        /// The name of the unit: bytes or operations.
        unit: &'static str,
    },
    /// The time of a call is before that of an earlier call.
    #[error("time = {} ps: must not be before {} ps, the time of an earlier call", .at.as_ps(), .now.as_ps())]
    TimeRunsBackwards {
        /// The time of the refused call, as it was given.
        at: Time,
        /// The latest time of the calls so far.
        now: Time,
    },
    /// The cycle of a call is before that of an earlier call.
    #[error("cycle = {}: must not be before {}, the cycle of an earlier call", .at.0, .now.0)]
    CycleRunsBackwards {
        /// The cycle of the refused call, as it was given.
        at: Cycles,
        /// The latest cycle of the calls so far.
        now: Cycles,
    },
}
