//! The simulation of RELIEF's system-on-chip. One manager serves interrupts one after another.
//! Accelerators (units) load, compute and write back. Scratchpads forward results until the results
//! are overwritten.
//!
//! A unit executes a task in phases: it loads one input after another, computes, and writes the
//! result to memory unless every consumer will read the result from the scratchpad. Each phase ends
//! with an interrupt. The unit's next phase begins when the manager has served the interrupt.

use std::collections::VecDeque;

use accelflow_kernel::{BusyTime, Calendar, Priority};
use accelflow_units::Time;

use super::queue::{LaunchOrder, Ready, ReadyQueue};
use super::scratchpad::{Room, Scratchpad};
use crate::dag::{Dag, Kind, Source};
use crate::load::Load;
use crate::outcome::{Completions, SimulationResult};
use crate::platform::{Manager, Platform};
use crate::task_ref::TaskRef;

#[derive(Clone, Copy)]
enum Event {
    Arrive,
    /// The unit ended a phase.
    Interrupt(usize),
    /// The manager served the oldest interrupt.
    Served,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Loading the input with this number.
    Loading(usize),
    Computing,
    /// Writing the result of the unit's task.
    Writing,
    /// Writing an older result to make room.
    Spilling(usize),
}

/// The transfer of an input to a unit.
#[derive(Clone, Copy)]
enum Input {
    /// By a transfer of this duration, from a scratchpad whose result is then read if any.
    Transfer(Time, Option<(usize, usize)>),
    /// It is in the unit's own scratchpad, in this slot.
    InPlace(usize),
}

struct Unit {
    kind: Kind,
    phase: Phase,
    task: TaskRef,
    inputs: Vec<Input>,
    room: Room,
    scratchpad: Scratchpad,
}

struct Graph {
    /// Parents that have not completed, by task.
    waiting: Vec<usize>,
    /// Unit and slot of each result that is in a scratchpad.
    place: Vec<Option<(usize, usize)>>,
    /// Tasks that have not ended, including their writes.
    open: usize,
}

struct Engine<'r> {
    dag: &'r Dag,
    platform: &'r Platform,
    policy: LaunchOrder,
    calendar: Calendar<Event>,
    units: Vec<Unit>,
    queues: [ReadyQueue; Kind::COUNT],
    graphs: Vec<Graph>,
    interrupts: VecDeque<usize>,
    /// For each task, the time from its completion to the graph's deadline.
    slack: Vec<Time>,
    runtime: Vec<Time>,
    completions: Completions,
    manager: BusyTime,
    compute: [Time; Kind::COUNT],
    served: u64,
    forwards: u64,
    reloads: u64,
}

pub(crate) fn run(
    dag: &Dag,
    platform: &Platform,
    policy: LaunchOrder,
    load: &Load,
) -> SimulationResult {
    let mut engine = Engine::new(dag, platform, policy, load);
    for at in load.known_arrivals() {
        engine
            .calendar
            .schedule(at, Priority::NORMAL, Event::Arrive);
    }
    while let Some((now, event)) = engine.calendar.pop() {
        match event {
            Event::Arrive => engine.arrive(now),
            Event::Interrupt(unit) => engine.interrupt(now, unit),
            Event::Served => engine.serve(now),
        }
    }
    let now = engine.calendar.now();
    SimulationResult {
        compute: engine.compute,
        manager: engine.manager.total_at(now),
        interrupts: engine.served,
        forwards: engine.forwards,
        reloads: engine.reloads,
        ..engine.completions.outcome()
    }
}

