//! Fuzz target of the TLS server: the server answers any bytes with whole TLS records, and ends the
//! connection.

use std::sync::LazyLock;

use crate::parties::{config, converse, identity, thrift_server};
use accelflow_serve::Running;

static SERVER: LazyLock<Running> = LazyLock::new(|| thrift_server(config(), Some(identity())));

/// Sends `input` to a TLS server. Panics unless the server answers with whole TLS records and
/// closes the connection.
pub fn check(input: &[u8]) {
    let answer = converse(SERVER.address(), input);
    let mut rest = &answer[..];
    while let Some((head, behind)) = rest.split_first_chunk::<5>() {
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        assert!((20..=23).contains(&head[0]) && head[1] == 3, "{head:?}");
        (_, rest) = behind.split_at_checked(length).expect("whole records");
    }
    assert!(rest.is_empty());
}
