//! Sizes of messages.
//!
//! A [`SizeDistribution`] is one fixed size, a table of quantiles or a log-normal distribution.
//! [`PayloadSizes`] has a distribution for every message of every service, and draws sizes by a
//! hash of the request's index, so that all systems that are compared see the same sizes.
//!
//! | preset | median | mean | P99 | maximum | distributions |
//! |---|---|---|---|---|---|
//! | [`SizePreset::SocialNetwork`] | 28 B to 10.8 KB | | 28 B to 12.6 KB | 13.3 KB | one per message |
//! | [`SizePreset::Fleet`] | 2.4 KB | 8.0 KB | 59 KB | 65.5 KB | one for all |
//! | [`SizePreset::FleetWhole`] | 2.7 KB | 21.8 KB | 237 KB | 1.07 GB | one for all |
//! | [`SizePreset::HyperCompressBench`] | 7.8 KB | 66 KB | 0.94 MB | 33.6 MB | one for all |
//!
//! According to AccelFlow's Fig. 5 and its text, the payloads of accelerators have a median of a
//! few KB and a tail of a few tens of KB. `Fleet` has such sizes: 52 % of its messages are larger
//! than the 2 KB of a queue entry. The published data of the fleet counts calls of the compressor
//! Snappy in buckets whose limits are powers of two. Within a bucket, sizes are assumed to be
//! evenly distributed. This assumption makes the mean of `FleetWhole` 11 % larger than the true
//! mean of all calls (19.5 KB), and the mean of `Fleet` 5 % larger than that of the calls up to 64
//! KiB (7.6 KB). The messages of `SocialNetwork` are smaller than those of `Fleet`, except for
//! timelines.

mod distribution;
mod normal;
mod payloads;
mod tables;

pub use distribution::{LogNormal, MAX_SIZE, QuantileTable, SizeDistribution, SizeError};
pub use payloads::{FLEET_CUT, MessagePlace, PayloadSizes, SizePreset, message_names};
