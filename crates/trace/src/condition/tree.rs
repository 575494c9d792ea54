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

mod lexer;
mod parser;
mod predicate;

use std::fmt;

use crate::limits::MAX_CONDITION_CHARS;

pub use predicate::{Op, Predicate, PredicateError, PredicateTable};

/// A field of the payload as a predicate names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Position in the field table of the image or predicate that is evaluated.
    pub index: usize,
    /// The field's name.
    pub name: &'a str,
}

/// What a branch can see of a payload: integer fields by name.
pub trait Facts {
    /// The value of `field`, or `None` if the payload has no such field.
    fn get(&self, field: Field<'_>) -> Option<i64>;
}

impl<F: Fn(Field<'_>) -> Option<i64>> Facts for F {
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self(field)
    }
}

/// An operator that takes two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// Bitwise and, `&`.
    BitAnd,
    /// Bitwise or, `|`.
    BitOr,
    /// Bitwise exclusive or, `^`.
    BitXor,
    /// Equal, `==`.
    Eq,
    /// Not equal, `!=`.
    Ne,
    /// Less, `<`.
    Lt,
    /// Less or equal, `<=`.
    Le,
    /// Greater, `>`.
    Gt,
    /// Greater or equal, `>=`.
    Ge,
    /// Both hold, `and`.
    And,
    /// At least one holds, `or`.
    Or,
}

impl Binary {
    /// All operators, in code order.
    pub const ALL: [Binary; 11] = [
        Binary::BitAnd,
        Binary::BitOr,
        Binary::BitXor,
        Binary::Eq,
        Binary::Ne,
        Binary::Lt,
        Binary::Le,
        Binary::Gt,
        Binary::Ge,
        Binary::And,
        Binary::Or,
    ];

    fn symbol(self) -> &'static str {
        match self {
            Binary::BitAnd => "&",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::And => "and",
            Binary::Or => "or",
        }
    }

    fn takes_integers(self) -> bool {
        !matches!(self, Binary::And | Binary::Or)
    }

    fn gives_integer(self) -> bool {
        matches!(self, Binary::BitAnd | Binary::BitOr | Binary::BitXor)
    }

    fn apply(self, left: i64, right: i64) -> i64 {
        match self {
            Binary::BitAnd => left & right,
            Binary::BitOr => left | right,
            Binary::BitXor => left ^ right,
            Binary::Eq => i64::from(left == right),
            Binary::Ne => i64::from(left != right),
            Binary::Lt => i64::from(left < right),
            Binary::Le => i64::from(left <= right),
            Binary::Gt => i64::from(left > right),
            Binary::Ge => i64::from(left >= right),
            Binary::And => i64::from(left != 0 && right != 0),
            Binary::Or => i64::from(left != 0 || right != 0),
        }
    }
}

/// The tree of a condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expr {
    /// A field of the payload.
    Field(String),
    /// An integer literal.
    Const(i64),
    /// Logical negation.
    Not(Box<Expr>),
    /// An operator with two operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
}

/// A parsed, type-checked branch condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition(Expr);

/// Why a condition's text was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("condition error at character {}: {message}\n    {text}\n    {}^", .at + 1, " ".repeat(*.at))]
pub struct ConditionError {
    /// The condition as given.
    pub text: String,
    /// Zero-based index of the offending character.
    pub at: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl Condition {
    /// Parses and type-checks `text`.
    ///
    /// # Errors
    /// [`ConditionError`] points at the first character that cannot be accepted.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let length = text.chars().count();
        if length > MAX_CONDITION_CHARS {
            let start: String = text.chars().take(40).collect();
            let message = format!("{length} characters; at most {MAX_CONDITION_CHARS}");
            return Err(ConditionError {
                text: format!("{start}..."),
                at: 0,
                message,
            });
        }
        parser::parse(text).map(Condition)
    }

    /// A condition from a tree, if the tree obeys the typing and size rules of the text form.
    ///
    /// # Errors
    /// [`ConditionError`] with the offending sub-expression as its text.
    pub fn from_expr(expr: Expr) -> Result<Condition, ConditionError> {
        parser::parse(&Condition(expr).to_string()).map(Condition)
    }

    /// The tree.
    pub fn expr(&self) -> &Expr {
        &self.0
    }

    /// The names of the fields that the condition reads, in order of first use.
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

    /// Evaluates the tree itself; the reference that compiled predicates are tested against.
    ///
    /// # Errors
    /// The name of the first field, from left to right, that `facts` lacks.
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
    /// The condition as text that [`Condition::parse`] reads back to the same tree.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn write(expr: &Expr, top: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match expr {
                Expr::Field(name) => write!(f, "out['{name}']"),
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
