//! The payload values (facts) that branch conditions read.

use super::operand::Operand;

/// A reference from a compiled condition to a value in the payload (a fact): the value's index and
/// name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The index in the table of field names that belongs to the evaluated condition.
    pub index: usize,
    /// The name of the value: the name of a field such as `hit`, or an operand's text such as
    /// `out[4:6]`.
    pub name: &'a str,
}

impl<'a> Field<'a> {
    /// Returns the operand that `name` describes: bytes, a bit, a comparison of texts, or else a field.
    pub fn operand(self) -> Operand<'a> {
        Operand::parse(self.name).unwrap_or(Operand::Field(self.name))
    }
}

/// The values in a payload (facts) that branch conditions test, by name.
pub trait Facts {
    /// Returns the value of `field`; `None` if the payload does not have it.
    fn get(&self, field: Field<'_>) -> Option<i64>;
}

impl<F: Fn(Field<'_>) -> Option<i64>> Facts for F {
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self(field)
    }
}
