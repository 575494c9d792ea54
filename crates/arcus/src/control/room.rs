//! The capacity that remains for a promise in addition to all other promises.

use accelflow_units::Bytes;

use super::Context;
use super::manager::{Manager, Shaping};
use super::request::AdmissionRequest;
use super::route::{RouteEntry, Traffic, add};
use super::status::{FlowStatus, parts};
use super::thresholds::{FULL, NOISE, TOUCHES};
use crate::{PlatformError, Sizes};

/// A new flow in addition to flows with promises.
struct Beside {
    /// The newcomer's traffic, of 1 Gbit/s in all.
    own: Vec<Traffic>,
    others: Vec<Traffic>,
    /// The promises of the others, in gigabits a second.
    promised: f64,
    /// The share of the capacity that may be promised.
    share: f64,
}

/// A mixture of traffic with a part from the newcomer.
#[derive(Clone, Copy)]
struct Point {
    /// The part, in percent.
    percent: u32,
    /// The newcomer's rate if the others get their promises, in gigabits a second.
    gbit_per_s: f64,
    /// The share of the mixture's capacity that this takes.
    load: f64,
}

/// The promise at which the load is `share`, if the load grows evenly from `low` to `high`.
fn between(low: Point, high: Point, share: f64) -> f64 {
    let part = (share - low.load) / (high.load - low.load);
    low.gbit_per_s + (high.gbit_per_s - low.gbit_per_s).max(0.0) * part.clamp(0.0, 1.0)
}

impl Manager {
    /// Returns the largest SLO with which this flow could be admitted on any route, in gigabits per
    /// second. It does not depend on the requested SLO.
    ///
    /// # Errors
    /// [`PlatformError::UnknownAccelerator`], and the errors of [`Platform::check`].
    pub fn left(&mut self, request: &AdmissionRequest) -> Result<f64, PlatformError> {
        let mut best: f64 = 0.0;
        let routes = self.routes(request)?;
        let (cut, whole) = self.shapings(request, routes);
        for shaping in cut.into_iter().chain(whole) {
            best = best.max(self.room(request, &shaping)?);
        }
        Ok(best)
    }

    /// The largest promise with one shaping. It is found by a search over the newcomer's part of
    /// all traffic in whole percents, for the largest part at which everything promised is still
    /// delivered, and by interpolation between two percents. Requests are admitted up to this
    /// promise, so a larger promise never fits where a smaller one did not.
    pub(super) fn room(
        &mut self,
        request: &AdmissionRequest,
        shaping: &Shaping,
    ) -> Result<f64, PlatformError> {
        let others = self.promised(&request.name);
        let beside = Beside {
            own: parts(&request.sizes, &shaping.route, shaping.segment, 1.0),
            promised: others.iter().map(|flow| flow.gbit_per_s).sum(),
            others,
            share: request.class.admitted_share() * self.oversubscription(),
        };
        let mut high = self.point(&beside, 100)?;
        if beside.promised <= 0.0 {
            return Ok(high.gbit_per_s);
        }
        let mut low = self.point(&beside, 0)?;
        let share = match low.load > beside.share {
            true => match self.share_beside(&beside, low)? {
                Some(share) => share,
                None => return Ok(0.0),
            },
            false => beside.share,
        };
        // Load is nearly linear in the promise, so the first guesses are mostly right.
        for step in 0.. {
            if high.percent - low.percent <= 1 {
                break;
            }
            let guess = match step {
                0..3 => {
                    let gbit_per_s = between(low, high, share);
                    (100.0 * gbit_per_s / (gbit_per_s + beside.promised)) as u32
                }
                _ => u32::midpoint(low.percent, high.percent),
            };
            let middle = guess.clamp(low.percent + 1, high.percent - 1);
            let point = self.point(&beside, middle)?;
            match point.load <= share {
                true => low = point,
                false => high = point,
            }
        }
        let most = beside.share * self.capacity_of(&beside.own)?;
        Ok(between(low, high, share).min(most))
    }

