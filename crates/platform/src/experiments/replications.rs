//! Several seeds of an experiment, and how sure their means are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use accelflow_kernel::ConfidenceInterval;

use super::report::{Experiment, Paper, Report, Row, Series};
use crate::PlatformError;

/// Runs an experiment with the seeds from `seed` on, on so many threads. Each number is the mean over the
/// replications with half its 95 % interval, whatever the number of threads.
pub(super) fn replicate(
    experiment: &Experiment,
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
    done.sort_by_key(|it| it.0);
    let reports: Result<Vec<Report>, PlatformError> = done.into_iter().map(|it| it.1).collect();
    Ok(merged(&reports?))
}

fn merged(reports: &[Report]) -> Report {
    let Some(first) = reports.first() else {
        return Report::default();
    };
    let rows = first.rows.iter().filter_map(|row| {
        let same = |it: &&Row| (it.system, &it.what) == (row.system, &row.what);
        let all = reports.iter().map(|it| it.rows.iter().find(same));
        // A number that one run does not have would be the mean of the others.
        let all: Option<Vec<&Row>> = all.collect();
        all.map(|all| row_of(&all))
    });
    let series = first.series.iter().enumerate().map(|(number, _)| {
        let all = reports.iter().filter_map(|it| it.series.get(number));
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
        Some(it) => (it.mean, Some(it.half_width)),
        None => (values.first().copied().unwrap_or(f64::NAN), None),
    }
}

/// The mean, with the reason that runs give for their difference: most of them, or any if the mean itself is
/// off by more than a quarter.
fn row_of(all: &[&Row]) -> Row {
    let values: Vec<f64> = all.iter().map(|it| it.ours).collect();
    let (ours, half_width) = estimate(&values);
    let far = match all[0].paper {
        Paper::Is(paper) => (ours - paper).abs() > 0.25 * paper.abs(),
        _ => false,
    };
    let mut reasons = all.iter().map(|it| it.why).filter(|it| !it.is_empty());
    let why = match far || 2 * reasons.clone().count() > all.len() {
        true => reasons.next().unwrap_or_default(),
        false => "",
    };
    Row {
        ours,
        half_width,
        why,
        ..all[0].clone()
    }
}

fn series_of(all: &[&Series]) -> Series {
    let count = all.iter().map(|it| it.points.len()).min().unwrap_or(0);
    let mut points = Vec::with_capacity(count);
    let mut half_widths = Vec::new();
    for number in 0..count {
        let [x, y] = [|it: &(f64, f64)| it.0, |it: &(f64, f64)| it.1].map(|pick| {
            let values: Vec<f64> = all.iter().map(|it| pick(&it.points[number])).collect();
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
