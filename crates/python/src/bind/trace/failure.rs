//! Conversion of the trace engine's errors to the exception `TraceError`, each with a stable name
//! for its reason.

use accelflow_parameters::{Refusal, quoted, system_text};
use accelflow_trace::text::TextError;
use accelflow_trace::{
    CheckError, ConditionError, DecodeError, Fault, FileError, KindError, KindsError, LinkError,
    PredicateError, RegisterError, SourceError, TemplateError, Unstructured,
};
use pyo3::prelude::*;

use crate::errors::TraceError;

/// The contents of a `TraceError`.
#[derive(Debug)]
pub(crate) struct Failure {
    reason: &'static str,
    message: String,
    trace: Option<String>,
    step: Option<usize>,
    position: Option<usize>,
}

impl Failure {
    /// A failure with only a reason and a message.
    pub(crate) fn new(reason: &'static str, message: impl ToString) -> Failure {
        Failure {
            reason,
            message: message.to_string(),
            trace: None,
            step: None,
            position: None,
        }
    }

    /// A trace that is not among the `known` ones.
    pub(crate) fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Failure {
        let refusal = match known.collect::<Vec<&str>>() {
            known if known.is_empty() => {
                let allowed = "must be a registered trace, but no trace is registered";
                Refusal::new("trace", quoted(name), allowed)
            }
            known => Refusal::unknown("trace", name, known),
        };
        Failure::new("unknown_trace", refusal).of(name)
    }

    /// Adds the name of the trace.
    pub(crate) fn of(mut self, name: &str) -> Failure {
        self.trace = Some(name.to_owned());
        self
    }

    /// Adds the index of the step.
    pub(crate) fn at_step(mut self, index: usize) -> Failure {
        self.step = Some(index);
        self
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| {
            let error = TraceError::new_err(system_text(&failure.message));
            let value = error.value(py);
            let set = value
                .setattr("reason", failure.reason)
                .and_then(|()| value.setattr("trace", failure.trace))
                .and_then(|()| value.setattr("step", failure.step))
                .and_then(|()| value.setattr("position", failure.position));
            set.err().unwrap_or(error)
        })
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Failure {
        match error {
            SourceError::Condition(error) => error.into(),
            SourceError::Accelerator(_) => Failure::new("unknown_accelerator", error),
            SourceError::Format(_) => Failure::new("unknown_format", error),
            SourceError::SameFormat(_) => Failure::new("same_format", error),
        }
    }
}

impl From<ConditionError> for Failure {
    fn from(error: ConditionError) -> Failure {
        let position = Some(error.at);
        Failure {
            position,
            ..Failure::new("bad_condition", error)
        }
    }
}

impl From<KindError> for Failure {
    fn from(error: KindError) -> Failure {
        Failure::new("bad_kind", error)
    }
}

impl From<KindsError> for Failure {
    fn from(error: KindsError) -> Failure {
        Failure::new("kind_mismatch", error)
    }
}

