//! Branch conditions in hardware form: postfix programs whose operations refer to payload values by
//! their index in a table of field names.

use super::field::{Facts, Field};
use super::tree::{Binary, Expr};
use crate::limits::{MAX_FIELDS, MAX_OPS, MAX_PREDICATES, MAX_STACK};

/// One operation of a compiled condition. Operations work on a stack of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Push the payload value with this index in the table of field names.
    Field(u8),
    /// Push this integer constant.
    Const(i64),
    /// Replace the top value by its logical negation, 0 or 1.
    Not,
    /// Replace the two top values by the result of this operator. The top one is the right operand.
    Binary(Binary),
}

/// A compiled branch condition: a postfix program on a stack of integers, as the hardware evaluates
/// it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Predicate {
    ops: Vec<Op>,
}

/// The error of a branch condition that is too large for a trace memory, or of operations that do
/// not form a valid condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PredicateError {
    /// The condition has more than [`MAX_OPS`] operations. Holds the number of operations.
    #[error("operations of the condition = {0}: must be at most {MAX_OPS}")]
    TooManyOps(usize),
    /// The condition needs more than [`MAX_STACK`] values on the stack at once. Holds the number of
    /// values when the limit is first exceeded.
    #[error("stack depth of the condition = {0}: must be at most {MAX_STACK}")]
    TooDeep(usize),
    /// The traces of one memory have more than [`MAX_PREDICATES`] distinct conditions.
    #[error(
        "different conditions of all traces in the trace memory: must be at most {MAX_PREDICATES}"
    )]
    TooManyPredicates,
    /// The conditions of one memory read more than [`MAX_FIELDS`] distinct payload values.
    #[error("distinct fields in the conditions of one trace memory: must be at most {MAX_FIELDS}")]
    TooManyFields,
    /// The operations are not the compiled form of any condition. Holds the reason.
    #[error("malformed branch condition: {0}")]
    Malformed(&'static str),
}

impl Predicate {
    pub(super) fn compile(expr: &Expr) -> Result<Predicate, PredicateError> {
        let mut fields = Vec::new();
        Predicate::compile_with(expr, &mut fields)
    }

    pub(super) fn compile_with(
        expr: &Expr,
        fields: &mut Vec<String>,
    ) -> Result<Predicate, PredicateError> {
        let mut ops = Vec::new();
        emit(expr, fields, &mut ops)?;
        Predicate::from_ops(ops, fields.len())
    }

    /// Creates a compiled branch condition from its operations. `fields` is the length of the table
    /// of field names: operations may refer to payload values with the indices 0 to `fields` - 1.
    ///
    /// # Errors
    /// [`PredicateError`] for too many operations or too many values on the stack, and for
    /// operations that lack an operand, refer to a field outside the table, or do not leave exactly
    /// one value on the stack.
    pub fn from_ops(ops: Vec<Op>, fields: usize) -> Result<Predicate, PredicateError> {
        if ops.len() > MAX_OPS {
            return Err(PredicateError::TooManyOps(ops.len()));
        }
        let mut depth = 0_usize;
        for op in &ops {
            match op {
                Op::Field(index) if usize::from(*index) >= fields => {
                    return Err(PredicateError::Malformed(
                        "an operation refers to a field that is not in the table of fields",
                    ));
                }
                Op::Field(_) | Op::Const(_) => depth += 1,
                Op::Not if depth < 1 => {
                    return Err(PredicateError::Malformed("an operation lacks an operand"));
                }
                Op::Not => {}
                Op::Binary(_) if depth < 2 => {
                    return Err(PredicateError::Malformed("an operation lacks an operand"));
                }
                Op::Binary(_) => depth -= 1,
            }
            if depth > MAX_STACK {
                return Err(PredicateError::TooDeep(depth));
            }
        }
        if depth == 1 {
            Ok(Predicate { ops })
        } else {
            Err(PredicateError::Malformed(
                "the operations do not leave exactly one value",
            ))
        }
    }

    /// Returns the operations of the predicate, in order of execution.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Returns whether the compiled condition holds for the payload values `facts`. `fields` is the
    /// table of field names, in which the condition's operations refer to values by their index.
    ///
    /// # Errors
    /// The index in `fields` of the first payload value that `facts` does not have.
    ///
    /// # Panics
    /// If an operation refers to a value that is not in `fields`.
    pub fn holds<F: Facts + ?Sized>(&self, fields: &[String], facts: &F) -> Result<bool, usize> {
        let mut stack = [0_i64; MAX_STACK];
        let mut depth = 0;
        for op in &self.ops {
            match *op {
                Op::Field(index) => {
                    let index = usize::from(index);
                    let field = Field {
                        index,
                        name: &fields[index],
                    };
                    stack[depth] = facts.get(field).ok_or(index)?;
                    depth += 1;
                }
                Op::Const(literal) => {
                    stack[depth] = literal;
                    depth += 1;
                }
                Op::Not => stack[depth - 1] = i64::from(stack[depth - 1] == 0),
                Op::Binary(op) => {
                    depth -= 1;
                    stack[depth - 1] = op.apply(stack[depth - 1], stack[depth]);
                }
            }
        }
        Ok(stack[0] != 0)
    }

    pub(super) fn to_expr(&self, fields: &[String]) -> Option<Expr> {
        let mut stack = Vec::new();
        for op in &self.ops {
            let expr = match *op {
                Op::Field(index) => Expr::Field(fields.get(usize::from(index))?.clone()),
                Op::Const(literal) => Expr::Const(literal),
                Op::Not => Expr::Not(Box::new(stack.pop()?)),
                Op::Binary(op) => {
                    let right = stack.pop()?;
                    Expr::Binary(op, Box::new(stack.pop()?), Box::new(right))
                }
            };
            stack.push(expr);
        }
        stack.pop()
    }
}

fn emit(expr: &Expr, fields: &mut Vec<String>, ops: &mut Vec<Op>) -> Result<(), PredicateError> {
    match expr {
        Expr::Field(name) => {
            let index = fields.iter().position(|f| f == name).unwrap_or_else(|| {
                fields.push(name.clone());
                fields.len() - 1
            });
            let index = u8::try_from(index)
                .ok()
                .filter(|&i| usize::from(i) < MAX_FIELDS);
            ops.push(Op::Field(index.ok_or(PredicateError::TooManyFields)?));
        }
        Expr::Const(literal) => ops.push(Op::Const(*literal)),
        Expr::Not(inner) => {
            emit(inner, fields, ops)?;
            ops.push(Op::Not);
        }
        Expr::Binary(op, left, right) => {
            emit(left, fields, ops)?;
            emit(right, fields, ops)?;
            ops.push(Op::Binary(*op));
        }
    }
    Ok(())
}
