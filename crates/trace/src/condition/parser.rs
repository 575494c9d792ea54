//! The parser of conditions, which turns tokens into a type-checked tree by precedence climbing.
//!
//! Operators from loosest to tightest, as in Python: `or`, `and`, `not`, comparisons (which do not
//! chain), `|`, `^`, `&`, shifts, `+` and `-`, `[ ]`.

use super::error::ConditionError;
use super::lexer::{Token, tokens};
use super::operand::{
    MAX_INTEGER_BYTES, MAX_OFFSET, MAX_TEXT_BYTES, Operand, Source, Span, is_field,
};
use super::predicate::Predicate;
use super::tree::{Binary, Expr};
use crate::limits::MAX_OPS;

/// The deepest nesting. A printed condition has at most two levels per operation, and every printed
/// condition must parse again.
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
    let (expr, found) = parser.binary(0)?;
    if let Some((at, token)) = parser.peek() {
        let message = format!("unexpected {} after a complete condition", token.describe());
        return Err(parser.error(at, message));
    }
    parser.want_value(0, &found)?;
    Predicate::compile(&expr).map_err(|e| parser.error(0, e.to_string()))?;
    Ok(expr)
}

#[derive(Clone, PartialEq, Eq)]
enum Type {
    Integer,
    Truth,
    /// Bytes of the payload: an integer if there are few enough, or an operand of a text
    /// comparison.
    Bytes(Span),
    /// A text in quotes.
    Literal(String),
}

/// Binary operators by tightness; `not` sits between levels 1 and 2.
const LEVELS: [&[Binary]; 8] = [
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
    &[Binary::Shl, Binary::Shr],
    &[Binary::Add, Binary::Sub],
];
const COMPARISON: usize = 2;

