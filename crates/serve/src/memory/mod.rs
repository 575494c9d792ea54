//! Memory for messages: reusable buffers, limits for requests and responses, and wiping.

pub(crate) mod allocator;
pub(crate) mod arena;
pub(crate) mod buffers;
pub(crate) mod room;
pub(crate) mod wipe;
