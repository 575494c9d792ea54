//! The trace language of AccelFlow (HPCA 2026, sections IV and V): sources, conditions, checks,
//! compiler, eight-byte words, trace memory, and [`step()`], the state machine that defines the
//! meaning of a trace.
//!
//! A trace is a short program of accelerator calls with branches on payload fields, format
//! transformations, forks and a tail to the next trace. This crate is independent of time, bytes on
//! a wire, and threads. An executor of traces calls [`step()`] for the next action.
//!
//! ```
//! use accelflow_trace::{Library, Walker, source};
//!
//! let mut library = Library::new();
//! let mut nodes = source::seq(&["TCP", "Decr", "RPC", "Dser"])?;
//! let mut decompress = vec![source::trans("JSON", "str")?];
//! decompress.extend(source::seq(&["Dcmp"])?);
//! nodes.push(source::branch("out['compressed'] == 1", decompress, vec![])?);
//! nodes.extend(source::seq(&["LdB"])?);
//! library.register("func_req", nodes)?;
//!
//! let image = library.link()?;
//! assert_eq!(image.words()[0].to_string(), "1346a0ab48900000");
//! let mut walker = Walker::new(&image, "func_req").ok_or("missing")?;
//! let facts = |_: accelflow_trace::Field<'_>| Some(1);
//! while let Some(visit) = walker.advance(&facts)? {
//!     println!("{visit:?}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accelerator;
mod assemble;
mod check;
mod compile;
mod condition;
mod disassemble;
mod executions;
mod file;
mod format;
mod image;
mod interpret;
mod joins;
mod kind;
mod kinds;
mod library;
pub mod limits;
mod link;
mod link_error;
pub mod source;
mod step;
mod templates;
pub mod text;
mod verify;
mod walk;
mod word;
mod yields;

pub use accelerator::{Accel, UnknownAccelerator, nine};
pub use check::{CheckError, Role, Warning, check, is_name, is_part_name};
pub use compile::Part;
pub use condition::{
    Binary, Condition, ConditionError, Expr, Facts, Field, MAX_INTEGER_BYTES, MAX_OFFSET,
    MAX_TEXT_BYTES, Op, Operand, Predicate, PredicateError, PredicateTable, Source, Span,
};
pub use disassemble::Unstructured;
pub use file::{FileError, MAGIC, VERSION};
pub use format::{Format, Transform, UnknownFormat};
pub use image::Image;
pub use interpret::interpret;
pub use joins::{JoinArm, Joins};
pub use kind::{Directions, FactType, Kind, KindError};
pub use kinds::KindsError;
pub use library::{Library, RegisterError, Registered, tails};
pub use link::link;
pub use link_error::LinkError;
pub use source::{Node, Nodes, SourceError};
pub use step::{Action, Effect, Fault, Link, Step, step};
pub use templates::{TEMPLATES, Template, TemplateError, register_templates, templates};
pub use walk::{Visit, Walker};
pub use word::{AtmAddress, DecodeError, Instruction, MAX_WORDS, NIBBLES, PositionMark, Word};
pub use yields::check_trace;
