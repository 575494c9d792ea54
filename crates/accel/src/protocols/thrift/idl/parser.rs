//! Parses the tokens of a Thrift interface into declarations.

use super::document::{
    ConstDecl, Constant, ConstantValue, Document, EnumDecl, FieldDecl, FunctionDecl, Name,
    RecordDecl, RecordKind, ServiceDecl, TypeRef,
};
use super::fault::{Fault, Place};
use super::lexer::{Token, tokenize};

/// Parses text number `file`.
pub(super) fn parse(text: &str, file: usize) -> Result<Document, Fault> {
    let (tokens, end) = tokenize(text, file)?;
    let mut parser = Parser {
        tokens,
        end,
        next: 0,
    };
    let mut document = Document::default();
    while let Some(word) = parser.optional_word()? {
        parser.definition(&word, &mut document)?;
        parser.separator();
    }
    Ok(document)
}

struct Parser {
    tokens: Vec<(Token, Place)>,
    /// The end of the text.
    end: Place,
    next: usize,
}

/// Deepest nesting of container types.
const MAX_TYPE_DEPTH: usize = 32;

/// Deepest nesting of lists and maps in constants.
const MAX_CONSTANT_DEPTH: usize = 32;

/// Obsolete words of the language, and their replacements.
const OBSOLETE: [(&str, &str); 9] = [
    ("senum", "write an enum"),
    ("slist", "write 'string'"),
    ("uuid", "write 'binary' and agree on 16 bytes"),
    ("async", "write 'oneway'"),
    ("php_namespace", "write 'namespace php'"),
    ("cpp_namespace", "write 'namespace cpp'"),
    ("xsd_all", "leave it out"),
    ("xsd_optional", "write 'optional'"),
    ("xsd_nillable", "leave it out"),
];

impl Parser {
    fn definition(&mut self, word: &Name, document: &mut Document) -> Result<(), Fault> {
        match word.text.as_str() {
            "include" => document
                .includes
                .push(self.literal("a file name in quotes")?),
            // It affects generated C++ alone.
            "cpp_include" => drop(self.literal("a file name in quotes")?),
            "namespace" => {
                // The scope may be `*`, which is not a word.
                self.advance();
                self.word("a namespace")?;
            }
            "const" => document.consts.push(self.constant_declaration()?),
            "typedef" => {
                let ty = self.type_ref(0)?;
                document.typedefs.push((self.new_name("a type name")?, ty));
            }
            "enum" => document.enums.push(self.enumeration()?),
            "struct" => document.records.push(self.record(RecordKind::Struct)?),
            "union" => document.records.push(self.record(RecordKind::Union)?),
            "exception" => document.records.push(self.record(RecordKind::Exception)?),
            "service" => document.services.push(self.service()?),
            other => {
                refuse_obsolete(word)?;
                let allowed = "include, namespace, const, typedef, enum, struct, union, exception, \
                               service";
                return Err(word
                    .place
                    .error(format!("'{other}' is not supported; allowed are {allowed}")));
            }
        }
        self.annotations()
    }

    fn constant_declaration(&mut self) -> Result<ConstDecl, Fault> {
        let ty = self.type_ref(0)?;
        let name = self.new_name("the constant's name")?;
        self.symbol('=')?;
        let value = self.constant(0)?;
        Ok(ConstDecl { name, ty, value })
    }

    fn constant(&mut self, depth: usize) -> Result<Constant, Fault> {
        let place = self.place();
        if depth > MAX_CONSTANT_DEPTH {
            return Err(place.error(format!(
                "constants: must be nested at most {MAX_CONSTANT_DEPTH} levels deep"
            )));
        }
        let token = self.peek().clone();
        self.advance();
        let value = match token {
            Token::Integer(value) => ConstantValue::Integer(value),
            Token::Double(value) => ConstantValue::Double(value),
            Token::Literal(text) => ConstantValue::Text(text),
            Token::Word(name) => ConstantValue::Name(name),
            Token::Symbol('[') => {
                let mut items = Vec::new();
                while !self.accept(']') {
                    items.push(self.constant(depth + 1)?);
                    self.separator();
                }
                ConstantValue::List(items)
            }
            Token::Symbol('{') => {
                let mut members = Vec::new();
                while !self.accept('}') {
                    let key = self.constant(depth + 1)?;
                    self.symbol(':')?;
                    members.push((key, self.constant(depth + 1)?));
                    self.separator();
                }
                ConstantValue::Map(members)
            }
            other => return Err(place.error(format!("expected a constant, found {other}"))),
        };
        Ok(Constant { place, value })
    }

