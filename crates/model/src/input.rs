//! Inputs that say where they come from.

use std::fmt;

use crate::ModelError;

/// Where an input's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Printed in the AccelFlow paper.
    Paper,
    /// Arithmetic on printed values.
    Derived,
    /// Printed in other literature.
    Literature,
    /// A choice of this project, with its reason.
    Assumed,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Provenance::Paper => "paper",
            Provenance::Derived => "derived",
            Provenance::Literature => "literature",
            Provenance::Assumed => "assumed",
        })
    }
}

/// One input of a model: its value and why it is that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// The name by which it is shown and replaced; its last part is the unit.
    pub name: &'static str,
    /// The default.
    pub value: f64,
    /// The smallest value allowed.
    pub min: f64,
    /// The largest value allowed.
    pub max: f64,
    /// Whether fractions make no sense.
    pub whole: bool,
    /// Where the default comes from.
    pub provenance: Provenance,
    /// The place in the source, or the arithmetic.
    pub source: &'static str,
}

/// A table of inputs with some values replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    table: &'static [Input],
    values: Vec<f64>,
}

impl Inputs {
    pub(crate) fn new(table: &'static [Input]) -> Inputs {
        Inputs {
            table,
            values: table.iter().map(|input| input.value).collect(),
        }
    }

    /// Replaces the value of the input called `name`.
    ///
    /// # Errors
    /// [`ModelError`] for an unknown name and for a value outside the input's range.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), ModelError> {
        let Some(index) = self.table.iter().position(|input| input.name == name) else {
            let known: Vec<&str> = self.table.iter().map(|input| input.name).collect();
            let allowed = format!("is not an input; known are {}", known.join(", "));
            return Err(ModelError::new(name, value, allowed));
        };
        let Input {
            min, max, whole, ..
        } = self.table[index];
        if !(min..=max).contains(&value) || (whole && value.fract() != 0.0) {
            let number = if whole { "a whole number" } else { "a number" };
            let allowed = format!("must be {number} from {min} to {max}");
            return Err(ModelError::new(name, value, allowed));
        }
        self.values[index] = value;
        Ok(())
    }

    /// Each input with the value in use, in the order of the table.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Input, f64)> + '_ {
        self.table.iter().zip(self.values.iter().copied())
    }

    /// The value of `name`, which the models ask only for names of their own tables; NaN for any
    /// other, which no result can hide.
    pub(crate) fn get(&self, name: &str) -> f64 {
        self.rows()
            .find(|(input, _)| input.name == name)
            .map_or(f64::NAN, |(_, value)| value)
    }
}
