//! Measures the costs of the steps of services on this machine.
//!
//! Every service runs on its most common path, on one thread, with software bodies, for a number of
//! message samples and repetitions of each. A cost is the wall time of the body on the monotonic
//! clock, minus the clock's own cost, and at least 1 ns. It excludes peers, branches and
//! transformations. The cost of TCP is its framing body plus a `send` or `recv` of the same message
//! on a connected pair of 127.0.0.1 sockets. For a receive the data is already there. For a send,
//! loopback makes the kernel do the receiver's protocol work in the same call.
//!
//! Each round measures all services, so that slow changes of the machine affect all services alike.
//! A round begins with a different service than the one before. It has new bodies, buffers and
//! sockets, since their addresses are one cause of variation between runs.
//!
//! In a round, a step's cost is the median over the samples of the medians over the repetitions.
//! The recorded cost is the median over the rounds. The recording also has the sum of each
//! service's steps per round, the distribution of each step's cost over all calls, and the share of
//! the time in which the measuring thread had no core. Only the first [`WARM_UP_RUNS`] runs of each
//! service in each round are dropped. Application logic is not part of this project, so its time is
//! left open (`app_ns` is null).

mod clock;
pub(crate) mod median;
mod recorder;
mod socket;
mod timed;

pub use recorder::{Progress, RecordError, RecordOptions, WARM_UP_RUNS, machine, record};
