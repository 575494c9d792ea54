//! Groups (bands) of requests around a percentile, and the division of their response times.

use std::collections::BTreeMap;

use accelflow_sim::stats::{Part, Sample};
use accelflow_units::Time;

use super::resource::Resource;
use super::waterfall::Waterfall;

/// A band: the requests to a service whose response times are between two percentiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The percentiles of the response times between which the band's requests lie: the lower, then
    /// the upper, each from 0 to 100.
    pub percentiles: (f64, f64),
    /// The number of requests in the band.
    pub requests: u64,
    /// The mean response time of the requests that `followed` lists.
    pub response: Time,
    /// The requests of the band that were followed through the server, the fastest first: at most
    /// 1,000, spread evenly over the band. Each is an index within the service, counted from 0 in
    /// the order of arrival.
    pub followed: Vec<u64>,
}

/// The mean time of work, or of waiting, at one resource: for requests around the median, and for
/// slow requests. Only time for which the response waited counts (the critical path).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandTime {
    /// The resource that works on the requests or that they wait for. All cores count as one
    /// resource, and so do all instances of an accelerator.
    pub at: Resource,
    /// The category of work or waits to which the time at the resource belongs, such as queueing.
    pub part: Part,
    /// Whether this is time in which requests wait for the resource; otherwise the resource works
    /// on them.
    pub waits: bool,
    /// The mean time that a request around the median spends at the resource.
    pub median: Time,
    /// The mean time that a slow request spends at the resource.
    pub slow: Time,
}

/// The largest number of requests of a band that are followed, chosen evenly from all.
const MOST_FOLLOWED: usize = 1_000;

impl Band {
    /// The requests of `sorted`, the fastest first, between two percentiles.
    pub(crate) fn of(sorted: &[Sample], percentiles: (f64, f64)) -> Band {
        let rank = |percentile: f64| {
            let rank = percentile / 100.0 * sorted.len() as f64;
            (rank.round() as usize).min(sorted.len())
        };
        let band = &sorted[rank(percentiles.0)..rank(percentiles.1)];
        let step = band.len().div_ceil(MOST_FOLLOWED).max(1);
        let followed: Vec<&Sample> = band.iter().step_by(step).collect();
        let total: Time = followed.iter().map(|sample| sample.response).sum();
        Band {
            percentiles,
            requests: band.len() as u64,
            response: total / (followed.len() as u64).max(1),
            followed: followed.iter().map(|sample| sample.request).collect(),
        }
    }
}

/// The division of the time of two bands' requests, along their critical paths.
#[derive(Default)]
pub(crate) struct BandTimes {
    spent: BTreeMap<(Resource, Part, bool), [Time; 2]>,
}

impl BandTimes {
    /// Adds a request of the band with index `band`: 0 for the band around the median, 1 for slow
    /// requests.
    pub(crate) fn add(&mut self, band: usize, waterfall: &Waterfall) {
        for segment in waterfall.critical() {
            let key = (segment.at.class(), segment.part, segment.waits);
            self.spent.entry(key).or_default()[band] += segment.length();
        }
    }

    /// Means over the requests of each band, those with the largest increase in the slow band
    /// first.
    pub(crate) fn rows(&self, requests: [u64; 2]) -> Vec<BandTime> {
        let row = |(&(at, part, waits), spent): (&(Resource, Part, bool), &[Time; 2])| BandTime {
            at,
            part,
            waits,
            median: spent[0] / requests[0].max(1),
            slow: spent[1] / requests[1].max(1),
        };
        let mut rows: Vec<BandTime> = self.spent.iter().map(row).collect();
        let more = |row: &BandTime| row.median.as_ps() as i128 - row.slow.as_ps() as i128;
        rows.sort_by_key(more);
        rows
    }
}
