//! The rows that a timeline has for a server.

use std::io::{self, Write};

use accelflow_sim::{Queue, ServerShape, UnitName};
use accelflow_timeline::{Lanes, Timeline, Track};
use rustc_hash::FxHashMap;

use super::resource::{Resource, ResourceNames};

/// The rows of a server.
pub(crate) struct Rows<'i> {
    names: ResourceNames<'i>,
    /// The group of requests.
    pub(crate) requests: Track,
    /// By service, the group of its requests and the rows in it.
    services: FxHashMap<usize, (Track, Stack)>,
    hardware: FxHashMap<(Resource, usize), Track>,
    counters: FxHashMap<Queue, Track>,
    /// By queue, the rows of its waiting entries.
    waits: FxHashMap<Resource, (Track, Stack)>,
    links: Track,
    link_names: Vec<String>,
    queues: Track,
}

/// Rows for slices that overlap, made as they are needed.
#[derive(Default)]
pub(crate) struct Stack {
    lanes: Lanes,
    rows: Vec<Track>,
}

impl Stack {
    /// The row of a slice below `group`.
    pub(crate) fn place<W: Write>(
        &mut self,
        timeline: &mut Timeline<W>,
        (group, name): (Track, &str),
        (from_ns, until_ns): (u64, u64),
    ) -> io::Result<Track> {
        let row = self.lanes.place(from_ns, until_ns);
        if row == self.rows.len() {
            let new = timeline.track(group, &format!("{name} {}", row + 1))?;
            self.rows.push(new);
        }
        Ok(self.rows[row])
    }
}

impl<'i> Rows<'i> {
    /// The rows of a server with the hardware `shape`; `label` is what the group is called.
    pub(crate) fn new<W: Write>(
        timeline: &mut Timeline<W>,
        label: &str,
        shape: &ServerShape,
        names: ResourceNames<'i>,
    ) -> io::Result<Rows<'i>> {
        let process = timeline.process(label)?;
        let requests = timeline.track(process, "requests")?;
        let mut hardware = FxHashMap::default();
        let mut counters = FxHashMap::default();
        if shape.central {
            let manager = timeline.track(process, "manager")?;
            hardware.insert((Resource::Manager, 0), manager);
        }
        for shape in &shape.units {
            let name = Resource::Elements(shape.unit).name(names);
            let group = timeline.track(process, &name)?;
            unit_rows(timeline, group, shape, (&mut hardware, &mut counters))?;
        }
        let engines = timeline.track(process, "A-DMA")?;
        for engine in 0..shape.dma_engines {
            let row = timeline.track(engines, &format!("engine {engine}"))?;
            hardware.insert((Resource::Dma, engine), row);
        }
        let waiting = timeline.counter(engines, "waiting transfers", "transfers")?;
        counters.insert(Queue::Dma, waiting);
        let cores = timeline.track(process, "cores")?;
        for core in 0..shape.cores {
            let row = timeline.track(cores, &format!("core {core}"))?;
            hardware.insert((Resource::Core(core), 0), row);
        }
        let queues = timeline.track(process, "queues")?;
        Ok(Rows {
            names,
            requests,
            services: FxHashMap::default(),
            hardware,
            counters,
            waits: FxHashMap::default(),
            links: timeline.track(process, "links")?,
            link_names: shape.links.clone(),
            queues,
        })
    }

    /// The row of a piece of hardware.
    pub(crate) fn of<W: Write>(
        &mut self,
        timeline: &mut Timeline<W>,
        at: Resource,
        row: usize,
    ) -> io::Result<Track> {
        if let Some(track) = self.hardware.get(&(at, row)) {
            return Ok(*track);
        }
        let track = match at {
            Resource::Link(link) => {
                let name = self.link_names.get(link).map_or("link", String::as_str);
                timeline.track(self.links, name)?
            }
            _ => timeline.track(self.queues, &format!("{} {row}", at.name(self.names)))?,
        };
        self.hardware.insert((at, row), track);
        Ok(track)
    }

    /// The row of a request's slice.
    pub(crate) fn request<W: Write>(
        &mut self,
        timeline: &mut Timeline<W>,
        (service, name): (usize, &str),
        times_ns: (u64, u64),
    ) -> io::Result<Track> {
        if !self.services.contains_key(&service) {
            let group = timeline.track(self.requests, name)?;
            self.services.insert(service, (group, Stack::default()));
        }
        match self.services.get_mut(&service) {
            Some((group, stack)) => stack.place(timeline, (*group, "at once"), times_ns),
            None => Ok(self.requests),
        }
    }

    /// The row of a wait at `at`.
    pub(crate) fn wait<W: Write>(
        &mut self,
        timeline: &mut Timeline<W>,
        at: Resource,
        times_ns: (u64, u64),
    ) -> io::Result<Track> {
        if !self.waits.contains_key(&at) {
            let group = timeline.track(self.queues, &format!("waits: {}", at.name(self.names)))?;
            self.waits.insert(at, (group, Stack::default()));
        }
        match self.waits.get_mut(&at) {
            Some((group, stack)) => stack.place(timeline, (*group, "place"), times_ns),
            None => Ok(self.queues),
        }
    }

    /// The row of a queue's length.
    pub(crate) fn counter<W: Write>(
        &mut self,
        timeline: &mut Timeline<W>,
        queue: Queue,
    ) -> io::Result<Track> {
        if let Some(track) = self.counters.get(&queue) {
            return Ok(*track);
        }
        let name = match queue {
            Queue::Core(core) => format!("core {core}: waiting tasks"),
            Queue::Central(accel) => {
                format!("manager's queue: {}", self.names.image.accel_name(accel))
            }
            Queue::Manager => "manager: waiting visits".to_owned(),
            Queue::Input(_) | Queue::Dispatcher(_) | Queue::Dma => "queue".to_owned(),
        };
        let track = timeline.counter(self.queues, &name, "entries")?;
        self.counters.insert(queue, track);
        Ok(track)
    }
}

/// The rows of hardware and of queue lengths that [`unit_rows`] adds to.
type Made<'m> = (
    &'m mut FxHashMap<(Resource, usize), Track>,
    &'m mut FxHashMap<Queue, Track>,
);

fn unit_rows<W: Write>(
    timeline: &mut Timeline<W>,
    group: Track,
    shape: &accelflow_sim::UnitShape,
    (hardware, counters): Made<'_>,
) -> io::Result<()> {
    let unit: UnitName = shape.unit;
    let length = timeline.counter(group, "input queue", "entries")?;
    counters.insert(Queue::Input(unit), length);
    for element in 0..shape.elements as usize {
        let row = timeline.track(group, &format!("element {element}"))?;
        hardware.insert((Resource::Elements(unit), element), row);
    }
    if shape.whole {
        let row = timeline.track(group, "dispatcher")?;
        hardware.insert((Resource::Dispatcher(unit), 0), row);
        let waiting = timeline.counter(group, "dispatcher queue", "entries")?;
        counters.insert(Queue::Dispatcher(unit), waiting);
    }
    Ok(())
}
