//! Experiments and their reports: measured numbers and curves.

use serde::Serialize;

use crate::PlatformError;

/// An experiment of the ARCUS paper, or on a part of ARCUS that the paper does not measure.
#[derive(Clone, Copy, Debug)]
pub struct PaperExperiment {
    /// The experiment's name on the command line.
    pub name: &'static str,
    /// A description of the experiment in one line.
    pub title: &'static str,
    /// The default number of seeds over which the experiment's results are averaged. It is two for
    /// experiments without randomness, to show that the seed has no effect.
    pub replications: u64,
    /// The function that runs the experiment once with a seed. It leaves the name, title, seed and
    /// replications of the report empty; [`super::run`] and [`super::replicate`] set them.
    pub run: fn(u64) -> Result<Report, PlatformError>,
}

/// One number that an experiment measured.
///
/// The paper's number, if there is one, is stored outside this crate under the same `key`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The key of the number in this project's tables, such as
    /// `arcus.fig8.vm1_loss_least.Host_noTS`. Not every key has a number in the paper.
    pub key: String,
    /// The paper's name of the sharing mechanism, such as `Host_noTS`; empty if the number belongs
    /// to no mechanism.
    pub system: &'static str,
    /// The user or VM to which the number belongs, counted from 1; `None` if the number belongs to
    /// no user or VM.
    pub user: Option<u32>,
    /// The percentile, from 0 to 100, if the number is a percentile of a distribution; otherwise
    /// `None`.
    pub percentile: Option<f64>,
    /// A description of the number in words.
    pub what: String,
    /// The unit of the number, such as `us`; empty or `times` for a number without a unit.
    pub unit: &'static str,
    /// The measured number: for several replications, their mean.
    pub ours: f64,
    /// Half the width of the 95 % confidence interval of `ours`; `None` for a single run.
    pub half_width: Option<f64>,
}

impl Row {
    /// Creates a row for the measured number `ours`: with its key, the sharing mechanism `system`
    /// that it belongs to, a description `what`, and its unit. The number belongs to no user and is
    /// no percentile.
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

    /// Sets the user or VM to which the number belongs, counted from 1.
    #[must_use]
    pub fn of_user(self, user: usize) -> Row {
        let user = u32::try_from(user).ok();
        Row { user, ..self }
    }

    /// States that the number is a percentile of a distribution: `percentile`, from 0 to 100.
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
    /// The paper's name of the sharing mechanism, such as `Host_noTS`; empty if the curve belongs
    /// to no mechanism.
    pub system: &'static str,
    /// The user or VM to which the curve belongs, counted from 1; `None` if the curve belongs to no
    /// user or VM.
    pub user: Option<u32>,
    /// What the x axis shows: a quantity, its unit, or both.
    pub x: &'static str,
    /// What the y axis shows: a quantity, its unit, or both.
    pub y: &'static str,
    /// The points (x, y) of the curve: for several replications, means of x and y.
    pub points: Vec<(f64, f64)>,
    /// Half the width of the 95 % confidence interval of y, for each point; empty for a single run.
    pub half_widths: Vec<f64>,
}

/// The results of an experiment: its measured numbers and curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The experiment's name on the command line.
    pub name: &'static str,
    /// A description of the experiment in one line.
    pub title: &'static str,
    /// The seed of the run, or of the first of several replications.
    pub seed: u64,
    /// The number of replications of the experiment, which have successive seeds.
    pub replications: u64,
    /// The numbers that the experiment measured.
    pub rows: Vec<Row>,
    /// The curves that the experiment measured.
    pub series: Vec<Series>,
}
