//! The measured window, and the busy times and backlogs at its beginning and at its end.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::saturation::Queues;
use crate::hardware::Carried;

/// The measured window: from the end of the warm-up to the last arrival.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The simulated time at which the window begins.
    pub from: Time,
    /// Busy times and backlogs at the beginning of the window.
    pub before: Busy,
    /// The busy times, backlogs and requests at the end of the window; `None` before the last
    /// counted request has arrived.
    pub end: Option<WindowEnd>,
}

/// Busy times since the start of the run, and backlogs.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    /// Busy time of all cores together, since the start of the run.
    pub cores: Time,
    /// Busy time of the central manager, since the start of the run.
    pub manager: Time,
    /// Busy time of all A-DMA engines together, since the start of the run.
    pub dma: Time,
    /// Time for which each link of the network carried data, since the start of the run.
    pub links: Carried,
    /// For each accelerator type, two times since the start of the run: the busy time of all
    /// processing elements together, and the time for which any element of an instance was busy,
    /// summed over the instances. If tenants reserve shares of the instances, the second time is
    /// the sum over the shares, each multiplied by its number of elements. Indexed by
    /// [`Accel::index`].
    pub accelerators: [(Time, Time); Accel::MOST],
    /// Busy time of all output dispatchers of each accelerator type together, since the start of
    /// the run; indexed by [`Accel::index`].
    pub dispatchers: [Time; Accel::MOST],
    /// The backlogs of all resources at the time up to which the busy times count.
    pub queues: Queues,
}

/// The readings when the last request has arrived.
#[derive(Clone, Debug)]
pub(crate) struct WindowEnd {
    /// The simulated time at which the window ends.
    pub at: Time,
    /// Busy times and backlogs at the end of the window.
    pub busy: Busy,
    /// The requests in the server at the end of the window.
    pub inside: Inside,
}

/// How many requests are in the server. Detached chains count as requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside {
    /// Number of requests that use resources of the server, or wait for them. Requests that only
    /// wait for remote sides, called services or pauses do not count.
    pub at_work: usize,
    /// Number of requests that `at_work` counts, plus the number of their callers on the server:
    /// the requests that wait, directly or through other calls, for responses of requests that
    /// `at_work` counts.
    pub held: usize,
}
