//! The Thrift interface language: text to declarations, over as many files as include one another.
//!
//! Supported: `include`, `cpp_include` (skipped), `namespace`, `const`, `typedef`, `enum`, `struct`,
//! `union`, `exception`, `service` (with `extends`, `oneway`, `throws`), all base types but `uuid`,
//! `list`, `set`, `map`, default values, annotations (skipped), the three comment styles. What is left
//! of the language's past is refused by name: `senum`, `slist`, `xsd_*`, fields without numbers.
//! It is our own because a schema's author needs file, line and column, and limits on nesting.

mod document;
mod fault;
mod files;
mod lexer;
mod parser;

pub use fault::IdlError;
pub use files::InterfaceError;

pub(super) use document::{
    ConstDecl, Constant, ConstantValue, EnumDecl, FieldDecl, File, FunctionDecl, Name, RecordDecl,
    RecordKind, TypeRef, locate,
};
pub(super) use fault::{Fault, Place};
pub(super) use files::{load, single};
