//! Looking at single requests: timelines, waterfalls, and why some are slow.
//!
//! A run is simulated twice: first without looking at the hardware, which says when each request
//! arrives and has its response, then once more with an eye on the hardware for the requests that
//! were chosen. Both runs are the same, as everything random is a function of the seed.

mod assembler;
mod bands;
mod busy;
mod drawing;
mod fates;
mod neighbours;
mod resource;
mod rows;
mod timeline;
mod times;
mod watched;
mod waterfall;
mod why;

pub use bands::{Band, BandTime};
pub use neighbours::{Blame, Burst};
pub use resource::Resource;
pub use timeline::{MAX_TIMELINE_REQUESTS, TimelineOptions, Written};
pub use watched::{Watched, Which};
pub use waterfall::{Segment, Waterfall};
pub use why::{Why, WhyOptions};
