//! Writes the page that compares measurements with predictions.

use std::fmt::Write;

use crate::measure::{Findings, Row};

/// The error of a prediction, in percent.
fn off(predicted: f64, measured: f64) -> f64 {
    (predicted / measured - 1.0) * 100.0
}

/// A row of the table.
pub(crate) fn line(row: &Row, floor_us: f64) -> String {
    let (mean, p99) = (
        row.measured.mean_us(row.kind),
        row.measured.percentile_us(row.kind, 99.0),
    );
    let predicted = &row.prediction;
    format!(
        "{:<7} {:>3.0} % {:>7.0}/s: mean {:>7.0} us, predicted {:>7.0} ({:+.0} %); P99 {:>7.0} us, predicted {:>7.0} ({:+.0} %); {} errors",
        row.kind.name(),
        row.load * 100.0,
        row.rate_rps,
        mean,
        predicted.mean_us + floor_us,
        off(predicted.mean_us + floor_us, mean),
        p99,
        predicted.p99_us + floor_us,
        off(predicted.p99_us + floor_us, p99),
        row.measured.errors(),
    )
}

/// The comparison as a table in Markdown.
pub(crate) fn table(findings: &Findings) -> String {
    let mut text = String::new();
    let head = "| service | load | req/s | measured mean | simulated | with floor | off | measured P99 | simulated | with floor | off | core busy | core us | recorded us | late us |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    text.push_str(head);
    for row in &findings.rows {
        let (mean, p99) = (
            row.measured.mean_us(row.kind),
            row.measured.percentile_us(row.kind, 99.0),
        );
        let it = &row.prediction;
        let floor = findings.floor_us;
        let mark = if it.saturated { " (saturated)" } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {:.0} % | {:.0} | {mean:.0} | {:.0} | {:.0}{mark} | {:+.0} % | {p99:.0} | {:.0} | {:.0} | {:+.0} % | {:.0} % | {:.0} | {:.0} | {:.0} |",
            row.kind.name(),
            row.load * 100.0,
            row.rate_rps,
            it.mean_us,
            it.mean_us + floor,
            off(it.mean_us + floor, mean),
            it.p99_us,
            it.p99_us + floor,
            off(it.p99_us + floor, p99),
            it.utilization * 100.0,
            it.core_us,
            it.alone_us,
            row.measured.lateness_us,
        );
    }
    text
}

/// The processor and its number of cores.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("an unknown processor", |line| {
        line.trim_start_matches([' ', '\t', ':'])
    });
    let cores = text
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    format!("{cores} cores of {model}")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The whole page.
pub(crate) fn page(findings: &Findings) -> Result<String, std::fmt::Error> {
    let errors = |of: fn(&Row, f64) -> f64| {
        let all = findings.rows.iter();
        median(all.map(|row| of(row, findings.floor_us).abs()).collect())
    };
    let mean = |row: &Row, floor: f64| {
        off(
            row.prediction.mean_us + floor,
            row.measured.mean_us(row.kind),
        )
    };
    let p99 = |row: &Row, floor: f64| {
        let measured = row.measured.percentile_us(row.kind, 99.0);
        off(row.prediction.p99_us + floor, measured)
    };
    let mut text = String::new();
    writeln!(text, "{}", include_str!("report_head.md").trim_end())?;
    let build = match cfg!(debug_assertions) {
        true => "a build for development",
        false => "an optimized build",
    };
    writeln!(
        text,
        "\nMeasured on {} with {build}. The machine's run queue was {} when the measurement began (what is above 0 is\nother work, which disturbs it) and {} when it ended.\n",
        machine(),
        findings.run_queue[0],
        findings.run_queue[1],
    )?;
    writeln!(text, "{}", table(findings))?;
    writeln!(
        text,
        "Half of the {} means are predicted within {:.0} %, half of the P99s within {:.0} %. The floor is {:.1} us.\nEach load was driven for {} s, {} times; the rows are the runs of the median mean.\n",
        findings.rows.len(),
        errors(mean),
        errors(p99),
        findings.floor_us,
        findings.seconds,
        findings.repeats,
    )?;
    write_capacities(&mut text, findings)?;
    writeln!(text, "\n{}", include_str!("report_foot.md").trim_end())?;
    Ok(text)
}

/// The table of the services: capacities, means of all runs, and the paths that were simulated.
fn write_capacities(text: &mut String, findings: &Findings) -> std::fmt::Result {
    writeln!(
        text,
        "| service | most, req/s | measured means of all runs, us (by load) | requests | errors | paths | of requests |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|---|")?;
    for (kind, capacity) in &findings.capacities_rps {
        let rows: Vec<&Row> = findings
            .rows
            .iter()
            .filter(|row| row.kind == *kind)
            .collect();
        let means = rows.iter().map(|row| {
            let means = row.means_us.iter().map(|mean| format!("{mean:.0}"));
            means.collect::<Vec<_>>().join(", ")
        });
        let counted: usize = rows.iter().map(|row| row.measured.count(*kind)).sum();
        let errors: u64 = rows.iter().map(|row| row.measured.errors()).sum();
        let paths = rows
            .iter()
            .map(|row| row.prediction.paths)
            .max()
            .unwrap_or(0);
        let least = rows
            .iter()
            .map(|row| row.prediction.share)
            .fold(1.0, f64::min);
        writeln!(
            text,
            "| {} | {capacity:.0} | {} | {counted} | {errors} | {paths} | {:.1} % |",
            kind.name(),
            means.collect::<Vec<_>>().join("; "),
            least * 100.0,
        )?;
    }
    Ok(())
}
