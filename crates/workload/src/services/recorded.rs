//! Facts of recorded requests, used instead of those of the most common path.

use accelflow_kernel::attribute;

use super::service::{Chain, Phase, Service};

/// The requests to a service that were recorded one by one. A simulated request takes the payload
/// values of one of them, drawn at random, so correlations between values are preserved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedRequests {
    variants: Vec<(u64, Service)>,
}

impl RecordedRequests {
    /// Adds `count` equal requests. Their payload values are those of `service`, except for
    /// `facts`: (phase, chain, trace, field, value). Phases and chains that the service does not
    /// have are ignored.
    pub fn add<'f>(
        &mut self,
        count: u64,
        service: &Service,
        facts: impl Iterator<Item = (usize, usize, &'f str, &'f str, i64)>,
    ) {
        let mut variant = service.clone();
        for (phase, chain, trace, field, value) in facts {
            if let Some(Phase::Traces(chains)) = variant.path.get_mut(phase)
                && let Some(chain) = chains.get_mut(chain)
            {
                *chain = chain.clone().with(trace, field, value);
            }
        }
        self.variants.push((count, variant));
    }

    /// Returns the total number of recorded requests.
    pub fn count(&self) -> u64 {
        self.variants.iter().map(|(count, _)| count).sum()
    }

    /// Returns the groups of equal requests: the number of requests in each, and the service with
    /// their payload values.
    pub fn variants(&self) -> impl Iterator<Item = (u64, &Service)> {
        self.variants
            .iter()
            .map(|(count, service)| (*count, service))
    }

    /// Returns the groups of equal requests: the number of requests in each, and one chain, by
    /// phase and index in it, with their payload values.
    pub fn chains(&self, phase: usize, chain: usize) -> impl Iterator<Item = (u64, &Chain)> {
        self.variants().filter_map(move |(count, service)| {
            let chains = service.path().get(phase)?.chains();
            Some((count, chains.get(chain)?))
        })
    }
}

/// The facts of one chain in recorded requests, as tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RecordedTables {
    /// By variant, the cumulative number of requests, including it.
    ends: Vec<u64>,
    tables: Vec<Vec<Option<i64>>>,
}

/// The attribute of a request that picks its recorded request: the same for all of its chains.
const LIKE: u64 = 0x11CE << 48;

impl RecordedTables {
    pub(super) fn add(&mut self, count: u64, table: Vec<Option<i64>>) {
        let before = self.ends.last().copied().unwrap_or(0);
        self.ends.push(before + count);
        self.tables.push(table);
    }

    /// Whether no requests were recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.last().is_none_or(|&all| all == 0)
    }

    /// The facts that request number `request` has, if any were recorded.
    #[inline]
    pub(super) fn of(&self, seed: u64, request: u64) -> Option<&[Option<i64>]> {
        let all = self.ends.last().copied().filter(|&all| all > 0)?;
        let drawn = attribute(seed, request, LIKE) % all;
        let variant = self.ends.partition_point(|&end| end <= drawn);
        self.tables.get(variant).map(Vec::as_slice)
    }
}
