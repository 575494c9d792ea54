//! Messages of gRPC, which are joined as they arrive, and sent in parts as the peer accepts them.

use std::future::poll_fn;

use bytes::Bytes;
use h2::{Reason, SendStream};

use crate::memory::wipe::{Wiped, wipe_all};

/// How many bytes are allocated at once when a message begins.
const FIRST_ROOM: usize = 128 * 1024;

/// Appends without leaving copies behind in freed memory. Allocates little in advance, even if the
/// announced length is large.
pub(crate) fn append(message: &mut Wiped, chunk: &[u8], expected: Option<usize>) {
    let need = message.len() + chunk.len();
    if need > message.capacity() {
        let doubled = (2 * message.capacity()).max(need);
        let room = match expected {
            Some(expected) if need <= expected => doubled.max(FIRST_ROOM).min(expected),
            _ => doubled,
        };
        let mut larger = Vec::with_capacity(room);
        larger.extend_from_slice(message);
        wipe_all(message);
        *message = Wiped::new(larger);
    }
    message.extend_from_slice(chunk);
}

/// Sends a message as the peer takes it, and ends the stream with it if it `ends`.
pub(crate) async fn send_all(
    stream: &mut SendStream<Bytes>,
    mut rest: Bytes,
    ends: bool,
) -> Result<(), h2::Error> {
    while !rest.is_empty() {
        let room = capacity(stream, rest.len()).await?;
        let part = rest.split_to(room.min(rest.len()));
        stream.send_data(part, ends && rest.is_empty())?;
    }
    Ok(())
}

/// Waits until the peer takes more bytes; returns how many.
async fn capacity(stream: &mut SendStream<Bytes>, wanted: usize) -> Result<usize, h2::Error> {
    stream.reserve_capacity(wanted);
    loop {
        match poll_fn(|cx| stream.poll_capacity(cx)).await {
            Some(Ok(0)) => {}
            Some(Ok(room)) => return Ok(room),
            Some(Err(error)) => return Err(error),
            None => return Err(Reason::CANCEL.into()),
        }
    }
}
