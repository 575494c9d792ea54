//! Indices of requests, traces and cores, and the identity of an accelerator instance.

use accelflow_trace::Accel;

use crate::hardware::Place;

/// Index of a request in flight.
pub(crate) type RequestId = u32;
/// Index of a job in flight.
pub(crate) type JobId = u32;
/// Index of a core.
pub(crate) type CoreId = u16;

/// Index of a compiled leg of a chain, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LegId(u32);

impl LegId {
    /// The position is not compiled.
    pub(crate) const NONE: LegId = LegId(u32::MAX);

    pub(crate) fn new(index: usize) -> LegId {
        LegId(index as u32)
    }

    /// The index; beyond all legs for [`LegId::NONE`].
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tenant's share of an accelerator instance, or all of the instance if tenants do not reserve
/// shares. [`crate::server::parts::Ensemble::unit`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The type of the accelerator.
    pub accel: Accel,
    /// Index of the instance within its type.
    pub instance: u8,
    /// Index of the tenant's share of the instance, from 0. It is 0 if the instance has no shares.
    pub share: u16,
    /// Index of the instance or share among all instances and shares of the server.
    pub station: u32,
}

impl Unit {
    /// The place of the unit on the package.
    pub(crate) fn place(self) -> Place {
        Place::Accel(self.accel, u16::from(self.instance))
    }

    /// The station that holds what all shares of the instance have in common: the output
    /// dispatcher.
    pub(crate) fn whole(self) -> usize {
        (self.station - u32::from(self.share)) as usize
    }
}