    /// The load up to which a flow is admitted if others load a resource beyond the share. It is
    /// the present load if the flow does not use that resource, else zero.
    fn share_beside(
        &mut self,
        beside: &Beside,
        without: Point,
    ) -> Result<Option<f64>, PlatformError> {
        let half = 0.5 * self.capacity_of(&beside.own)?;
        let part = 100.0 * half / (half + beside.promised);
        let with = self.point(beside, (part as u32).clamp(1, 99))?;
        if with.load > without.load + TOUCHES {
            return Ok(None);
        }
        let share = (without.load * (1.0 + NOISE)).min(FULL.max(beside.share));
        Ok((without.load <= share).then_some(share))
    }

    /// Returns the candidates of a sweep: the traffic of a flow at its SLO on each possible route.
    /// Empty without an SLO.
    ///
    /// # Errors
    /// [`PlatformError::UnknownAccelerator`], and the errors of an invalid request.
    pub fn candidates(
        &self,
        request: &AdmissionRequest,
    ) -> Result<Vec<(RouteEntry, Vec<Traffic>)>, PlatformError> {
        request.check()?;
        let asked = request.asked_gbit_per_s().unwrap_or(0.0);
        let routes = match asked > 0.0 {
            true => self.routes(request)?,
            false => Vec::new(),
        };
        let (cut, _) = self.shapings(request, routes);
        let candidate = |Shaping { route, segment }| {
            let traffic = parts(&request.sizes, &route, segment, asked);
            (route, traffic)
        };
        Ok(cut.into_iter().map(candidate).collect())
    }

    /// The room of an admitted flow, as it is shaped now.
    pub(super) fn room_of(&mut self, status: &FlowStatus) -> Result<f64, PlatformError> {
        let shaping = Shaping {
            route: status.route.clone(),
            segment: status.segment,
        };
        self.room(&status.request, &shaping)
    }

    fn point(&mut self, beside: &Beside, percent: u32) -> Result<Point, PlatformError> {
        let part = f64::from(percent) / 100.0;
        let mut flows: Vec<Traffic> = Vec::new();
        if percent > 0 {
            let own = beside.own.iter().map(|own| Traffic {
                gbit_per_s: part * own.gbit_per_s,
                ..own.clone()
            });
            flows.extend(own);
        }
        if percent < 100 {
            for other in &beside.others {
                let gbit_per_s = (1.0 - part) * other.gbit_per_s / beside.promised;
                let other = other.clone();
                let scaled = Traffic {
                    gbit_per_s,
                    ..other
                };
                add(&mut flows, scaled);
            }
        }
        let capacity = self.capacity_of(&flows)?;
        let gbit_per_s = match percent {
            100 => beside.share * capacity,
            _ => beside.promised * part / (1.0 - part),
        };
        Ok(Point {
            percent,
            gbit_per_s,
            load: (beside.promised + gbit_per_s) / capacity,
        })
    }

    /// The promised traffic of all flows, without the one of this name.
    pub(super) fn promised(&self, but: &str) -> Vec<Traffic> {
        let mut flows = Vec::new();
        for flow in self.flows() {
            let promised = flow.counted_gbit_per_s();
            if promised > 0.0 && flow.request.name != but {
                for traffic in flow.traffic(promised) {
                    add(&mut flows, traffic);
                }
            }
        }
        flows
    }

    /// The capacity of the platform for traffic in these proportions, in gigabits per second in
    /// all.
    pub(super) fn capacity_of(&mut self, flows: &[Traffic]) -> Result<f64, PlatformError> {
        let context = Context::new(flows);
        Ok(self.profiles().capacity(&context)?.gbit_per_s)
    }

    /// The rate of messages alone on a route, in gigabits a second.
    pub(super) fn alone(
        &mut self,
        sizes: &Sizes,
        segment: Bytes,
        route: &RouteEntry,
    ) -> Result<f64, PlatformError> {
        self.capacity_of(&parts(sizes, route, segment, 1.0))
    }
}
