//! The loops of the ensemble's threads: the workers of accelerators, the threads that act as cores,
//! and the thread that fails parked traces whose responses are late.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use accelflow_accel::{AccelError, Accelerator, Ensemble, Job};
use accelflow_shaping::dispatch::Entry;
use accelflow_trace::Accel;

use super::dispatcher::{Dispatcher, resume};
use super::flow::Flow;
use super::hub::Hub;
use super::instance::Instance;
use crate::guard::PANIC;
use crate::peer::PeerError;

/// The loop of a worker, until the ensemble ends.
pub(super) fn work(
    instance: &Instance,
    element: usize,
    mut body: Box<dyn Accelerator>,
    dispatcher: &Dispatcher,
) {
    let hub = &dispatcher.hub;
    let mut last = Tenant::default();
    while let Some(Entry {
        mut item,
        due,
        owner,
        ..
    }) = instance.next(element)
    {
        if last.changes_to(owner.tenant) {
            body.forget();
        }
        let begun = Instant::now();
        let panicked = perform(&mut item, hub, |job| body.run(job));
        instance.count(begun, due, panicked);
        if panicked {
            // The new body shares no state with the one that panicked.
            if let Some(new) = fresh(hub, instance.accel) {
                body = new;
            }
        }
        instance
            .station
            .finish(item, |flow| dispatch(dispatcher, flow));
    }
}

/// The loop of a core's thread. It executes, with its own bodies, the steps for which no
/// accelerator has room.
pub(super) fn work_as_core(element: usize, mut bodies: Ensemble, dispatcher: &Dispatcher) {
    let hub = &dispatcher.hub;
    let (mut last, mut renewals) = (Tenant::default(), 0);
    while let Some(Entry {
        mut item, owner, ..
    }) = hub.core.next(element, || hub.now())
    {
        let Some(accel) = item.call.as_ref().map(|call| call.accel) else {
            // It has called no accelerator yet.
            dispatch(dispatcher, item);
            continue;
        };
        let wanted = hub.renewals.load(Ordering::Acquire);
        if std::mem::replace(&mut renewals, wanted) != wanted
            && let Ok(new) = (hub.make)()
        {
            bodies = new;
        }
        if last.changes_to(owner.tenant) {
            bodies.forget();
        }
        let image = item.run.image.clone();
        let run = |job: &mut Job| match image.kind(accel) {
            Some(kind) => bodies.run_own(kind, job),
            None => bodies.run(accel, job),
        };
        if perform(&mut item, hub, run)
            && let Ok(new) = (hub.make)()
        {
            bodies = new;
        }
        dispatch(dispatcher, item);
    }
}

/// The tenant of the last job, whose data the bodies may still contain. `None` before the first
/// job.
#[derive(Default)]
struct Tenant(Option<u16>);

impl Tenant {
    /// Records the tenant of the next job. Returns whether it differs from the last job's.
    fn changes_to(&mut self, tenant: u16) -> bool {
        self.0.replace(tenant).is_some_and(|last| last != tenant)
    }
}

/// Makes the call of an execution. Returns whether the body has panicked.
fn perform(
    flow: &mut Flow,
    hub: &Hub,
    body: impl FnOnce(&mut Job) -> Result<(), AccelError>,
) -> bool {
    flow.perform(body);
    let Some(call) = &flow.call else {
        return false;
    };
    let own = flow.run.image.kind(call.accel).map(|kind| kind.name());
    hub.observe(call.accel, own, call.took);
    matches!(&call.done, Err(cause) if cause.reason == PANIC)
}

/// Dispatches an execution. If its peer panics, only that run is lost, and its result is an error.
fn dispatch(dispatcher: &Dispatcher, flow: Box<Flow>) {
    let _ = catch_unwind(AssertUnwindSafe(|| dispatcher.dispatch(flow)));
}

fn fresh(hub: &Hub, accel: Accel) -> Option<Box<dyn Accelerator>> {
    let bodies = (hub.make)().ok()?.into_bodies();
    bodies.into_iter().find(|body| body.kind() == accel)
}

/// Signals the thread that watches timeouts when the ensemble ends.
#[derive(Default)]
pub(super) struct Alarm {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    pub(super) fn end(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}

/// The interval between two checks of the parked traces. A trace may fail this much after its
/// timeout.
const PAUSE: Duration = Duration::from_millis(50);

/// Fails parked traces whose response does not arrive in time, and all parked traces when the
/// ensemble ends.
pub(super) fn watch(hub: &Arc<Hub>, alarm: &Alarm) {
    let mut ended = alarm.ended.lock().unwrap_or_else(PoisonError::into_inner);
    while !*ended {
        drop(ended);
        let late = |until: Instant| until <= Instant::now();
        give_up(hub, late, "the peer");
        ended = alarm.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if *ended {
            break;
        }
        let waited = alarm.changed.wait_timeout(ended, PAUSE);
        ended = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Fails parked traces in the order of their timeouts, while `late` is true for the timeout.
pub(super) fn give_up(hub: &Hub, late: impl Fn(Instant) -> bool, party: &str) {
    loop {
        let mut all = hub.parked.lock().unwrap_or_else(PoisonError::into_inner);
        let parked = match all.front() {
            Some((until, parked)) if late(*until) => parked.upgrade(),
            _ => return,
        };
        all.pop_front();
        drop(all);
        let timeout = Err(PeerError::Timeout(party.to_owned()));
        if let Some((flow, response)) = parked.and_then(|parked| parked.offer(timeout)) {
            resume(hub, flow, response);
        }
    }
}
