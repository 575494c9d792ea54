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
    /// Busy times at the beginning of the window.
    pub before: Busy,
    /// The end of the window; `None` before the arrivals have ended.
    pub end: Option<WindowEnd>,
}

/// Busy times since the start of the run.
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
    /// Indexed by [`Accel::index`]: busy time of all processing elements together, and time in
    /// which any of them was busy.
    pub accelerators: [(Time, Time); Accel::MOST],
    /// Busy time of output dispatchers, indexed by [`Accel::index`].
    pub dispatchers: [Time; Accel::MOST],
    /// The backlogs of all resources.
    pub queues: Queues,
}

/// The readings when the last request has arrived.
#[derive(Clone, Debug)]
pub(crate) struct WindowEnd {
    /// The end of the window.
    pub at: Time,
    /// Busy times at the end of the window.
    pub busy: Busy,
    /// Number of requests in flight.
    pub in_flight: usize,
}
