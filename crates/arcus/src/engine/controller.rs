//! The interface by which a simulated platform calls a control plane while the platform runs.

use accelflow_shaping::{FlowConfig, Registers, Unit};
use accelflow_units::{Bytes, Time};

use crate::{Flow, Path};

/// The hardware's counts for one flow in the control period that has just ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of the flow's messages that were completed in the control period.
    pub messages: u64,
    /// The bytes of the flow's messages that were completed in the control period.
    pub bytes: Bytes,
    /// The number of messages in the flow's queue at the end of the control period.
    pub waiting: u64,
}

/// A change that a [`Controller`] makes to a simulated platform while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Writes new registers for one rate limit of a flow. The values are the flow's index, the unit
    /// of the limit (bytes or operations), and the registers, which take effect after the shaper's
    /// reconfiguration time. Mechanisms other than ARCUS ignore the action.
    Write(usize, Unit, Registers),
    /// Writes new registers for the second shaper of a flow, which limits what accelerators write
    /// to the storage ([`Flow::results`]). The values are the flow's index and the registers. A
    /// flow without a second shaper gets one. Mechanisms other than ARCUS ignore the action.
    WriteResults(usize, Registers),
    /// Adds a flow, which gets the next free index. Only ARCUS needs the second value, the settings
    /// of the flow's shaper. With software shaping, or under ARCUS without these settings, the run
    /// ends with [`PlatformError::FlowCount`](crate::PlatformError::FlowCount).
    Add(Box<Flow>, Option<FlowConfig>),
    /// Ends the arrivals of the flow with this index. Messages that have arrived are still served.
    Remove(usize),
    /// Changes the route of a flow's messages, also of those that wait in the flow's queue. Data
    /// that has left the queue stays on its route. If the new path leads to the network and the
    /// flow has no Ethernet port, the flow then uses port 0.
    Route {
        /// The index of the flow whose route changes.
        flow: usize,
        /// The accelerators on the new route, as indices of `Platform::accelerators`, in the order
        /// in which messages pass them.
        accelerators: Vec<usize>,
        /// The index of the DMA engine that moves the flow's data on the new route.
        engine: usize,
        /// The new path of the messages between host, network, accelerators and storage.
        path: Path,
    },
}

/// A control plane that a simulated platform calls once per control period.
pub trait Controller {
    /// Returns the changes to make at the simulated time `now`, the end of a control period of
    /// length `period`. `counters` has the counts of each flow in this period, by flow index.
    fn tick(&mut self, now: Time, period: Time, counters: &[Counters]) -> Vec<Action>;
}
