//! Observation of single requests: timelines, waterfalls, and reasons of slow ones.
//!
//! A run is simulated twice: first without observing the hardware, to find when each request
//! arrives and has its response, then again while observing the hardware for the chosen requests.
//! Both runs are the same, since everything random is a function of the seed.

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
