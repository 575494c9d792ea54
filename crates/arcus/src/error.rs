//! Errors of the platform.

use accelflow_shaping::ShapingError;

/// A value, a flow or a promise that the simulated platform or its control plane refuses.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlatformError {
    /// A number outside its range.
    #[error("{name} = {value}: must be {allowed}")]
    OutOfRange {
        /// The name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The allowed values, as words after "must be".
        allowed: &'static str,
    },
    /// A flow that uses a part of the platform which does not exist.
    #[error("flow {flow}: {part} = {number}: must be below {count}, the number on the platform")]
    UnknownPart {
        /// The number of the flow.
        flow: usize,
        /// The kind of part, such as `accelerator` or `DMA engine`.
        part: &'static str,
        /// The part's number as the flow gives it.
        number: usize,
        /// The number of such parts on the platform.
        count: usize,
    },
    /// A flow whose path needs a part that the flow or the platform does not have.
    #[error("flow {flow}: path = {path}: needs {needs}")]
    PathIncomplete {
        /// The number of the flow.
        flow: usize,
        /// The name of the flow's path.
        path: &'static str,
        /// The missing part.
        needs: &'static str,
    },
    /// A sharing mechanism that has settings for fewer or more flows than there are.
    #[error(
        "mechanism {mechanism}: flows with settings = {given}: must be {flows}, the number of flows"
    )]
    FlowCount {
        /// The paper's name of the mechanism.
        mechanism: &'static str,
        /// The number of flows for which the mechanism has settings.
        given: usize,
        /// The number of flows to run.
        flows: usize,
    },
    /// An SLO that the capacity left by earlier promises does not allow.
    #[error(
        "flow '{name}': an SLO of {asked:.3} Gbit/s on accelerator '{accelerator}' cannot be promised: \
         at most {left:.3} Gbit/s can, beside earlier promises"
    )]
    NotAdmitted {
        /// The name of the flow.
        name: String,
        /// The name of the requested accelerator.
        accelerator: String,
        /// The requested rate, in gigabits per second.
        asked: f64,
        /// The largest rate that could still be promised to this flow, in gigabits per second.
        left: f64,
    },
    /// A request for an accelerator that the platform does not have.
    #[error("flow '{name}': accelerator = '{accelerator}': must be one of {known}")]
    UnknownAccelerator {
        /// The name of the flow.
        name: String,
        /// The requested name.
        accelerator: String,
        /// The names of the platform's accelerators, as a list in words.
        known: String,
    },
    /// A flow that asks for the storage instead of an accelerator, on a path that needs one.
    #[error("flow '{name}': path = {path}: needs an accelerator, but the flow names 'storage'")]
    NeedsAccelerator {
        /// The name of the flow.
        name: String,
        /// The name of the path.
        path: &'static str,
    },
    /// A flow without an SLO whose service class promises one.
    #[error("flow '{name}': slo = left out: must be given for a flow of class {policy}")]
    NeedsSlo {
        /// The name of the flow.
        name: String,
        /// The name of the service class.
        policy: &'static str,
    },
    /// A flow, by name, whose two rates ([`slo` and `also`](crate::control::AdmissionRequest)) have
    /// the same unit.
    #[error(
        "flow '{0}': its two promised rates must differ in unit: one in Gbit/s, one in messages per second"
    )]
    SameUnit(String),
    /// A flow with the name of a registered flow.
    #[error("flow = '{0}': must differ from the names of registered flows")]
    DuplicateFlow(String),
    /// The name of a flow that is not registered, or no longer.
    #[error("flow = '{0}': must be the name of a registered flow")]
    UnknownFlow(String),
    /// A setting that the traffic shaper refuses.
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
