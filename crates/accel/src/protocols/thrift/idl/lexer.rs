//! Splits the text of a Thrift interface into tokens.

use std::fmt;

use super::fault::{Fault, Place};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    Integer(i64),
    Double(f64),
    Literal(String),
    Symbol(char),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "'{word}'"),
            Token::Integer(value) => write!(f, "{value}"),
            Token::Double(value) => write!(f, "{value:?}"),
            Token::Literal(_) => f.write_str("a string"),
            Token::Symbol(symbol) => write!(f, "'{symbol}'"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

/// All tokens of text number `file`, and the place of its end.
pub(super) fn tokenize(text: &str, file: usize) -> Result<(Vec<(Token, Place)>, Place), Fault> {
    let (line, column) = (1, 1);
    let mut scanner = Scanner {
        rest: text,
        place: Place { file, line, column },
    };
    let mut tokens = Vec::new();
    loop {
        scanner.skip_blank()?;
        let place = scanner.place;
        match scanner.token()? {
            Token::End => return Ok((tokens, place)),
            token => tokens.push((token, place)),
        }
    }
}

struct Scanner<'a> {
    rest: &'a str,
    place: Place,
}

impl<'a> Scanner<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for character in taken.chars() {
            if character == '\n' {
                self.place.line += 1;
                self.place.column = 1;
            } else {
                self.place.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        self.take(
            self.rest
                .find(|character| !keep(character))
                .unwrap_or(self.rest.len()),
        )
    }

    fn skip_blank(&mut self) -> Result<(), Fault> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with('#') || self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let place = self.place;
                // The asterisk that opens a comment does not close it.
                let end = self.rest[2..]
                    .find("*/")
                    .ok_or_else(|| place.error("comment is not closed"))?;
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, Fault> {
        let place = self.place;
        let Some(first) = self.rest.chars().next() else {
            return Ok(Token::End);
        };
        match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                Ok(Token::Word(word.to_owned()))
            }
            '0'..='9' | '-' | '+' | '.' => self.number(),
            '"' | '\'' => self.literal(first),
            '{' | '}' | '(' | ')' | '<' | '>' | '[' | ']' | ':' | ',' | ';' | '=' | '*' | '&' => {
                self.take(1);
                Ok(Token::Symbol(first))
            }
            other => Err(place.error(format!("unexpected character '{other}'"))),
        }
    }

    fn number(&mut self) -> Result<Token, Fault> {
        let place = self.place;
        let text = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
        let (sign, digits) = match text.as_bytes().first() {
            Some(b'-') => ("-", &text[1..]),
            Some(b'+') => ("", &text[1..]),
            _ => ("", text),
        };
        let hex = digits
            .strip_prefix("0x")
            .filter(|hex| !hex.starts_with(['-', '+']));
        let integer = match hex {
            Some(hex) => i64::from_str_radix(&format!("{sign}{hex}"), 16).ok(),
            None if digits.starts_with(['-', '+']) => None,
            None => format!("{sign}{digits}").parse().ok(),
        };
        if let Some(value) = integer {
            return Ok(Token::Integer(value));
        }
        // Rust's parser accepts names of infinities, and integers beyond 64 bits as floats.
        let is_double = digits.contains(['.', 'e', 'E'])
            && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let double: Option<f64> = is_double.then(|| text.parse().ok()).flatten();
        match double.filter(|value| value.is_finite()) {
            Some(value) => Ok(Token::Double(value)),
            None => Err(place.error(format!("'{text}': must be a 64-bit number"))),
        }
    }

    fn literal(&mut self, quote: char) -> Result<Token, Fault> {
        let place = self.place;
        self.take(1);
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != quote && c != '\\'));
            let at = self.place;
            match self.take(1.min(self.rest.len())) {
                "" => return Err(place.error("string is not closed")),
                "\\" => {}
                _ => return Ok(Token::Literal(text)),
            }
            let escaped = match self.rest.chars().next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(same @ ('"' | '\'' | '\\')) => same,
                _ => {
                    let allowed = "\\n, \\r, \\t, \\\", \\' and \\\\";
                    return Err(
                        at.error(format!("this escape is not allowed; allowed are {allowed}"))
                    );
                }
            };
            self.take(1);
            text.push(escaped);
        }
    }
}
