//! Values from the two simulations of a plan.

use serde::Serialize;

use crate::RunResult;

/// One measured value from two simulations of the same flows: with ARCUS, and without shaping (the
/// paper's `Host_noTS`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ByRun<T> {
    /// The value in the simulation with ARCUS.
    #[serde(rename = "Arcus")]
    pub arcus: T,
    /// The value in the simulation without shaping.
    #[serde(rename = "Host_noTS")]
    pub host_no_ts: T,
}

/// Both runs of a plan.
pub(super) type Runs<'a> = ByRun<&'a RunResult>;

impl Runs<'_> {
    pub(super) fn each<T>(&self, figure: impl Fn(&RunResult) -> T) -> ByRun<T> {
        ByRun {
            arcus: figure(self.arcus),
            host_no_ts: figure(self.host_no_ts),
        }
    }
}
