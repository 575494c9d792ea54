//! Timelines as trace files for Perfetto: tracks, slices, counters and flows.
//!
//! [`Timeline`] writes the protocol buffers that Perfetto calls TrackEvent, packet by packet, so
//! its memory grows only with the tracks and the distinct texts of the file. It is independent of
//! the domain. [`Lanes`] assigns slices that overlap to different tracks.

mod lanes;
mod messages;
mod timeline;

pub use lanes::Lanes;
pub use timeline::{Argument, Slice, Timeline, Track};
