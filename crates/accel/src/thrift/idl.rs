//! A parser for the part of the Thrift interface language that schemas need.
//!
//! Supported: `namespace`, `typedef`, `enum`, `struct`, `union`, `exception`, `service` (with
//! `extends`, `oneway`, `throws`), all base types, `list`, `set`, `map`, annotations (skipped),
//! the three comment styles. Refused by name: `include`, `const`, `senum`, field default values.
//! It is our own because a schema's author needs line and column, and limits on nesting.

use std::fmt;

/// Why an interface text is refused; `line` and `column` count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Thrift interface, line {line}, column {column}: {why}")]
pub struct IdlError {
    /// Line of the first offending character.
    pub line: usize,
    /// Column of the first offending character.
    pub column: usize,
    /// What is wrong and what was expected.
    pub why: String,
}

/// A place in the text: line and column from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    line: usize,
    column: usize,
}

impl Place {
    pub(super) fn error(self, why: impl fmt::Display) -> IdlError {
        IdlError {
            line: self.line,
            column: self.column,
            why: why.to_string(),
        }
    }
}

/// A name and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) place: Place,
}

#[derive(Clone, Debug)]
pub(super) enum TypeRef {
    Named(Name),
    List(Box<TypeRef>),
    Set(Box<TypeRef>),
    Map(Box<(TypeRef, TypeRef)>),
}

#[derive(Clone, Debug)]
pub(super) struct FieldDecl {
    pub(super) id: i16,
    pub(super) required: bool,
    pub(super) ty: TypeRef,
    pub(super) name: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    Struct,
    Union,
    Exception,
}

#[derive(Clone, Debug)]
pub(super) struct RecordDecl {
    pub(super) kind: RecordKind,
    pub(super) name: Name,
    pub(super) fields: Vec<FieldDecl>,
}

#[derive(Clone, Debug)]
pub(super) struct FunctionDecl {
    pub(super) oneway: bool,
    /// `None` for `void`.
    pub(super) returns: Option<TypeRef>,
    pub(super) name: Name,
    pub(super) arguments: Vec<FieldDecl>,
    pub(super) throws: Vec<FieldDecl>,
}

#[derive(Clone, Debug)]
pub(super) struct ServiceDecl {
    pub(super) name: Name,
    pub(super) extends: Option<Name>,
    pub(super) functions: Vec<FunctionDecl>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) enums: Vec<Name>,
    pub(super) typedefs: Vec<(Name, TypeRef)>,
    pub(super) records: Vec<RecordDecl>,
    pub(super) services: Vec<ServiceDecl>,
}

