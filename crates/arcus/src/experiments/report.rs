//! Reports of experiments.

use serde::Serialize;

use crate::PlatformError;

/// An experiment of the paper, or on a part of it that the paper does not measure.
#[derive(Clone, Copy, Debug)]
pub struct PaperExperiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its description, in a line.
    pub title: &'static str,
    /// The default number of seeds over which its results are averaged. Two for experiments without
    /// randomness, to show that the seed has no effect.
    pub replications: u64,
    /// Runs the experiment with a seed. [`super::run`] then sets the name of the report.
    pub run: fn(u64) -> Result<Report, PlatformError>,
}

/// A number that an experiment measures.
///
/// The paper's value, which this crate does not have, is joined by `key`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The key of the paper's figure, such as `arcus.fig8.vm1_loss_least.Host_noTS`; the paper need
    /// not report it.
    pub key: String,
    /// The system; empty if the row does not belong to one.
    pub system: &'static str,
    /// The user or VM that it belongs to, from 1; `None` if it belongs to none.
    pub user: Option<u32>,
    /// The percentile that the row reports; `None` if it reports none.
    pub percentile: Option<f64>,
    /// Its description.
    pub what: String,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// Our value; the mean of several replications.
    pub ours: f64,
    /// Half the 95 % interval of that mean; `None` for a single run.
    pub half_width: Option<f64>,
}

impl Row {
    /// Creates a row that belongs to no user.
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

    /// Sets the user, from 1.
    #[must_use]
    pub fn of_user(self, user: usize) -> Row {
        let user = u32::try_from(user).ok();
        Row { user, ..self }
    }

    /// Sets the percentile.
    #[must_use]
    pub fn at_percentile(self, percentile: f64) -> Row {
        let percentile = Some(percentile);
        Row { percentile, ..self }
    }
}

/// Points of a curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// The curve's name.
    pub name: String,
    /// The panel of the figure that it belongs to.
    pub panel: String,
    /// The system; empty if it does not belong to one.
    pub system: &'static str,
    /// The user or VM that it belongs to, from 1; `None` if it belongs to none.
    pub user: Option<u32>,
    /// The quantity of the x axis.
    pub x: &'static str,
    /// The quantity of the y axis.
    pub y: &'static str,
    /// The points; the means of several replications.
    pub points: Vec<(f64, f64)>,
    /// Half the 95 % intervals of the second numbers; empty for a single run.
    pub half_widths: Vec<f64>,
}

/// The outcome of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The experiment.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The seed of the run, or of the first of several replications.
    pub seed: u64,
    /// The number of replications, which have successive seeds.
    pub replications: u64,
    /// Numbers.
    pub rows: Vec<Row>,
    /// Curves.
    pub series: Vec<Series>,
}
