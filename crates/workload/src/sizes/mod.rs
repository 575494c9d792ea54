//! Sizes of messages.
//!
//! A [`SizeDistribution`] is one fixed size, a table of quantiles or a log-normal distribution.
//! [`PayloadSizes`] has a distribution for every message of every service, and draws sizes by a
//! hash of the request's index, so that all systems that are compared see the same sizes.
//!
//! | preset | median | mean | P99 | maximum | |
//! |---|---|---|---|---|---|
//! | [`SizePreset::SocialNetwork`] | 28 B to 10.8 KB | | 28 B to 12.6 KB | 13.3 KB | by message |
//! | [`SizePreset::Fleet`] | 2.4 KB | 8.0 KB | 59 KB | 65.5 KB | all messages |
//! | [`SizePreset::FleetWhole`] | 2.7 KB | 21.8 KB | 237 KB | 1.07 GB | all messages |
//! | [`SizePreset::HyperCompressBench`] | 7.8 KB | 66 KB | 0.94 MB | 33.6 MB | all messages |
//!
//! AccelFlow's Fig. 5 and its text give accelerators a median of a few KB and a tail of a few tens
//! of KB: that is `Fleet`, in which 52 % of the messages are beyond the 2 KB of a queue entry. The
//! fleet's calls come in buckets of powers of two, in which sizes are taken to be evenly spread:
//! that puts the mean of `FleetWhole` 11 % above that of the calls (19.5 KB), and that of `Fleet` 5 %
//! above that of the calls up to the cut (7.6 KB). SocialNetwork's own messages are smaller,
//! except for timelines.

mod distribution;
mod normal;
mod payloads;
mod tables;

pub use distribution::{LogNormal, MAX_SIZE, QuantileTable, SizeDistribution, SizeError};
pub use payloads::{FLEET_CUT, MessagePlace, PayloadSizes, SizePreset, message_names};
