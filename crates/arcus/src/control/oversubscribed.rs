//! The division of the capacity under over-subscription.

use super::manager::Manager;
use super::request::ServiceClass;
use super::route::{Traffic, add};
use super::thresholds::{KNOWN, PRIORITY_HALVINGS, TRICKLE};
use crate::PlatformError;

impl Manager {
    /// The rates that the profiles predict if all flows with promises use them in full, in gigabits
    /// per second, by flow number. A rate below the promise is a predicted violation, which can
    /// occur only with over-subscription.
    ///
    /// # Errors
    /// The errors of [`crate::Platform::check`].
    pub fn predicted(&mut self) -> Result<Vec<f64>, PlatformError> {
        let promises = self.flows().iter().map(|flow| flow.counted_gbit_per_s());
        let promises: Vec<f64> = promises.collect();
        self.allocation(&promises)
    }

    /// The rates that flows with these demands get, in gigabits per second, by flow number.
    /// Priorities are served one after the other; flows of one priority get equal parts of their
    /// demands. A flow's rate is reduced only if a resource that it uses is short.
    ///
    /// # Errors
    /// The errors of [`crate::Platform::check`].
    pub fn allocation(&mut self, demands: &[f64]) -> Result<Vec<f64>, PlatformError> {
        let mut given = vec![0.0; demands.len()];
        let mut priorities: Vec<u8> = self
            .flows()
            .iter()
            .map(|flow| flow.request.priority)
            .collect();
        priorities.sort_unstable();
        priorities.dedup();
        for priority in priorities {
            let of = |number: &usize| {
                self.flows()[*number].request.priority == priority && demands[*number] > 0.0
            };
            let class: Vec<usize> = (0..demands.len()).filter(of).collect();
            self.give(&mut given, &class, demands)?;
        }
        Ok(given)
    }

    /// Gives a class of flows as much of its demands as fits in addition to the rates of earlier
    /// classes.
    fn give(
        &mut self,
        given: &mut Vec<f64>,
        class: &[usize],
        demands: &[f64],
    ) -> Result<(), PlatformError> {
        let with = |given: &[f64], part: f64| {
            let mut rates = given.to_vec();
            for &number in class {
                rates[number] = part * demands[number];
            }
            rates
        };
        let whole = with(given, 1.0);
        if self.fits(&whole, 1.0 + KNOWN)? {
            *given = whole;
            return Ok(());
        }
        let (mut fits, mut exceeds) = (0.0, 1.0);
        for _ in 0..PRIORITY_HALVINGS {
            let middle = 0.5 * (fits + exceeds);
            match self.fits(&with(given, middle), 1.0)? {
                true => fits = middle,
                false => exceeds = middle,
            }
        }
        *given = with(given, fits);
        for &number in class {
            let mut more = given.clone();
            more[number] = demands[number];
            if self.fits(&more, 1.0 + KNOWN)? {
                *given = more;
            }
        }
        Ok(())
    }

    /// Whether the platform delivers these rates with at most this load.
    fn fits(&mut self, rates: &[f64], most: f64) -> Result<bool, PlatformError> {
        let mut flows: Vec<Traffic> = Vec::new();
        for (status, rate) in self.flows().iter().zip(rates) {
            if *rate > 0.0 {
                for traffic in status.traffic(*rate) {
                    add(&mut flows, traffic);
                }
            }
        }
        Ok(flows.is_empty() || self.load(&flows)? <= most)
    }

    /// Shapes all flows with promises to the rates that they get if all use their promises in full.
    pub(super) fn allocate(&mut self) -> Result<(), PlatformError> {
        if self.oversubscription() <= 1.0 {
            return Ok(());
        }
        let rates = self.predicted()?;
        for (number, rate) in rates.into_iter().enumerate() {
            if self.flows()[number].request.class != ServiceClass::Opportunistic {
                let rate = self.at_least_a_trickle(number, rate);
                self.reshape(number, rate)?;
            }
        }
        Ok(())
    }

    /// The rate to which a flow with the allocation `rate` is shaped: at least [`TRICKLE`] of its
    /// promise.
    pub(super) fn at_least_a_trickle(&self, number: usize, rate: f64) -> f64 {
        rate.max(TRICKLE * self.flows()[number].counted_gbit_per_s())
    }
}
