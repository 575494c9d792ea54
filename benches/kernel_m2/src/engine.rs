//! The engines that can run the model.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use accelflow_kernel::{Calendar, EventQueue, SlotQueue, TooManySlots};
use accelflow_units::Time;
use simrs::{Component, ComponentId, Executor, Scheduler, Simulation, State};

use crate::Model;

/// An event engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This project's queue of packed slots.
    SlotQueue,
    /// This project's general calendar.
    Calendar,
    /// The crate `simrs`.
    Simrs,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Engine; 3] = [Engine::SlotQueue, Engine::Calendar, Engine::Simrs];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::SlotQueue => "slot_queue",
            Engine::Calendar => "calendar",
            Engine::Simrs => "simrs",
        }
    }

    /// Runs the model until nothing is pending.
    ///
    /// # Errors
    /// A model of more slots than the engine can tell apart.
    pub fn run(self, model: &mut Model) -> Result<(), TooManySlots> {
        match self {
            Engine::SlotQueue => run_on(SlotQueue::new(model.slots())?, model),
            Engine::Calendar => run_on(Calendar::new(), model),
            Engine::Simrs => run_on_simrs(model),
        }
        Ok(())
    }
}

fn run_on(mut queue: impl EventQueue<u16>, model: &mut Model) {
    model.begin(|at, slot| queue.schedule(at, slot));
    while let Some((now, slot)) = queue.pop() {
        model.handle(now, slot, |at, slot| queue.schedule(at, slot));
    }
}

/// The whole model is one component, and its state the component's own rather than the engine's
/// map of values by key: both are the faster choice for `simrs`.
#[derive(Debug)]
struct System {
    model: Rc<RefCell<Model>>,
}

/// `simrs` resolves nanoseconds; one of its nanoseconds is a picosecond of the model.
fn simrs_delay(from: Time, to: Time) -> Duration {
    Duration::from_nanos((to - from).as_ps())
}

impl Component for System {
    type Event = u16;

    fn process_event(
        &self,
        self_id: ComponentId<u16>,
        slot: &u16,
        scheduler: &mut Scheduler,
        _state: &mut State,
    ) {
        let elapsed = scheduler.time();
        let now =
            Time::from_ps(elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos()));
        self.model.borrow_mut().handle(now, *slot, |at, slot| {
            scheduler.schedule(simrs_delay(now, at), self_id, slot);
        });
    }
}

fn run_on_simrs(model: &mut Model) {
    let shared = Rc::new(RefCell::new(model.clone()));
    let mut simulation = Simulation::default();
    let system = simulation.add_component(System {
        model: Rc::clone(&shared),
    });
    shared.borrow_mut().begin(|at, slot| {
        simulation.schedule(simrs_delay(Time::ZERO, at), system, slot);
    });
    simulation.execute(Executor::unbound());
    model.clone_from(&shared.borrow());
}
