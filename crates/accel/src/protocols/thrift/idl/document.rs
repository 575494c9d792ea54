//! Types for the declarations of a Thrift interface, which the parser makes from its text.

use std::collections::HashMap;
use std::path::PathBuf;

use super::fault::{Fault, IdlError, Place};

/// A name and its place.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) place: Place,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeRef {
    Named(Name),
    List(Box<TypeRef>),
    Set(Box<TypeRef>),
    Map(Box<(TypeRef, TypeRef)>),
}

/// A constant in the text; its type is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) place: Place,
    pub(crate) value: ConstantValue,
}

#[derive(Clone, Debug)]
pub(crate) enum ConstantValue {
    Integer(i64),
    Double(f64),
    Text(String),
    /// `true`, `false`, a constant or the value of an enum.
    Name(String),
    List(Vec<Constant>),
    Map(Vec<(Constant, Constant)>),
}

#[derive(Clone, Debug)]
pub(crate) struct FieldDecl {
    pub(crate) id: i16,
    pub(crate) required: bool,
    pub(crate) ty: TypeRef,
    pub(crate) name: Name,
    pub(crate) default: Option<Constant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Struct,
    Union,
    Exception,
}

#[derive(Clone, Debug)]
pub(crate) struct RecordDecl {
    pub(crate) kind: RecordKind,
    pub(crate) name: Name,
    pub(crate) fields: Vec<FieldDecl>,
}

#[derive(Clone, Debug)]
pub(crate) struct EnumDecl {
    pub(crate) name: Name,
    pub(crate) values: Vec<(String, i32)>,
}

#[derive(Clone, Debug)]
pub(crate) struct ConstDecl {
    pub(crate) name: Name,
    pub(crate) ty: TypeRef,
    pub(crate) value: Constant,
}

#[derive(Clone, Debug)]
pub(crate) struct FunctionDecl {
    pub(crate) oneway: bool,
    /// `None` for `void`.
    pub(crate) returns: Option<TypeRef>,
    pub(crate) name: Name,
    pub(crate) arguments: Vec<FieldDecl>,
    pub(crate) throws: Vec<FieldDecl>,
}

#[derive(Clone, Debug)]
pub(crate) struct ServiceDecl {
    pub(crate) name: Name,
    pub(crate) extends: Option<Name>,
    pub(crate) functions: Vec<FunctionDecl>,
}

/// The declarations of one text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    /// The paths in the text.
    pub(crate) includes: Vec<Name>,
    pub(crate) enums: Vec<EnumDecl>,
    pub(crate) consts: Vec<ConstDecl>,
    pub(crate) typedefs: Vec<(Name, TypeRef)>,
    pub(crate) records: Vec<RecordDecl>,
    pub(crate) services: Vec<ServiceDecl>,
}

/// A file of an interface.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// Its path in errors; `None` for a text without a file.
    pub(crate) path: Option<PathBuf>,
    /// The prefix of its names in other files.
    pub(crate) name: String,
    pub(crate) document: Document,
    /// The numbers of the files that it includes, by their names.
    pub(crate) includes: HashMap<String, usize>,
}

/// Converts a fault in one of `files` to an error.
pub(crate) fn locate(fault: Fault, files: &[File]) -> IdlError {
    let file = files.get(fault.file());
    let path = file.and_then(|file| file.path.clone());
    fault.at(path)
}
