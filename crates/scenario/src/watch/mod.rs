//! Observation of single requests: timelines, waterfalls, and causes of slow requests.
//!
//! A run is simulated twice: first without observing the hardware, to find the arrival and response
//! times of all requests, then again to observe the hardware for the chosen requests. Both runs are
//! identical, since all random numbers follow from the seed.

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
