//! The limits of traces, branch conditions and trace memories.

/// The largest number of levels to which branches, forks and joins may nest in the source of one
/// trace (a short program of accelerator calls).
pub const MAX_DEPTH: usize = 16;
/// The largest number of nodes (accelerator calls, branches and so on) in the source of one trace.
pub const MAX_NODES: usize = 1024;
/// The largest length of a trace's name, in characters.
pub const MAX_NAME_CHARS: usize = 48;
/// The largest number of operations in one compiled branch condition.
pub const MAX_OPS: usize = 24;
/// The largest number of values that a compiled branch condition may have on its stack at once.
pub const MAX_STACK: usize = 8;
/// The largest number of distinct branch conditions in one trace memory, since compiled traces
/// refer to a condition by a 4-bit index.
pub const MAX_PREDICATES: usize = 16;
/// The largest number of distinct payload values (facts) that the branch conditions of one trace
/// memory may read.
pub const MAX_FIELDS: usize = 64;
/// The largest number of custom accelerators in one trace memory, since compiled traces refer to a
/// custom accelerator by a 4-bit index. A custom accelerator is one beyond the nine of the
/// AccelFlow paper.
pub const MAX_KINDS: usize = 16;
/// The largest length of a custom accelerator's name, in characters.
pub const MAX_KIND_CHARS: usize = 16;
/// The largest number of payload values (facts) that one custom accelerator may extract.
pub const MAX_YIELDS: usize = 16;
/// The largest length of a branch condition's text, in characters.
pub const MAX_CONDITION_CHARS: usize = 512;
/// The largest number of parallel executions into which the forks and joins of one trace, and of
/// the traces that follow it, may split one run, the first execution included.
pub const MAX_EXECUTIONS: u64 = 64;
