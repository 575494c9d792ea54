//! Fuzz target of the Thrift server: the server answers any bytes with whole replies, and ends the
//! connection. Half of the inputs are messages of which only the frame lengths are valid.

use std::sync::LazyLock;

use crate::parties::{config, converse, framed, pieces, replies, thrift_server};
use accelflow_serve::Running;

static SERVER: LazyLock<Running> = LazyLock::new(|| thrift_server(config(), None));

/// Sends `input` to a Thrift server. Panics unless the server answers with whole replies and closes
/// the connection.
///
/// If the first byte is even, the other bytes are sent unchanged; otherwise they are sent as
/// messages with valid frame lengths.
pub fn check(input: &[u8]) {
    let bytes = match input.split_first() {
        None => return,
        Some((first, rest)) if first & 1 == 0 => rest.to_vec(),
        Some((_, rest)) => pieces(rest).into_iter().flat_map(framed).collect(),
    };
    replies(&converse(SERVER.address(), &bytes));
}