impl<'r> Engine<'r> {
    fn new(dag: &'r Dag, platform: &'r Platform, policy: LaunchOrder, load: &Load) -> Engine<'r> {
        let unit = |kind: Kind| Unit {
            kind,
            phase: Phase::Idle,
            task: TaskRef { graph: 0, task: 0 },
            inputs: Vec::new(),
            room: Room::default(),
            scratchpad: Scratchpad::of(kind),
        };
        let of_kind = |kind: Kind| (0..platform.units[kind.index()]).map(move |_| unit(kind));
        let runtime: Vec<Time> = estimates(dag, platform);
        Engine {
            dag,
            platform,
            policy,
            calendar: Calendar::new(),
            units: Kind::ALL.into_iter().flat_map(of_kind).collect(),
            queues: Kind::ALL.map(|_| ReadyQueue::default()),
            graphs: Vec::new(),
            interrupts: VecDeque::new(),
            slack: slack(dag, &runtime),
            runtime,
            completions: Completions::new(load),
            manager: BusyTime::new(Time::ZERO),
            compute: [Time::ZERO; Kind::COUNT],
            served: 0,
            forwards: 0,
            reloads: 0,
        }
    }

    fn arrive(&mut self, now: Time) {
        let graph = self.completions.arrive(now);
        let tasks = self.dag.tasks();
        self.graphs.push(Graph {
            waiting: tasks.iter().map(|task| task.parents()).collect(),
            place: vec![None; tasks.len()],
            open: tasks.len(),
        });
        for (task, of_dag) in tasks.iter().enumerate() {
            if of_dag.parents() == 0 {
                let ready = self.ready(TaskRef { graph, task });
                self.queues[of_dag.operation.kind().index()].push(self.policy, ready);
            }
        }
        self.launch(now);
    }

    fn ready(&self, task: TaskRef) -> Ready {
        let end = self.completions.arrived(task.graph) + self.dag.deadline();
        let signed = |time: Time| i64::try_from(time.as_ps()).unwrap_or(i64::MAX);
        Ready {
            task,
            runtime: signed(self.runtime[task.task]),
            must_start: signed(end)
                - signed(self.slack[task.task])
                - signed(self.runtime[task.task]),
            promoted: false,
        }
    }

    fn interrupt(&mut self, now: Time, unit: usize) {
        self.interrupts.push_back(unit);
        if self.interrupts.len() == 1 {
            self.begin_service(now);
        }
    }

    fn begin_service(&mut self, now: Time) {
        let Some(&unit) = self.interrupts.front() else {
            return;
        };
        let service = match self.platform.manager {
            Manager::PerInterrupt(service) => service,
            Manager::PerTask(service) if self.units[unit].phase == Phase::Computing => service,
            Manager::PerTask(_) => Time::ZERO,
        };
        self.manager.begin(now);
        self.calendar
            .schedule(now + service, Priority::NORMAL, Event::Served);
    }

    fn serve(&mut self, now: Time) {
        self.manager.end(now);
        self.served += 1;
        if let Some(unit) = self.interrupts.pop_front() {
            match self.units[unit].phase {
                Phase::Loading(input) => self.load(now, unit, input + 1),
                Phase::Computing => self.computed(now, unit),
                Phase::Writing => self.written(now, unit),
                Phase::Spilling(slot) => {
                    self.units[unit].scratchpad.written(slot);
                    self.units[unit].phase = Phase::Idle;
                }
                Phase::Idle => {}
            }
            self.launch(now);
        }
        self.begin_service(now);
    }

    /// Starts the head of every queue that has a unit for it.
    fn launch(&mut self, now: Time) {
        for kind in Kind::ALL {
            while let Some(task) = self.queues[kind.index()].head() {
                let Some(unit) = self.idle_unit(kind, task) else {
                    break;
                };
                if !self.start(now, unit, task) {
                    break;
                }
                self.queues[kind.index()].pop();
            }
        }
    }

    /// An idle unit of `kind`, preferably one that already holds an input of `task`.
    fn idle_unit(&self, kind: Kind, task: TaskRef) -> Option<usize> {
        let idle =
            |&unit: &usize| self.units[unit].kind == kind && self.units[unit].phase == Phase::Idle;
        let holds = |unit: &usize| {
            let sources = &self.dag.tasks()[task.task].sources;
            sources.iter().any(|source| {
                matches!(source, Source::Task(from)
                    if self.graphs[task.graph].place[*from].is_some_and(|(u, _)| u == *unit))
            })
        };
        let mut all = (0..self.units.len()).filter(idle);
        (0..self.units.len())
            .filter(idle)
            .find(holds)
            .or_else(|| all.next())
    }

    /// Makes room for `task` on `unit` and starts it. Returns `false` if that has to wait.
    fn start(&mut self, now: Time, unit: usize, task: TaskRef) -> bool {
        let (in_place, inputs) = self.inputs(unit, task);
        let transfers = inputs.len() - in_place.len();
        let scratchpad = &mut self.units[unit].scratchpad;
        let Some((room, evicted)) = scratchpad.reserve(&in_place, transfers) else {
            if let Some(slot) = scratchpad.oldest_unwritten(&in_place) {
                self.units[unit].phase = Phase::Spilling(slot);
                let done = now + self.platform.store;
                self.calendar
                    .schedule(done, Priority::NORMAL, Event::Interrupt(unit));
            }
            return false;
        };
        for old in evicted {
            self.graphs[old.graph].place[old.task] = None;
        }
        self.claim(&inputs, unit, task);
        let of = &mut self.units[unit];
        (of.task, of.inputs, of.room) = (task, inputs, room);
        self.load(now, unit, 0);
        true
    }

    /// The slots of `unit` that already hold an input of `task`, and the way of each input.
    fn inputs(&self, unit: usize, task: TaskRef) -> (Vec<usize>, Vec<Input>) {
        let mut in_place = Vec::new();
        let mut inputs = Vec::new();
        for &source in &self.dag.tasks()[task.task].sources {
            let bytes = self.dag.bytes(source);
            let place = match source {
                Source::Memory(_) => None,
                Source::Task(from) => self.graphs[task.graph].place[from],
            };
            // A unit with separate room for results does not read its own results.
            let apart = |(from, _): &(usize, usize)| {
                *from != unit || self.units[unit].scratchpad.is_shared()
            };
            let place = place.filter(apart);
            inputs.push(match place {
                Some((from, slot)) if from == unit => {
                    in_place.push(slot);
                    Input::InPlace(slot)
                }
                Some(from) => {
                    Input::Transfer(Platform::part(self.platform.forward, bytes), Some(from))
                }
                None => Input::Transfer(Platform::part(self.platform.load, bytes), None),
            });
        }
        (in_place, inputs)
    }

    /// Marks the results that `task` is about to read, wherever they are.
    fn claim(&mut self, inputs: &[Input], unit: usize, task: TaskRef) {
        for (input, source) in inputs.iter().zip(&self.dag.tasks()[task.task].sources) {
            match (*input, source) {
                (Input::InPlace(slot), _) => {
                    self.units[unit].scratchpad.begin_read(slot);
                    self.forwards += 1;
                }
                (Input::Transfer(_, Some((from, slot))), _) => {
                    self.units[from].scratchpad.begin_read(slot);
                    self.forwards += 1;
                }
                (Input::Transfer(_, None), Source::Task(_)) => self.reloads += 1,
                (Input::Transfer(_, None), Source::Memory(_)) => {}
            }
        }
    }

    /// Loads the inputs of the unit's task from `first` on, then computes.
    fn load(&mut self, now: Time, unit: usize, first: usize) {
        let of = &self.units[unit];
        let next = (first..of.inputs.len()).find_map(|n| match of.inputs[n] {
            Input::Transfer(duration, _) => Some((n, duration)),
            Input::InPlace(_) => None,
        });
        let done = match next {
            Some((input, duration)) => {
                self.units[unit].phase = Phase::Loading(input);
                now + duration
            }
            None => {
                self.release(unit, false);
                let task = self.units[unit].task.task;
                let compute = self.dag.tasks()[task].operation.compute();
                self.compute[self.units[unit].kind.index()] += compute;
                self.units[unit].phase = Phase::Computing;
                now + compute
            }
        };
        self.calendar
            .schedule(done, Priority::NORMAL, Event::Interrupt(unit));
    }

    /// Ends the reads of the unit's inputs: those in place, or those that were transferred.
    fn release(&mut self, unit: usize, in_place: bool) {
        for n in 0..self.units[unit].inputs.len() {
            match self.units[unit].inputs[n] {
                Input::InPlace(slot) if in_place => self.units[unit].scratchpad.end_read(slot),
                Input::Transfer(_, Some((from, slot))) if !in_place => {
                    self.units[from].scratchpad.end_read(slot);
                }
                _ => {}
            }
        }
    }

    fn computed(&mut self, now: Time, unit: usize) {
        self.release(unit, true);
        let TaskRef { graph, task } = self.units[unit].task;
        let children = self.dag.children(task);
        let room = std::mem::take(&mut self.units[unit].room);
        let slot = room.output;
        self.units[unit]
            .scratchpad
            .computed(room, TaskRef { graph, task }, children.len());
        self.graphs[graph].place[task] = Some((unit, slot));
        self.units[unit].phase = Phase::Idle;

        let mut ready = Vec::new();
        for &child in children {
            let waiting = &mut self.graphs[graph].waiting[child];
            *waiting -= 1;
            if *waiting == 0 {
                ready.push(self.ready(TaskRef { graph, task: child }));
            }
        }
        self.enqueue(now, ready);

        let forwarded = |&child: &usize| self.is_forwarded(unit, graph, child);
        if !children.is_empty() && children.iter().all(forwarded) {
            self.end(now, graph);
        } else {
            self.units[unit].phase = Phase::Writing;
            let bytes = self.dag.tasks()[task].operation.output();
            let done = now + Platform::part(self.platform.store, bytes);
            self.calendar
                .schedule(done, Priority::NORMAL, Event::Interrupt(unit));
        }
    }

    fn enqueue(&mut self, now: Time, ready: Vec<Ready>) {
        let instant = i64::try_from(now.as_ps()).unwrap_or(i64::MAX);
        for entry in ready {
            let kind = self.dag.tasks()[entry.task.task].operation.kind();
            let available = self.available(kind);
            let queue = &mut self.queues[kind.index()];
            match self.policy {
                LaunchOrder::Relief if queue.may_promote(&entry, available, instant) => {
                    queue.promote(entry);
                }
                policy => queue.push(policy, entry),
            }
        }
    }

    /// Units of `kind` that are not loading or computing.
    fn available(&self, kind: Kind) -> usize {
        let busy = |unit: &&Unit| matches!(unit.phase, Phase::Loading(_) | Phase::Computing);
        let of_kind = self.units.iter().filter(|unit| unit.kind == kind);
        of_kind.clone().count() - of_kind.filter(busy).count()
    }

    /// Whether `child` is among the tasks that the available units take next, so that it reads the
    /// result of `unit` before anything takes its place.
    fn is_forwarded(&self, unit: usize, graph: usize, child: usize) -> bool {
        let kind = self.dag.tasks()[child].operation.kind();
        if kind == self.units[unit].kind && !self.units[unit].scratchpad.is_shared() {
            return false;
        }
        let task = TaskRef { graph, task: child };
        self.queues[kind.index()].is_within(task, self.available(kind))
    }

    fn written(&mut self, now: Time, unit: usize) {
        let TaskRef { graph, task } = self.units[unit].task;
        if let Some((of, slot)) = self.graphs[graph].place[task] {
            self.units[of].scratchpad.written(slot);
        }
        self.units[unit].phase = Phase::Idle;
        self.end(now, graph);
    }

    /// Notes that one task of `graph` has ended.
    fn end(&mut self, now: Time, graph: usize) {
        self.graphs[graph].open -= 1;
        if self.graphs[graph].open > 0 {
            return;
        }
        for unit in &mut self.units {
            unit.scratchpad.forget(graph);
        }
        self.graphs[graph].place = Vec::new();
        if self.completions.complete(now, graph) {
            self.calendar.schedule(now, Priority::NORMAL, Event::Arrive);
        }
    }
}

/// The manager's estimate of each task's time: its computation, and its data to and from memory.
fn estimates(dag: &Dag, platform: &Platform) -> Vec<Time> {
    let estimate = |task: &crate::dag::Task| {
        let loads: Time = task
            .sources
            .iter()
            .map(|source| Platform::part(platform.load, dag.bytes(*source)))
            .sum();
        let store = Platform::part(platform.store, task.operation.output());
        task.operation.compute() + loads + store
    };
    dag.tasks().iter().map(estimate).collect()
}

/// For each task, the longest chain of tasks that follows it.
fn slack(dag: &Dag, runtime: &[Time]) -> Vec<Time> {
    let mut slack = vec![Time::ZERO; runtime.len()];
    for task in (0..runtime.len()).rev() {
        let after = dag.children(task).iter().map(|&c| slack[c] + runtime[c]);
        slack[task] = after.max().unwrap_or(Time::ZERO);
    }
    slack
}
