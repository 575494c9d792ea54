//! Admission, and Algorithm 1: watching promises and adjusting rates.

use accelflow_units::Time;

use super::numbers::{
    CATCH_UP, CUT, GROWTH, KEPT, MOST, PERIOD, RECOVERY, SMOOTHING, TOLERANCE, TRICKLE,
};
use super::slo::seconds;
use super::{ControlError, Limit, Slo, TenantStatus};

/// The settings of a control plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlSettings {
    /// Seconds of accelerators that there are each second: with the server's own, the cores.
    pub capacity: f64,
    /// The part of it that may be promised, or used by those without a promise. Default 0.8 (assumed): the
    /// rest is for handlers, the operating system and errors of prediction.
    pub most: f64,
    /// How often promises are looked at. Default 100 ms (assumed).
    pub period: Time,
}

impl ControlSettings {
    /// The defaults for this capacity.
    pub const fn new(capacity: f64) -> ControlSettings {
        ControlSettings {
            capacity,
            most: MOST,
            period: PERIOD,
        }
    }

    /// Checks that they are in range.
    ///
    /// # Errors
    /// [`ControlError::Setting`].
    pub fn check(&self) -> Result<(), ControlError> {
        let period = seconds(self.period);
        let most = "above 0 and at most 1";
        for (what, value, good, allowed) in [
            (
                "capacity",
                self.capacity,
                self.capacity > 0.0 && self.capacity <= 400.0,
                "above 0 and at most 400",
            ),
            ("most", self.most, self.most > 0.0 && self.most <= 1.0, most),
            (
                "period_s",
                period,
                (0.001..=60.0).contains(&period),
                "from 0.001 to 60",
            ),
        ] {
            if !good {
                return Err(ControlError::Setting {
                    what,
                    value,
                    allowed,
                });
            }
        }
        Ok(())
    }
}

/// What a tenant did in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Requests that were let pass.
    pub requests: u64,
    /// Accelerator time of the requests that ended.
    pub time: Time,
    /// Requests that took longer than was promised.
    pub late: u64,
    /// Requests that wait for tokens at the end of the period.
    pub waiting: usize,
    /// What a request of the promised size takes, as far as that was measured.
    pub request_time: Option<Time>,
}

/// The control plane of one server. Tenants have numbers, in the order of their names.
#[derive(Clone, Debug)]
pub struct ControlPlane {
    settings: ControlSettings,
    tenants: Vec<TenantStatus>,
    /// The part that tenants without promises get of what is left to them.
    eased: f64,
}

impl ControlPlane {
    /// A control plane that has promised nothing: all tenants share the capacity.
    ///
    /// # Errors
    /// [`ControlError::Setting`] for a setting that is not allowed.
    pub fn new<'n>(
        settings: ControlSettings,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<ControlPlane, ControlError> {
        settings.check()?;
        let mut plane = ControlPlane {
            settings,
            tenants: names.into_iter().map(TenantStatus::new).collect(),
            eased: 1.0,
        };
        plane.reshape_unseen();
        Ok(plane)
    }

    /// The settings.
    pub fn settings(&self) -> ControlSettings {
        self.settings
    }

    /// The PerFlowStatusTable, by tenant.
    pub fn tenants(&self) -> &[TenantStatus] {
        &self.tenants
    }

    /// The part that tenants without promises get of what is left to them: less than 1 after a promise was
    /// missed.
    pub fn eased(&self) -> f64 {
        self.eased
    }

    /// Accelerator time a second that all promises take.
    pub fn promised(&self) -> f64 {
        self.tenants.iter().map(TenantStatus::promised).sum()
    }

    /// The accelerator time a second that may be used, and what limits it.
    pub fn most(&self) -> (f64, Limit) {
        let promises = self.tenants.iter().filter_map(|tenant| {
            let slo = tenant.slo?;
            Some((&*tenant.name, slo))
        });
        self.most_with(promises)
    }

    /// Gives a tenant a promise, in the place of the one that it had (Algorithm 1, lines 7 to 10).
    ///
    /// # Errors
    /// [`ControlError::NotAdmitted`] with what is left, [`ControlError::LatencyImpossible`],
    /// [`ControlError::OutOfRange`]. The tenant then keeps the promise that it had.
    ///
    /// # Panics
    /// If there is no such tenant.
    pub fn promise(&mut self, tenant: usize, slo: Slo) -> Result<(), ControlError> {
        let name = self.tenants[tenant].name.clone();
        slo.check(&name)?;
        if let Some(latency) = slo.latency
            && latency.most_used(slo.time) <= 0.0
        {
            return Err(ControlError::impossible(&name, latency, slo.time));
        }
        let others = || {
            let all = self.tenants.iter().enumerate();
            all.filter(|(number, _)| *number != tenant)
                .filter_map(|(_, other)| other.slo.map(|slo| (&*other.name, slo)))
        };
        let (most, limit) = self.most_with(others().chain([(&*name, slo)]));
        let promised: f64 = others().map(|(_, slo)| slo.share()).sum();
        let (asked, left) = (slo.share(), (most - promised).max(0.0));
        // A promise of exactly what is left is given, whatever the rounding.
        if asked > left * (1.0 + 1e-12) {
            return Err(ControlError::NotAdmitted {
                tenant: name,
                requests_per_s: slo.requests_per_s,
                time: slo.time,
                asked: rounded(asked),
                left: rounded(left),
                left_requests_per_s: (left / seconds(slo.time) * (1.0 + 1e-12)).floor(),
                most: rounded(most),
                limit,
            });
        }
        self.tenants[tenant].promise(Some(slo));
        self.reshape_unseen();
        Ok(())
    }

