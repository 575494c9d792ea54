//! Distributions of message sizes for each message of a workload, and random draws from them.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use accelflow_kernel::attribute_unit;
use accelflow_parameters::Refusal;
use accelflow_units::Bytes;

use super::distribution::{QuantileTable, SizeDistribution};
use super::tables::{FLEET, HYPER_COMPRESS_BENCH, MESSAGES};

/// The largest message size in the preset [`SizePreset::Fleet`]: 64 KiB. In Google's fleet, 95 % of
/// the calls of Snappy (a compressor) process at most this much data.
///
/// Provenance: assumed. The AccelFlow paper says that payloads have "a long tail with a few tens of
/// KB".
pub const FLEET_CUT: Bytes = Bytes::from_kib(64);

/// A named set of distributions of message sizes, such as those measured in Google's fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SizePreset {
    /// The sizes of the messages of DeathStarBench's SocialNetwork, with a distribution for each
    /// message.
    SocialNetwork,
    /// The uncompressed sizes of the data in calls of Snappy (a compressor) in Google's fleet, up
    /// to [`FLEET_CUT`].
    Fleet,
    /// The uncompressed sizes of the data in all calls of Snappy (a compressor) in Google's fleet.
    FleetWhole,
    /// The uncompressed sizes of the data in HyperCompressBench's calls of Snappy and Zstandard.
    HyperCompressBench,
}

/// The place of a message in a service's path: the index of the phase, of the chain of traces in
/// the phase, and of the trace in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessagePlace {
    /// The index of the phase in the service's path, counted from 0.
    pub phase: u16,
    /// The index of the chain within the phase, counted from 0.
    pub chain: u16,
    /// The index of the trace within the chain, counted from 0. A trace handles one message.
    pub trace: u16,
}

/// The distributions of the sizes of all messages of a workload. Single services, and single chains
/// of traces, can have distributions that differ from those of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadSizes {
    /// By name of the message; empty if all are of [`PayloadSizes::other`].
    named: Vec<(&'static str, SizeDistribution)>,
    /// By service, for all of its messages.
    services: HashMap<String, PayloadSizes>,
    /// By service, phase and chain, in the order of the chain's messages.
    chains: HashMap<(String, u16, u16), Vec<SizeDistribution>>,
    other: SizeDistribution,
}

impl SizePreset {
    /// All presets of message sizes, in the order of their declaration.
    pub const ALL: [SizePreset; 4] = [
        SizePreset::SocialNetwork,
        SizePreset::Fleet,
        SizePreset::FleetWhole,
        SizePreset::HyperCompressBench,
    ];

    /// Returns the preset's name in configurations, such as `fleet`.
    pub const fn name(self) -> &'static str {
        match self {
            SizePreset::SocialNetwork => "socialnetwork",
            SizePreset::Fleet => "fleet",
            SizePreset::FleetWhole => "fleet_whole",
            SizePreset::HyperCompressBench => "hypercompressbench",
        }
    }
}

impl fmt::Display for SizePreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SizePreset {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<SizePreset, Refusal> {
        let known = Self::ALL.into_iter().find(|preset| preset.name() == name);
        known.ok_or_else(|| Refusal::unknown("sizes", name, Self::ALL.map(Self::name)))
    }
}

impl MessagePlace {
    /// Separates draws of sizes from other attributes of a request.
    const KIND: u64 = 0x512E << 48;

    fn index(self) -> u64 {
        let [phase, chain, trace] = [self.phase, self.chain, self.trace].map(u64::from);
        MessagePlace::KIND | phase << 32 | chain << 16 | trace
    }
}

impl PayloadSizes {
    /// Creates message sizes with one distribution for all messages.
    pub fn same(distribution: SizeDistribution) -> PayloadSizes {
        PayloadSizes {
            named: Vec::new(),
            services: HashMap::new(),
            chains: HashMap::new(),
            other: distribution,
        }
    }

    /// Sets the sizes of all messages of the service called `service`, except for chains of traces
    /// that have their own sizes ([`PayloadSizes::with_chain`]).
    #[must_use]
    pub fn with_service(mut self, service: &str, sizes: PayloadSizes) -> PayloadSizes {
        self.services.insert(service.to_owned(), sizes);
        self
    }

    /// Sets the sizes of the messages of one chain of traces of the service called `service`. The
    /// chain is given by (index of the phase, index of the chain in the phase). `sizes` has one
    /// distribution for each message, in order; further messages have the last distribution.
    #[must_use]
    pub fn with_chain(
        mut self,
        service: &str,
        (phase, chain): (u16, u16),
        sizes: Vec<SizeDistribution>,
    ) -> PayloadSizes {
        let place = (service.to_owned(), phase, chain);
        self.chains.insert(place, sizes);
        self
    }

    /// Creates the message sizes of a preset.
    ///
    /// With [`SizePreset::SocialNetwork`], a message that [`message_names`] does not name is as
    /// large as a reply without data, 28 B.
    pub fn preset(preset: SizePreset) -> PayloadSizes {
        let table = |buckets: &[(f64, u64)]| {
            SizeDistribution::Quantiles(QuantileTable::of_buckets(buckets))
        };
        match preset {
            SizePreset::FleetWhole => PayloadSizes::same(table(&FLEET)),
            SizePreset::Fleet => {
                let whole = table(&FLEET);
                PayloadSizes::same(whole.cut_at(FLEET_CUT).unwrap_or(whole))
            }
            SizePreset::HyperCompressBench => PayloadSizes::same(table(&HYPER_COMPRESS_BENCH)),
            SizePreset::SocialNetwork => {
                let named = MESSAGES.map(|(name, sizes)| (name, between(sizes)));
                PayloadSizes {
                    named: named.to_vec(),
                    ..PayloadSizes::same(SizeDistribution::Fixed(VOID_SIZE))
                }
            }
        }
    }

