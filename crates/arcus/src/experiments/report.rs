//! Reports of experiments.

use serde::Serialize;

use crate::PlatformError;

/// An experiment of ARCUS's paper, or on a part of the system that the paper does not measure.
#[derive(Clone, Copy, Debug)]
pub struct PaperExperiment {
    /// The experiment's name on the command line.
    pub name: &'static str,
    /// The experiment's description in a line.
    pub title: &'static str,
    /// The default number of seeds over which its results are averaged. Two for experiments without
    /// randomness, to show that the seed has no effect.
    pub replications: u64,
    /// Runs the experiment with a seed. [`super::run`] then sets the name of the report.
    pub run: fn(u64) -> Result<Report, PlatformError>,
}

/// One number that an experiment measured.
///
/// The paper's value, which this crate does not have, is joined by `key`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The key of the number in this project's tables, such as
    /// `arcus.fig8.vm1_loss_least.Host_noTS`; not every key has a number in the paper.
    pub key: String,
    /// The paper's name of the sharing mechanism; empty if the number does not belong to one.
    pub system: &'static str,
    /// The number of the user or VM, from 1; `None` if the number does not belong to one.
    pub user: Option<u32>,
    /// The percentile that the number is, from 0 to 100; `None` if it is none.
    pub percentile: Option<f64>,
    /// What the number is, in words.
    pub what: String,
    /// The unit of the number; empty for a ratio.
    pub unit: &'static str,
    /// The measured number; the mean if there are several replications.
    pub ours: f64,
    /// Half the width of the 95 % confidence interval of that mean; `None` for a single run.
    pub half_width: Option<f64>,
}

impl Row {
    /// Creates a row that belongs to no user and is no percentile.
    pub fn new(
        key: impl Into<String>,
        system: &'static str,
        what: impl Into<String>,
        unit: &'static str,
        ours: f64,
    ) -> Row {
        Row {
            key: key.into(),
            system,
            user: None,
            percentile: None,
            what: what.into(),
            unit,
            ours,
            half_width: None,
        }
    }

    /// Sets the number of the user or VM, from 1.
    #[must_use]
    pub fn of_user(self, user: usize) -> Row {
        let user = u32::try_from(user).ok();
        Row { user, ..self }
    }

    /// Sets the percentile, from 0 to 100.
    #[must_use]
    pub fn at_percentile(self, percentile: f64) -> Row {
        let percentile = Some(percentile);
        Row { percentile, ..self }
    }
}

/// One measured curve of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// The name of the curve.
    pub name: String,
    /// The panel of the figure in which the curve is drawn.
    pub panel: String,
    /// The paper's name of the sharing mechanism; empty if the curve does not belong to one.
    pub system: &'static str,
    /// The number of the user or VM, from 1; `None` if the curve does not belong to one.
    pub user: Option<u32>,
    /// The quantity on the x axis, with its unit.
    pub x: &'static str,
    /// The quantity on the y axis, with its unit.
    pub y: &'static str,
    /// The points (x, y) of the curve; means if there are several replications.
    pub points: Vec<(f64, f64)>,
    /// Half the widths of the 95 % confidence intervals of y, by point; empty for a single run.
    pub half_widths: Vec<f64>,
}

/// The results of an experiment: numbers and curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The experiment's name on the command line.
    pub name: &'static str,
    /// The experiment's description in a line.
    pub title: &'static str,
    /// The seed of the run, or of the first of several replications.
    pub seed: u64,
    /// The number of replications, which have successive seeds.
    pub replications: u64,
    /// The measured numbers.
    pub rows: Vec<Row>,
    /// The measured curves.
    pub series: Vec<Series>,
}
