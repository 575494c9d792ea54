//! The profile table: Capacity(t, X, N) by context.

use std::collections::BTreeMap;

use accelflow_units::{Bytes, Time};

use crate::{
    Arrivals, Flow, Mechanism, Order, Path, Platform, PlatformError, RunResult, Settings, simulate,
};

/// A flow in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    /// Its path.
    pub path: Path,
    /// The size of the pieces that reach the accelerator: messages or segments.
    pub size: Bytes,
    /// Its part of the traffic of the context, in thousandths, at least 10: to watch a smaller one
    /// takes long, and tells little.
    pub permille: u32,
}

/// A context: the flows that share an accelerator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context {
    /// The accelerator's number; `None` if the flows go to the storage alone.
    pub accelerator: Option<usize>,
    /// The DMA engine.
    pub engine: usize,
    patterns: Vec<Pattern>,
}

impl Context {
    /// The context of flows with these paths, sizes and rates in gigabits a second.
    pub fn new(
        accelerator: impl Into<Option<usize>>,
        engine: usize,
        flows: &[(Path, Bytes, f64)],
    ) -> Context {
        let total: f64 = flows.iter().map(|flow| flow.2).sum();
        let pattern = |flow: &(Path, Bytes, f64)| Pattern {
            path: flow.0,
            size: flow.1,
            permille: (flow.2 / total * 1_000.0).round().max(10.0) as u32,
        };
        let mut patterns: Vec<Pattern> = flows.iter().map(pattern).collect();
        patterns.sort();
        Context {
            accelerator: accelerator.into(),
            engine,
            patterns,
        }
    }

    /// The flows as a profile runs them, each with a backlog.
    fn flows(&self) -> Vec<Flow> {
        let flow = |(vm, pattern): (usize, &Pattern)| {
            let flow = Flow::new(vm, pattern.path, pattern.size, Arrivals::Backlogged);
            let flow = Flow {
                queue_limit: 64,
                port: (pattern.path == Path::InlineTx).then_some(0),
                ..flow
            };
            flow.through(self.accelerator.as_slice())
                .by_engine(self.engine)
                .with_weight(f64::from(pattern.permille))
        };
        self.patterns.iter().enumerate().map(flow).collect()
    }

    /// The flows, sorted.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }
}

/// The capacity of a context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Gigabits a second of all flows in the proportions of the context, each of which always has
    /// something to send.
    pub gbit_per_s: f64,
}

/// The tag of a context: whether it keeps promises (section 4.3, 1 bit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// It can deliver all promises.
    SloFriendly,
    /// It cannot, and is to be avoided.
    SloViolating,
}

impl Tag {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Tag::SloFriendly => "SLO-Friendly",
            Tag::SloViolating => "SLO-Violating",
        }
    }
}

/// The capacity of each context on a platform, found by simulation ahead of time or on demand.
#[derive(Clone, Debug)]
pub struct ProfileTable {
    platform: Platform,
    entries: BTreeMap<Context, Capacity>,
}

/// The shortest simulation of a context: many round trips.
const WATCHED: Time = Time::from_us(200);
/// The same with storage, whose writes keep a unit for milliseconds: after as long until its buffers
/// are as full as they become.
const WATCHED_STORAGE: Time = Time::from_us(20_000);
/// A context is watched until each of its flows has passed as many messages. Between the first and the
/// last of them a rate is known to a part in 31 of the time that one takes more or less than another.
const MESSAGES: usize = 32;
/// But for no more messages of all flows together if each has passed these few ...
const ENOUGH: (usize, usize) = (300_000, 4);
/// ... and no more in any case: a flow that passes nothing beside them has no rate.
const MOST: usize = 4_000_000;
/// And no longer than as many times the least.
const LONGEST: u64 = 1_000;

impl ProfileTable {
    /// An empty table of `platform`.
    pub fn new(platform: Platform) -> ProfileTable {
        ProfileTable {
            platform,
            entries: BTreeMap::new(),
        }
    }

    /// The platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The profiled contexts and their capacities.
    pub fn entries(&self) -> impl Iterator<Item = (&Context, &Capacity)> {
        self.entries.iter()
    }