impl From<TextError> for Failure {
    fn from(error: TextError) -> Failure {
        Failure::new("bad_text", error)
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Failure {
        Failure::new(check_reason(&error), error)
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Failure {
        let (reason, trace) = match &error {
            RegisterError::Check { trace, error } => (check_reason(error), trace.clone()),
            RegisterError::Kinds { trace, .. } => ("kind_mismatch", trace.clone()),
            RegisterError::Duplicate(trace) => ("duplicate_name", trace.clone()),
            RegisterError::Owned { trace, .. } => ("not_the_owner", trace.clone()),
        };
        Failure::new(reason, error).of(&trace)
    }
}

impl From<TemplateError> for Failure {
    fn from(error: TemplateError) -> Failure {
        match error {
            TemplateError::Source(error) => error.into(),
            TemplateError::Register(error) => error.into(),
        }
    }
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Failure {
        let (reason, trace) = match &error {
            LinkError::UnknownTail { trace, .. } => ("unknown_tail", Some(trace)),
            LinkError::NeverEnds(_) => ("never_ends", None),
            LinkError::TooManyExecutions { trace, .. } => ("too_many_executions", Some(trace)),
            LinkError::MemoryFull(_) => ("memory_full", None),
            LinkError::NameCount { .. } | LinkError::Table { .. } => ("invalid_memory", None),
            LinkError::SameName(name) => ("duplicate_name", Some(name)),
            LinkError::Predicate { trace, error } => (predicate_reason(error), Some(trace)),
            LinkError::Kinds(_) => ("kind_mismatch", None),
            LinkError::PartTooLong(part) => ("part_too_long", Some(part)),
            LinkError::Check { word, error } => (check_reason(error), Some(word)),
            LinkError::Decode { word, error } => (decode_reason(error), Some(word)),
            LinkError::Unstructured { word, error } => (unstructured_reason(error), Some(word)),
            LinkError::Memory { word, .. } => ("invalid_memory", Some(word)),
        };
        let trace = trace.map(|name| whole(name).to_owned());
        Failure {
            trace,
            ..Failure::new(reason, error)
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        let reason = match error {
            FileError::Link(error) => return error.into(),
            FileError::Predicate { ref error, .. } => predicate_reason(error),
            FileError::Kind { .. } => "bad_kind",
            FileError::Magic { .. } => "bad_magic",
            FileError::Version { .. } => "bad_version",
            FileError::Length { .. } => "bad_length",
            FileError::Checksum { .. } => "bad_checksum",
            FileError::Malformed { .. } => "malformed_file",
        };
        Failure::new(reason, error)
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Failure {
        Failure::new(decode_reason(&error), error)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        let reason = match &fault {
            Fault::Decode(error) => decode_reason(error),
            Fault::UnknownPredicate(_) => "unknown_predicate",
            Fault::MissingField(_) => "missing_field",
            Fault::NoJoin => "no_join",
            Fault::DanglingAddress(_) => "dangling_address",
        };
        Failure::new(reason, fault)
    }
}

/// The name of the trace that the word called `word` is a part of.
fn whole(word: &str) -> &str {
    word.split_once('.').map_or(word, |(trace, _)| trace)
}

fn check_reason(error: &CheckError) -> &'static str {
    match error {
        CheckError::Name(_) | CheckError::TailName(_) => "bad_name",
        CheckError::Empty => "empty_trace",
        CheckError::Start(_) => "bad_start",
        CheckError::Unreachable(_) | CheckError::AfterFork(_) => "unreachable",
        CheckError::AfterLdb(_) => "after_ldb",
        CheckError::AfterSend(_) => "after_send",
        CheckError::NotYielded { .. } => "not_yielded",
        CheckError::Direction { .. } => "wrong_direction",
        CheckError::DanglingTransform(_) => "dangling_transform",
        CheckError::TransformMismatch(..) => "transform_mismatch",
        CheckError::EmptyBranch(_) => "empty_branch",
        CheckError::EmptyFork => "empty_fork",
        CheckError::EmptyJoin => "empty_join",
        CheckError::ArmEnds(_) => "arm_ends",
        CheckError::AfterJoin(_) => "after_join",
        CheckError::Meet => "no_join",
        CheckError::TooDeep => "too_deep",
        CheckError::TooLong(_) => "too_long",
    }
}

fn predicate_reason(error: &PredicateError) -> &'static str {
    match error {
        PredicateError::TooManyOps(_) => "predicate_too_long",
        PredicateError::TooDeep(_) => "predicate_too_deep",
        PredicateError::TooManyPredicates => "too_many_predicates",
        PredicateError::TooManyFields => "too_many_fields",
        PredicateError::Malformed(_) => "malformed_predicate",
    }
}

fn decode_reason(error: &DecodeError) -> &'static str {
    match error {
        DecodeError::UnknownNibble { .. } => "unknown_nibble",
        DecodeError::Truncated(_) => "truncated_instruction",
        DecodeError::Backward { .. } => "backward_jump",
    }
}

fn unstructured_reason(error: &Unstructured) -> &'static str {
    match error {
        Unstructured::Decode(error) => decode_reason(error),
        Unstructured::Jump(_) => "unstructured_jump",
        Unstructured::Unreachable(_) => "unreachable",
        Unstructured::Predicate(_) => "unknown_predicate",
        Unstructured::Condition(_) => "malformed_predicate",
        Unstructured::Kind(_) => "unknown_kind",
        Unstructured::Dangling(_) => "dangling_address",
    }
}
