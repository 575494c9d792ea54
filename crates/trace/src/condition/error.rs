//! Refusals of a condition's text.

/// A condition's text was refused: the place and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("condition error at character {}: {message}\n    {text}\n    {}^", .at + 1, " ".repeat(*.at))]
pub struct ConditionError {
    /// The condition as given.
    pub text: String,
    /// Zero-based index of the offending character.
    pub at: usize,
    /// The problem, and what is allowed.
    pub message: String,
}
