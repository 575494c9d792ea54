//! HTTP/2 below its streams: the bytes of a connection, and its frames.

pub(crate) mod frames;
pub(crate) mod outgoing;
pub(crate) mod pipe;
pub(crate) mod window;
