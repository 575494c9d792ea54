//! The parser of the Thrift interface language, for a file and the files that it includes.
//!
//! Supported: `include`, `cpp_include` (skipped), `namespace`, `const`, `typedef`, `enum`,
//! `struct`, `union`, `exception`, `service` (with `extends`, `oneway`, `throws`), `list`, `set`,
//! `map`, all base types except `uuid`; default values, annotations (skipped), the three comment
//! styles. Obsolete parts of the language are refused by name: `senum`, `slist`, `xsd_*`, fields
//! without numbers. The project has its own parser because errors need file, line and column, and
//! nesting needs limits.

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
