//! Replications of an experiment with several seeds, and confidence intervals of the means.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use accelflow_kernel::ConfidenceInterval;

use super::report::{PaperExperiment, Report, Row, Series};
use crate::PlatformError;

/// Runs an experiment with `replications` seeds from `seed` on, on `threads` threads. Each number
/// is the mean over the replications with half its 95 % interval, whatever the number of threads.
pub(super) fn replicate(
    experiment: &PaperExperiment,
    seed: u64,
    replications: u64,
    threads: usize,
) -> Result<Report, PlatformError> {
    let next = AtomicU64::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= replications {
                return;
            }
            let report = (experiment.run)(seed.wrapping_add(number));
            let mut done = done
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            done.push((number, report));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(replications as usize) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|numbered| numbered.0);
    let reports: Result<Vec<Report>, PlatformError> =
        done.into_iter().map(|numbered| numbered.1).collect();
    Ok(merged(&reports?))
}

fn merged(reports: &[Report]) -> Report {
    let Some(first) = reports.first() else {
        return Report::default();
    };
    let rows = first.rows.iter().filter_map(|row| {
        let same = |other: &&Row| other.key == row.key;
        let all = reports.iter().map(|report| report.rows.iter().find(same));
        // A number that a run lacks is left out: its mean would be that of the other runs only.
        let all: Option<Vec<&Row>> = all.collect();
        all.map(|all| row_of(&all))
    });
    let series = first.series.iter().enumerate().map(|(number, _)| {
        let all = reports
            .iter()
            .filter_map(|report| report.series.get(number));
        series_of(&all.collect::<Vec<&Series>>())
    });
    Report {
        rows: rows.collect(),
        series: series.collect(),
        ..Report::default()
    }
}

fn estimate(values: &[f64]) -> (f64, Option<f64>) {
    match ConfidenceInterval::of(values) {
        Some(interval) => (interval.mean, Some(interval.half_width)),
        None => (values.first().copied().unwrap_or(f64::NAN), None),
    }
}

fn row_of(all: &[&Row]) -> Row {
    let values: Vec<f64> = all.iter().map(|row| row.ours).collect();
    let (ours, half_width) = estimate(&values);
    Row {
        ours,
        half_width,
        ..all[0].clone()
    }
}

fn series_of(all: &[&Series]) -> Series {
    let count = all
        .iter()
        .map(|series| series.points.len())
        .min()
        .unwrap_or(0);
    let mut points = Vec::with_capacity(count);
    let mut half_widths = Vec::new();
    for number in 0..count {
        let [x, y] = [|point: &(f64, f64)| point.0, |point: &(f64, f64)| point.1].map(|pick| {
            let values: Vec<f64> = all
                .iter()
                .map(|series| pick(&series.points[number]))
                .collect();
            estimate(&values)
        });
        points.push((x.0, y.0));
        half_widths.extend(y.1);
    }
    Series {
        points,
        half_widths,
        ..all[0].clone()
    }
}
