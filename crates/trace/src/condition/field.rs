//! The facts of a payload that conditions read.

use super::operand::Operand;

/// A predicate's reference to a fact of the payload: the index and name of the fact, not its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The index in the field table of the evaluated image or predicate.
    pub index: usize,
    /// The fact's name: a field's, or the text of another [`Operand`].
    pub name: &'a str,
}

impl<'a> Field<'a> {
    /// The operand from which the fact is read. A name that is not the text of another operand is a
    /// field's name.
    pub fn operand(self) -> Operand<'a> {
        Operand::parse(self.name).unwrap_or(Operand::Field(self.name))
    }
}

/// The facts of a payload, by name.
pub trait Facts {
    /// The value of `field`, or `None` if the payload has none.
    fn get(&self, field: Field<'_>) -> Option<i64>;
}

impl<F: Fn(Field<'_>) -> Option<i64>> Facts for F {
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self(field)
    }
}
