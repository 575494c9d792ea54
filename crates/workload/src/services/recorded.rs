//! Facts of recorded requests, which replace those of the most common path.

use accelflow_kernel::attribute;

use super::service::{Chain, Phase, Service};

/// The individual requests to a service that were recorded, as groups of requests with equal
/// payload values. A simulated request takes all payload values of one recorded request, drawn at
/// random, so that correlations between the values are preserved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedRequests {
    variants: Vec<(u64, Service)>,
}

impl RecordedRequests {
    /// Adds a group of `count` recorded requests with the same payload values. The values are those
    /// in `service`, except where `facts` gives others, each as (index of the phase, index of the
    /// chain, trace, field, value). Facts of phases and chains that the service does not have are
    /// ignored.
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

    /// Returns the groups of recorded requests with equal payload values. Each group is a pair: the
    /// number of requests, and the service with their payload values.
    pub fn variants(&self) -> impl Iterator<Item = (u64, &Service)> {
        self.variants
            .iter()
            .map(|(count, service)| (*count, service))
    }

    /// Returns the groups of recorded requests with equal payload values, as far as they concern
    /// the chain with index `chain` of the phase with index `phase`. Each group is a pair: the
    /// number of requests, and the chain with their payload values. Empty for an unknown phase or
    /// chain.
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
    /// For each variant, the total number of requests of this and all earlier variants.
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

    /// The facts of request `request`; `None` if no requests were recorded.
    #[inline]
    pub(super) fn of(&self, seed: u64, request: u64) -> Option<&[Option<i64>]> {
        let all = self.ends.last().copied().filter(|&all| all > 0)?;
        let drawn = attribute(seed, request, LIKE) % all;
        let variant = self.ends.partition_point(|&end| end <= drawn);
        self.tables.get(variant).map(Vec::as_slice)
    }
}
