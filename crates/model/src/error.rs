//! The one way in which a model refuses its input.

/// A value that the model cannot use.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place} = {value}: {allowed}")]
pub struct ModelError {
    /// The parameter, as users write it, with the kernel it belongs to.
    pub place: String,
    /// The value as given.
    pub value: String,
    /// What is allowed, as a clause that can follow the value.
    pub allowed: String,
}

impl ModelError {
    pub(crate) fn new(
        place: impl Into<String>,
        value: impl ToString,
        allowed: impl Into<String>,
    ) -> ModelError {
        ModelError {
            place: place.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }

    /// The same error in the place `outer`, such as the kernel that the value belongs to.
    pub(crate) fn within(mut self, outer: &str) -> ModelError {
        if !outer.is_empty() {
            self.place = format!("{outer}.{}", self.place);
        }
        self
    }
}
