//! Measures the costs of the steps of services on this machine.
//!
//! Every service runs on its most common path, on one thread, with software accelerators, for a
//! number of message samples and repetitions of each sample. The cost of a step is the wall time of
//! the accelerator's code on the monotonic clock, minus the clock's own cost, and at least 1 ns.
//! The cost excludes peers, branches and transformations.
//!
//! The cost of TCP is that of its framing code plus a `send` or `recv` of the same message on a
//! connected pair of 127.0.0.1 sockets. Before a `recv`, the data is already there. In a `send`,
//! the kernel also does the receiver's protocol work, since the connection is a loopback.
//!
//! Each round measures all services, so that slow changes of the machine affect all services alike.
//! A round begins with another service than the previous round. Each round has new bodies, buffers
//! and sockets, since their addresses are one cause of variation between runs.
//!
//! In a round, a step's cost is the median over the samples of the medians over the repetitions.
//! The recorded cost is the median over the rounds. The recording also has, for each service, the
//! sum of its steps' costs in each round, and the share of time in which the measuring thread had
//! no core. For each step, the recording has the distribution of the cost over all calls. The first
//! [`WARM_UP_RUNS`] runs of each service in each round are not counted. Application logic is not
//! part of this project, so the recording has no time for it (`app_ns` is null).

mod clock;
pub(crate) mod median;
mod recorder;
mod socket;
mod timed;

pub use recorder::{Progress, RecordError, RecordOptions, WARM_UP_RUNS, machine, record};
