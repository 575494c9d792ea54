//! The check of the distributions of times (values of type `Wait`) in a workload file.

use accelflow_parameters::{Refusal, number_text};

use super::values::{Duration, Wait};

/// The longest time of a histogram, in us.
const MAX_TIME_US: f64 = 1e9;

/// Refuses an invalid distribution at `place`.
pub(super) fn check(wait: &Wait, place: &str) -> Result<(), Refusal> {
    match wait {
        Wait::QuantilesUs(points) => quantiles(points, &format!("{place}.quantiles_us")),
        Wait::HistogramUs(rows) => histogram(rows, &format!("{place}.histogram_us")),
        Wait::ConstantUs(_) | Wait::LogNormal(_) | Wait::HistogramFile(_) => Ok(()),
    }
}

fn quantiles(points: &[(f64, Duration)], place: &str) -> Result<(), Refusal> {
    let falls = |pair: &[(f64, Duration)]| pair[0].0 > pair[1].0 || pair[0].1 > pair[1].1;
    if let Some(index) = points.windows(2).position(falls) {
        let (probability, time) = points[index + 1];
        let value = format!("[{probability}, {}]", time.0);
        let place = format!("{place}[{}]", index + 1);
        return Err(Refusal::new(
            place,
            value,
            "must not have a smaller probability or value than the pair before it",
        ));
    }
    let (first, last) = (
        points.first().map(|point| point.0),
        points.last().map(|point| point.0),
    );
    match (first, last) {
        (Some(0.0), Some(1.0)) => Ok(()),
        (first, last) => Err(ends(place, first.unwrap_or(0.0), last.unwrap_or(0.0))),
    }
}

fn histogram(rows: &[(Duration, u64)], place: &str) -> Result<(), Refusal> {
    // Times that come from a file were not checked against the schema.
    let fits = |row: &(Duration, u64)| (0.0..=MAX_TIME_US).contains(&row.0.0);
    if let Some(index) = rows.iter().position(|row| !fits(row)) {
        let allowed = format!("must be from 0 to {} us", number_text(MAX_TIME_US));
        return Err(Refusal::number(
            format!("{place}[{index}]"),
            rows[index].0.0,
            allowed,
        ));
    }
    if let Some(index) = rows.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
        return Err(Refusal::number(
            format!("{place}[{}]", index + 1),
            rows[index + 1].0.0,
            "must be longer than the time before it",
        ));
    }
    match rows.iter().any(|row| row.1 > 0) {
        true => Ok(()),
        false => Err(Refusal::new(
            place,
            "[...]",
            "must have at least one count above 0",
        )),
    }
}

/// The refusal of a table of probabilities that does not go from 0 to 1.
pub(super) fn ends(place: &str, first: f64, last: f64) -> Refusal {
    let value = format!("from {} to {}", number_text(first), number_text(last));
    Refusal::new(place, value, "must go from probability 0 to probability 1")
}
