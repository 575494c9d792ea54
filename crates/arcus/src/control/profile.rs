//! The profile table: the capacity of each context (the paper's Capacity(t, X, N)), and tags that
//! say whether the platform can keep its promises to the flows of a mix.

use std::collections::BTreeMap;

use accelflow_units::Bytes;

use super::context::{Capacity, Context, Pattern, corners};
use super::measure::{measure, unshaped};
use super::route::{RouteEntry, Traffic, add};
use super::thresholds::CONTEXT_PATTERNS;
use crate::{Platform, PlatformError};

/// The tag of a mix of traffic: whether the platform can keep the promises to all flows in the mix
/// (section 4.3; one bit in the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// All promised rates fit: the load is at most the limit up to which the control plane admits
    /// flows.
    SloFriendly,
    /// Some promised rate does not fit: the load is above the limit up to which the control plane
    /// admits flows. Admission and path selection avoid such a mix.
    SloViolating,
}

impl Tag {
    /// Both tags: SLO-Friendly and SLO-Violating.
    pub const ALL: [Tag; 2] = [Tag::SloFriendly, Tag::SloViolating];

    /// The tag's name in reports and files.
    pub const fn name(self) -> &'static str {
        match self {
            Tag::SloFriendly => "SLO-Friendly",
            Tag::SloViolating => "SLO-Violating",
        }
    }

    fn of(fits: bool) -> Tag {
        match fits {
            true => Tag::SloFriendly,
            false => Tag::SloViolating,
        }
    }
}

/// The mixes of traffic that [`ProfileTable::sweep`] profiles: combinations of given pairs, each of
/// a route and a message size.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The pairs that are combined, each of a route and a size of the messages or segments on this
    /// route.
    pub patterns: Vec<(RouteEntry, Bytes)>,
    /// The largest number of pairs of route and size that are combined in one context. Numbers
    /// above 4 count as 4, and 0 counts as 1.
    pub most: usize,
}

/// Traffic in a form that can be compared: route, size, and rate in kilobits per second. Then the
/// bits of the load up to which the traffic is SLO-Friendly.
type TagKey = (Vec<(RouteEntry, Bytes, u64)>, u64);

/// The capacity of one platform for each context (mix of flows). A capacity is found by simulation,
/// in advance or when it is first needed. The table also has tags of mixes of traffic that were
/// classified in advance.
#[derive(Clone, Debug)]
pub struct ProfileTable {
    platform: Platform,
    entries: BTreeMap<Context, Capacity>,
    tags: BTreeMap<TagKey, Tag>,
    sizes: Vec<Bytes>,
    simulated: u64,
}

impl ProfileTable {
    /// The largest number of contexts (mixes of flows) that one [`ProfileTable::sweep`] may
    /// profile.
    pub const MOST_CONTEXTS: usize = 20_000;

    /// Creates an empty table for `platform`.
    pub fn new(platform: Platform) -> ProfileTable {
        ProfileTable {
            platform,
            entries: BTreeMap::new(),
            tags: BTreeMap::new(),
            sizes: Vec::new(),
            simulated: 0,
        }
    }

    /// Sets the message sizes that profiles distinguish. A message or segment between two of these
    /// sizes is treated as if it had one of them: the one at which the platform's rate is lower.
    /// So such messages need no simulation of their own. A size below or above all of these sizes
    /// is profiled as it is.
    #[must_use]
    pub fn of_sizes(self, mut sizes: Vec<Bytes>) -> ProfileTable {
        sizes.sort_unstable();
        sizes.dedup();
        ProfileTable { sizes, ..self }
    }

    /// The platform whose capacities the table contains.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The contexts (mixes of flows) in the table, each with the platform's capacity for it.
    pub fn entries(&self) -> impl Iterator<Item = (&Context, &Capacity)> {
        self.entries.iter()
    }

    /// The number of contexts (mixes of flows) that this table has simulated; contexts added by
    /// [`ProfileTable::insert`] do not count.
    pub fn simulated(&self) -> u64 {
        self.simulated
    }

    /// Adds the capacity for a context (a mix of flows). The capacity must have been measured on a
    /// platform that is equal to the table's.
    pub fn insert(&mut self, context: Context, capacity: Capacity) {
        self.entries.insert(context, capacity);
    }

