//! The table of predicates (compiled branch conditions) of a trace memory.

use super::parsed::Condition;
use super::predicate::{Predicate, PredicateError};
use crate::limits::{MAX_FIELDS, MAX_PREDICATES};

/// The compiled branch conditions of one trace memory, and the names of the payload values (facts)
/// that they read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PredicateTable {
    fields: Vec<String>,
    predicates: Vec<Predicate>,
}

impl PredicateTable {
    /// Creates a table from the names of payload values and the predicates, as a trace file lists
    /// them.
    ///
    /// # Errors
    /// [`PredicateError`] for more than [`MAX_FIELDS`] names or [`MAX_PREDICATES`] predicates.
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

    /// Returns the index of `condition` in the table, 0 to 15, by which a trace word refers to the
    /// condition. Adds the condition to the table if it is new.
    ///
    /// # Errors
    /// [`PredicateError`] for a condition that is too large, and if the table has no room for the
    /// condition or its fields.
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

    /// Returns the predicate with the index `nibble`; `None` if there is no such predicate.
    pub fn get(&self, nibble: u8) -> Option<&Predicate> {
        self.predicates.get(usize::from(nibble))
    }

    /// Returns the condition from which the predicate with the index `nibble` was compiled. `None`
    /// if there is no such predicate, or if it is not the compiled form of any condition.
    pub fn condition(&self, nibble: u8) -> Option<Condition> {
        let expr = self.get(nibble)?.to_expr(&self.fields)?;
        Condition::from_expr(expr).ok()
    }

    /// Returns the names of the payload values (facts) that the predicates read. Predicates refer
    /// to a value by its index in this list.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Returns the predicates, in the order of the indices by which trace words refer to them.
    pub fn predicates(&self) -> &[Predicate] {
        &self.predicates
    }
}
