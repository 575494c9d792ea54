//! Kernels whose offloads wait in one queue: an accelerator for several kinds of work.

use accelflow_parameters::Refusal;

use super::crossing::Crossing;
use super::service::{Kernel, Queueing, Scenario};
use super::solver::Solver;
use crate::accelerometer::quantity::{MeanCycles, OffloadsPerCycle};
use crate::accelerometer::queueing::{Approximation, Station};

/// The wait in a queue that several kernels share, and the accelerator's utilisation.
#[derive(Clone, Copy)]
pub(super) struct SharedQueue {
    /// The mean wait in the queue, and the choice of offloads that go to the accelerator at this
    /// wait.
    pub crossing: Crossing,
    /// The share of time in which each processing element of the accelerator works, from 0 to 1.
    pub utilisation: f64,
}

/// The queue of each kernel that shares one.
///
/// # Errors
/// [`Refusal`] for kernels that describe one accelerator differently, and for an overloaded one.
pub(super) fn lines(scenario: &Scenario) -> Result<Vec<Option<SharedQueue>>, Refusal> {
    let mut found: Vec<(&str, SharedQueue)> = Vec::new();
    let mut lines = Vec::with_capacity(scenario.kernels.len());
    for kernel in &scenario.kernels {
        let Some(name) = name_of(kernel) else {
            lines.push(None);
            continue;
        };
        let known = found.iter().find(|(other, _)| *other == name);
        let line = match known {
            Some((_, line)) => *line,
            None => {
                let line = line_of(name, scenario).map_err(|error| error.within(&kernel.name))?;
                found.push((name, line));
                line
            }
        };
        lines.push(Some(line));
    }
    Ok(lines)
}

fn name_of(kernel: &Kernel) -> Option<&str> {
    match &kernel.queue {
        Queueing::Station { shared, .. } => shared.as_deref(),
        _ => None,
    }
}

fn line_of(name: &str, scenario: &Scenario) -> Result<SharedQueue, Refusal> {
    let sharing = sharing(name, scenario);
    check_alike(&sharing)?;
    let found = Crossing::find(|tried| {
        let (station, approximation) = merged(&sharing, scenario, tried)?;
        Ok(station.mean_wait(approximation).0)
    })?;
    let Some(crossing) = found else {
        let without = Crossing::at(MeanCycles(0.0));
        let load = merged(&sharing, scenario, without)?.0.utilisation();
        return Err(Refusal::new(
            "queue.utilisation",
            format!("{load:.4}"),
            "must be below 1, computed from the offloads: the shared accelerator cannot keep up with them",
        ));
    };
    let (station, _) = merged(&sharing, scenario, crossing)?;
    Ok(SharedQueue {
        crossing,
        utilisation: station.utilisation(),
    })
}

/// # Errors
/// [`Refusal`] for kernels that describe one accelerator differently.
pub(super) fn check_shared(scenario: &Scenario) -> Result<(), Refusal> {
    for kernel in &scenario.kernels {
        if let Some(name) = name_of(kernel) {
            check_alike(&sharing(name, scenario)).map_err(|error| error.within(&kernel.name))?;
        }
    }
    Ok(())
}

fn sharing<'s>(name: &str, scenario: &'s Scenario) -> Vec<&'s Kernel> {
    let kernels = scenario.kernels.iter();
    kernels.filter(|k| name_of(k) == Some(name)).collect()
}

fn check_alike(sharing: &[&Kernel]) -> Result<(), Refusal> {
    let described = |kernel: &Kernel| match kernel.queue {
        Queueing::Station {
            servers,
            hosts,
            approximation,
            ..
        } => Some((servers, hosts, approximation)),
        _ => None,
    };
    let first = described(sharing[0]);
    match sharing.iter().find(|kernel| described(kernel) != first) {
        None => Ok(()),
        Some(other) => Err(Refusal::new(
            "queue.shared",
            format!("the accelerator of {}", other.name),
            "must have the same servers, hosts and approximation for all kernels that share it",
        )),
    }
}

/// The kernels' stations as one: rates add, and so do the moments of the times, by rate.
fn merged(
    sharing: &[&Kernel],
    scenario: &Scenario,
    crossing: Crossing,
) -> Result<(Station, Approximation), Refusal> {
    let (mut rate, mut busy, mut squares) = (0.0, 0.0, 0.0);
    let (mut elements, mut approximation) = (1, Approximation::Kimura);
    for kernel in sharing {
        let solver = Solver::new(kernel, scenario);
        let Some(station) = solver.station(&solver.picked(crossing)?) else {
            continue;
        };
        if let Queueing::Station {
            approximation: given,
            ..
        } = kernel.queue
        {
            approximation = given;
        }
        elements = station.servers;
        rate += station.arrivals.0;
        busy += station.arrivals.0 * station.service.0;
        squares += station.arrivals.0
            * station.service.0
            * station.service.0
            * (1.0 + station.service_scv);
    }
    let mean = if rate > 0.0 { busy / rate } else { 0.0 };
    let scv = if mean > 0.0 {
        (squares / rate / (mean * mean) - 1.0).max(0.0)
    } else {
        0.0
    };
    let station = Station {
        servers: elements,
        arrivals: OffloadsPerCycle(rate),
        service: MeanCycles(mean),
        service_scv: scv,
    };
    Ok((station, approximation))
}
