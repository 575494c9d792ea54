//! The admission of promises, and ARCUS's Algorithm 1, which checks promises and adjusts the rates
//! of tenants' traffic shapers.

use accelflow_units::Time;

use super::numbers::{CUT, GROWTH, KEPT, MOST, PERIOD, RECOVERY, SMOOTHING, TRICKLE};
use super::slo::seconds;
use super::status::{Counters, TenantStatus};
use super::{ControlError, Limit, Slo};

/// The settings of a [`ControlPlane`]: the capacity that it divides among tenants, and the period
/// of its checks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlSettings {
    /// The accelerator time that can be used each second, in seconds: above 0 and at most 400.
    /// Without separate accelerators, this is the number of cores.
    pub capacity: f64,
    /// The share of the capacity that tenants may use, with or without promises: above 0 and at
    /// most 1. Default 0.8 (assumed). The remaining capacity is for handlers, the operating system
    /// and prediction errors.
    pub most: f64,
    /// The period after which promises are checked: 1 ms to 60 s. Default 100 ms (assumed).
    pub period: Time,
}

impl ControlSettings {
    /// Creates the default settings for `capacity`, in seconds of accelerator time per second.
    pub const fn new(capacity: f64) -> ControlSettings {
        ControlSettings {
            capacity,
            most: MOST,
            period: PERIOD,
        }
    }

    /// Checks that the settings are in range.
    ///
    /// # Errors
    /// [`ControlError::Setting`] for the first setting out of range.
    pub fn check(&self) -> Result<(), ControlError> {
        let period = seconds(self.period);
        let most = "above 0 and at most 1, as a share of the capacity";
        for (what, value, good, allowed) in [
            (
                "capacity",
                self.capacity,
                self.capacity > 0.0 && self.capacity <= 400.0,
                "above 0 and at most 400 s of accelerator time per second",
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

/// The control plane of one server: promises tenants a rate and a latency, checks the promises
/// against counters every period, and sets the rates of the tenants' traffic shapers (ARCUS,
/// Algorithm 1).
///
/// A tenant is identified by its index, from 0, in the order of the names given to
/// [`ControlPlane::new`].
#[derive(Clone, Debug)]
pub struct ControlPlane {
    settings: ControlSettings,
    tenants: Vec<TenantStatus>,
    /// The part of the remaining capacity that tenants without promises get.
    eased: f64,
}

impl ControlPlane {
    /// Creates a control plane for the tenants called `names`, without promises. All tenants share
    /// the capacity.
    ///
    /// # Errors
    /// [`ControlError::Setting`] for an invalid setting.
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

    /// Returns the settings of the control plane.
    pub fn settings(&self) -> ControlSettings {
        self.settings
    }

    /// Returns the status of each tenant, in the order of their indices: ARCUS's
    /// PerFlowStatusTable.
    pub fn tenants(&self) -> &[TenantStatus] {
        &self.tenants
    }

    /// Returns the share of the free capacity, 0.001 to 1, that all tenants without promises
    /// together may use. A period in which a promise is missed halves this share; a period without
    /// a missed promise raises it by 0.05. The free capacity is what tenants with promises do not
    /// need at present.
    pub fn eased(&self) -> f64 {
        self.eased
    }

    /// Returns the accelerator time that is promised to all tenants together, in seconds per
    /// second.
    pub fn promised(&self) -> f64 {
        self.tenants.iter().map(TenantStatus::promised).sum()
    }

    /// Returns the largest accelerator time that all tenants together may use, in seconds per
    /// second, and the reason for this limit.
    pub fn largest_use(&self) -> (f64, Limit) {
        let promises = self.tenants.iter().filter_map(|tenant| {
            let slo = tenant.slo?;
            Some((&*tenant.name, slo))
        });
        self.most_with(promises)
    }

    /// Makes or replaces the promise to the tenant with the index `tenant` (ARCUS, Algorithm 1,
    /// lines 7 to 10).
    ///
    /// # Errors
    /// [`ControlError::OutOfRange`] for a value of `slo` out of range,
    /// [`ControlError::LatencyImpossible`] for a latency that at most idle accelerators can give,
    /// and [`ControlError::NotAdmitted`], with the remaining capacity, if the promise does not fit.
    /// After an error, the tenant keeps its current promise.
    ///
    /// # Panics
    /// If there is no tenant with the index `tenant`.
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
        // A promise of exactly the remaining capacity is admitted despite rounding.
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

    /// Ends the promise to the tenant with the index `tenant`. Returns whether there was a promise.
    ///
    /// # Panics
    /// If there is no tenant with the index `tenant`.
    pub fn release(&mut self, tenant: usize) -> bool {
        let had = self.tenants[tenant].slo.is_some();
        self.tenants[tenant].promise(None);
        self.reshape_unseen();
        had
    }

    /// Checks the promises at the end of a period, and adjusts the rates of the tenants' shapers
    /// ([`TenantStatus::shaped`]; ARCUS, Algorithm 1, lines 3 to 6). `counters` has each tenant's
    /// counts of the period, by tenant index. `elapsed` is the actual length of the period, which
    /// may be longer than [`ControlSettings::period`].
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
        self.reshape(counters);
    }

    /// Updates promised shares to the present times of requests of the promised size, if there is
    /// capacity. A share never falls below its value at admission, since the difference might be
    /// promised to another tenant.
    fn follow_request_times(&mut self, counters: &[Counters]) {
        for (number, counted) in counters.iter().enumerate().take(self.tenants.len()) {
            let tenant = &self.tenants[number];
            let (Some(slo), Some(time)) = (tenant.slo, counted.request_time) else {
                continue;
            };
            let time = time.max(tenant.admitted);
            if slo.size.is_some() && time != slo.time {
                self.tenants[number].slo = Some(Slo { time, ..slo });
                if self.promised() > self.largest_use().0 {
                    self.tenants[number].slo = Some(slo);
                }
            }
        }
    }

    /// Calculates all rates without new counters.
    fn reshape_unseen(&mut self) {
        let nothing = vec![Counters::default(); self.tenants.len()];
        self.reshape(&nothing);
    }

    /// Calculates all rates: the promised ones, and shares of the rest (ReshapeDecision).
    fn reshape(&mut self, counters: &[Counters]) {
        let (most, _) = self.largest_use();
        let mut spare = (most - self.promised()).max(0.0);
        let mut free = most;
        for tenant in &mut self.tenants {
            let Some(slo) = tenant.slo else { continue };
            let promised = slo.share();
            let more = (promised * tenant.catch_up).min(spare);
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
                // A newly active tenant gets the same share as if it had already been active.
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

/// Rounds a share for printing.
fn rounded(share: f64) -> f64 {
    (share * 1e9).round() / 1e9
}
