//! The profile table: Capacity(t, X, N) by context.

use std::collections::BTreeMap;

use accelflow_units::{Bytes, Time};

use crate::{Arrivals, Flow, Mechanism, Order, Path, Platform, PlatformError, Settings, simulate};

/// A flow as a context sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    /// Its path.
    pub path: Path,
    /// The size of what reaches the accelerator: of messages, or of the segments that they are cut to.
    pub size: Bytes,
    /// Its part of the traffic of the context, in percent, at least 1.
    pub percent: u32,
}

/// Which flows share an accelerator, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context {
    /// The accelerator's number; none if the flows go to the storage and nowhere else.
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
        let total: f64 = flows.iter().map(|it| it.2).sum();
        let pattern = |it: &(Path, Bytes, f64)| Pattern {
            path: it.0,
            size: it.1,
            percent: (it.2 / total * 100.0).round().max(1.0) as u32,
        };
        let mut patterns: Vec<Pattern> = flows.iter().map(pattern).collect();
        patterns.sort();
        Context {
            accelerator: accelerator.into(),
            engine,
            patterns,
        }
    }

    /// The flows, sorted.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }
}

/// What a context delivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Gigabits a second of all flows in the proportions of the context, each of which always has
    /// something to send.
    pub gbit_per_s: f64,
    /// What each flow gets if nobody shapes, in gigabits a second: with turns by message.
    pub unshaped: Vec<f64>,
}

/// Whether a context keeps promises (section 4.3: the 1-bit tag).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// It can deliver them all.
    SloFriendly,
    /// It cannot: to be avoided.
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

/// Profiles of a platform, by simulation: all that were asked for, or were prepared.
#[derive(Clone, Debug)]
pub struct ProfileTable {
    platform: Platform,
    entries: BTreeMap<Context, Capacity>,
}

/// How long a context is watched: hundreds of the largest segments, and many round trips.
const WATCHED: Time = Time::from_us(200);
/// The same with storage, whose writes keep a unit for milliseconds: after as long until its buffers
/// are as full as they become.
const WATCHED_STORAGE: Time = Time::from_us(20_000);

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

    /// The contexts that have been profiled, with what they deliver.
    pub fn entries(&self) -> impl Iterator<Item = (&Context, &Capacity)> {
        self.entries.iter()
    }

    /// Profiles every single flow and every pair of equal shares of these paths and sizes on one
    /// accelerator: the offline sweep.
    ///
    /// # Errors
    /// What [`Platform::check`] refuses.
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

    /// What a context delivers, from the table or else profiled now.
    ///
    /// # Errors
    /// What [`Platform::check`] refuses.
    pub fn capacity(&mut self, context: &Context) -> Result<Capacity, PlatformError> {
        if let Some(known) = self.entries.get(context) {
            return Ok(known.clone());
        }
        let measured = self.measure(context)?;
        self.entries.insert(context.clone(), measured.clone());
        Ok(measured)
    }

    /// Whether a context delivers `total` gigabits a second in its proportions.
    ///
    /// # Errors
    /// What [`Platform::check`] refuses.
    pub fn tag(&mut self, context: &Context, total: f64) -> Result<Tag, PlatformError> {
        let capacity = self.capacity(context)?.gbit_per_s;
        Ok(match total <= capacity {
            true => Tag::SloFriendly,
            false => Tag::SloViolating,
        })
    }

    fn measure(&self, context: &Context) -> Result<Capacity, PlatformError> {
        let flow = |(vm, it): (usize, &Pattern)| {
            let flow = Flow::new(vm, it.path, it.size, Arrivals::Backlogged);
            let flow = Flow {
                queue_limit: 64,
                port: (it.path == Path::InlineTx).then_some(0),
                ..flow
            };
            flow.through(context.accelerator.as_slice())
                .by_engine(context.engine)
                .with_weight(f64::from(it.percent))
        };
        let flows: Vec<Flow> = context.patterns.iter().enumerate().map(flow).collect();
        // In proportion: the flow that falls behind its share is what limits all.
        let order = Order::WeightedFair;
        let buffer = 1 << 16;
        let fair = Mechanism::Panic { order, buffer };
        let settings = match flows.iter().any(|it| it.path.uses_storage()) {
            true => Settings {
                warmup: WATCHED_STORAGE,
                ..Settings::lasting(WATCHED_STORAGE)
            },
            false => Settings::lasting(WATCHED),
        };
        let fair = simulate(&self.platform, &flows, &fair, &settings)?;
        let total: f64 = context
            .patterns
            .iter()
            .map(|it| f64::from(it.percent))
            .sum();
        let limits = context
            .patterns
            .iter()
            .enumerate()
            .map(|(number, it)| fair.gbit_per_s(number) * total / f64::from(it.percent));
        let gbit_per_s = limits.fold(f64::MAX, f64::min);
        let turns = simulate(&self.platform, &flows, &Mechanism::NoShaping, &settings)?;
        let unshaped = (0..flows.len()).map(|it| turns.gbit_per_s(it)).collect();
        Ok(Capacity {
            gbit_per_s,
            unshaped,
        })
    }
}
