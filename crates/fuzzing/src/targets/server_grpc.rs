//! Fuzz target of the gRPC server: the server answers any bytes with whole HTTP/2 frames, and ends
//! the connection. An input is raw bytes, or frames in which only the lengths are valid.

use std::sync::LazyLock;

use crate::parties::{converse, grpc_server, pieces};
use accelflow_serve::Running;

static SERVER: LazyLock<Running> = LazyLock::new(grpc_server);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Sends `input` to a gRPC server. Panics unless the server answers with whole HTTP/2 frames and
/// closes the connection.
///
/// The first byte chooses what is sent: the other bytes alone, the other bytes after a valid HTTP/2
/// preface, or this preface and frames of valid length made from the other bytes.
pub fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let mut bytes = [PREFACE, SETTINGS].concat();
    match first & 3 {
        0 => bytes = rest.to_vec(),
        1 => bytes.extend_from_slice(rest),
        _ => bytes.extend(pieces(rest).into_iter().flat_map(frame)),
    }
    let answer = converse(SERVER.address(), &bytes);
    let mut rest = &answer[..];
    while let Some((head, behind)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        assert!(length <= 1 << 14, "no client allows more");
        (_, rest) = behind.split_at_checked(length).expect("whole frames");
    }
    assert!(rest.is_empty());
}

/// Makes an HTTP/2 frame of a part of an input: type, flags and stream in three bytes, then the
/// payload.
fn frame(piece: &[u8]) -> Vec<u8> {
    let Some(([kind, flags, stream], payload)) = piece.split_first_chunk::<3>() else {
        return piece.to_vec();
    };
    let length = u32::try_from(payload.len()).expect("two bytes");
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([*kind, *flags, 0, 0, 0, *stream]);
    frame.extend_from_slice(payload);
    frame
}
