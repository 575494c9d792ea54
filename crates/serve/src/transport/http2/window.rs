//! The flow-control windows of HTTP/2 connections, and the end of a connection whose peer floods it
//! with frames.

use std::cell::RefCell;
use std::task::Poll;

use super::frames::Frames;

/// The excess of the connection's window over its streams' windows, so that an admitted message
/// proceeds while others wait.
const SPARE_WINDOW: u32 = 1024 * 1024;

/// The window of a connection with `streams` streams, each of which has a window of `stream` bytes.
pub(crate) fn connection_window(stream: u32, streams: u32) -> u32 {
    /// The largest there may be (RFC 9113, section 6.9.1).
    const MOST: u32 = (1 << 31) - 1;
    let all = stream.saturating_mul(streams);
    all.saturating_add(SPARE_WINDOW).min(MOST)
}

/// Completes when the peer floods. It never wakes its task by itself; it is polled with the
/// connection.
pub(crate) async fn flood(frames: &RefCell<Frames>) {
    std::future::poll_fn(|_| match frames.borrow().flooded() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}
