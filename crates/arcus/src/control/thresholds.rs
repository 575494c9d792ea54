//! The constants of the control plane; [`crate::parameters::PARAMETERS`] gives their sources.

use accelflow_units::{Bytes, Time};

/// The growth of the load below which a flow does not count as a user of the most loaded resource.
/// A flow that uses the resource adds clearly more.
pub(crate) const TOUCHES: f64 = 0.05;
/// The precision to which a load is known.
pub(crate) const NOISE: f64 = 0.005;
/// The largest load of flows that share no resource.
pub(crate) const FULL: f64 = 1.02;

/// The largest number of patterns of a context that is interpolated between contexts of the table.
pub(crate) const CONTEXT_PATTERNS: usize = 4;
/// Number of bisection steps in the search for the largest promise: to a millionth of the capacity.
pub(crate) const ROOM_HALVINGS: u32 = 20;

/// The least that a flow without a part of the rest is shaped to, as a share of its promise, or of
/// its rate alone on the route if it has none: a rate cannot be zero.
pub(crate) const TRICKLE: f64 = 0.001;
/// Number of bisection steps in the search for the part of the rest that fits.
pub(crate) const REST_HALVINGS: u32 = 6;
/// Number of bisection steps in the search for the part of a priority's demands that fits.
pub(crate) const PRIORITY_HALVINGS: u32 = 7;
/// How far a load may exceed 1 before a flow gets less: capacities are not known more precisely.
pub(crate) const KNOWN: f64 = 0.01;

/// The share of its rate that an accelerator may lose to smaller segments of messages.
pub(crate) const SEGMENT_LOSS: f64 = 0.03;
/// The smallest segment that messages are cut into.
pub(crate) const SMALLEST_SEGMENT: Bytes = Bytes(1_024);

/// The weight of the latest period in a flow's measured rate: periods hold few large messages.
pub(crate) const SMOOTHING: f64 = 0.25;
/// The smallest relative change of a rate that is worth a register write.
pub(crate) const WORTH: f64 = 0.02;
/// The largest factor by which a rate is raised above the SLO to make up for a shortfall.
pub(crate) const CATCH_UP: f64 = 1.05;

/// The rise of a flow's margin above its SLO after a missed period, as a share of the SLO.
pub(crate) const MARGIN_STEP: f64 = 0.004;
/// The smallest relative change of a margin that is worth a register write.
pub(crate) const MARGIN_WORTH: f64 = 0.000_5;

/// The allowed shortfall of a flow: the paper's 1 %.
pub(crate) const TOLERANCE: f64 = 0.01;
/// Number of messages beyond a promised percentile that are needed to estimate it.
pub(crate) const BEYOND: f64 = 10.0;

/// The shortest simulation of a context, if it has [`ROUND_TRIPS`].
pub(crate) const WATCHED: Time = Time::from_us(200);
/// The least number of round trips in the simulation of a context. Messages may complete in one
/// burst a round trip, so the rate is then known to 1 %.
pub(crate) const ROUND_TRIPS: u64 = 100;
/// The shortest simulation of a context with storage, whose writes occupy a unit for milliseconds.
/// Its warm-up is as long, until the buffers have filled.
pub(crate) const WATCHED_STORAGE: Time = Time::from_us(20_000);
/// A context is simulated until each of its flows has passed this many messages. The rate between
/// the first and the last of them is then known to within 1/31 of the variation of a message's
/// time.
pub(crate) const MESSAGES: usize = 32;
/// A context is simulated for no more than this number of messages in all, if each flow has passed
/// [`FEW`].
pub(crate) const ENOUGH: usize = 300_000;
/// The number of messages of each flow that is enough beside [`ENOUGH`] in all.
pub(crate) const FEW: usize = 4;
/// A context is simulated for no more than this number of messages in any case: a flow that has
/// passed none by then has rate 0.
pub(crate) const MOST: usize = 4_000_000;
/// A context is simulated for no longer than this multiple of the shortest simulation.
pub(crate) const LONGEST: u64 = 1_000;
/// The least share of a context's traffic that a flow is simulated with, in thousandths.
pub(crate) const LEAST_PERMILLE: u32 = 10;

/// The shortest interval that the planner uses: that of the last row of Table 2, "long enough to be
/// easily implemented".
pub(crate) const SHORTEST_CYCLES: u64 = 64;
/// The longest interval that the planner uses for a rate of at least one token in it.
pub(crate) const LONGEST_CYCLES: u64 = 65_536;
/// The largest relative deviation of the registers' rate from the one asked for, if an interval
/// allows it.
pub(crate) const RATE_ERROR: f64 = 1e-4;
/// The rate of a flow's second shaper over the rate of the first. The excess exceeds the deviations
/// of both registers, so results do not pile up between the two.
pub(crate) const RESULTS_ABOVE: f64 = 1.0 + 3.0 * RATE_ERROR;
