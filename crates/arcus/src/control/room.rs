//! The largest rate that can be promised in addition to all other promises.

use super::profile::{ProfileTable, Tag};
use super::route::Traffic;
use super::thresholds::{FULL, NOISE, ROOM_HALVINGS, TOUCHES};
use crate::PlatformError;

/// A new flow in addition to flows with promises.
pub(super) struct Beside {
    /// The newcomer's traffic, of 1 Gbit/s in all.
    pub(super) own: Vec<Traffic>,
    /// The promised traffic of the others.
    pub(super) others: Vec<Traffic>,
    /// The share of the capacity that may be promised.
    pub(super) share: f64,
}

impl Beside {
    /// The tag of the context in which the newcomer has `gbit_per_s`.
    pub(super) fn tag(
        &self,
        profiles: &mut ProfileTable,
        gbit_per_s: f64,
    ) -> Result<Tag, PlatformError> {
        match self.limit(profiles)? {
            Some(most) => profiles.classify(&self.with(gbit_per_s), most),
            None => Ok(Tag::SloViolating),
        }
    }

    /// The largest promise to the newcomer, in gigabits per second. It is found by bisection, and
    /// does not depend on what the newcomer asks for, so a larger promise never fits where a
    /// smaller one does not.
    pub(super) fn room(&self, profiles: &mut ProfileTable) -> Result<f64, PlatformError> {
        let alone = self.share * profiles.capacity_of(&self.own)?;
        let Some(most) = self.limit(profiles)? else {
            return Ok(0.0);
        };
        if profiles.load(&self.with(alone))? <= most {
            return Ok(alone);
        }
        let (mut fits, mut exceeds) = (0.0, alone);
        for _ in 0..ROOM_HALVINGS {
            let middle = 0.5 * (fits + exceeds);
            match profiles.load(&self.with(middle))? <= most {
                true => fits = middle,
                false => exceeds = middle,
            }
        }
        Ok(fits)
    }

    /// All traffic if the newcomer has `gbit_per_s`.
    fn with(&self, gbit_per_s: f64) -> Vec<Traffic> {
        let own = self.own.iter().map(|own| Traffic {
            gbit_per_s: gbit_per_s * own.gbit_per_s,
            ..own.clone()
        });
        self.others.iter().cloned().chain(own).collect()
    }

    /// The load up to which the newcomer is admitted: its share of the capacity. If other flows
    /// load a resource beyond this share and the newcomer does not use this resource, the limit is
    /// their load. `None` if the newcomer uses that resource.
    fn limit(&self, profiles: &mut ProfileTable) -> Result<Option<f64>, PlatformError> {
        let without = profiles.load(&self.others)?;
        if without <= self.share {
            return Ok(Some(self.share));
        }
        let half = 0.5 * profiles.capacity_of(&self.own)?;
        if profiles.load(&self.with(half))? > without + TOUCHES {
            return Ok(None);
        }
        let most = (without * (1.0 + NOISE)).min(FULL.max(self.share));
        Ok((without <= most).then_some(most))
    }
}
