//! The simulation of AccelFlow on RELIEF's accelerators: no manager, but queues and dispatchers at
//! each accelerator.
//!
//! A result goes from the output queue by an A-DMA engine into an entry of each consumer's input
//! queue. The first data that arrives for a task takes the entry. The entry becomes ready when all
//! inputs of the task are there (a join). Weights and raw data are fetched from memory as soon as
//! the entry exists. So inputs arrive while processing elements compute other tasks. With
//! [`Payload::ByPointer`], results go to memory instead, and a processing element that takes a task
//! waits until the task's inputs are fetched from there.

use std::collections::VecDeque;

use accelflow_kernel::{Calendar, Priority};
use accelflow_units::{Bytes, Time};

use crate::dag::{Dag, Kind, Source};
use crate::load::Load;
use crate::outcome::{Completions, SimulationResult};
use crate::platform::{Order, Payload, Platform};
use crate::task_ref::TaskRef;

#[derive(Clone, Copy)]
enum Event {
    Arrive,
    /// A processing element put its result into the output queue.
    Computed(TaskRef),
    /// The dispatcher requests this transfer.
    Dispatched(Transfer),
    /// An A-DMA engine has completed this transfer.
    Transferred(Transfer),
}

#[derive(Clone, Copy)]
struct Transfer {
    duration: Time,
    to: Target,
}

#[derive(Clone, Copy)]
enum Target {
    /// The entry of a task.
    Entry(TaskRef),
    /// Memory: the result of a task, for which its consumers' entries wait if it has any.
    Memory(TaskRef),
}

#[derive(Clone, Copy, Default)]
struct Entry {
    exists: bool,
    /// Whether it is in the overflow area, from which it has to be fetched.
    overflowed: bool,
    /// Sources whose data has not arrived.
    missing: usize,
}

struct Graph {
    entries: Vec<Entry>,
    open: usize,
}

#[derive(Default)]
struct Accelerator {
    idle: usize,
    ready: VecDeque<TaskRef>,
    /// Entries in the input queue.
    entries: usize,
    dispatcher_free: Time,
}

struct Engine<'r> {
    dag: &'r Dag,
    platform: &'r Platform,
    calendar: Calendar<Event>,
    accelerators: [Accelerator; Kind::COUNT],
    graphs: Vec<Graph>,
    idle_engines: usize,
    transfers: VecDeque<Transfer>,
    completions: Completions,
    compute: [Time; Kind::COUNT],
    forwards: u64,
    reloads: u64,
    overflows: u64,
}

pub(crate) fn run(dag: &Dag, platform: &Platform, load: &Load) -> SimulationResult {
    let accelerator = |kind: Kind| Accelerator {
        idle: platform.units[kind.index()],
        ..Accelerator::default()
    };
    let mut engine = Engine {
        dag,
        platform,
        calendar: Calendar::new(),
        accelerators: Kind::ALL.map(accelerator),
        graphs: Vec::new(),
        idle_engines: platform.adma_engines,
        transfers: VecDeque::new(),
        completions: Completions::new(load),
        compute: [Time::ZERO; Kind::COUNT],
        forwards: 0,
        reloads: 0,
        overflows: 0,
    };
    for at in load.known_arrivals() {
        engine.schedule(at, Event::Arrive);
    }
    while let Some((now, event)) = engine.calendar.pop() {
        match event {
            Event::Arrive => engine.arrive(now),
            Event::Computed(task) => engine.computed(now, task),
            Event::Dispatched(transfer) => engine.transfer(now, transfer),
            Event::Transferred(transfer) => engine.transferred(now, transfer),
        }
    }
    SimulationResult {
        compute: engine.compute,
        forwards: engine.forwards,
        reloads: engine.reloads,
        overflows: engine.overflows,
        ..engine.completions.outcome()
    }
}