    /// Returns the distribution of the size of one message: the message at `place` in the path of
    /// the service called `service`.
    pub fn distribution(&self, service: &str, place: MessagePlace) -> &SizeDistribution {
        if !self.chains.is_empty() {
            let chain = (service.to_owned(), place.phase, place.chain);
            let chain = self
                .chains
                .get(&chain)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let own = chain.get(usize::from(place.trace)).or(chain.last());
            if let Some(distribution) = own {
                return distribution;
            }
        }
        if let Some(sizes) = self.services.get(service) {
            return sizes.distribution(service, place);
        }
        if self.named.is_empty() {
            return &self.other;
        }
        let chain = message_names(service, place.phase, place.chain);
        let name = chain.get(usize::from(place.trace)).or(chain.last());
        let named = self.named.iter().find(|(known, _)| Some(known) == name);
        named.map_or(&self.other, |(_, distribution)| distribution)
    }

    /// Draws the random size of one message: the message at `place` in the path of the service
    /// called `service`, in request `request`. The result depends only on these sizes and the
    /// arguments, so all systems that are compared see the same sizes.
    pub fn draw(&self, service: &str, place: MessagePlace, seed: u64, request: u64) -> Bytes {
        self.distribution(service, place).draw(place, seed, request)
    }
}

impl SizeDistribution {
    /// Draws a random size from this distribution for the message at `place` in request `request`.
    /// The result depends only on the distribution and the arguments.
    #[inline]
    pub fn draw(&self, place: MessagePlace, seed: u64, request: u64) -> Bytes {
        self.sample(attribute_unit(seed, request, place.index()))
    }
}

fn between([min, median, p99, max]: [u64; 4]) -> SizeDistribution {
    if min == max {
        return SizeDistribution::Fixed(Bytes(min));
    }
    let points = vec![(0.0, min), (0.5, median), (0.99, p99), (1.0, max)];
    SizeDistribution::Quantiles(QuantileTable { points })
}

/// A reply without data.
const VOID: &str = "ComposePost rsp";
const VOID_SIZE: Bytes = Bytes(28);
const POSTS: &str = "ReadHomeTimeline rsp (10 posts)";
const POST_IDS: &str = "ReadPosts req (10 ids)";

/// Returns the names of the messages of one chain of traces of a SocialNetwork service, in the
/// order of the chain's traces, such as `StorePost req`. Each is the name of a message whose sizes
/// were measured. Further traces have the last name. Empty for other services and chains.
///
/// Provenance: the messages between services are those of SocialNetwork's interface. Messages to
/// and from caches and databases were not measured; each is taken to be as large as the message
/// between services that carries the same data (assumed): a stored post as StorePost's request, a
/// user as RegisterUserWithId's, ten identifiers as ReadPosts's, a reply without data as
/// ComposePost's.
pub fn message_names(service: &str, phase: u16, chain: u16) -> &'static [&'static str] {
    match (service, phase, chain) {
        ("CPost", 0, _) => &["ComposePost req"],
        ("CPost", 2, 0) => &["ComposeText req", "ComposeText rsp"],
        ("CPost", 2, 1) => &[
            "ComposeCreatorWithUserId req",
            "ComposeCreatorWithUserId rsp",
        ],
        ("CPost", 2, 2) => &["ComposeMedia req", "ComposeMedia rsp"],
        ("CPost", 2, 3) => &["ComposeUniqueId req", "ComposeUniqueId rsp"],
        ("CPost", 4, 0) => &["StorePost req", VOID],
        ("CPost", 4, 1) => &["WriteUserTimeline req", VOID],
        ("CPost", 4, 2) => &["WriteHomeTimeline req", VOID],
        ("ReadH", 0, _) => &["ReadHomeTimeline req"],
        ("ReadH", 2, _) => &["ReadHomeTimeline req", POST_IDS, POST_IDS, VOID],
        ("ReadH", 4, _) => &[POST_IDS, POSTS],
        ("ReadH", 6, _) => &[POSTS],
        ("StoreP", 0, _) => &["StorePost req"],
        ("StoreP", 2, _) => &["StorePost req", VOID],
        ("Follow", 0, _) => &["FollowWithUsername req"],
        ("Follow", 2, _) => &["FollowWithUsername req", VOID],
        ("Login", 0, _) => &["Login req"],
        ("Login", 2, _) => &["Login req", VOID, "RegisterUserWithId req", VOID],
        ("Login", 4, _) => &["ComposeCreatorWithUserId rsp"],
        ("CUrls", 0, _) => &["ComposeUrls req"],
        ("CUrls", 2, _) => &["ComposeUrls rsp", VOID],
        ("CUrls", 4, _) => &["ComposeUrls rsp"],
        ("UniqId", 0, _) => &["ComposeUniqueId req"],
        ("UniqId", 2, _) => &["ComposeUniqueId rsp"],
        ("RegUsr", 0, _) => &["RegisterUserWithId req"],
        ("RegUsr", 2, _) => &["RegisterUserWithId req", VOID],
        ("RegUsr", 4, _) => &["InsertUser req", VOID],
        ("CPost", 6, _) | ("StoreP" | "Follow", 4, _) | ("RegUsr", 6, _) => &[VOID],
        _ => &[],
    }
}
