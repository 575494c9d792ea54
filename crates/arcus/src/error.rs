//! The error type of the simulated platform and its control plane.

use accelflow_shaping::ShapingError;

/// An error of the simulated platform or its control plane: a refused value, flow or promise.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlatformError {
    /// A number is outside its allowed range.
    #[error("{name} = {value}: must be {allowed}")]
    OutOfRange {
        /// The name of the parameter with the refused value.
        name: &'static str,
        /// The refused value.
        value: f64,
        /// The allowed values, as words that follow "must be".
        allowed: &'static str,
    },
    /// A flow refers to a part of the platform or to another flow by an index that does not exist,
    /// or a control plane removes or re-routes a flow that does not exist.
    #[error(
        "flow {flow}: index of the {part} = {number}: must be below {count}; indices begin at 0"
    )]
    UnknownPart {
        /// The index of the flow.
        flow: usize,
        /// The kind of the missing part, such as `accelerator` or `DMA engine`.
        part: &'static str,
        /// The index by which the flow refers to the part.
        number: usize,
        /// The number of parts of this kind that exist.
        count: usize,
    },
    /// A flow's path needs an Ethernet port that the flow does not have, or storage that the
    /// platform does not have; or the arrivals of the flow that should carry the host's answers are
    /// not [`Arrivals::Answers`](crate::Arrivals::Answers).
    #[error("flow {flow}: path = {path}: needs {needs}")]
    PathIncomplete {
        /// The index of the flow.
        flow: usize,
        /// The name of the flow's path.
        path: &'static str,
        /// What the path needs, in words that follow "needs".
        needs: &'static str,
    },
    /// A sharing mechanism has settings for fewer or more flows than there are.
    #[error(
        "mechanism {mechanism}: number of flows with settings = {given}: must be {flows}, the \
         number of flows in the simulation"
    )]
    FlowCount {
        /// The paper's name of the mechanism.
        mechanism: &'static str,
        /// The number of flows for which the mechanism has settings.
        given: usize,
        /// The number of flows in the simulation.
        flows: usize,
    },
    /// An accelerator is called `storage`, the name by which flows ask for the SSDs.
    #[error("accelerator: name = 'storage': must not be 'storage', which stands for the SSDs")]
    NamedStorage,
    /// An SLO does not fit into the capacity that earlier promises leave.
    #[error(
        "flow '{name}': an SLO of {asked:.3} Gbit/s on accelerator '{accelerator}' cannot be promised: \
         earlier promises leave at most {left:.3} Gbit/s"
    )]
    NotAdmitted {
        /// The name of the refused flow.
        name: String,
        /// The name of the accelerator that the flow asks for.
        accelerator: String,
        /// The rate that the flow asks for, in gigabits per second.
        asked: f64,
        /// The largest rate that can still be promised to this flow, in gigabits per second.
        left: f64,
    },
    /// A flow asks for an accelerator that the platform does not have.
    #[error("flow '{name}': accelerator = '{accelerator}': {}", on_platform(.known))]
    UnknownAccelerator {
        /// The name of the flow.
        name: String,
        /// The unknown accelerator name that the flow asks for.
        accelerator: String,
        /// The names of the platform's accelerators, and `storage` if the platform has SSDs,
        /// separated by commas.
        known: String,
    },
    /// A flow names the storage instead of an accelerator, but its path needs an accelerator.
    #[error("flow '{name}': path = {path}: needs an accelerator, but the flow names 'storage'")]
    NeedsAccelerator {
        /// The name of the flow.
        name: String,
        /// The name of the flow's path.
        path: &'static str,
    },
    /// A flow has no SLO, but its service class promises one.
    #[error("flow '{name}': slo is left out: must be given for a flow of class {policy}")]
    NeedsSlo {
        /// The name of the flow.
        name: String,
        /// The name of the flow's service class.
        policy: &'static str,
    },
    /// The two rates of a flow ([`slo` and `also`](crate::control::AdmissionRequest)) have the same
    /// unit. The value is the flow's name.
    #[error(
        "flow '{0}': its two promised rates must differ in unit: one in Gbit/s, one in messages per second"
    )]
    SameUnit(String),
    /// A flow has the same name as a registered flow. The value is this name.
    #[error("flow = '{0}': must differ from the names of registered flows")]
    DuplicateFlow(String),
    /// No registered flow has this name.
    #[error("flow = '{0}': must be the name of a registered flow")]
    UnknownFlow(String),
    /// The traffic shaper refuses a setting or a message.
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

/// The allowed accelerators, as a clause of a message.
fn on_platform(known: &str) -> String {
    match known.is_empty() {
        true => "must be on the platform, which has no accelerators".to_owned(),
        false => format!("must be one of {known}"),
    }
}
