//! The table of the predicates of a trace memory.

use super::parsed::Condition;
use super::predicate::{Predicate, PredicateError};
use crate::limits::{MAX_FIELDS, MAX_PREDICATES};

/// The predicates that the words of one trace memory name, and the fields they read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PredicateTable {
    fields: Vec<String>,
    predicates: Vec<Predicate>,
}

impl PredicateTable {
    /// A table from its parts, as read from a file.
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

    /// The nibble that names `condition`, which is added if it is new.
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

    /// The predicate that `nibble` names.
    pub fn get(&self, nibble: u8) -> Option<&Predicate> {
        self.predicates.get(usize::from(nibble))
    }

    /// The condition that `nibble` names, as source.
    pub fn condition(&self, nibble: u8) -> Option<Condition> {
        let expr = self.get(nibble)?.to_expr(&self.fields)?;
        Condition::from_expr(expr).ok()
    }

    /// The field names, by index.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// All predicates, by nibble.
    pub fn predicates(&self) -> &[Predicate] {
        &self.predicates
    }
}
