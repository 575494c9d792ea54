//! Observation of single requests: timelines, waterfalls, and causes of slow requests.
//!
//! Requests that are chosen by arrival or response time need two simulations. The first does not
//! observe the hardware and finds the arrival and response times of all requests; the second
//! observes the hardware for the chosen requests. Both behave identically, since all random numbers
//! follow from the seed.

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
pub use resource::{Resource, ResourceNames};
pub use timeline::{MAX_TIMELINE_REQUESTS, TimelineOptions, Written};
pub use watched::{Watched, Which};
pub use waterfall::{Segment, Waterfall};
pub use why::{Why, WhyOptions};