    /// Takes a promise back; whether there was one.
    ///
    /// # Panics
    /// If there is no such tenant.
    pub fn release(&mut self, tenant: usize) -> bool {
        let had = self.tenants[tenant].slo.is_some();
        self.tenants[tenant].promise(None);
        self.reshape_unseen();
        had
    }

    /// Looks at what the tenants did in a period, and adjusts the rates (Algorithm 1, lines 3 to 6): see
    /// [`TenantStatus::shaped`]. The period lasted for `elapsed`, which its clock may have made longer than
    /// the settings say.
    pub fn tick(&mut self, elapsed: Time, counters: &[Counters]) {
        let period = seconds(elapsed).max(1e-9);
        for (tenant, counted) in self.tenants.iter_mut().zip(counters) {
            let used = seconds(counted.time) / period;
            tenant.measured += SMOOTHING * (used - tenant.measured);
        }
        self.follow_request_times(counters);
        let mut missed = false;
        for (tenant, counted) in self.tenants.iter_mut().zip(counters) {
            missed |= tenant.look(counted, period);
        }
        self.eased = match missed {
            true => (self.eased * CUT).max(TRICKLE),
            false => (self.eased + RECOVERY).min(1.0),
        };
        self.reshape(period, counters);
    }

    /// Lets promised shares follow what requests of the promised size take now, if there is room. A promise
    /// never takes less than when it was given: somebody else might be promised the difference.
    fn follow_request_times(&mut self, counters: &[Counters]) {
        for (number, counted) in counters.iter().enumerate().take(self.tenants.len()) {
            let tenant = &self.tenants[number];
            let (Some(slo), Some(time)) = (tenant.slo, counted.request_time) else {
                continue;
            };
            let time = time.max(tenant.admitted);
            if slo.size.is_some() && time != slo.time {
                self.tenants[number].slo = Some(Slo { time, ..slo });
                if self.promised() > self.most().0 {
                    self.tenants[number].slo = Some(slo);
                }
            }
        }
    }

    /// Calculates all rates when nothing new was counted.
    fn reshape_unseen(&mut self) {
        let nothing = vec![Counters::default(); self.tenants.len()];
        self.reshape(1.0, &nothing);
    }

    /// Calculates all rates: what is promised, and shares of the rest (ReshapeDecision).
    fn reshape(&mut self, period: f64, counters: &[Counters]) {
        let (most, _) = self.most();
        let mut spare = (most - self.promised()).max(0.0);
        let mut free = most;
        for (tenant, counted) in self.tenants.iter_mut().zip(counters) {
            let Some(slo) = tenant.slo else { continue };
            let promised = slo.share();
            let got = counted.requests as f64 / period;
            let behind = tenant.is_behind(counted, period) && got > 0.0;
            let factor = match behind {
                true => (slo.requests_per_s / got).clamp(1.0, CATCH_UP),
                false => 1.0,
            };
            let more = (promised * (factor - 1.0)).min(spare);
            spare -= more;
            tenant.shaped = promised + more;
            let in_use = (tenant.measured * GROWTH).clamp(promised * KEPT, promised);
            free -= in_use + more;
        }
        let trickle = self.settings.capacity * TRICKLE;
        let is_active = |tenant: &TenantStatus, counted: &Counters| {
            counted.requests > 0 || counted.waiting > 0 || tenant.measured > trickle
        };
        let active = |(tenant, counted): &(&TenantStatus, &Counters)| {
            tenant.slo.is_none() && is_active(tenant, counted)
        };
        let active = self.tenants.iter().zip(counters).filter(active).count();
        let free = free.max(0.0) * self.eased;
        for (tenant, counted) in self.tenants.iter_mut().zip(counters) {
            if tenant.slo.is_none() {
                // One that comes now gets as much as if it had been there.
                let among = active + usize::from(!is_active(tenant, counted));
                tenant.shaped = (free / among as f64).max(trickle);
            }
        }
    }

    fn most_with<'n>(&self, promises: impl Iterator<Item = (&'n str, Slo)>) -> (f64, Limit) {
        let mut most = (self.settings.most, Limit::Capacity);
        for (name, slo) in promises {
            let used = slo.latency.map(|latency| latency.most_used(slo.time));
            if let Some(used) = used.filter(|used| *used < most.0) {
                most = (used.max(0.0), Limit::Latency(name.to_owned()));
            }
        }
        (most.0 * self.settings.capacity, most.1)
    }
}

impl TenantStatus {
    /// Counts a period; whether a promise was missed in it.
    fn look(&mut self, counted: &Counters, period: f64) -> bool {
        let Some(slo) = self.slo else { return false };
        let behind = self.is_behind(counted, period);
        self.periods += 1;
        self.missed += u64::from(behind);
        self.requests += counted.requests;
        self.late += counted.late;
        let late = slo.latency.is_some_and(|latency| {
            counted.late as f64 > counted.requests as f64 * (1.0 - latency.quantile)
        });
        behind || late
    }

    /// Whether requests wait although the tenant got fewer than it was promised, and less time: requests
    /// may be larger than those of the promise.
    fn is_behind(&self, counted: &Counters, period: f64) -> bool {
        let enough = 1.0 - TOLERANCE;
        self.slo.is_some_and(|slo| {
            counted.waiting > 0
                && (counted.requests as f64) < slo.requests_per_s * period * enough
                && seconds(counted.time) < slo.share() * period * enough
        })
    }
}

/// A share as it is printed.
fn rounded(share: f64) -> f64 {
    (share * 1e9).round() / 1e9
}