/// Parses a whole interface text.
pub(super) fn parse(text: &str) -> Result<Document, IdlError> {
    let tokens = tokenize(text)?;
    let mut parser = Parser { tokens, next: 0 };
    let mut document = Document::default();
    while let Some(word) = parser.optional_word()? {
        parser.definition(&word, &mut document)?;
        parser.separator();
    }
    Ok(document)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Integer(i64),
    Literal,
    Symbol(char),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "'{word}'"),
            Token::Integer(value) => write!(f, "{value}"),
            Token::Literal => f.write_str("a string"),
            Token::Symbol(symbol) => write!(f, "'{symbol}'"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

struct Parser {
    tokens: Vec<(Token, Place)>,
    next: usize,
}

/// How deeply container types may be nested in one another.
const MAX_TYPE_DEPTH: usize = 32;

impl Parser {
    fn definition(&mut self, word: &Name, document: &mut Document) -> Result<(), IdlError> {
        match word.text.as_str() {
            "namespace" => {
                // The scope may be `*`, which no later rule needs.
                self.advance();
                self.word("a namespace")?;
            }
            "typedef" => {
                let ty = self.type_ref(0)?;
                document.typedefs.push((self.word("a type name")?, ty));
            }
            "enum" => document.enums.push(self.enumeration()?),
            "struct" => document.records.push(self.record(RecordKind::Struct)?),
            "union" => document.records.push(self.record(RecordKind::Union)?),
            "exception" => document.records.push(self.record(RecordKind::Exception)?),
            "service" => document.services.push(self.service()?),
            other => {
                let allowed = "namespace, typedef, enum, struct, union, exception, service";
                return Err(word
                    .place
                    .error(format!("'{other}' is not supported; {allowed} are")));
            }
        }
        self.annotations()
    }

    fn enumeration(&mut self) -> Result<Name, IdlError> {
        let name = self.word("an enum name")?;
        self.symbol('{')?;
        while !self.accept('}') {
            self.word("an enum value or '}'")?;
            if self.accept('=') {
                self.integer("the value's number")?;
            }
            self.annotations()?;
            self.separator();
        }
        Ok(name)
    }

    fn record(&mut self, kind: RecordKind) -> Result<RecordDecl, IdlError> {
        let name = self.word("a name")?;
        self.symbol('{')?;
        let fields = self.fields('}')?;
        Ok(RecordDecl { kind, name, fields })
    }

    fn service(&mut self) -> Result<ServiceDecl, IdlError> {
        let name = self.word("a service name")?;
        let extends = match self.accept_word("extends") {
            true => Some(self.word("the service to extend")?),
            false => None,
        };
        self.symbol('{')?;
        let mut functions = Vec::new();
        while !self.accept('}') {
            functions.push(self.function()?);
            self.separator();
        }
        Ok(ServiceDecl {
            name,
            extends,
            functions,
        })
    }

    fn function(&mut self) -> Result<FunctionDecl, IdlError> {
        let oneway = self.accept_word("oneway");
        let returns = match self.accept_word("void") {
            true => None,
            false => Some(self.type_ref(0)?),
        };
        let name = self.word("a function name")?;
        self.symbol('(')?;
        let arguments = self.fields(')')?;
        let mut throws = Vec::new();
        if self.accept_word("throws") {
            self.symbol('(')?;
            throws = self.fields(')')?;
        }
        self.annotations()?;
        Ok(FunctionDecl {
            oneway,
            returns,
            name,
            arguments,
            throws,
        })
    }

    fn fields(&mut self, close: char) -> Result<Vec<FieldDecl>, IdlError> {
        let mut fields: Vec<FieldDecl> = Vec::new();
        while !self.accept(close) {
            let place = self.place();
            let number = self.integer("a field number")?;
            let id = i16::try_from(number)
                .ok()
                .filter(|id| *id > 0)
                .ok_or_else(|| place.error(format!("field number {number}; allowed 1 to 32767")))?;
            self.symbol(':')?;
            let required = self.accept_word("required");
            if !required {
                self.accept_word("optional");
            }
            let ty = self.type_ref(0)?;
            let name = self.word("a field name")?;
            if self.peek() == &Token::Symbol('=') {
                return Err(self.place().error("default values are not supported"));
            }
            self.annotations()?;
            self.separator();
            if let Some(twin) = fields
                .iter()
                .find(|f| f.id == id || f.name.text == name.text)
            {
                let why = format!(
                    "field {id} '{}' repeats {} '{}'",
                    name.text, twin.id, twin.name.text
                );
                return Err(place.error(why));
            }
            fields.push(FieldDecl {
                id,
                required,
                ty,
                name,
            });
        }
        Ok(fields)
    }

    fn type_ref(&mut self, depth: usize) -> Result<TypeRef, IdlError> {
        let name = self.word("a type")?;
        if depth > MAX_TYPE_DEPTH {
            return Err(name
                .place
                .error(format!("types nested deeper than {MAX_TYPE_DEPTH}")));
        }
        let ty = match name.text.as_str() {
            "list" | "set" => {
                self.symbol('<')?;
                let element = Box::new(self.type_ref(depth + 1)?);
                self.symbol('>')?;
                if name.text == "list" {
                    TypeRef::List(element)
                } else {
                    TypeRef::Set(element)
                }
            }
            "map" => {
                self.symbol('<')?;
                let key = self.type_ref(depth + 1)?;
                self.symbol(',')?;
                let value = self.type_ref(depth + 1)?;
                self.symbol('>')?;
                TypeRef::Map(Box::new((key, value)))
            }
            _ => TypeRef::Named(name),
        };
        self.annotations()?;
        Ok(ty)
    }

    /// Skips `(key = "value", ...)`, unless a `(` begins something else.
    fn annotations(&mut self) -> Result<(), IdlError> {
        let is_annotation = self.peek() == &Token::Symbol('(')
            && matches!(
                self.tokens.get(self.next + 2),
                Some((Token::Symbol('='), _))
            );
        if !is_annotation {
            return Ok(());
        }
        while !self.accept(')') {
            if self.peek() == &Token::End {
                return Err(self.place().error("annotations are not closed by ')'"));
            }
            self.advance();
        }
        Ok(())
    }

    fn peek(&self) -> &Token {
        self.tokens
            .get(self.next)
            .map_or(&Token::End, |(token, _)| token)
    }

    fn place(&self) -> Place {
        let last = self
            .tokens
            .last()
            .map_or(Place { line: 1, column: 1 }, |(_, place)| *place);
        self.tokens.get(self.next).map_or(last, |(_, place)| *place)
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    fn accept(&mut self, symbol: char) -> bool {
        let found = self.peek() == &Token::Symbol(symbol);
        self.next += usize::from(found);
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found == word);
        self.next += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: char) -> Result<(), IdlError> {
        if self.accept(symbol) {
            return Ok(());
        }
        Err(self
            .place()
            .error(format!("'{symbol}' expected, found {}", self.peek())))
    }

    fn word(&mut self, what: &str) -> Result<Name, IdlError> {
        let place = self.place();
        match self.peek().clone() {
            Token::Word(text) => {
                self.advance();
                Ok(Name { text, place })
            }
            other => Err(place.error(format!("{what} expected, found {other}"))),
        }
    }

    fn optional_word(&mut self) -> Result<Option<Name>, IdlError> {
        if self.peek() == &Token::End {
            Ok(None)
        } else {
            self.word("a definition").map(Some)
        }
    }

    fn integer(&mut self, what: &str) -> Result<i64, IdlError> {
        match *self.peek() {
            Token::Integer(value) => {
                self.advance();
                Ok(value)
            }
            ref other => Err(self
                .place()
                .error(format!("{what} expected, found {other}"))),
        }
    }

    fn separator(&mut self) {
        if !self.accept(',') {
            self.accept(';');
        }
    }
}

fn tokenize(text: &str) -> Result<Vec<(Token, Place)>, IdlError> {
    let mut scanner = Scanner {
        rest: text,
        place: Place { line: 1, column: 1 },
    };
    let mut tokens = Vec::new();
    loop {
        scanner.skip_blank()?;
        let place = scanner.place;
        let token = scanner.token()?;
        let end = token == Token::End;
        tokens.push((token, place));
        if end {
            return Ok(tokens);
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
            match character {
                '\n' => {
                    self.place = Place {
                        line: self.place.line + 1,
                        column: 1,
                    }
                }
                _ => self.place.column += 1,
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len()))
    }

    fn skip_blank(&mut self) -> Result<(), IdlError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with('#') || self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let place = self.place;
                let end = self
                    .rest
                    .find("*/")
                    .ok_or_else(|| place.error("comment is not closed"))?;
                self.take(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, IdlError> {
        let place = self.place;
        let Some(first) = self.rest.chars().next() else {
            return Ok(Token::End);
        };
        match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                Ok(Token::Word(word.to_owned()))
            }
            '0'..='9' | '-' | '+' => {
                let digits = self.take_while(|c| c.is_ascii_alphanumeric() || c == '-' || c == '+');
                let value = match digits.strip_prefix("0x") {
                    Some(hex) => i64::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                value
                    .map(Token::Integer)
                    .map_err(|_| place.error(format!("'{digits}' is no integer")))
            }
            '"' | '\'' => {
                self.take(1);
                self.take_while(|c| c != first && c != '\n');
                if !self.rest.starts_with(first) {
                    return Err(place.error("string is not closed"));
                }
                self.take(1);
                Ok(Token::Literal)
            }
            '{' | '}' | '(' | ')' | '<' | '>' | ':' | ',' | ';' | '=' | '*' => {
                self.take(1);
                Ok(Token::Symbol(first))
            }
            other => Err(place.error(format!("'{other}' begins nothing of the language"))),
        }
    }
}
