//! The traffic shaper of ARCUS: a token bucket and a queue for each flow that shares an accelerator
//! (Zhao, Shu, Lim, Fan, Anderson, Gao and Enright Jerger, "ARCUS: SLO Management for Accelerators
//! in the Cloud with Traffic Shaping", section 4.2).
//!
//! This crate has no clock. The caller passes the time, so the same shaper works in simulated and
//! in real time. The state is exact to the clock cycle, and the time between calls costs no
//! computation.
//!
//! * [`Registers`] set a rate; [`table2`] has the paper's values.
//! * [`TokenBucket`] is a rate limiter, simulated in clock cycles.
//! * [`CostTable`] predicts the accelerator time of a request, for token buckets whose tokens are
//!   time.
//! * [`Shaper`] combines the queues of flows, rate limiters, splitting and the arbiter between
//!   flows.
//!
//! [`algorithms`] has alternatives to the token bucket.
//!
//! [`control`] is the control plane for a server, which turns SLOs promised to tenants into rates
//! of token buckets.
//!
//! [`dispatch`] is the stage after the shaper: the order in which entries of an accelerator's input
//! queue are loaded.
//!
//! ```
//! use accelflow_shaping::{FlowConfig, Message, Registers, Shaper, Timing, Unit};
//! use accelflow_units::{Bytes, Time};
//!
//! let mut shaper = Shaper::new(Timing::default());
//! let ten_gbit_per_s = Registers::new(4_096, 4_096, 800)?;
//! let flow = shaper.add_flow(Time::ZERO, FlowConfig::new(Unit::Bytes, ten_gbit_per_s))?;
//! for tag in 0..2 {
//!     let size = Bytes(4_096);
//!     shaper.offer(Time::ZERO, flow, Message { tag, size })?;
//! }
//! // The first takes the full bucket; the second waits for the refill, 800 cycles of 4 ns later.
//! let first = shaper.poll(Time::ZERO)?.map(|segment| segment.granted);
//! assert_eq!(first, Some(Time::ZERO));
//! assert_eq!(shaper.next_grant(), Some(Time::from_ns(3_200)));
//! # Ok::<(), accelflow_shaping::ShapingError>(())
//! ```

pub mod algorithms;
mod bucket;
pub mod control;
mod costs;
pub mod dispatch;
mod error;
mod flow;
mod limits;
mod parameters;
mod registers;
mod shaper;
mod split;
pub mod table2;
mod timing;

pub use bucket::TokenBucket;
pub use costs::CostTable;
pub use error::ShapingError;
pub use flow::{FlowConfig, FlowId, Message};
pub use parameters::PARAMETERS;
pub use registers::{Registers, Unit};
pub use shaper::{Segment, Shaper};
pub use split::Splitting;
pub use timing::{Clock, Timing};