/// Returns the source for an `expr` of type `found`, if it is a field or bytes.
fn source<'e>(expr: &'e Expr, found: &Type) -> Option<Source<'e>> {
    match (expr, found) {
        (_, Type::Bytes(span)) => Some(Source::Bytes(*span)),
        (Expr::Field(name), Type::Integer) if is_field(name) => Some(Source::Field(name)),
        _ => None,
    }
}

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
            return self.indexed();
        };
        if level == COMPARISON && self.take(&Token::Not) {
            return self.nested(|parser| {
                let at = parser.here();
                let (inner, found) = parser.binary(COMPARISON)?;
                parser.want_value(at, &found)?;
                Ok((Expr::Not(Box::new(inner)), Type::Truth))
            });
        }
        let start = self.here();
        let (mut left, mut left_type) = self.binary(level + 1)?;
        let mut compared = false;
        while let Some((at, op)) = self.operator(operators) {
            if level == COMPARISON && compared {
                return Err(self.error(
                    at,
                    "a comparison must not follow another (a < b < c); join them with 'and'".into(),
                ));
            }
            compared = true;
            self.next += 1;
            let right_at = self.here();
            let (right, right_type) = self.binary(level + 1)?;
            if matches!(
                (&left_type, &right_type),
                (Type::Literal(_), _) | (_, Type::Literal(_))
            ) {
                left = self.compare_text(at, op, [(left, left_type), (right, right_type)])?;
                left_type = Type::Truth;
                continue;
            }
            if op.takes_integers() {
                self.want_integer(start, &left_type, op)?;
                self.want_integer(right_at, &right_type, op)?;
            } else {
                self.want_value(start, &left_type)?;
                self.want_value(right_at, &right_type)?;
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

    /// Parses a primary expression, or a bit of one.
    fn indexed(&mut self) -> Result<(Expr, Type), ConditionError> {
        let start = self.here();
        let (expr, found) = self.primary()?;
        if !self.take(&Token::OpenIndex) {
            return Ok((expr, found));
        }
        self.want_value(start, &found)?;
        let Some(source) = source(&expr, &found) else {
            return Err(self.error(
                start,
                "an index of a bit, [N], must follow a field or bytes, such as out[4][7]".into(),
            ));
        };
        let at = self.here();
        let bit = match self.peek() {
            Some((_, Token::Int(bit))) => u8::try_from(bit).ok(),
            _ => None,
        };
        let Some(bit) = bit.and_then(|bit| Operand::bit(source, bit)) else {
            let most = source.bits().saturating_sub(1);
            let message = format!("expected a bit number from 0 (the lowest) to {most}");
            return Err(self.error(at, message));
        };
        self.next += 1;
        self.expect(&Token::CloseIndex, "']'")?;
        Ok((Expr::Field(bit.to_string()), Type::Integer))
    }

    fn primary(&mut self) -> Result<(Expr, Type), ConditionError> {
        let Some((at, token)) = self.peek() else {
            return Err(self.error(self.end, "expected a field, an integer or '('".into()));
        };
        self.next += 1;
        match token {
            Token::Int(literal) => Ok((Expr::Const(literal), Type::Integer)),
            Token::Minus => match self.peek() {
                Some((_, Token::Int(literal))) => {
                    self.next += 1;
                    Ok((Expr::Const(literal.wrapping_neg()), Type::Integer))
                }
                _ => Err(self.error(at, "'-' must precede an integer".into())),
            },
            Token::Name(name) if name == "out" && self.take(&Token::OpenIndex) => self.index(),
            Token::Name(name) => {
                // A number in brackets is a bit of the field.
                let is_bit = matches!(self.tokens.get(self.next + 1), Some((_, Token::Int(_))));
                if let (Some((at, Token::OpenIndex)), false) = (self.peek(), is_bit) {
                    let message = format!(
                        "only 'out' has named values, as in out['hit']: '{name}' is a field, of which \
                         only a bit has a number, as in {name}[0]"
                    );
                    return Err(self.error(at, message));
                }
                Ok((Expr::Field(name), Type::Integer))
            }
            Token::Open => self.nested(|parser| {
                let inner = parser.binary(0)?;
                parser.expect(&Token::Close, "')'")?;
                Ok(inner)
            }),
            Token::Text(text) => Ok((Expr::Const(0), Type::Literal(text))),
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
        match self.peek() {
            Some((_, Token::Text(name))) if is_field(&name) => {
                self.next += 1;
                self.expect(&Token::CloseIndex, "']'")?;
                Ok((Expr::Field(name), Type::Integer))
            }
            Some((_, Token::Text(name))) => {
                let message = format!(
                    "field name = '{name}': must be letters, digits and '_', not starting with a digit"
                );
                Err(self.error(at, message))
            }
            Some((_, Token::Int(start))) => {
                self.next += 1;
                self.span(at, start)
            }
            _ => {
                let message = "expected a quoted field name or a byte offset, as in \
                               out['hit'], out[4] and out[4:6]";
                Err(self.error(at, message.into()))
            }
        }
    }

    /// Bytes of the payload from `start` on.
    fn span(&mut self, at: usize, start: i64) -> Result<(Expr, Type), ConditionError> {
        let end = match self.take(&Token::Colon) {
            false => start.checked_add(1),
            true => match self.peek() {
                Some((_, Token::Int(end))) => {
                    self.next += 1;
                    Some(end)
                }
                _ => return Err(self.error(self.here(), "expected a byte offset".into())),
            },
        };
        self.expect(&Token::CloseIndex, "']'")?;
        let end = end.and_then(|end| u16::try_from(end).ok());
        let span = u16::try_from(start).ok().zip(end);
        let span = span.and_then(|(start, end)| Span::new(start, end));
        let span = span.ok_or_else(|| {
            let message = format!(
                "bytes must be out[AT] or out[FROM:UPTO] with FROM below UPTO and offsets up to {MAX_OFFSET}"
            );
            self.error(at, message)
        })?;
        Ok((Expr::Field(span.to_string()), Type::Bytes(span)))
    }

    /// The comparison of a text with a field or bytes.
    fn compare_text(
        &self,
        at: usize,
        op: Binary,
        sides: [(Expr, Type); 2],
    ) -> Result<Expr, ConditionError> {
        let fault = |message: &str| Err(self.error(at, message.to_owned()));
        if !matches!(op, Binary::Eq | Binary::Ne) {
            return fault("a text must be compared by == or !=");
        }
        let (of, is) = match sides {
            [of, (_, Type::Literal(is))] | [(_, Type::Literal(is)), of] => (of, is),
            _ => return fault("a text must be compared with a field or with bytes"),
        };
        let Some(source) = source(&of.0, &of.1) else {
            return fault("a text must be compared with a field or with bytes");
        };
        let Some(operand) = Operand::text(source, &is) else {
            let length = match source {
                Source::Bytes(span) => format!(
                    "{} bytes, as {span} (at most {MAX_TEXT_BYTES})",
                    span.length()
                ),
                Source::Field(_) => format!("at most {MAX_TEXT_BYTES} bytes"),
            };
            let message = format!(
                "the text has {} bytes: must have {length}, no control characters, and only one \
                 kind of quotes",
                is.len()
            );
            return Err(self.error(at, message));
        };
        let equal = Expr::Field(operand.to_string());
        Ok(match op {
            Binary::Ne => Expr::Not(Box::new(equal)),
            _ => equal,
        })
    }

    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, ConditionError>,
    ) -> Result<T, ConditionError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("expressions must nest at most {MAX_NESTING} levels deep");
            return Err(self.error(self.here(), message));
        }
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    fn want_integer(&self, at: usize, found: &Type, op: Binary) -> Result<(), ConditionError> {
        if *found == Type::Truth {
            let message = format!(
                "operand of '{}': must be an integer, not a truth value",
                op.symbol()
            );
            return Err(self.error(at, message));
        }
        self.want_value(at, found)
    }

    /// Refuses operands that are valid only in a text comparison.
    fn want_value(&self, at: usize, found: &Type) -> Result<(), ConditionError> {
        match found {
            Type::Literal(_) => Err(self.error(
                at,
                "a text must be compared with a field or with bytes".into(),
            )),
            Type::Bytes(span) if span.length() > usize::from(MAX_INTEGER_BYTES) => {
                let message = format!(
                    "{span} = {} bytes: an integer must have at most {MAX_INTEGER_BYTES} bytes",
                    span.length()
                );
                Err(self.error(at, message))
            }
            _ => Ok(()),
        }
    }

    fn operator(&self, among: &[Binary]) -> Option<(usize, Binary)> {
        match self.tokens.get(self.next) {
            Some((at, Token::Operator(op))) if among.contains(op) => Some((*at, *op)),
            Some((at, Token::Minus)) if among.contains(&Binary::Sub) => Some((*at, Binary::Sub)),
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
