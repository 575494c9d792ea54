//! The profile table: the capacity of each context, the paper's Capacity(t, X, N), and the tags of
//! contexts.

use std::collections::BTreeMap;

use accelflow_units::Bytes;

use super::context::{Capacity, Context, Pattern, corners};
use super::measure::{measure, unshaped};
use super::route::{RouteEntry, Traffic, add};
use super::thresholds::CONTEXT_PATTERNS;
use crate::{Platform, PlatformError};

/// The tag of a context (a mix of traffic): whether the platform can keep all promises to its flows
/// (section 4.3, 1 bit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// The load is at most what the control plane admits, so all promised rates fit.
    SloFriendly,
    /// The load is above what the control plane admits, so admission and path selection avoid this
    /// mix of traffic.
    SloViolating,
}

impl Tag {
    /// Both tags.
    pub const ALL: [Tag; 2] = [Tag::SloFriendly, Tag::SloViolating];

    /// The name in reports and files.
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

/// Which mixes of traffic [`ProfileTable::sweep`] profiles: all combinations of these pairs of
/// route and size.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The pairs of a route and a size of its messages or segments.
    pub patterns: Vec<(RouteEntry, Bytes)>,
    /// The largest number of these pairs that share the platform in one context.
    pub most: usize,
}

/// Traffic in a form that can be compared: route, size, and rate in kilobits per second.
type TagKey = Vec<(RouteEntry, Bytes, u64)>;

/// The table of capacities of one platform, by context. Capacities are found by simulation, in
/// advance or when they are needed. It also has the tags of traffic that was classified in advance.
#[derive(Clone, Debug)]
pub struct ProfileTable {
    platform: Platform,
    entries: BTreeMap<Context, Capacity>,
    tags: BTreeMap<TagKey, Tag>,
    sizes: Vec<Bytes>,
    simulated: u64,
}

impl ProfileTable {
    /// The largest number of contexts that one sweep may profile.
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

    /// Sets the sizes that profiles distinguish. A message or segment whose size is between two of
    /// them counts as the one with the lower rate, so that tenants with other sizes need no
    /// simulation.
    #[must_use]
    pub fn of_sizes(self, mut sizes: Vec<Bytes>) -> ProfileTable {
        sizes.sort_unstable();
        sizes.dedup();
        ProfileTable { sizes, ..self }
    }

    /// The platform whose capacities the table has.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The profiled contexts with their capacities.
    pub fn entries(&self) -> impl Iterator<Item = (&Context, &Capacity)> {
        self.entries.iter()
    }

    /// The number of contexts that this table has simulated; inserted ones do not count.
    pub fn simulated(&self) -> u64 {
        self.simulated
    }

    /// Adds the capacity of a context that was simulated before on an equal platform.
    pub fn insert(&mut self, context: Context, capacity: Capacity) {
        self.entries.insert(context, capacity);
    }

    /// Adds the tag of traffic that was classified before. Admission and path selection then use
    /// this tag and not the capacity.
    pub fn insert_tag(&mut self, flows: &[Traffic], tag: Tag) {
        self.tags.insert(key(flows), tag);
    }

    /// Profiles in advance, on `threads` threads, every context of up to `sweep.most` pairs of
    /// route and size, for a grid of their shares of the traffic: the paper's offline profiling.
    /// For traffic of these pairs, [`ProfileTable::capacity_of`] then simulates nothing.
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
        let patterns: Vec<(RouteEntry, Bytes)> = self
            .in_order(patterns)?
            .into_iter()
            .map(|traffic| (traffic.route, traffic.size))
            .collect();
        let most = sweep.most.min(CONTEXT_PATTERNS);
        let contexts = Context::all(&patterns, most, ProfileTable::MOST_CONTEXTS);
        let contexts = contexts.ok_or(PlatformError::OutOfRange {
            name: "mixes of flows to profile",
            value: ProfileTable::MOST_CONTEXTS as f64 + 1.0,
            allowed: "at most 20000: give fewer sizes or paths, or combine fewer flows at a time",
        })?;
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

    /// Returns the capacity of a context from the table, or else simulates it now.
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

    /// Simulates a context without shaping, where flows take turns message by message. Returns the
    /// rate of each of its flows, in gigabits per second.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn unshaped(&self, context: &Context) -> Result<Vec<f64>, PlatformError> {
        unshaped(&self.platform, context)
    }

    /// Returns the total rate that the platform delivers if flows send in the proportions of
    /// `flows`, in gigabits per second. It is interpolated between contexts on a grid of shares
    /// (linearly in the time for a bit), so a finite table serves all shares. Where the bottleneck
    /// changes between two contexts, the true capacity is higher. Traffic of more than four pairs
    /// of route and size is simulated, not interpolated.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn capacity_of(&mut self, flows: &[Traffic]) -> Result<f64, PlatformError> {
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

    /// Returns the rate of this traffic over the platform's capacity for it; 0 without traffic.
    /// Above 1, the platform cannot deliver it.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn load(&mut self, flows: &[Traffic]) -> Result<f64, PlatformError> {
        let total: f64 = flows.iter().map(|flow| flow.gbit_per_s).sum();
        match total > 0.0 {
            true => Ok(total / self.capacity_of(flows)?),
            false => Ok(0.0),
        }
    }

    /// Tags traffic as SLO-Friendly if its [`load`](ProfileTable::load) is at most `most`, and
    /// otherwise as SLO-Violating. A tag that was inserted for equal traffic has precedence.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn classify(&mut self, flows: &[Traffic], most: f64) -> Result<Tag, PlatformError> {
        if let Some(known) = self.tags.get(&key(flows)) {
            return Ok(*known);
        }
        Ok(Tag::of(self.load(flows)? <= most))
    }

    /// The traffic in the order of the grid: by its capacity alone, the lowest first, since the
    /// dearest traffic has the smallest shares, and the grid is finest there.
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

    /// The rate of units of this size alone on a route, in gigabits per second.
    fn alone(&mut self, route: &RouteEntry, size: Bytes) -> Result<f64, PlatformError> {
        let pattern = Pattern {
            route: route.clone(),
            size,
            permille: 1_000,
        };
        Ok(self.capacity(&Context::of(vec![pattern]))?.gbit_per_s)
    }

    /// The size as which a flow's units are profiled.
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

/// Traffic as a key, in canonical order.
fn key(flows: &[Traffic]) -> TagKey {
    let mut merged: Vec<Traffic> = Vec::new();
    for flow in flows {
        add(&mut merged, flow.clone());
    }
    let kilobits = |flow: Traffic| {
        let rate = (flow.gbit_per_s * 1e6).round() as u64;
        (flow.route, flow.size, rate)
    };
    let mut found: TagKey = merged.into_iter().map(kilobits).collect();
    found.sort();
    found
}
