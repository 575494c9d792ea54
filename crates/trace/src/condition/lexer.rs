//! The lexer of conditions, which splits text into tokens, each with the index of its first
//! character.

use super::error::ConditionError;
use super::tree::Binary;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Int(i64),
    Text(String),
    Operator(Binary),
    Not,
    Minus,
    Open,
    Close,
    OpenIndex,
    CloseIndex,
    Colon,
}

impl Token {
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Name(name) => format!("'{name}'"),
            Token::Int(literal) => format!("'{literal}'"),
            Token::Text(text) => format!("the string '{text}'"),
            Token::Operator(op) => format!("'{}'", op.symbol()),
            Token::Not => "'not'".into(),
            Token::Minus => "'-'".into(),
            Token::Open => "'('".into(),
            Token::Close => "')'".into(),
            Token::OpenIndex => "'['".into(),
            Token::CloseIndex => "']'".into(),
            Token::Colon => "':'".into(),
        }
    }
}

pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ConditionError> {
    let chars: Vec<char> = text.chars().collect();
    let fail = |at, message: String| ConditionError {
        text: text.to_owned(),
        at,
        message,
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let first = chars[at];
        let token = match first {
            c if c.is_whitespace() => {
                at += 1;
                continue;
            }
            c if c.is_ascii_digit() => {
                let word = run(&chars, &mut at, |c| c.is_ascii_alphanumeric() || c == '_');
                let negative = matches!(found.last(), Some((_, Token::Minus)));
                Token::Int(integer(&word, negative).ok_or_else(|| {
                    fail(start, format!("'{word}': must be a 64-bit integer"))
                })?)
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                keyword(run(&chars, &mut at, |c| c.is_ascii_alphanumeric() || c == '_'))
            }
            '\'' | '"' => Token::Text(
                quoted(&chars, &mut at)
                    .ok_or_else(|| fail(start, "this string must end with the quote that begins it".into()))?,
            ),
            _ => symbol(&chars, &mut at).ok_or_else(|| {
                fail(start, format!("unexpected '{first}'; allowed are fields, integers, texts, comparisons, + - << >> & | ^, and, or, not, ( ) [ ]"))
            })?,
        };
        found.push((start, token));
    }
    Ok(found)
}

fn run(chars: &[char], at: &mut usize, belongs: impl Fn(char) -> bool) -> String {
    let start = *at;
    while chars.get(*at).is_some_and(|&c| belongs(c)) {
        *at += 1;
    }
    chars[start..*at].iter().collect()
}

/// Returns the integer without its sign. The least integer, -2^63, is its own negation: 2^63
/// behind a minus sign gives it.
fn integer(word: &str, negative: bool) -> Option<i64> {
    let read = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => match word.strip_prefix("0b").or_else(|| word.strip_prefix("0B")) {
            Some(bits) => u64::from_str_radix(bits, 2),
            None => word.parse(),
        },
    };
    match read.ok()? {
        magnitude if negative && magnitude == i64::MIN.unsigned_abs() => Some(i64::MIN),
        magnitude => i64::try_from(magnitude).ok(),
    }
}

fn keyword(word: String) -> Token {
    match word.as_str() {
        "and" => Token::Operator(Binary::And),
        "or" => Token::Operator(Binary::Or),
        "not" => Token::Not,
        "True" | "true" => Token::Int(1),
        "False" | "false" => Token::Int(0),
        _ => Token::Name(word),
    }
}

fn quoted(chars: &[char], at: &mut usize) -> Option<String> {
    let quote = chars[*at];
    *at += 1;
    let text = run(chars, at, |c| c != quote);
    chars.get(*at)?;
    *at += 1;
    Some(text)
}

fn symbol(chars: &[char], at: &mut usize) -> Option<Token> {
    let pair = (chars[*at], chars.get(*at + 1).copied().unwrap_or(' '));
    let (length, token) = match pair {
        ('=', '=') => (2, Token::Operator(Binary::Eq)),
        ('!', '=') => (2, Token::Operator(Binary::Ne)),
        ('<', '=') => (2, Token::Operator(Binary::Le)),
        ('>', '=') => (2, Token::Operator(Binary::Ge)),
        ('&', '&') => (2, Token::Operator(Binary::And)),
        ('|', '|') => (2, Token::Operator(Binary::Or)),
        ('<', '<') => (2, Token::Operator(Binary::Shl)),
        ('>', '>') => (2, Token::Operator(Binary::Shr)),
        ('<', _) => (1, Token::Operator(Binary::Lt)),
        ('>', _) => (1, Token::Operator(Binary::Gt)),
        ('&', _) => (1, Token::Operator(Binary::BitAnd)),
        ('|', _) => (1, Token::Operator(Binary::BitOr)),
        ('^', _) => (1, Token::Operator(Binary::BitXor)),
        ('!', _) => (1, Token::Not),
        ('+', _) => (1, Token::Operator(Binary::Add)),
        ('-', _) => (1, Token::Minus),
        ('(', _) => (1, Token::Open),
        (')', _) => (1, Token::Close),
        ('[', _) => (1, Token::OpenIndex),
        (']', _) => (1, Token::CloseIndex),
        (':', _) => (1, Token::Colon),
        _ => return None,
    };
    *at += length;
    Some(token)
}
