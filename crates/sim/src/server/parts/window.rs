//! The measured window, and the readings at its ends.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::saturation::Queues;
use crate::hardware::Carried;

/// The measured window: from the end of the warm-up to the last arrival.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The beginning of the window.
    pub from: Time,
    /// Busy times and backlogs at the beginning of the window.
    pub before: Busy,
    /// The end of the window; `None` before the arrivals have ended.
    pub end: Option<WindowEnd>,
}

/// Busy times since the start of the run, and backlogs.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    /// Busy time of all cores together.
    pub cores: Time,
    /// Busy time of the central manager.
    pub manager: Time,
    /// Busy time of all A-DMA engines together.
    pub dma: Time,
    /// Time for which each link carried data.
    pub links: Carried,
    /// Busy time of all processing elements together, and time in which any element of an instance
    /// was busy, summed over instances; indexed by [`Accel::index`].
    pub accelerators: [(Time, Time); Accel::MOST],
    /// Busy time of all output dispatchers of a type together, indexed by [`Accel::index`].
    pub dispatchers: [Time; Accel::MOST],
    /// The backlogs of all resources.
    pub queues: Queues,
}

/// The readings when the last request has arrived.
#[derive(Clone, Debug)]
pub(crate) struct WindowEnd {
    /// The end of the window.
    pub at: Time,
    /// Busy times and backlogs at the end of the window.
    pub busy: Busy,
    /// Number of requests in flight at the end of the window.
    pub in_flight: usize,
}
