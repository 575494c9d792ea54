//! Refusals of a condition's text.

/// Why a condition's text was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("condition error at character {}: {message}\n    {text}\n    {}^", .at + 1, " ".repeat(*.at))]
pub struct ConditionError {
    /// The condition as given.
    pub text: String,
    /// Zero-based index of the offending character.
    pub at: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}
