//! Values of a configuration by key.

use accelflow_parameters::{Refusal, number_text};

use super::blank::blank;
use super::server::{Config, TRANSACTION};
use super::table::PARAMETERS;

impl Default for Config {
    /// The base server of the paper: the defaults of [`PARAMETERS`].
    fn default() -> Config {
        let mut config = blank();
        PARAMETERS.set_defaults(&mut config);
        config
    }
}

impl Config {
    /// Sets the parameter `key` to `value`, in the parameter's unit.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown key or a value that is not allowed.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), Refusal> {
        PARAMETERS.set(self, key, value)
    }

    /// The value of the parameter `key`, in the parameter's unit.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown key.
    pub fn get(&self, key: &str) -> Result<f64, Refusal> {
        PARAMETERS.get(self, key)
    }

    /// Checks all values of a configuration whose fields were set directly.
    ///
    /// # Errors
    /// [`Refusal`] for the first value that is not allowed or is inconsistent with another.
    pub fn check(&self) -> Result<(), Refusal> {
        PARAMETERS.check(self)?;
        self.check_multiple("tlb.entries", "tlb.ways", 1.0)?;
        let transaction_kib = TRANSACTION.get() as f64 / 1024.0;
        self.check_multiple("memory.llc_slice_kib", "memory.llc_ways", transaction_kib)
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
