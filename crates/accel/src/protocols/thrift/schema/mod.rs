//! Thrift schemas: every struct and function that an interface declares.

mod build;
mod defaults;
mod function_set;
mod load;
mod names;
mod types;

pub use function_set::FunctionSet;
pub use types::{Field, FieldDefault, Function, FunctionId, Schema, Struct, StructId, Ty};
