//! Why a server cannot hold its load: the resource to blame.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::engine::Engine;
use crate::hardware::{Core, SoftQueue};
use crate::stats::{Outcome, Saturation};

/// What waits for each resource at a point in time.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    cores: usize,
    manager: usize,
    dma: usize,
    /// Traces that wait for others of their tenants to end, or for tokens.
    tenants: usize,
    /// By [`Accel::index`]: what waits, and what has been turned away since the start of the run.
    accelerators: [(usize, u64); Accel::COUNT],
    /// Results that wait for output dispatchers, and those that found no place before them.
    dispatchers: [(usize, usize); Accel::COUNT],
}

/// A resource over the measured window.
struct Resource {
    name: String,
    utilization: f64,
    waiting: (usize, usize),
    turned_away: u64,
    /// More waits for it than its queue holds.
    full: bool,
}

impl Engine<'_> {
    pub(super) fn queues(&self, now: Time) -> Queues {
        let behind_the_running = |core: &Core<_>| core.load().saturating_sub(1);
        let occupancy = self.run.config.relief.occupancy.as_ps().max(1);
        let mut accelerators = [(0, 0); Accel::COUNT];
        for (accel, sums) in Accel::ALL.into_iter().zip(&mut accelerators) {
            for station in self.stations_of(accel) {
                sums.0 += station.backlog();
                sums.1 += station.turned_away;
            }
        }
        if let Some(central) = &self.central {
            for (accel, sums) in Accel::ALL.into_iter().zip(&mut accelerators) {
                sums.0 += central.waiting(accel);
            }
        }
        Queues {
            cores: self.cores.iter().map(behind_the_running).sum::<usize>()
                + self.soft_queues.iter().map(SoftQueue::len).sum::<usize>(),
            manager: (self.manager_free.saturating_sub(now).as_ps() / occupancy) as usize,
            dma: self.dma.backlog(),
            tenants: self.held_back(),
            accelerators,
            dispatchers: Accel::ALL.map(|accel| {
                let of_type = self.stations_of(accel).iter();
                of_type.fold((0, 0), |(waiting, blocked), it| {
                    (waiting + it.dispatcher.backlog(), blocked + it.blocked())
                })
            }),
        }
    }
}

/// What a saturated run is to be blamed on: of the resources that more work waits for at the end
/// of the window than at its beginning, or that turned work away because their queues, being
/// finite, could not grow, the one that was busiest. The longest queue alone may be that of
/// another: what finds accelerators full queues up at the cores.
pub(super) fn saturation(before: &Queues, after: &Queues, outcome: &Outcome) -> Saturation {
    let resources = resources(before, after, outcome);
    let growing = |it: &&Resource| it.waiting.1 > it.waiting.0 || it.turned_away > 0 || it.full;
    let longest = resources.iter().max_by_key(|it| it.waiting.1);
    let cause = resources
        .iter()
        .filter(growing)
        .max_by(|a, b| a.utilization.total_cmp(&b.utilization))
        .or(longest);
    let name = |it: Option<&Resource>| it.map_or(String::new(), |it| it.name.clone());
    Saturation {
        cause: name(cause),
        utilization: cause.map_or(0.0, |it| it.utilization),
        waiting: cause.map_or((0, 0), |it| it.waiting),
        turned_away: cause.map_or(0, |it| it.turned_away),
        longest_queue: name(longest),
    }
}

/// Of resources that are equally busy the last one is blamed, so those that feed others come last.
fn resources(before: &Queues, after: &Queues, outcome: &Outcome) -> Vec<Resource> {
    let resource = |name: &str, utilization, before, after| Resource {
        name: name.to_owned(),
        utilization,
        waiting: (before, after),
        turned_away: 0,
        full: false,
    };
    let mut all = vec![
        resource("cores", outcome.core_utilization, before.cores, after.cores),
        resource(
            "manager",
            outcome.manager_utilization,
            before.manager,
            after.manager,
        ),
    ];
    let pairs = before.accelerators.iter().zip(&after.accelerators);
    for (accel, (before, after)) in Accel::ALL.into_iter().zip(pairs) {
        let utilization = outcome.accelerators[accel.index()].utilization;
        all.push(Resource {
            turned_away: after.1 - before.1,
            ..resource(accel.name(), utilization, before.0, after.0)
        });
    }
    let pairs = before.dispatchers.iter().zip(&after.dispatchers);
    for (accel, (before, after)) in Accel::ALL.into_iter().zip(pairs) {
        let name = format!("{accel}'s dispatcher");
        let busy = outcome.accelerators[accel.index()].dispatcher;
        all.push(Resource {
            full: after.1 > 0,
            ..resource(&name, busy, before.0 + before.1, after.0 + after.1)
        });
    }
    all.push(resource(
        "A-DMA engines",
        outcome.dma_utilization,
        before.dma,
        after.dma,
    ));
    // A limit that traces wait for is used up by definition.
    let used_up = if after.tenants > before.tenants {
        1.0
    } else {
        0.0
    };
    all.push(resource(
        "tenant limit",
        used_up,
        before.tenants,
        after.tenants,
    ));
    all
}
