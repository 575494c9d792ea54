//! Timelines as files of Perfetto: tracks, slices, counters and flows.
//!
//! [`Timeline`] writes the protocol buffers that Perfetto calls TrackEvent, packet by packet, so
//! its memory does not grow with the file. It is independent of the domain. [`Lanes`] assigns
//! slices that overlap to different tracks.

mod lanes;
mod messages;
mod timeline;

pub use lanes::Lanes;
pub use timeline::{Argument, Slice, Timeline, Track};
