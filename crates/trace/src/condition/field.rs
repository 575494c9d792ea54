//! The fields of a payload that conditions read.

/// A field of the payload as a predicate names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Position in the field table of the image or predicate that is evaluated.
    pub index: usize,
    /// The field's name.
    pub name: &'a str,
}

/// The integer fields of a payload, by name.
pub trait Facts {
    /// The value of `field`, or `None` if the payload has no such field.
    fn get(&self, field: Field<'_>) -> Option<i64>;
}

impl<F: Fn(Field<'_>) -> Option<i64>> Facts for F {
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self(field)
    }
}
