//! Measuring what the steps of services cost on this machine.
//!
//! Method. Every service runs on its most common path, on one thread, with software bodies, for
//! a number of message samples and repetitions of each. A cost is the wall time of the body
//! alone by the monotonic clock, without the clock's own cost (at least 1 ns remains); peers,
//! branches and transformations are outside. TCP's cost adds, to its framing body, the time of a
//! `send` or `recv` of the same message on a connected pair of 127.0.0.1 sockets: for a receive
//! the data is already there; for a send, loopback makes the kernel do the receiver's protocol
//! work in the same call.
//!
//! All services are measured in one round, and all again in the next, so that what changes in the
//! machine over seconds is in every service's costs alike. Each round has new bodies, buffers and
//! sockets, since their place in memory is one cause of variation from run to run, and begins with
//! another service. In a round, a step's cost is the median, over the samples, of the medians over
//! the repetitions; the recorded cost is the median over the rounds, and what a service's steps
//! took together in each round is kept, as are the distribution of each step's cost over all calls,
//! and the share of the time in which the measuring thread had no core. Nothing is dropped but
//! [`WARM_UP_RUNS`] runs of each service before each round. Application logic is not part of this
//! project, so its time is left open (`app_ns` is null).

mod clock;
mod median;
mod recorder;
mod socket;
mod timed;

pub use recorder::{Progress, RecordError, RecordOptions, WARM_UP_RUNS, machine, record};
