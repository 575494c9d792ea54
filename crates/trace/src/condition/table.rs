//! The table of the predicates of a trace memory.

use super::parsed::Condition;
use super::predicate::{Predicate, PredicateError};
use crate::limits::{MAX_FIELDS, MAX_PREDICATES};

/// The predicates of one trace memory, and the fields that they read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PredicateTable {
    fields: Vec<String>,
    predicates: Vec<Predicate>,
}

impl PredicateTable {
    /// Creates a table from parts read from a file.
    ///
    /// # Errors
    /// [`PredicateError`] for too many fields or predicates.
    pub fn from_parts(
        fields: Vec<String>,
        predicates: Vec<Predicate>,
    ) -> Result<PredicateTable, PredicateError> {
        if fields.len() > MAX_FIELDS {
            return Err(PredicateError::TooManyFields);
        }
        if predicates.len() > MAX_PREDICATES {
            return Err(PredicateError::TooManyPredicates);
        }
        Ok(PredicateTable { fields, predicates })
    }

    /// Returns the nibble of `condition`. Adds the condition if it is new.
    ///
    /// # Errors
    /// [`PredicateError`] when the table is full.
    pub fn intern(&mut self, condition: &Condition) -> Result<u8, PredicateError> {
        let mut fields = self.fields.clone();
        let predicate = Predicate::compile_with(condition.expr(), &mut fields)?;
        let known = self.predicates.iter().position(|p| *p == predicate);
        let index = match known {
            Some(index) => index,
            None if self.predicates.len() == MAX_PREDICATES => {
                return Err(PredicateError::TooManyPredicates);
            }
            None => {
                self.predicates.push(predicate);
                self.fields = fields;
                self.predicates.len() - 1
            }
        };
        u8::try_from(index).map_err(|_| PredicateError::TooManyPredicates)
    }

    /// Returns the predicate with this nibble.
    pub fn get(&self, nibble: u8) -> Option<&Predicate> {
        self.predicates.get(usize::from(nibble))
    }

    /// Returns the source condition of the predicate with this nibble.
    pub fn condition(&self, nibble: u8) -> Option<Condition> {
        let expr = self.get(nibble)?.to_expr(&self.fields)?;
        Condition::from_expr(expr).ok()
    }

    /// The field names, by index.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// The predicates of the table; the index is the nibble.
    pub fn predicates(&self) -> &[Predicate] {
        &self.predicates
    }
}