impl Engine<'_> {
    fn schedule(&mut self, at: Time, event: Event) {
        self.calendar.schedule(at, Priority::NORMAL, event);
    }

    fn arrive(&mut self, now: Time) {
        let graph = self.completions.arrive(now);
        let tasks = self.dag.tasks();
        self.graphs.push(Graph {
            entries: vec![Entry::default(); tasks.len()],
            open: tasks.len(),
        });
        for (task, of_dag) in tasks.iter().enumerate() {
            if of_dag.parents() == 0 {
                self.enter(now, TaskRef { graph, task });
            }
        }
    }

    fn kind(&self, task: TaskRef) -> Kind {
        self.dag.tasks()[task.task].operation.kind()
    }

    /// Gives `task` an entry in its accelerator's queue, or in the overflow area if that is full,
    /// and fetches its inputs from memory.
    fn enter(&mut self, now: Time, task: TaskRef) {
        if self.graphs[task.graph].entries[task.task].exists {
            return;
        }
        let kind = self.kind(task);
        let full = self.platform.queue_entries * self.platform.units[kind.index()];
        let accelerator = &mut self.accelerators[kind.index()];
        let overflowed = accelerator.entries >= full;
        if overflowed {
            self.overflows += 1;
        } else {
            accelerator.entries += 1;
        }
        let sources = &self.dag.tasks()[task.task].sources;
        let prefetched = |source: &Source| match source {
            Source::Memory(_) => self.platform.payload == Payload::InQueue,
            Source::Task(_) => true,
        };
        let missing = sources.iter().filter(|source| prefetched(source)).count();
        self.graphs[task.graph].entries[task.task] = Entry {
            exists: true,
            overflowed,
            missing,
        };
        if self.platform.payload == Payload::InQueue {
            for source in sources {
                if let Source::Memory(bytes) = *source {
                    let duration = Platform::part(self.platform.load, bytes);
                    let to = Target::Entry(task);
                    self.transfer(now, Transfer { duration, to });
                }
            }
        }
        if missing == 0 {
            self.complete(now, task);
        }
    }

    /// Hands `transfer` to an A-DMA engine, now or when one is free.
    fn transfer(&mut self, now: Time, transfer: Transfer) {
        if self.idle_engines == 0 {
            self.transfers.push_back(transfer);
            return;
        }
        self.idle_engines -= 1;
        self.schedule(now + transfer.duration, Event::Transferred(transfer));
    }

    fn transferred(&mut self, now: Time, transfer: Transfer) {
        self.idle_engines += 1;
        if let Some(next) = self.transfers.pop_front() {
            self.transfer(now, next);
        }
        match transfer.to {
            Target::Entry(task) => self.deliver(now, task),
            Target::Memory(task) => {
                for &child in self.dag.children(task.task) {
                    let child = TaskRef {
                        task: child,
                        ..task
                    };
                    self.enter(now, child);
                    self.deliver(now, child);
                }
                self.end(now, task.graph);
            }
        }
    }

    /// Delivers the data of one source of `task`.
    fn deliver(&mut self, now: Time, task: TaskRef) {
        let entry = &mut self.graphs[task.graph].entries[task.task];
        entry.missing -= 1;
        if entry.missing == 0 {
            self.complete(now, task);
        }
    }

    /// Makes a task with complete data ready, after a fetch if it is in the overflow area. A
    /// fetched entry enters the queue even if that is full: no entry ever waits for room, so queues
    /// of any size cannot deadlock.
    fn complete(&mut self, now: Time, task: TaskRef) {
        let kind = self.kind(task);
        let entry = &mut self.graphs[task.graph].entries[task.task];
        if entry.overflowed {
            *entry = Entry {
                exists: true,
                overflowed: false,
                missing: 1,
            };
            let bytes: Bytes = self.dag.tasks()[task.task]
                .sources
                .iter()
                .map(|source| self.dag.bytes(*source))
                .sum();
            let duration = Platform::part(self.platform.load, bytes);
            self.accelerators[kind.index()].entries += 1;
            let to = Target::Entry(task);
            self.transfer(now, Transfer { duration, to });
            return;
        }
        let ready = &mut self.accelerators[kind.index()].ready;
        let place = match self.platform.order {
            Order::Fifo => ready.len(),
            // All graphs have the same time from arrival to deadline, and arrive in order.
            Order::Deadline => ready.partition_point(|other| other.graph <= task.graph),
        };
        ready.insert(place, task);
        self.start(now, kind);
    }

    /// Starts ready entries on idle processing elements, as the input dispatcher does.
    fn start(&mut self, now: Time, kind: Kind) {
        while self.accelerators[kind.index()].idle > 0
            && let Some(task) = self.accelerators[kind.index()].ready.pop_front()
        {
            let accelerator = &mut self.accelerators[kind.index()];
            accelerator.idle -= 1;
            accelerator.entries -= 1;
            let of_dag = &self.dag.tasks()[task.task];
            let compute = of_dag.operation.compute();
            self.compute[kind.index()] += compute;
            for source in &of_dag.sources {
                if let Source::Task(_) = source {
                    match self.platform.payload {
                        Payload::InQueue => self.forwards += 1,
                        Payload::ByPointer => self.reloads += 1,
                    }
                }
            }
            let done = now + self.input_time(task) + compute + self.output_time(task);
            self.schedule(done, Event::Computed(task));
        }
    }

    /// The time from the input queue, or from memory, to the scratchpad.
    fn input_time(&self, task: TaskRef) -> Time {
        let sources = self.dag.tasks()[task.task].sources.iter();
        let bytes: Bytes = sources.map(|source| self.dag.bytes(*source)).sum();
        match self.platform.payload {
            Payload::InQueue => {
                self.platform.queue_latency + self.platform.queue_bandwidth.transfer(bytes)
            }
            Payload::ByPointer => {
                self.platform.queue_latency + Platform::part(self.platform.load, bytes)
            }
        }
    }

    /// The time from the scratchpad to the output queue, which holds the result or a pointer to it.
    fn output_time(&self, task: TaskRef) -> Time {
        let bytes = self.dag.tasks()[task.task].operation.output();
        let moved = self.platform.queue_bandwidth.transfer(bytes);
        self.platform.queue_latency + moved
    }

    fn computed(&mut self, now: Time, task: TaskRef) {
        let kind = self.kind(task);
        self.accelerators[kind.index()].idle += 1;
        self.start(now, kind);
        let bytes = self.dag.tasks()[task.task].operation.output();
        let store = Platform::part(self.platform.store, bytes);
        let forward = Platform::part(self.platform.forward, bytes);
        let children = self.dag.children(task.task);
        if children.is_empty() || self.platform.payload == Payload::ByPointer {
            self.dispatch(now, kind, store, Target::Memory(task));
            return;
        }
        for &child in children {
            let child = TaskRef {
                task: child,
                ..task
            };
            self.enter(now, child);
            self.dispatch(now, kind, forward, Target::Entry(child));
        }
        self.end(now, task.graph);
    }

    /// Schedules the output dispatcher's action on one entry, after its earlier ones. Returns its
    /// end.
    fn dispatch(&mut self, now: Time, kind: Kind, duration: Time, to: Target) {
        let accelerator = &mut self.accelerators[kind.index()];
        let done = accelerator.dispatcher_free.max(now) + self.platform.dispatch;
        accelerator.dispatcher_free = done;
        self.schedule(done, Event::Dispatched(Transfer { duration, to }));
    }

    /// Notes that one task of `graph` has ended.
    fn end(&mut self, now: Time, graph: usize) {
        self.graphs[graph].open -= 1;
        if self.graphs[graph].open == 0 {
            self.graphs[graph].entries = Vec::new();
            if self.completions.complete(now, graph) {
                self.schedule(now, Event::Arrive);
            }
        }
    }
}
