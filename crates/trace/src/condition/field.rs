//! The facts of a payload that conditions read.

use super::operand::Operand;

/// A reference from a compiled condition to a value in the payload (a fact). It has the value's
/// index and name, not the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The index in the field table of the trace memory or predicate that is evaluated.
    pub index: usize,
    /// The name of the value: a field's name such as `hit`, or an operand's text such as
    /// `out[4:6]`.
    pub name: &'a str,
}

impl<'a> Field<'a> {
    /// Returns the operand that this name describes: bytes, a bit, a comparison of texts, or else a
    /// field.
    pub fn operand(self) -> Operand<'a> {
        Operand::parse(self.name).unwrap_or(Operand::Field(self.name))
    }
}

/// The values in a payload that branch conditions test, by name.
pub trait Facts {
    /// Returns the value of `field`; `None` if the payload does not have it.
    fn get(&self, field: Field<'_>) -> Option<i64>;
}

impl<F: Fn(Field<'_>) -> Option<i64>> Facts for F {
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self(field)
    }
}
