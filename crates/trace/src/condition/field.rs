//! The payload values (facts) that branch conditions read.

use super::operand::Operand;

/// A reference from a compiled branch condition to a payload value (a fact) that it reads: the
/// value's index and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The value's index in the table of field names with which the condition is evaluated.
    pub index: usize,
    /// The name of the value: the name of a field such as `hit`, or an operand's text such as
    /// `out[4:6]`.
    pub name: &'a str,
}

impl<'a> Field<'a> {
    /// Returns the operand that this value's `name` describes: a range of bytes (`out[4:6]`), one
    /// bit (`flags[3]`) or a comparison of texts (`method == 'Login'`). Any other name is that of a
    /// field.
    pub fn operand(self) -> Operand<'a> {
        Operand::parse(self.name).unwrap_or(Operand::Field(self.name))
    }
}

/// A source of the payload values (facts) that branch conditions test.
pub trait Facts {
    /// Returns the value of `field`; `None` if the payload has no such value.
    fn get(&self, field: Field<'_>) -> Option<i64>;
}

impl<F: Fn(Field<'_>) -> Option<i64>> Facts for F {
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self(field)
    }
}
