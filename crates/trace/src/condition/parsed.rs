//! Branch conditions that have been parsed and type-checked.

use std::fmt;

use super::error::ConditionError;
use super::field::{Facts, Field};
use super::operand::{Operand, Source};
use super::parser;
use super::tree::Expr;
use crate::limits::MAX_CONDITION_CHARS;

/// A branch condition, such as `out['hit'] == 1`, that has been parsed and type-checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition(Expr);

impl Condition {
    /// Parses and type-checks the text of a condition, such as `out['hit'] == 1`.
    ///
    /// # Errors
    /// [`ConditionError`] for the first invalid character, for a text longer than
    /// [`MAX_CONDITION_CHARS`], and for a condition whose compiled form exceeds
    /// [`MAX_OPS`](crate::limits::MAX_OPS) or [`MAX_STACK`](crate::limits::MAX_STACK).
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let length = text.chars().count();
        if length > MAX_CONDITION_CHARS {
            let start: String = text.chars().take(40).collect();
            let message =
                format!("length = {length} characters: must be at most {MAX_CONDITION_CHARS}");
            return Err(ConditionError {
                text: format!("{start}..."),
                at: 0,
                message,
            });
        }
        parser::parse(text).map(Condition)
    }

    /// Creates a condition from a tree of operators, if the tree obeys the rules of
    /// [`Condition::parse`] for types and for the size of the compiled form. The length of the text
    /// is not limited.
    ///
    /// # Errors
    /// [`ConditionError`] with the whole condition as text, and the index of the first invalid
    /// character in this text; 0 if the whole condition is refused.
    pub fn from_expr(expr: Expr) -> Result<Condition, ConditionError> {
        parser::parse(&Condition(expr).to_string()).map(Condition)
    }

    /// Returns the condition as a tree of operators.
    pub fn expr(&self) -> &Expr {
        &self.0
    }

    /// Returns the names of the payload values (facts) that the condition reads, in order of first
    /// use, without repetition.
    pub fn fields(&self) -> Vec<&str> {
        fn collect<'e>(expr: &'e Expr, into: &mut Vec<&'e str>) {
            match expr {
                Expr::Field(name) if !into.contains(&name.as_str()) => into.push(name),
                Expr::Field(_) | Expr::Const(_) => {}
                Expr::Not(inner) => collect(inner, into),
                Expr::Binary(_, left, right) => {
                    collect(left, into);
                    collect(right, into);
                }
            }
        }
        let mut names = Vec::new();
        collect(&self.0, &mut names);
        names
    }

    /// Returns whether the condition holds for the payload values `facts`. Evaluates the tree of
    /// operators instead of the compiled [`Predicate`](super::Predicate), so that tests can compare
    /// the two results.
    ///
    /// # Errors
    /// The name of the first payload value, from left to right, that `facts` does not have.
    pub fn holds<F: Facts + ?Sized>(&self, facts: &F) -> Result<bool, String> {
        fn value<F: Facts + ?Sized>(expr: &Expr, names: &[&str], facts: &F) -> Result<i64, String> {
            match expr {
                Expr::Const(literal) => Ok(*literal),
                Expr::Field(name) => {
                    let index = names.iter().position(|n| n == name).unwrap_or(names.len());
                    facts.get(Field { index, name }).ok_or_else(|| name.clone())
                }
                Expr::Not(inner) => Ok(i64::from(value(inner, names, facts)? == 0)),
                Expr::Binary(op, left, right) => {
                    let left = value(left, names, facts)?;
                    Ok(op.apply(left, value(right, names, facts)?))
                }
            }
        }
        value(&self.0, &self.fields(), facts).map(|v| v != 0)
    }
}

impl fmt::Display for Condition {
    /// Writes the condition as text that [`Condition::parse`] parses to the same tree.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn write(expr: &Expr, top: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match expr {
                Expr::Field(name) => write_operand(name, "==", top, f),
                Expr::Not(inner) if is_text(inner) => match &**inner {
                    Expr::Field(name) => write_operand(name, "!=", top, f),
                    _ => Ok(()),
                },
                Expr::Const(literal) => write!(f, "{literal}"),
                Expr::Not(inner) => {
                    f.write_str(if top { "not " } else { "(not " })?;
                    write(inner, false, f)?;
                    f.write_str(if top { "" } else { ")" })
                }
                Expr::Binary(op, left, right) => {
                    f.write_str(if top { "" } else { "(" })?;
                    write(left, false, f)?;
                    write!(f, " {} ", op.symbol())?;
                    write(right, false, f)?;
                    f.write_str(if top { "" } else { ")" })
                }
            }
        }
        write(&self.0, true, f)
    }
}

/// Writes an operand in a condition. The comparison of a text has the operator `compared`.
fn write_operand(name: &str, compared: &str, top: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match Operand::parse(name) {
        Some(Operand::Bytes(span)) => write!(f, "{span}"),
        Some(Operand::Bit { of, bit }) => write!(f, "{}[{bit}]", indexed(of)),
        Some(Operand::Text { of, is }) => {
            let (open, close) = if top { ("", "") } else { ("(", ")") };
            let quote = if is.contains('\'') { '"' } else { '\'' };
            write!(
                f,
                "{open}{} {compared} {quote}{is}{quote}{close}",
                indexed(of)
            )
        }
        Some(Operand::Field(_)) | None => write!(f, "out['{name}']"),
    }
}

fn is_text(expr: &Expr) -> bool {
    let name = match expr {
        Expr::Field(name) => name,
        _ => return false,
    };
    matches!(Operand::parse(name), Some(Operand::Text { .. }))
}

/// A field or bytes as an index of `out`.
fn indexed(source: Source<'_>) -> String {
    match source {
        Source::Field(name) => format!("out['{name}']"),
        Source::Bytes(span) => span.to_string(),
    }
}
