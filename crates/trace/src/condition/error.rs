//! The error of an invalid branch condition.

/// The error of an invalid branch condition: the condition's text, the invalid position, and the
/// reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("condition error at character {}: {message}\n    {text}\n    {}^", .at + 1, " ".repeat(*.at))]
pub struct ConditionError {
    /// The condition's text; if it is too long, only its first 40 characters and `...`.
    pub text: String,
    /// The index of the invalid character in `text`, counted from 0; the number of characters in
    /// `text` if something is missing at its end. 0 also if the whole condition is refused.
    pub at: usize,
    /// The reason why the condition is invalid, and what is allowed.
    pub message: String,
}
