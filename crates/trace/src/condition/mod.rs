//! Branch conditions: "simple logic operations on bits within the payload" (AccelFlow, section IV.A).
//!
//! A [`Condition`] is parsed from text such as `out['compressed'] == 1` or `field1 & field2`,
//! type-checked, and compiled to a [`Predicate`]: a short postfix program over integers that sits in
//! the table beside the traces and is named there by one nibble.
//!
//! A condition reads [`Operand`]s of the output of the previous accelerator: fields that its body
//! has extracted (`out['hit']`), bytes at an offset (`out[4:6]`), bits of either (`out[4][7]`), and
//! whether a text is equal to another (`out['method'] == 'Login'`). The text of an operand is the
//! name of a fact, so a workload without real bytes states the value, or its probability, under
//! that name.
//!
//! There are two types. Operands and literals are integers, of 64 bits that wrap around; comparisons
//! and `and`, `or`, `not` give truth values. An integer where a truth value is expected means "not zero". Both operands of
//! `and` and `or` are always evaluated, as the hardware does: a field that the payload lacks is a
//! fault even where the other operand would have decided.

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
