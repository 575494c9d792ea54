//! Branch conditions: "simple logic operations on bits within the payload" (AccelFlow, section
//! IV.A).
//!
//! A [`Condition`] is parsed from text such as `out['compressed'] == 1` or `field1 & field2`,
//! type-checked, and compiled to a [`Predicate`]: a short postfix program over integers. The trace
//! memory has a table of predicates, and a word refers to a predicate by one nibble.
//!
//! A condition reads [`Operand`]s from the output of the previous accelerator: fields that the
//! accelerator has extracted (`out['hit']`), bytes at an offset (`out[4:6]`), bits of either
//! (`out[4][7]`), and comparisons of texts (`out['method'] == 'Login'`). The text of an operand is
//! the name of a payload value, a *fact*. Under this name, the workload of a simulation, which has
//! no real payloads, states the fact's value, or the probability that the value is 1.
//!
//! Conditions have two types. Operands and literals are 64-bit integers that wrap around.
//! Comparisons and `and`, `or`, `not` yield truth values. Where a truth value is expected, an
//! integer other than zero is true. Both operands of `and` and `or` are always evaluated, as in the
//! hardware. So a field that the payload does not have is a fault even if the other operand decides
//! the result.

mod error;
mod field;
mod lexer;
mod operand;
mod parsed;
mod parser;
mod predicate;
mod table;
mod tree;

pub use error::ConditionError;
pub use field::{Facts, Field};
pub use operand::{MAX_INTEGER_BYTES, MAX_OFFSET, MAX_TEXT_BYTES, Operand, Source, Span};
pub use parsed::Condition;
pub use predicate::{Op, Predicate, PredicateError};
pub use table::PredicateTable;
pub use tree::{Binary, Expr};
