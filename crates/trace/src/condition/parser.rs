//! Tokens into a checked tree, by precedence climbing.
//!
//! Loosest to tightest, as in Python: `or`, `and`, `not`, comparisons (which do not chain),
//! `|`, `^`, `&`.

use super::error::ConditionError;
use super::lexer::{Token, tokens};
use super::predicate::Predicate;
use super::tree::{Binary, Expr};
use crate::limits::MAX_OPS;

/// A condition of the most operations is printed with at most two levels for each of them, and what
/// is printed must be readable again.
const MAX_NESTING: usize = 2 * MAX_OPS + 1;

pub(super) fn parse(text: &str) -> Result<Expr, ConditionError> {
    let tokens = tokens(text)?;
    let end = text.chars().count();
    let mut parser = Parser {
        text,
        tokens,
        end,
        next: 0,
        depth: 0,
    };
    let (expr, _) = parser.binary(0)?;
    if let Some((at, token)) = parser.peek() {
        let message = format!("unexpected {} after a complete condition", token.describe());
        return Err(parser.error(at, message));
    }
    Predicate::compile(&expr).map_err(|e| parser.error(0, e.to_string()))?;
    Ok(expr)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Integer,
    Truth,
}

/// Binary operators by tightness; `not` sits between levels 1 and 2.
const LEVELS: [&[Binary]; 6] = [
    &[Binary::Or],
    &[Binary::And],
    &[
        Binary::Eq,
        Binary::Ne,
        Binary::Lt,
        Binary::Le,
        Binary::Gt,
        Binary::Ge,
    ],
    &[Binary::BitOr],
    &[Binary::BitXor],
    &[Binary::BitAnd],
];
const COMPARISON: usize = 2;

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(usize, Token)>,
    end: usize,
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    fn binary(&mut self, level: usize) -> Result<(Expr, Type), ConditionError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.primary();
        };
        if level == COMPARISON && self.take(&Token::Not) {
            return self.nested(|parser| {
                let (inner, _) = parser.binary(COMPARISON)?;
                Ok((Expr::Not(Box::new(inner)), Type::Truth))
            });
        }
        let start = self.here();
        let (mut left, mut left_type) = self.binary(level + 1)?;
        let mut compared = false;
        while let Some((at, op)) = self.operator(operators) {
            if level == COMPARISON && compared {
                return Err(self.error(at, "comparisons do not chain; join them with 'and'".into()));
            }
            compared = true;
            self.next += 1;
            let right_at = self.here();
            let (right, right_type) = self.binary(level + 1)?;
            if op.takes_integers() {
                self.want_integer(start, left_type, op)?;
                self.want_integer(right_at, right_type, op)?;
            }
            left = Expr::Binary(op, Box::new(left), Box::new(right));
            left_type = if op.gives_integer() {
                Type::Integer
            } else {
                Type::Truth
            };
        }
        Ok((left, left_type))
    }

    fn primary(&mut self) -> Result<(Expr, Type), ConditionError> {
        let Some((at, token)) = self.peek() else {
            return Err(self.error(self.end, "a field, an integer or '(' is missing".into()));
        };
        self.next += 1;
        match token {
            Token::Int(literal) => Ok((Expr::Const(literal), Type::Integer)),
            Token::Minus => match self.peek() {
                Some((_, Token::Int(literal))) => {
                    self.next += 1;
                    Ok((Expr::Const(-literal), Type::Integer))
                }
                _ => Err(self.error(at, "'-' must stand before an integer".into())),
            },
            Token::Name(name) if name == "out" && self.take(&Token::OpenIndex) => self.index(),
            Token::Name(name) => {
                if let Some((at, Token::OpenIndex)) = self.peek() {
                    let message = format!("only 'out' can be indexed, not '{name}'");
                    return Err(self.error(at, message));
                }
                Ok((Expr::Field(name), Type::Integer))
            }
            Token::Open => self.nested(|parser| {
                let inner = parser.binary(0)?;
                parser.expect(&Token::Close, "')'")?;
                Ok(inner)
            }),
            Token::Text(_) => Err(self.error(
                at,
                "conditions test integer fields; strings cannot be compared".into(),
            )),
            other => {
                let message = format!(
                    "expected a field, an integer or '(', found {}",
                    other.describe()
                );
                Err(self.error(at, message))
            }
        }
    }

    fn index(&mut self) -> Result<(Expr, Type), ConditionError> {
        let at = self.here();
        let Some((_, Token::Text(name))) = self.peek() else {
            return Err(self.error(at, "expected a quoted field name, as in out['hit']".into()));
        };
        let legal = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !legal {
            let message = format!("'{name}' is not a field name (letters, digits and '_')");
            return Err(self.error(at, message));
        }
        self.next += 1;
        self.expect(&Token::CloseIndex, "']'")?;
        Ok((Expr::Field(name), Type::Integer))
    }

    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, ConditionError>,
    ) -> Result<T, ConditionError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("more than {MAX_NESTING} levels of nesting");
            return Err(self.error(self.here(), message));
        }
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    fn want_integer(&self, at: usize, found: Type, op: Binary) -> Result<(), ConditionError> {
        if found == Type::Integer {
            return Ok(());
        }
        let message = format!(
            "'{}' takes integers, but this is a truth value",
            op.symbol()
        );
        Err(self.error(at, message))
    }

    fn operator(&self, among: &[Binary]) -> Option<(usize, Binary)> {
        match self.tokens.get(self.next) {
            Some((at, Token::Operator(op))) if among.contains(op) => Some((*at, *op)),
            _ => None,
        }
    }

    fn expect(&mut self, token: &Token, name: &str) -> Result<(), ConditionError> {
        if self.take(token) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".into(), |(_, t)| t.describe());
        Err(self.error(self.here(), format!("expected {name}, found {found}")))
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.tokens.get(self.next).is_some_and(|(_, t)| t == token);
        self.next += usize::from(found);
        found
    }

    fn peek(&self) -> Option<(usize, Token)> {
        self.tokens.get(self.next).cloned()
    }

    fn here(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn error(&self, at: usize, message: String) -> ConditionError {
        ConditionError {
            text: self.text.to_owned(),
            at,
            message,
        }
    }
}
