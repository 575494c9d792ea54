//! Flow-control windows, and the end of a connection that floods.

use std::cell::RefCell;
use std::task::Poll;

use super::frames::Frames;

/// What the connection's window has beyond those of all its streams, so that a message that was
/// let in goes on while others wait.
const SPARE_WINDOW: u32 = 1024 * 1024;

/// The window of a connection of so many streams with a window of `stream` bytes each.
pub(crate) fn connection_window(stream: u32, streams: u32) -> u32 {
    /// The largest there may be (RFC 9113, section 6.9.1).
    const MOST: u32 = (1 << 31) - 1;
    let all = stream.saturating_mul(streams);
    all.saturating_add(SPARE_WINDOW).min(MOST)
}

/// Ends when the other end floods. Nobody tells of that: it is looked at whenever the connection is.
pub(crate) async fn flood(frames: &RefCell<Frames>) {
    std::future::poll_fn(|_| match frames.borrow().flooded() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}
