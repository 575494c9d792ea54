//! The Thrift interface language: text to declarations, over as many files as include one another.
//!
//! Supported: `include`, `cpp_include` (skipped), `namespace`, `const`, `typedef`, `enum`, `struct`,
//! `union`, `exception`, `service` (with `extends`, `oneway`, `throws`), all base types but `uuid`,
//! `list`, `set`, `map`, default values, annotations (skipped), the three comment styles. What is left
//! of the language's past is refused by name: `senum`, `slist`, `xsd_*`, fields without numbers.
//! It is our own because a schema's author needs file, line and column, and limits on nesting.

mod files;
mod lexer;
mod parser;

use std::fmt;
use std::path::PathBuf;

pub use files::InterfaceError;
pub(super) use files::{File, load, single};

/// Why an interface text is refused; `line` and `column` count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdlError {
    /// The file, if the interface was read from one.
    pub file: Option<PathBuf>,
    /// Line of the first offending character.
    pub line: usize,
    /// Column of the first offending character.
    pub column: usize,
    /// What is wrong and what was expected.
    pub why: String,
}

impl fmt::Display for IdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IdlError {
            line, column, why, ..
        } = self;
        match &self.file {
            Some(file) => write!(f, "{}:{line}:{column}: {why}", file.display()),
            None => write!(f, "Thrift interface, line {line}, column {column}: {why}"),
        }
    }
}

impl std::error::Error for IdlError {}

/// A place in the texts: which of them, line and column from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: usize,
    line: usize,
    column: usize,
}

impl Place {
    pub(super) fn error(self, why: impl fmt::Display) -> Fault {
        Fault {
            place: self,
            why: why.to_string(),
        }
    }
}

/// An [`IdlError`] whose file is still a number.
#[derive(Debug)]
pub(super) struct Fault {
    place: Place,
    why: String,
}

impl Fault {
    pub(super) fn named(self, files: &[File]) -> IdlError {
        IdlError {
            file: files
                .get(self.place.file)
                .and_then(|file| file.path.clone()),
            line: self.place.line,
            column: self.place.column,
            why: self.why,
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

/// A constant as it is written: its type is not known yet.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub(super) place: Place,
    pub(super) value: ConstantValue,
}

#[derive(Clone, Debug)]
pub(super) enum ConstantValue {
    Integer(i64),
    Double(f64),
    Text(String),
    /// `true`, `false`, a constant or the value of an enum.
    Name(String),
    List(Vec<Constant>),
    Map(Vec<(Constant, Constant)>),
}

#[derive(Clone, Debug)]
pub(super) struct FieldDecl {
    pub(super) id: i16,
    pub(super) required: bool,
    pub(super) ty: TypeRef,
    pub(super) name: Name,
    pub(super) default: Option<Constant>,
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
pub(super) struct EnumDecl {
    pub(super) name: Name,
    pub(super) values: Vec<(String, i32)>,
}

#[derive(Clone, Debug)]
pub(super) struct ConstDecl {
    pub(super) name: Name,
    pub(super) ty: TypeRef,
    pub(super) value: Constant,
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

/// What one text declares.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    /// Paths as they are written.
    pub(super) includes: Vec<Name>,
    pub(super) enums: Vec<EnumDecl>,
    pub(super) consts: Vec<ConstDecl>,
    pub(super) typedefs: Vec<(Name, TypeRef)>,
    pub(super) records: Vec<RecordDecl>,
    pub(super) services: Vec<ServiceDecl>,
}