    /// Adds the tag of a mix of traffic that was classified before: whether the load of `flows` is
    /// at most `most`. For traffic of equal routes, sizes and rates (in whole kilobits per second),
    /// and for an equal limit on the load, admission and path selection then use this tag and not
    /// the capacity. The limit depends on the over-subscription and on the service class of the
    /// flow that asks.
    pub fn insert_tag(&mut self, flows: &[Traffic], most: f64, tag: Tag) {
        self.tags.insert(key(flows, most), tag);
    }

    /// Simulates the capacities for mixes of flows in advance on `threads` threads: the paper's
    /// offline profiling. The mixes (contexts) are all combinations of 1 to `sweep.most` pairs of
    /// route and size, at most four pairs, each with several divisions of the traffic among the
    /// pairs. Afterwards [`ProfileTable::capacity_of`] needs no simulation for traffic of such a
    /// combination.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] for more than [`ProfileTable::MOST_CONTEXTS`] contexts, and
    /// the errors of [`Platform::check`].
    pub fn sweep(&mut self, sweep: &Sweep, threads: usize) -> Result<(), PlatformError> {
        let mut patterns = Vec::new();
        for (route, size) in &sweep.patterns {
            let traffic = Traffic {
                route: route.clone(),
                size: *size,
                gbit_per_s: 1.0,
            };
            add(&mut patterns, traffic);
        }
        let most = sweep.most.min(CONTEXT_PATTERNS);
        let count = Context::count(patterns.len(), most);
        PlatformError::unless(
            count <= ProfileTable::MOST_CONTEXTS as f64,
            "number of mixes of flows to profile",
            count,
            "at most 20000: give fewer sizes or paths, or combine fewer flows at a time",
        )?;
        let patterns: Vec<(RouteEntry, Bytes)> = self
            .in_order(patterns)?
            .into_iter()
            .map(|traffic| (traffic.route, traffic.size))
            .collect();
        let contexts = Context::all(&patterns, most);
        let missing: Vec<&Context> = contexts
            .iter()
            .filter(|context| !self.entries.contains_key(context))
            .collect();
        let each = missing.len().div_ceil(threads.max(1)).max(1);
        let platform = &self.platform;
        let measured = std::thread::scope(|scope| {
            let work = missing.chunks(each).map(|part| {
                scope.spawn(move || {
                    let found = part.iter().map(|context| measure(platform, context));
                    found.collect::<Result<Vec<Capacity>, PlatformError>>()
                })
            });
            let work: Vec<_> = work.collect();
            let joined = work.into_iter().map(|part| match part.join() {
                Ok(found) => found,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Result<Vec<_>, PlatformError>>()
        })?;
        self.simulated += missing.len() as u64;
        let found: Vec<(Context, Capacity)> = missing
            .into_iter()
            .cloned()
            .zip(measured.into_iter().flatten())
            .collect();
        self.entries.extend(found);
        Ok(())
    }

    /// Returns the capacity for a context (a mix of flows): from the table or, if it is not there,
    /// from a simulation.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn capacity(&mut self, context: &Context) -> Result<Capacity, PlatformError> {
        if let Some(known) = self.entries.get(context) {
            return Ok(*known);
        }
        let measured = measure(&self.platform, context)?;
        self.simulated += 1;
        self.entries.insert(context.clone(), measured);
        Ok(measured)
    }

    /// Simulates a context (a mix of flows) without shaping, so that flows take turns message by
    /// message. Returns the rate of each flow in gigabits per second, in the order of
    /// [`Context::patterns`].
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn unshaped(&self, context: &Context) -> Result<Vec<f64>, PlatformError> {
        unshaped(&self.platform, context)
    }

    /// Returns the largest total rate that the platform can deliver if flows send in the
    /// proportions of `flows`, in gigabits per second.
    ///
    /// The rate is simulated only for certain shares of the flows in the traffic. Between these
    /// shares, the time per bit is interpolated linearly. Where the bottleneck changes between two
    /// simulated shares, the true rate is higher than the result. Traffic of more than four pairs
    /// of route and size is simulated, not interpolated.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] unless the flows' rates add up to a finite number above 0, and
    /// the errors of [`Platform::check`].
    pub fn capacity_of(&mut self, flows: &[Traffic]) -> Result<f64, PlatformError> {
        let total = flows.iter().fold(0.0, |sum, flow| sum + flow.gbit_per_s);
        let good = total > 0.0 && total.is_finite();
        PlatformError::unless(
            good,
            "rate of the flows in Gbit/s",
            total,
            "above 0 and finite",
        )?;
        let mut merged: Vec<Traffic> = Vec::new();
        for flow in flows {
            let size = self.counted_as(flow)?;
            add(
                &mut merged,
                Traffic {
                    size,
                    ..flow.clone()
                },
            );
        }
        if merged.len() > CONTEXT_PATTERNS {
            return Ok(self.capacity(&Context::new(&merged))?.gbit_per_s);
        }
        let merged = self.in_order(merged)?;
        let total: f64 = merged.iter().map(|flow| flow.gbit_per_s).sum();
        let shares: Vec<f64> = merged.iter().map(|flow| flow.gbit_per_s / total).collect();
        let mut time = 0.0;
        for (parts, weight) in corners(&shares) {
            let pattern = |(flow, permille): (&Traffic, u32)| Pattern {
                route: flow.route.clone(),
                size: flow.size,
                permille,
            };
            let there = merged.iter().zip(parts).filter(|part| part.1 > 0);
            let context = Context::of(there.map(pattern).collect());
            time += weight / self.capacity(&context)?.gbit_per_s;
        }
        Ok(1.0 / time)
    }

    /// Returns the load of the platform under this traffic: the rate of the traffic divided by the
    /// platform's capacity for it. The load is 0 without traffic; above 1, the platform cannot
    /// deliver the traffic.
    ///
    /// # Errors
    /// The errors of [`Platform::check`], and [`PlatformError::OutOfRange`] for an infinite rate.
    pub fn load(&mut self, flows: &[Traffic]) -> Result<f64, PlatformError> {
        let total: f64 = flows.iter().map(|flow| flow.gbit_per_s).sum();
        match total > 0.0 {
            true => Ok(total / self.capacity_of(flows)?),
            false => Ok(0.0),
        }
    }

    /// Tags traffic as [`Tag::SloFriendly`] if its [`load`](ProfileTable::load) is at most `most`,
    /// and otherwise as [`Tag::SloViolating`]. If [`ProfileTable::insert_tag`] added a tag for
    /// equal traffic and an equal `most`, that tag is returned instead.
    ///
    /// # Errors
    /// The errors of [`ProfileTable::load`].
    pub fn classify(&mut self, flows: &[Traffic], most: f64) -> Result<Tag, PlatformError> {
        if let Some(known) = self.tags.get(&key(flows, most)) {
            return Ok(*known);
        }
        Ok(Tag::of(self.load(flows)? <= most))
    }

    /// The traffic in the order of the grid: by its capacity alone, the lowest first. The traffic
    /// with the lowest capacity has the smallest shares, and the grid is finest there.
    fn in_order(&mut self, flows: Vec<Traffic>) -> Result<Vec<Traffic>, PlatformError> {
        let mut keyed = Vec::with_capacity(flows.len());
        for flow in flows {
            keyed.push((self.alone(&flow.route, flow.size)?, flow));
        }
        keyed.sort_by(|(a, one), (b, other)| {
            a.total_cmp(b)
                .then_with(|| (&one.route, one.size).cmp(&(&other.route, other.size)))
        });
        Ok(keyed.into_iter().map(|keyed| keyed.1).collect())
    }

    /// The rate of messages or segments of this size alone on a route, in gigabits per second.
    fn alone(&mut self, route: &RouteEntry, size: Bytes) -> Result<f64, PlatformError> {
        let pattern = Pattern {
            route: route.clone(),
            size,
            permille: 1_000,
        };
        Ok(self.capacity(&Context::of(vec![pattern]))?.gbit_per_s)
    }

    /// The size with which a flow's messages or segments are profiled.
    fn counted_as(&mut self, flow: &Traffic) -> Result<Bytes, PlatformError> {
        let place = match self.sizes.binary_search(&flow.size) {
            Ok(_) => return Ok(flow.size),
            Err(place) => place,
        };
        if place == 0 || place == self.sizes.len() {
            return Ok(flow.size);
        }
        let (smaller, larger) = (self.sizes[place - 1], self.sizes[place]);
        match self.alone(&flow.route, smaller)? <= self.alone(&flow.route, larger)? {
            true => Ok(smaller),
            false => Ok(larger),
        }
    }
}

/// Traffic as a key, in canonical order, with the limit on its load.
fn key(flows: &[Traffic], most: f64) -> TagKey {
    let mut merged: Vec<Traffic> = Vec::new();
    for flow in flows {
        add(&mut merged, flow.clone());
    }
    let kilobits = |flow: Traffic| {
        let rate = (flow.gbit_per_s * 1e6).round() as u64;
        (flow.route, flow.size, rate)
    };
    let mut found: Vec<_> = merged.into_iter().map(kilobits).collect();
    found.sort();
    (found, most.to_bits())
}
