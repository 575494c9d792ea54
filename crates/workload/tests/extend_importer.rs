//! The worked example of CONTRIBUTING.md: arrivals from a file of somebody else's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

// quoted: begin
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;

/// Why a text is no list of arrivals.
#[derive(Debug, PartialEq, thiserror::Error)]
enum ImportError {
    /// The first line is another.
    #[error("line 1: '{0}': must be 'arrival_us'")]
    Header(String),
    /// A line is no time.
    #[error("line {line}: '{value}': must be a time from 0 to 1e12 us")]
    Value {
        /// The line, counted from 1.
        line: usize,
        /// What it says.
        value: String,
    },
    /// A time before the one that it follows.
    #[error("line {line}: {value} us: must not be before the time in the line above")]
    Order {
        /// The line, counted from 1.
        line: usize,
        /// What it says.
        value: f64,
    },
}

/// Reads a column of arrival times in microseconds below the heading `arrival_us`.
fn arrivals_from_csv(text: &str) -> Result<ArrivalProcess, ImportError> {
    let mut lines = text.lines().zip(1..);
    let header = lines.next().map_or("", |(header, _)| header.trim());
    if header != "arrival_us" {
        return Err(ImportError::Header(header.to_owned()));
    }
    let mut times = Vec::new();
    for (text, line) in lines {
        let us: Option<f64> = text.trim().parse().ok();
        let us = us.filter(|us| (0.0..=1e12).contains(us));
        let us = us.ok_or_else(|| ImportError::Value {
            line,
            value: text.to_owned(),
        })?;
        let time = Time::from_ns_f64(us * 1e3);
        if times.last().is_some_and(|last| time < *last) {
            return Err(ImportError::Order { line, value: us });
        }
        times.push(time);
    }
    Ok(ArrivalProcess::Trace(times))
}
// quoted: end

use accelflow_kernel::Stream;
use accelflow_workload::arrivals::Arrivals;

#[test]
fn imported_requests_arrive_at_their_times() {
    let process = arrivals_from_csv("arrival_us\n0\n 12.5\r\n12.5\n1e6\n").unwrap();
    let arrivals = Arrivals::new(process, Stream::new(1, 0)).unwrap();
    let expected = [0, 12_500, 12_500, 1_000_000_000].map(Time::from_ns);
    assert_eq!(arrivals.collect::<Vec<_>>(), expected);
}

#[test]
fn unreadable_rows_are_refused_with_line_and_value() {
    let message = |text: &str| arrivals_from_csv(text).unwrap_err().to_string();
    assert_eq!(message(""), "line 1: '': must be 'arrival_us'");
    assert_eq!(message("time\n1\n"), "line 1: 'time': must be 'arrival_us'");
    for value in ["x", "", "-1", "NaN", "inf", "1e13"] {
        assert_eq!(
            message(&format!("arrival_us\n1\n{value}\n3\n")),
            format!("line 3: '{value}': must be a time from 0 to 1e12 us")
        );
    }
    assert_eq!(
        message("arrival_us\n2\n1.5\n"),
        "line 3: 1.5 us: must not be before the time in the line above"
    );
}
