//! Errors in a condition's text.

/// The error of an invalid condition: its place in the text and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("condition error at character {}: {message}\n    {text}\n    {}^", .at + 1, " ".repeat(*.at))]
pub struct ConditionError {
    /// The condition as given.
    pub text: String,
    /// Zero-based index of the offending character.
    pub at: usize,
    /// The problem and what is allowed.
    pub message: String,
}
