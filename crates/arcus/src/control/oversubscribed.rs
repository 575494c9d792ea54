//! The division of the platform's capacity among flows that were promised more than the capacity
//! in total (over-subscription).

use super::profile::ProfileTable;
use super::route::{Traffic, add};
use super::status::FlowStatus;
use super::thresholds::{KNOWN, PRIORITY_HALVINGS, TRICKLE};
use crate::PlatformError;

/// The rates that flows with these demands get, in gigabits per second, by flow index. Flows with
/// lower priority numbers are served first; flows of equal priority get equal parts of their
/// demands. A flow's rate is reduced only if a resource that it uses is short.
pub(super) fn allocation(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
    demands: &[f64],
) -> Result<Vec<f64>, PlatformError> {
    let mut given = vec![0.0; demands.len()];
    let mut priorities: Vec<u8> = flows.iter().map(|flow| flow.request.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    for priority in priorities {
        let of =
            |number: &usize| flows[*number].request.priority == priority && demands[*number] > 0.0;
        let class: Vec<usize> = (0..demands.len()).filter(of).collect();
        give(profiles, flows, &mut given, &class, demands)?;
    }
    Ok(given)
}

/// Gives a class of flows as much of its demands as fits in addition to the rates of earlier
/// classes.
fn give(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
    given: &mut Vec<f64>,
    class: &[usize],
    demands: &[f64],
) -> Result<(), PlatformError> {
    let with = |given: &[f64], part: f64| {
        let mut rates = given.to_vec();
        for &number in class {
            rates[number] = part * demands[number];
        }
        rates
    };
    let mut fits = |rates: &[f64], most: f64| fits(profiles, flows, rates, most);
    let whole = with(given, 1.0);
    if fits(&whole, 1.0 + KNOWN)? {
        *given = whole;
        return Ok(());
    }
    let (mut least, mut exceeds) = (0.0, 1.0);
    for _ in 0..PRIORITY_HALVINGS {
        let middle = 0.5 * (least + exceeds);
        match fits(&with(given, middle), 1.0)? {
            true => least = middle,
            false => exceeds = middle,
        }
    }
    *given = with(given, least);
    for &number in class {
        let mut more = given.clone();
        more[number] = demands[number];
        if fits(&more, 1.0 + KNOWN)? {
            *given = more;
        }
    }
    Ok(())
}

/// Whether the platform delivers these rates with at most this load.
fn fits(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
    rates: &[f64],
    most: f64,
) -> Result<bool, PlatformError> {
    let mut all: Vec<Traffic> = Vec::new();
    for (status, rate) in flows.iter().zip(rates) {
        if *rate > 0.0 {
            for traffic in status.traffic(*rate) {
                add(&mut all, traffic);
            }
        }
    }
    Ok(profiles.load(&all)? <= most)
}

/// The rate to which a flow with the allocation `rate` is shaped: at least [`TRICKLE`] of its
/// promise.
pub(super) fn at_least_a_trickle(flow: &FlowStatus, rate: f64) -> f64 {
    rate.max(TRICKLE * flow.counted_gbit_per_s())
}
