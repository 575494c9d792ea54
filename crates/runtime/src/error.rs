//! Errors of runs of traces, and counters of how runs ended.

use std::collections::BTreeMap;

use accelflow_trace::{Accel, DecodeError, Fault, Image, Visit, is_name};

use crate::outcome::Arrival;

/// The error that ended a run of a trace (a program of accelerator calls) early. A core can then do
/// the work itself, from the original input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", self.place())]
pub struct TraceError {
    /// The stable machine-readable name of the kind of error: a name that
    /// [`AccelError::reason`](accelflow_accel::AccelError::reason), [`fault_reason`] or
    /// [`PeerError::reason`](crate::PeerError::reason) returns, or one of `unknown_trace`, `panic`,
    /// `no_caller`, `no_message`, `no_execution`, `too_many_visits`, `lost`, `result_taken`.
    pub reason: &'static str,
    /// The name of the trace in which the error happened; empty for `result_taken`.
    pub trace: String,
    /// The index of the failed action among all actions ([`Visit`]: starts of traces, calls, forks
    /// and so on, but not branches) of the run, counted from 0. For a fault of the trace's code,
    /// the number of actions before it. `None` for a run that did not begin, that was lost as its
    /// peer panicked, or whose results had already been taken.
    pub step: Option<usize>,
    /// The accelerator whose call failed, one of the nine. `None` if no call failed, and for custom
    /// accelerators, which `message` names.
    pub accelerator: Option<Accel>,
    /// The text of the error. If a value is wrong, the text names it and the allowed values.
    pub message: String,
}

impl TraceError {
    fn place(&self) -> String {
        let mut place = format!("trace {}", self.trace);
        if let Some(step) = self.step {
            place.push_str(&format!(", step {step}"));
        }
        if let Some(accel) = self.accelerator {
            place.push_str(&format!(" ({accel})"));
        }
        place
    }
}

/// The error of a run of a trace that ended early, with the steps and results of the run before the
/// error.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    /// The error that ended the run.
    pub error: TraceError,
    /// The actions of the run up to the failure (calls, transformations, forks and so on); empty
    /// with [`Detail::Results`](crate::Detail::Results). The last action is the one that failed,
    /// unless the run failed before that action was known.
    pub visits: Vec<Visit>,
    /// The results that the run had delivered before the failure, such as the result of a fork that
    /// had already ended.
    pub arrivals: Vec<Arrival>,
}

/// Returns the stable name of `fault` for counters and tests, such as `backward_jump`. A fault is a
/// defect of a trace's code or of its payload values, found when the trace is executed, for example
/// by [`step`](fn@accelflow_trace::step).
pub fn fault_reason(fault: &Fault) -> &'static str {
    match fault {
        Fault::Decode(DecodeError::UnknownNibble { .. }) => "unknown_nibble",
        Fault::Decode(DecodeError::Truncated(_)) => "truncated_instruction",
        Fault::Decode(DecodeError::Backward { .. }) => "backward_jump",
        Fault::UnknownPredicate(_) => "unknown_predicate",
        Fault::MissingField(_) => "missing_field",
        Fault::NoJoin => "no_join",
        Fault::DanglingAddress(_) => "dangling_address",
    }
}

/// The numbers of an executor's runs of traces: those completed, and those that failed for each
/// reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of runs that reached the end of their trace.
    pub completed: u64,
    /// The number of runs that ended early, for each [`TraceError::reason`].
    pub failed: BTreeMap<&'static str, u64>,
}

impl Counters {
    /// Counts one run: `Ok` if it has reached the end of its trace, `Err` with the
    /// [`TraceError::reason`] if it has failed.
    pub fn count(&mut self, ended: Result<(), &'static str>) {
        match ended {
            Ok(()) => self.completed += 1,
            Err(reason) => *self.failed.entry(reason).or_default() += 1,
        }
    }

    /// The number of all runs, completed or failed.
    pub fn runs(&self) -> u64 {
        self.completed + self.failed.values().sum::<u64>()
    }

    /// The number of runs that ended early for `reason`.
    pub fn failed_for(&self, reason: &str) -> u64 {
        self.failed.get(reason).copied().unwrap_or(0)
    }
}

/// The failure of a run of a trace that `image` does not have.
pub(crate) fn unknown_trace(name: &str, image: &Image) -> Failure {
    let known: Vec<&str> = image
        .names()
        .iter()
        .map(String::as_str)
        .filter(|known| is_name(known))
        .collect();
    let known = match known.is_empty() {
        true => "the traces of this trace memory, but the memory has none".to_owned(),
        false => known.join(", "),
    };
    let cause = Cause::new("unknown_trace", format!("must be one of {known}"));
    Failure {
        error: TraceError {
            reason: cause.reason,
            trace: name.to_owned(),
            step: None,
            accelerator: None,
            message: cause.message,
        },
        visits: Vec::new(),
        arrivals: Vec::new(),
    }
}

/// The error of one step, before its place is known.
#[derive(Debug)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) accelerator: Option<Accel>,
}

impl Cause {
    pub(crate) fn new(reason: &'static str, message: impl ToString) -> Cause {
        Cause {
            reason,
            message: message.to_string(),
            accelerator: None,
        }
    }

    /// Sets the accelerator, one of the nine. Custom accelerators name themselves in their
    /// messages.
    pub(crate) fn at(self, accelerator: Accel) -> Cause {
        Cause {
            accelerator: Some(accelerator).filter(|accel| accel.custom_number().is_none()),
            ..self
        }
    }
}

impl From<accelflow_accel::AccelError> for Cause {
    fn from(error: accelflow_accel::AccelError) -> Cause {
        Cause::new(error.reason(), error)
    }
}

impl From<Fault> for Cause {
    fn from(fault: Fault) -> Cause {
        Cause::new(fault_reason(&fault), fault)
    }
}

impl From<crate::peer::PeerError> for Cause {
    fn from(error: crate::peer::PeerError) -> Cause {
        Cause::new(error.reason(), error)
    }
}