    fn enumeration(&mut self) -> Result<EnumDecl, Fault> {
        let name = self.new_name("an enum name")?;
        self.symbol('{')?;
        let mut values: Vec<(String, i32)> = Vec::new();
        let mut next = 0;
        while !self.accept('}') {
            let value = self.new_name("an enum value or '}'")?;
            let place = self.place();
            if self.accept('=') {
                next = self.integer("the value's number")?;
            }
            let number = i32::try_from(next).map_err(|_| {
                place.error(format!(
                    "enum value '{}' = {next}: must fit 32 bits",
                    value.text
                ))
            })?;
            if values.iter().any(|(known, _)| *known == value.text) {
                let why = format!("enum value '{}' occurs twice: must be unique", value.text);
                return Err(value.place.error(why));
            }
            values.push((value.text, number));
            next += 1;
            self.annotations()?;
            self.separator();
        }
        Ok(EnumDecl { name, values })
    }

    fn record(&mut self, kind: RecordKind) -> Result<RecordDecl, Fault> {
        let name = self.new_name("a name")?;
        refuse_obsolete_token(self.peek(), self.place())?;
        self.symbol('{')?;
        let fields = self.fields('}')?;
        Ok(RecordDecl { kind, name, fields })
    }

    fn service(&mut self) -> Result<ServiceDecl, Fault> {
        let name = self.new_name("a service name")?;
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

    fn function(&mut self) -> Result<FunctionDecl, Fault> {
        let oneway = self.accept_word("oneway");
        let place = self.place();
        let returns = match self.accept_word("void") {
            true => None,
            false => Some(self.type_ref(0)?),
        };
        if oneway && returns.is_some() {
            return Err(place.error("a oneway function must return void: it has no reply"));
        }
        let name = self.new_name("a function name")?;
        self.symbol('(')?;
        let arguments = self.fields(')')?;
        let place = self.place();
        let mut throws = Vec::new();
        if self.accept_word("throws") {
            self.symbol('(')?;
            throws = self.fields(')')?;
        }
        if oneway && !throws.is_empty() {
            return Err(place.error("a oneway function cannot declare exceptions: it has no reply"));
        }
        if let Some(default) = throws.iter().find_map(|field| field.default.as_ref()) {
            return Err(default
                .place
                .error("a declared exception cannot have a default value"));
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

    fn fields(&mut self, close: char) -> Result<Vec<FieldDecl>, Fault> {
        let mut fields: Vec<FieldDecl> = Vec::new();
        while !self.accept(close) {
            let place = self.place();
            let field = self.field()?;
            let same =
                |other: &&FieldDecl| other.id == field.id || other.name.text == field.name.text;
            if let Some(twin) = fields.iter().find(same) {
                let (id, name) = (field.id, field.name.text);
                let why = format!(
                    "field {id} '{name}': number and name must differ from those of field {} '{}'",
                    twin.id, twin.name.text
                );
                return Err(place.error(why));
            }
            fields.push(field);
        }
        Ok(fields)
    }

    fn field(&mut self) -> Result<FieldDecl, Fault> {
        let place = self.place();
        let number = self.integer("a field number")?;
        let id = i16::try_from(number)
            .ok()
            .filter(|id| *id > 0)
            .ok_or_else(|| place.error(format!("field number = {number}: must be 1 to 32767")))?;
        self.symbol(':')?;
        let required = self.accept_word("required");
        if !required {
            self.accept_word("optional");
        }
        let ty = self.type_ref(0)?;
        // `&` makes a field of generated C++ a pointer: the wire form is the same.
        self.accept('&');
        let name = self.new_name("a field name")?;
        let default = match self.accept('=') {
            true => Some(self.constant(0)?),
            false => None,
        };
        refuse_obsolete_token(self.peek(), self.place())?;
        self.annotations()?;
        self.separator();
        Ok(FieldDecl {
            id,
            required,
            ty,
            name,
            default,
        })
    }

    fn type_ref(&mut self, depth: usize) -> Result<TypeRef, Fault> {
        let name = self.word("a type")?;
        if depth > MAX_TYPE_DEPTH {
            return Err(name.place.error(format!(
                "types: must be nested at most {MAX_TYPE_DEPTH} levels deep"
            )));
        }
        let ty = match name.text.as_str() {
            container @ ("list" | "set") => {
                self.cpp_type()?;
                self.symbol('<')?;
                let element = Box::new(self.type_ref(depth + 1)?);
                self.symbol('>')?;
                self.cpp_type()?;
                match container {
                    "list" => TypeRef::List(element),
                    _ => TypeRef::Set(element),
                }
            }
            "map" => {
                self.cpp_type()?;
                self.symbol('<')?;
                let key = self.type_ref(depth + 1)?;
                self.symbol(',')?;
                let value = self.type_ref(depth + 1)?;
                self.symbol('>')?;
                TypeRef::Map(Box::new((key, value)))
            }
            _ => {
                refuse_obsolete(&name)?;
                TypeRef::Named(name)
            }
        };
        self.annotations()?;
        Ok(ty)
    }

    /// Skips `cpp_type "..."`, which affects generated C++ alone.
    fn cpp_type(&mut self) -> Result<(), Fault> {
        if self.accept_word("cpp_type") {
            self.literal("a C++ type in quotes")?;
        }
        Ok(())
    }

    /// Skips `(key = "value", key, ...)`. No other construct begins with `(` at the places where
    /// this is called.
    fn annotations(&mut self) -> Result<(), Fault> {
        if !self.accept('(') {
            return Ok(());
        }
        while !self.accept(')') {
            self.word("an annotation or ')'")?;
            if self.accept('=') {
                match self.peek() {
                    Token::Literal(_) | Token::Integer(_) => self.advance(),
                    other => {
                        let why =
                            format!("expected the annotation's value in quotes, found {other}");
                        return Err(self.place().error(why));
                    }
                }
            }
            self.separator();
        }
        Ok(())
    }

    fn peek(&self) -> &Token {
        self.tokens
            .get(self.next)
            .map_or(&Token::End, |(token, _)| token)
    }

    fn place(&self) -> Place {
        self.tokens
            .get(self.next)
            .map_or(self.end, |(_, place)| *place)
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

    fn symbol(&mut self, symbol: char) -> Result<(), Fault> {
        if self.accept(symbol) {
            return Ok(());
        }
        Err(self
            .place()
            .error(format!("expected '{symbol}', found {}", self.peek())))
    }

    fn word(&mut self, what: &str) -> Result<Name, Fault> {
        let place = self.place();
        match self.peek().clone() {
            Token::Word(text) => {
                self.advance();
                Ok(Name { text, place })
            }
            other => Err(place.error(format!("expected {what}, found {other}"))),
        }
    }

    /// A name in a declaration, without dots: these are for names of other files.
    fn new_name(&mut self, what: &str) -> Result<Name, Fault> {
        let name = self.word(what)?;
        match name.text.contains('.') {
            true => Err(name
                .place
                .error(format!("'{}': a declared name cannot have dots", name.text))),
            false => Ok(name),
        }
    }

    fn literal(&mut self, what: &str) -> Result<Name, Fault> {
        let place = self.place();
        match self.peek().clone() {
            Token::Literal(text) => {
                self.advance();
                Ok(Name { text, place })
            }
            other => Err(place.error(format!("expected {what}, found {other}"))),
        }
    }

    fn optional_word(&mut self) -> Result<Option<Name>, Fault> {
        if self.peek() == &Token::End {
            Ok(None)
        } else {
            self.word("a definition").map(Some)
        }
    }

    fn integer(&mut self, what: &str) -> Result<i64, Fault> {
        match *self.peek() {
            Token::Integer(value) => {
                self.advance();
                Ok(value)
            }
            ref other => Err(self
                .place()
                .error(format!("expected {what}, found {other}"))),
        }
    }

    fn separator(&mut self) {
        if !self.accept(',') {
            self.accept(';');
        }
    }
}

/// Refuses an obsolete word.
fn refuse_obsolete(word: &Name) -> Result<(), Fault> {
    match OBSOLETE.iter().find(|(obsolete, _)| *obsolete == word.text) {
        None => Ok(()),
        Some((obsolete, replacement)) => {
            let why = format!("'{obsolete}' is not supported; {replacement}");
            Err(word.place.error(why))
        }
    }
}

fn refuse_obsolete_token(token: &Token, place: Place) -> Result<(), Fault> {
    let Token::Word(text) = token else {
        return Ok(());
    };
    let text = text.clone();
    refuse_obsolete(&Name { text, place })
}
