//! Reports of experiments.

use serde::Serialize;

use crate::PlatformError;

/// An experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its description, in a line.
    pub title: &'static str,
    /// Seeds that its numbers are means over, unless another number is asked for: two where nothing is drawn
    /// and no seed changes anything, which two show.
    pub replications: u64,
    /// Runs it with a seed. Its report has no name yet: [`super::run`] gives it one.
    pub run: fn(u64) -> Result<Report, PlatformError>,
}

/// The paper's value of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Paper {
    /// It is this.
    Is(f64),
    /// It is from the first to the second.
    Within(f64, f64),
    /// It is above this.
    Above {
        /// The bound.
        above: f64,
    },
    /// It is not printed: a figure shows it, or it is ours alone.
    Silent(()),
}

/// A number of ours beside the paper's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The system, if the row is of one.
    pub system: &'static str,
    /// Its description.
    pub what: String,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// Ours; of several replications the mean.
    pub ours: f64,
    /// Half the 95 % interval of that mean; none of a single run.
    pub half_width: Option<f64>,
    /// The paper's.
    pub paper: Paper,
    /// The reason for a difference; empty if there is hardly any.
    pub why: &'static str,
}

impl Row {
    /// A row without a reason.
    pub fn new(
        system: &'static str,
        what: impl Into<String>,
        unit: &'static str,
        ours: f64,
        paper: Paper,
    ) -> Row {
        Row {
            system,
            what: what.into(),
            unit,
            ours,
            half_width: None,
            paper,
            why: "",
        }
    }

    /// The same with a reason for the difference.
    #[must_use]
    pub fn because(self, why: &'static str) -> Row {
        Row { why, ..self }
    }

    /// The difference of ours from the paper's: relative to the paper's, or, for what is a share of
    /// something (no unit, the paper's below 1), the difference itself. Zero inside a range, `None`
    /// if the paper does not say.
    pub fn difference(&self) -> Option<f64> {
        let nearest = match self.paper {
            Paper::Is(value) => value,
            Paper::Within(low, high) => self.ours.clamp(low, high),
            Paper::Above { above } => self.ours.max(above),
            Paper::Silent(()) => return None,
        };
        let gap = self.ours - nearest;
        Some(match self.unit.is_empty() && nearest.abs() < 1.0 {
            true => gap,
            false => gap / nearest,
        })
    }
}

/// Points of a curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// The curve's name.
    pub name: String,
    /// The quantity of the x axis.
    pub x: &'static str,
    /// The quantity of the y axis.
    pub y: &'static str,
    /// The points; of several replications the means.
    pub points: Vec<(f64, f64)>,
    /// Half the 95 % intervals of the second numbers; empty of a single run.
    pub half_widths: Vec<f64>,
}

/// The outcome of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The experiment.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The seed that it ran with, the first of several replications.
    pub seed: u64,
    /// Replications, each with the seed after the one before.
    pub replications: u64,
    /// Numbers.
    pub rows: Vec<Row>,
    /// Curves.
    pub series: Vec<Series>,
}
