//! The facts of a payload that conditions read.

use super::operand::Operand;

/// A fact about the payload as a predicate names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Position in the field table of the image or predicate that is evaluated.
    pub index: usize,
    /// The fact's name: a field's, or the text of another [`Operand`].
    pub name: &'a str,
}

impl<'a> Field<'a> {
    /// The operand that the fact is read from. A name that is not an operand's text counts as a
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
