//! Errors of the platform.

use accelflow_shaping::ShapingError;

/// The error of a refused value, flow or promise.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlatformError {
    /// A number out of its range.
    #[error("{name} = {value}: must be {allowed}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// The value as given.
        value: f64,
        /// The allowed values.
        allowed: &'static str,
    },
    /// A flow that names a part which the platform does not have.
    #[error("flow {flow}: {part} = {number}: must be below {count}, the platform's number of them")]
    UnknownPart {
        /// The flow.
        flow: usize,
        /// The kind of part.
        part: &'static str,
        /// The number as given.
        number: usize,
        /// The number of such parts.
        count: usize,
    },
    /// A flow whose path needs a part that is missing.
    #[error("flow {flow}: path = {path}: needs {needs}")]
    PathIncomplete {
        /// The flow.
        flow: usize,
        /// The path.
        path: &'static str,
        /// The missing part.
        needs: &'static str,
    },
    /// A mechanism that has settings for a different number of flows.
    #[error("mechanism {mechanism}: flows with settings = {given}: must be {flows}")]
    FlowCount {
        /// The mechanism.
        mechanism: &'static str,
        /// The number of flows that it has settings for.
        given: usize,
        /// The number of flows.
        flows: usize,
    },
    /// An SLO that does not fit in addition to earlier promises.
    #[error(
        "flow '{name}': an SLO of {asked:.3} Gbit/s cannot be admitted to accelerator '{accelerator}'; \
         {left:.3} Gbit/s are left"
    )]
    NotAdmitted {
        /// The flow.
        name: String,
        /// The accelerator.
        accelerator: String,
        /// The requested rate, in gigabits per second.
        asked: f64,
        /// The largest promise that the accelerator has left for this flow, in gigabits a second.
        left: f64,
    },
    /// A request for an unknown accelerator.
    #[error("flow '{name}': accelerator = '{accelerator}': must be one of {known}")]
    UnknownAccelerator {
        /// The flow.
        name: String,
        /// The accelerator as given.
        accelerator: String,
        /// The known names.
        known: String,
    },
    /// A flow whose path needs an accelerator, and that names the storage.
    #[error("flow '{name}': path = {path}: needs an accelerator, not storage")]
    NeedsAccelerator {
        /// The flow.
        name: String,
        /// The path.
        path: &'static str,
    },
    /// A flow without an SLO, although its class is a promise.
    #[error("flow '{name}': its class is {policy}, which needs an SLO")]
    NeedsSlo {
        /// The flow.
        name: String,
        /// The class.
        policy: &'static str,
    },
    /// A flow with two limits of the same unit.
    #[error("flow '{0}': its two limits must be one in bytes and one in operations")]
    SameUnit(String),
    /// Two flows of the same name.
    #[error("flow = '{0}': must differ from the names of registered flows")]
    DuplicateFlow(String),
    /// A flow that was never registered, or has been released.
    #[error("flow = '{0}': must be a registered flow")]
    UnknownFlow(String),
    /// An error of the shaper.
    #[error(transparent)]
    Shaping(#[from] ShapingError),
}

impl PlatformError {
    pub(crate) fn unless(
        good: bool,
        name: &'static str,
        value: f64,
        allowed: &'static str,
    ) -> Result<(), PlatformError> {
        match good {
            true => Ok(()),
            false => Err(PlatformError::OutOfRange {
                name,
                value,
                allowed,
            }),
        }
    }
}
