//! Access to the values of a [`Config`] by the keys of parameters, such as `core.clock_ghz`.

use accelflow_parameters::{Refusal, number_text};

use super::blank::blank;
use super::server::{Config, TRANSACTION};
use super::table::PARAMETERS;

/// The least limit of a tenant's traffic with memory: less would not move a request in its
/// lifetime.
const LEAST_GB_PER_S: f64 = 0.001;
/// The shortest time slice, a thousandth of Linux's: a core would do nothing but switch.
const LEAST_SLICE_NS: f64 = 1_000.0;

impl Default for Config {
    /// The base server of the paper: the defaults of [`PARAMETERS`].
    fn default() -> Config {
        let mut config = blank();
        PARAMETERS.set_defaults(&mut config);
        config
    }
}

impl Config {
    /// Sets the parameter called `key`, such as `core.clock_ghz`, to `value` in the parameter's
    /// unit.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown key, for a value that is not allowed, and for a value above 0
    /// that would be rounded to 0.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), Refusal> {
        let before = self.get(key)?;
        PARAMETERS.set(self, key, value)?;
        // 0 often means something else than little.
        if value != 0.0 && self.get(key)? == 0.0 {
            PARAMETERS.set(self, key, before)?;
            let allowed = "must be 0, or large enough not to be rounded to 0";
            return Err(Refusal::number(key, value, allowed));
        }
        Ok(())
    }

    /// Returns the value of the parameter called `key`, such as `core.clock_ghz`, in the
    /// parameter's unit.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown key.
    pub fn get(&self, key: &str) -> Result<f64, Refusal> {
        PARAMETERS.get(self, key)
    }

    /// Checks all values of the configuration. This is necessary after fields were set directly.
    ///
    /// # Errors
    /// [`Refusal`] for the first value that is not allowed or is inconsistent with another.
    pub fn check(&self) -> Result<(), Refusal> {
        PARAMETERS.check(self)?;
        self.check_multiple("tlb.entries", "tlb.ways", 1.0)?;
        let transaction_kib = TRANSACTION.get() as f64 / 1024.0;
        self.check_multiple("memory.llc_slice_kib", "memory.llc_ways", transaction_kib)?;
        self.check_least("memory.tenant_gb_per_s", LEAST_GB_PER_S, "")?;
        self.check_least("core.time_slice_ns", LEAST_SLICE_NS, "")?;
        let switch = "core.context_switch_ns";
        self.check_least("core.time_slice_ns", self.get(switch)?, switch)
    }

    /// Checks that the value of `key` is 0, or at least `least`, the value of `other` if that is
    /// given.
    fn check_least(&self, key: &str, least: f64, other: &str) -> Result<(), Refusal> {
        let value = self.get(key)?;
        if value == 0.0 || value >= least {
            return Ok(());
        }
        let least = number_text(least);
        let allowed = match other {
            "" => format!("must be 0 or at least {least}"),
            other => format!("must be 0 or at least {least}, the value of {other}"),
        };
        Err(Refusal::number(key, value, allowed))
    }

    /// Checks that the value of `key` is a multiple of `scale` times that of `other`.
    fn check_multiple(&self, key: &str, other: &str, scale: f64) -> Result<(), Refusal> {
        let (value, other_value) = (self.get(key)?, self.get(other)?);
        let of = scale * other_value;
        if value % of == 0.0 {
            return Ok(());
        }
        let [of, other_value] = [of, other_value].map(number_text);
        let allowed = format!("must be a multiple of {of}, since {other} = {other_value}");
        Err(Refusal::number(key, value, allowed))
    }
}
