//! Indices of things in flight, and places in the server.

use accelflow_trace::Accel;

use crate::hardware::Place;

/// Index of a request in flight.
pub(crate) type RequestId = u32;
/// Index of a job in flight.
pub(crate) type JobId = u32;
/// Index of a core.
pub(crate) type CoreId = u16;

/// A tenant's share of an accelerator instance, or all of the instance if tenants do not reserve
/// shares. [`crate::server::parts::Ensemble::unit`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub accel: Accel,
    pub instance: u8,
    /// Index of the share; 0 without reserved shares.
    pub share: u16,
    /// Index of its station, of all of the server.
    pub station: u32,
}

impl Unit {
    /// The place of the unit on the package.
    pub(crate) fn place(self) -> Place {
        Place::Accel(self.accel, u16::from(self.instance))
    }

    /// The station that holds what all shares of the instance have in common: the output dispatcher.
    pub(crate) fn whole(self) -> usize {
        (self.station - u32::from(self.share)) as usize
    }
}
