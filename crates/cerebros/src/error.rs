//! The one error of this crate.

/// A refused parameter, load or message.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place} = {value}: {allowed}")]
pub struct CerebrosError {
    /// The name of the value.
    pub place: String,
    /// The value.
    pub value: String,
    /// What is allowed, as a clause that can follow the value.
    pub allowed: String,
}

impl CerebrosError {
    pub(crate) fn new(
        place: impl Into<String>,
        value: impl ToString,
        allowed: impl Into<String>,
    ) -> CerebrosError {
        CerebrosError {
            place: place.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }
}
