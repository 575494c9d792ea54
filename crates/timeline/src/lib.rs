//! Timelines as trace files for Perfetto: tracks, slices, counters and flows.
//!
//! [`Timeline`] writes the protocol buffers that Perfetto calls TrackEvent, packet by packet, so
//! its memory grows only with the number of tracks and of different texts. It knows nothing of
//! accelerators or requests. [`Lanes`] assigns overlapping slices to different tracks.

mod lanes;
mod messages;
mod timeline;

pub use lanes::Lanes;
pub use timeline::{Argument, Slice, Timeline, Track};
