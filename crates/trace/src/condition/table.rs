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
    /// Creates a table from the names of the payload values that conditions read (`fields`) and the
    /// compiled conditions (`predicates`), both as a trace file lists them. Does not check that
    /// `fields` has all values to which the conditions refer.
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

    /// Adds `condition` to the table if it is not there yet, and returns its index, 0 to 15, by
    /// which compiled traces refer to the condition.
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

    /// Returns the compiled condition with the index `nibble` in this table; `None` if there is no
    /// such condition.
    pub fn get(&self, nibble: u8) -> Option<&Predicate> {
        self.predicates.get(usize::from(nibble))
    }

    /// Returns the source form of the compiled condition with the index `nibble`. `None` if the
    /// table has no such condition, or if its operations are not the compiled form of any source.
    pub fn condition(&self, nibble: u8) -> Option<Condition> {
        let expr = self.get(nibble)?.to_expr(&self.fields)?;
        Condition::from_expr(expr).ok()
    }

    /// Returns the names of the payload values (facts) that the compiled conditions read. A
    /// condition refers to a value by its index in this list.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Returns the compiled conditions, in the order of the indices by which compiled traces refer
    /// to them.
    pub fn predicates(&self) -> &[Predicate] {
        &self.predicates
    }
}
