//! The payload values (facts) that branch conditions read.

use super::operand::Operand;

/// A reference from a compiled condition to a value in the payload (a fact): the value's index and
/// name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The value's index in the table of field names with which the condition is evaluated.
    pub index: usize,
    /// The name of the value: the name of a field such as `hit`, or an operand's text such as
    /// `out[4:6]`.
    pub name: &'a str,
}

impl<'a> Field<'a> {
    /// Returns the operand that `name` describes: bytes, a bit or a comparison of texts; otherwise a
    /// field of this name.
    pub fn operand(self) -> Operand<'a> {
        Operand::parse(self.name).unwrap_or(Operand::Field(self.name))
    }
}

/// The values in a payload (facts) that branch conditions test, by name.
pub trait Facts {
    /// Returns the value of `field`; `None` if the payload has no such value.
    fn get(&self, field: Field<'_>) -> Option<i64>;
}

impl<F: Fn(Field<'_>) -> Option<i64>> Facts for F {
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self(field)
    }
}
