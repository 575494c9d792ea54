//! Branch conditions: "simple logic operations on bits of the payload" (AccelFlow, section IV.A).
//!
//! A [`Condition`] is parsed from text such as `out['compressed'] == 1` or `field1 & field2`,
//! type-checked, and compiled to a [`Predicate`]: a short postfix program over integer fields that
//! sits in the table beside the traces and is named there by one nibble.
//!
//! There are two types. Fields and literals are integers; comparisons and `and`, `or`, `not` give
//! truth values. An integer where a truth value is expected means "not zero". Both operands of
//! `and` and `or` are always evaluated, as the hardware does: a field that the payload lacks is a
//! fault even where the other operand would have decided.

mod error;
mod field;
mod lexer;
mod parsed;
mod parser;
mod predicate;
mod table;
mod tree;

pub use error::ConditionError;
pub use field::{Facts, Field};
pub use parsed::Condition;
pub use predicate::{Op, Predicate, PredicateError};
pub use table::PredicateTable;
pub use tree::{Binary, Expr};
