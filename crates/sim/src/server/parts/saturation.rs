//! The resource that limits a saturated server.

use accelflow_trace::{Accel, Image};

use crate::stats::{Saturation, SimulationResult};

/// The backlogs of all resources at a point in time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    /// Number of tasks that wait for cores, and of entries in the cores' software queues.
    pub cores: usize,
    /// Number of tasks that wait for the central manager, estimated from its remaining work.
    pub manager: usize,
    /// Number of transfers that wait for A-DMA engines.
    pub dma: usize,
    /// Number of traces that wait for other traces of their tenants to end, or for tokens of their
    /// tenants' traffic shapers or limits on accelerator time.
    pub tenants: usize,
    /// For each accelerator type, the number of waiting operations, and the number of operations
    /// turned away since the start of the run because queues were full. Indexed by
    /// [`Accel::index`].
    pub accelerators: [(usize, u64); Accel::MOST],
    /// Whether the operations of all accelerators wait in one queue of the manager. Operations are
    /// then turned away because this queue is full, whatever accelerator they are for.
    pub central: bool,
    /// For each accelerator type, the number of results that wait for output dispatchers, and the
    /// number of results that wait for an entry of an output queue. Indexed by [`Accel::index`].
    pub dispatchers: [(usize, usize); Accel::MOST],
}

/// A resource over the measured window.
struct Resource {
    name: String,
    utilization: f64,
    waiting: (usize, usize),
    turned_away: u64,
    /// Whether more work waits for the resource than its queue holds.
    full: bool,
    /// Whether the resource is the processing elements of an accelerator.
    elements: bool,
}

/// A resource that is less busy does not explain why a queue in front of it is full.
const BUSY: f64 = 0.5;

/// The resource that limits a saturated run: the busiest of those whose backlog grew over the
/// window or that turned work away because their queues were full. The longest queue may be that of
/// another resource: work that finds accelerators full queues up at the cores.
///
/// If all accelerators share a queue that turned work away, the limit is the resource that filled
/// it, or the queue itself if none is busy. `None` if no work waits for any resource: then no
/// resource limits the run.
pub(crate) fn saturation(
    before: &Queues,
    after: &Queues,
    outcome: &SimulationResult,
    image: &Image,
) -> Option<Saturation> {
    let mut resources = resources(before, after, outcome, image);
    let shared = after.central.then(|| share_queue(&mut resources));
    let growing = |resource: &&Resource| {
        resource.waiting.1 > resource.waiting.0 || resource.turned_away > 0 || resource.full
    };
    let longest = resources.iter().max_by_key(|resource| resource.waiting.1);
    let longest = longest.filter(|longest| longest.waiting.1 > 0);
    let cause = resources
        .iter()
        .filter(growing)
        .max_by(|a, b| a.utilization.total_cmp(&b.utilization))
        .or(longest);
    let idle = cause.is_none_or(|cause| cause.utilization < BUSY);
    let full = shared.as_ref().filter(|shared| idle && shared.full);
    let cause = full.or(cause)?;
    Some(Saturation {
        cause: cause.name.clone(),
        utilization: cause.utilization,
        waiting: cause.waiting,
        turned_away: cause.turned_away,
        longest_queue: longest.map_or(String::new(), |longest| longest.name.clone()),
    })
}

/// All resources. Of equally busy ones the last counts as the cause, so resources that feed others
/// come last.
fn resources(
    before: &Queues,
    after: &Queues,
    outcome: &SimulationResult,
    image: &Image,
) -> Vec<Resource> {
    let cores = (before.cores, after.cores);
    let manager = (before.manager, after.manager);
    let mut all = vec![
        resource("cores", outcome.core_utilization, cores),
        resource("manager", outcome.manager_utilization, manager),
    ];
    let named = || {
        let all = image.accelerators();
        all.map(|accel| (accel.index(), image.accel_name(accel)))
    };
    all.extend(named().map(|of| elements(of, before, after, outcome)));
    all.extend(named().map(|of| dispatcher(of, before, after, outcome)));
    let dma = (before.dma, after.dma);
    all.push(resource("A-DMA engines", outcome.dma_utilization, dma));
    // If more traces wait for a limit than before, the limit is exhausted.
    let grows = after.tenants > before.tenants;
    let used = if grows { 1.0 } else { 0.0 };
    let tenants = (before.tenants, after.tenants);
    all.push(resource("tenant limit", used, tenants));
    all
}

/// The queue that all accelerators share. What it turned away counts for no accelerator: an
/// accelerator that has nothing in the queue did not fill it.
fn share_queue(resources: &mut [Resource]) -> Resource {
    let mut queue = resource("manager's queue", 1.0, (0, 0));
    let turned_away: u64 = resources.iter().map(|resource| resource.turned_away).sum();
    for accelerator in resources.iter_mut().filter(|resource| resource.elements) {
        queue.waiting.0 += accelerator.waiting.0;
        queue.waiting.1 += accelerator.waiting.1;
        accelerator.turned_away = 0;
        accelerator.full = turned_away > 0 && accelerator.waiting.1 > 0;
    }
    Resource {
        turned_away,
        full: turned_away > 0,
        ..queue
    }
}

fn resource(name: &str, utilization: f64, waiting: (usize, usize)) -> Resource {
    Resource {
        name: name.to_owned(),
        utilization,
        waiting,
        turned_away: 0,
        full: false,
        elements: false,
    }
}

/// The processing elements of an accelerator.
fn elements(
    (index, name): (usize, &str),
    before: &Queues,
    after: &Queues,
    outcome: &SimulationResult,
) -> Resource {
    let (before, after) = (before.accelerators[index], after.accelerators[index]);
    let utilization = outcome.accelerators[index].utilization;
    Resource {
        turned_away: after.1 - before.1,
        elements: true,
        ..resource(name, utilization, (before.0, after.0))
    }
}

/// The output dispatchers of an accelerator.
fn dispatcher(
    (index, name): (usize, &str),
    before: &Queues,
    after: &Queues,
    outcome: &SimulationResult,
) -> Resource {
    let (before, after) = (before.dispatchers[index], after.dispatchers[index]);
    let waiting = (before.0 + before.1, after.0 + after.1);
    let name = format!("{name}'s dispatcher");
    Resource {
        full: after.1 > 0,
        ..resource(&name, outcome.accelerators[index].dispatcher, waiting)
    }
}
