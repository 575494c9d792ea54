//! Timelines as trace files for Perfetto: tracks, slices, counters and flows.
//!
//! [`Timeline`] writes the protocol buffers that Perfetto calls TrackEvent. It writes packet by
//! packet, so its memory grows only with the number of tracks and of distinct names and categories.
//! [`Lanes`] assigns overlapping slices to different tracks. The library is independent of
//! accelerators and requests.

mod lanes;
mod messages;
mod timeline;

pub use lanes::Lanes;
pub use timeline::{Argument, Slice, Timeline, Track};
