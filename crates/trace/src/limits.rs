//! Limits of the parts of a trace program.

/// The deepest nesting of branches and forks in a source.
pub const MAX_DEPTH: usize = 16;
/// The most nodes in one trace's source.
pub const MAX_NODES: usize = 1024;
/// The longest trace name, in characters.
pub const MAX_NAME_CHARS: usize = 48;
/// The most operations one predicate may have.
pub const MAX_OPS: usize = 24;
/// The deepest operand stack a predicate may need.
pub const MAX_STACK: usize = 8;
/// The most predicates of a table, which a nibble numbers.
pub const MAX_PREDICATES: usize = 16;
/// The most distinct fields that the predicates of one table may read.
pub const MAX_FIELDS: usize = 64;
/// The most custom accelerators of one trace memory, which a nibble numbers.
pub const MAX_KINDS: usize = 16;
/// The longest name of a custom accelerator, in characters.
pub const MAX_KIND_CHARS: usize = 16;
/// The most facts that a custom accelerator may yield.
pub const MAX_YIELDS: usize = 16;
/// The longest condition text, in characters.
pub const MAX_CONDITION_CHARS: usize = 512;
/// The most executions that one trace may create by forks, including its tails.
pub const MAX_EXECUTIONS: u64 = 64;
