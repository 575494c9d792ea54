//! Errors in a condition's text.

/// The error of an invalid branch condition: the condition's text, the place in it, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("condition error at character {}: {message}\n    {text}\n    {}^", .at + 1, " ".repeat(*.at))]
pub struct ConditionError {
    /// The condition as given.
    pub text: String,
    /// The index of the invalid character in `text`, counted from 0.
    pub at: usize,
    /// The reason why the condition is invalid, and what is allowed.
    pub message: String,
}