    /// Profiles every single flow and every pair of equal shares of these paths and sizes on one
    /// accelerator: the offline sweep.
    ///
    /// # Errors As [`Platform::check`].
    pub fn sweep(
        &mut self,
        accelerator: usize,
        engine: usize,
        paths: &[Path],
        sizes: &[Bytes],
    ) -> Result<(), PlatformError> {
        let kinds: Vec<(Path, Bytes, f64)> = paths
            .iter()
            .flat_map(|path| sizes.iter().map(|size| (*path, *size, 1.0)))
            .collect();
        for (number, first) in kinds.iter().enumerate() {
            self.capacity(&Context::new(accelerator, engine, &[*first]))?;
            for second in &kinds[number..] {
                self.capacity(&Context::new(accelerator, engine, &[*first, *second]))?;
            }
        }
        Ok(())
    }

    /// The capacity of a context, from the table or else profiled now.
    ///
    /// # Errors As [`Platform::check`].
    pub fn capacity(&mut self, context: &Context) -> Result<Capacity, PlatformError> {
        if let Some(known) = self.entries.get(context) {
            return Ok(*known);
        }
        let measured = self.measure(context)?;
        self.entries.insert(context.clone(), measured);
        Ok(measured)
    }

    /// Whether a context delivers `total` gigabits a second in its proportions.
    ///
    /// # Errors As [`Platform::check`].
    pub fn tag(&mut self, context: &Context, total: f64) -> Result<Tag, PlatformError> {
        let capacity = self.capacity(context)?.gbit_per_s;
        Ok(match total <= capacity {
            true => Tag::SloFriendly,
            false => Tag::SloViolating,
        })
    }

    /// The rates of a context's flows without shaping, in gigabits a second: turns go by message.
    ///
    /// # Errors As [`Platform::check`].
    pub fn unshaped(&self, context: &Context) -> Result<Vec<f64>, PlatformError> {
        let turns = self.watch(context, &Mechanism::NoShaping)?;
        Ok(rates(&turns).collect())
    }

    fn measure(&self, context: &Context) -> Result<Capacity, PlatformError> {
        // In proportion: the flow that falls behind its share is what limits all.
        let order = Order::WeightedFair;
        let buffer = 1 << 16;
        let fair = self.watch(context, &Mechanism::Panic { order, buffer })?;
        let shares = context
            .patterns
            .iter()
            .map(|pattern| f64::from(pattern.permille));
        let total: f64 = shares.clone().sum();
        let limits = rates(&fair)
            .zip(shares)
            .map(|(rate, share)| rate * total / share);
        let gbit_per_s = limits.fold(f64::MAX, f64::min);
        Ok(Capacity { gbit_per_s })
    }

    /// Runs a context until each flow has passed enough.
    fn watch(&self, context: &Context, mechanism: &Mechanism) -> Result<RunResult, PlatformError> {
        let flows = context.flows();
        let (warmup, least) = match flows.iter().any(|flow| flow.path.uses_storage()) {
            true => (WATCHED_STORAGE, WATCHED_STORAGE),
            false => (WATCHED / 10, WATCHED),
        };
        let longest = least * LONGEST;
        let mut duration = least;
        loop {
            let settings = Settings {
                warmup,
                ..Settings::lasting(duration)
            };
            let result = simulate(&self.platform, &flows, mechanism, &settings)?;
            let passed = result.flows.iter().map(|flow| flow.completions.len());
            let (total, fewest) = (passed.clone().sum::<usize>(), passed.min().unwrap_or(0));
            let most = if fewest >= ENOUGH.1 { ENOUGH.0 } else { MOST };
            if fewest >= MESSAGES || 2 * total > most || duration >= longest {
                return Ok(result);
            }
            // As long as the slowest needs if it goes on so, and a quarter more.
            let needed = (MESSAGES * 5 / 4).div_ceil(fewest.max(1));
            let factor = needed.min(most / total.max(1)).max(2);
            duration = (duration * factor as u64).min(longest);
        }
    }
}

/// Gigabits a second of each flow, from its first measured message to its last: whole messages, whatever
/// part of one the measured time begins and ends with.
fn rates(result: &RunResult) -> impl Iterator<Item = f64> {
    result.flows.iter().map(|flow| {
        let [Some(first), Some(last)] = [flow.completions.first(), flow.completions.last()] else {
            return 0.0;
        };
        let time = last.at.saturating_sub(first.at).as_ns_f64();
        match time > 0.0 {
            true => (flow.bytes() - first.size.get()) as f64 * 8.0 / time,
            false => 0.0,
        }
    })
}
