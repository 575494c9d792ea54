//! Drawing of a simulation into a timeline.

use std::io::{self, Write};

use accelflow_sim::{Activity, Execution, HardwareEvent, Observer, Queue, Seen, ServerShape};
use accelflow_timeline::{Argument, Slice, Timeline, Track};
use accelflow_units::Time;
use rustc_hash::FxHashMap;

use super::assembler::{Assembler, waited};
use super::busy::{Busy, Hardware};
use super::fates::Fate;
use super::resource::ResourceNames;
use super::rows::{Rows, Stack};
use super::times::Stretches;
use super::waterfall::{Segment, Waterfall};

/// Draws a run of one system into a timeline.
pub(crate) struct Drawing<'d, W> {
    timeline: &'d mut Timeline<W>,
    /// The label of the groups of its servers.
    label: String,
    names: ResourceNames<'d>,
    /// The requests that are shown.
    shown: &'d Fate,
    /// The stretches of time in which hardware is shown.
    stretches: Stretches,
    assembler: Assembler,
    servers: FxHashMap<usize, Server<'d>>,
    ended: Vec<Busy>,
    /// The first error of writing.
    failed: Option<io::Error>,
}

struct Server<'d> {
    rows: Rows<'d>,
    hardware: Hardware,
    /// The additional rows of each row of requests.
    beside: FxHashMap<Track, Stack>,
    lengths: FxHashMap<Queue, (usize, Option<usize>)>,
}

impl<'d, W: Write> Drawing<'d, W> {
    pub(crate) fn new(
        timeline: &'d mut Timeline<W>,
        label: String,
        names: ResourceNames<'d>,
        shown: &'d Fate,
        stretches: Stretches,
    ) -> Drawing<'d, W> {
        Drawing {
            timeline,
            label,
            names,
            shown,
            stretches,
            assembler: Assembler::default(),
            servers: FxHashMap::default(),
            ended: Vec::new(),
            failed: None,
        }
    }

    /// Draws the rest.
    ///
    /// # Errors
    /// The first error of writing.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let mut servers: Vec<usize> = self.servers.keys().copied().collect();
        servers.sort_unstable();
        for server in servers {
            self.attempt(|drawing| drawing.draw_links(server, Time::MAX));
        }
        self.failed.map_or(Ok(()), Err)
    }

    /// Draws with `draw`, unless writing has failed before: rows may then be incomplete.
    fn attempt(&mut self, draw: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = draw(self).err();
        }
    }

    fn begin_server(&mut self, shape: &ServerShape) -> io::Result<()> {
        let mut hardware = Hardware::default();
        for unit in &shape.units {
            hardware.has(unit.unit, unit.elements);
        }
        let label = match shape.server {
            0 => self.label.clone(),
            server => format!("{} server {server}", self.label),
        };
        let server = Server {
            rows: Rows::new(self.timeline, &label, shape, self.names)?,
            hardware,
            beside: FxHashMap::default(),
            lengths: FxHashMap::default(),
        };
        self.servers.insert(shape.server, server);
        Ok(())
    }

    fn draw(&mut self, activity: &Activity) -> io::Result<()> {
        self.draw_links(activity.server, activity.at)?;
        let Some(server) = self.servers.get_mut(&activity.server) else {
            return Ok(());
        };
        let mut ended = std::mem::take(&mut self.ended);
        server.hardware.act(activity, &mut ended);
        for busy in ended.drain(..) {
            self.draw_busy(activity.server, &busy)?;
        }
        self.ended = ended;
        match activity.what {
            HardwareEvent::Length(queue, length) => {
                self.draw_length(activity.server, activity.at, (queue, length))
            }
            HardwareEvent::Spends { .. } => self.draw_wait(activity),
            _ => Ok(()),
        }
    }

    /// Draws a wait in a queue.
    fn draw_wait(&mut self, activity: &Activity) -> io::Result<()> {
        let (Some((at, from, until)), Some(of)) = (waited(activity), activity.of) else {
            return Ok(());
        };
        let Some(server) = self.servers.get_mut(&activity.server) else {
            return Ok(());
        };
        if from == until || !self.stretches.meet(from, until) {
            return Ok(());
        }
        let times = (whole_ns(from), whole_ns(until));
        let track = server.rows.wait(self.timeline, at, times)?;
        let slice = Slice {
            name: &self.names.services[of.service],
            category: "wait",
            arguments: &[("request", Argument::Number(of.request))],
            ..Slice::default()
        };
        self.timeline.slice(track, times, &slice)
    }

    fn draw_links(&mut self, server: usize, now: Time) -> io::Result<()> {
        let mut ended = std::mem::take(&mut self.ended);
        if let Some(server) = self.servers.get_mut(&server) {
            server.hardware.links_until(now, &mut ended);
        }
        for busy in ended.drain(..) {
            self.draw_busy(server, &busy)?;
        }
        self.ended = ended;
        Ok(())
    }

    fn draw_busy(&mut self, server: usize, busy: &Busy) -> io::Result<()> {
        if !self.stretches.meet(busy.from, busy.until) {
            return Ok(());
        }
        let flow = busy.of.and_then(|of| self.flow_at(of, busy.from));
        let request = busy.of.map_or(0, |of| of.request);
        let mut arguments = Vec::with_capacity(3);
        if let Some(of) = busy.of {
            arguments.push(("service", Argument::Text(&self.names.services[of.service])));
            arguments.push(("request", Argument::Number(request)));
            if let Some(trace) = of.trace {
                arguments.push(("trace", Argument::Text(self.names.image.name(trace))));
            }
        }
        let service = busy.of.map(|of| self.names.services[of.service].as_str());
        let slice = Slice {
            name: match busy.work {
                Some(work) if service.is_none() => work.name(),
                Some(work) => &format!("{}: {}", service.unwrap_or_default(), work.name()),
                None => service.unwrap_or("data"),
            },
            category: "hardware",
            flows: flow.as_slice(),
            ends: &[],
            arguments: &arguments,
        };
        let Some(server) = self.servers.get_mut(&server) else {
            return Ok(());
        };
        let track = server.rows.of(self.timeline, busy.at, busy.row)?;
        let times = (whole_ns(busy.from), whole_ns(busy.until));
        self.timeline.slice(track, times, &slice)
    }

    /// The flow of a request that is shown, until its response.
    fn flow_at(&self, of: Execution, at: Time) -> Option<u64> {
        let (_, responded) = self.shown.get(&(of.service, of.request))?;
        (at < *responded).then(|| self.flow(of.service, of.request))
    }

    fn flow(&self, service: usize, request: u64) -> u64 {
        let key = format!("{}\0{service}\0{request}", self.label);
        self.timeline.flow(&key)
    }

    fn draw_length(
        &mut self,
        server: usize,
        at: Time,
        (queue, length): (Queue, usize),
    ) -> io::Result<()> {
        let Some(server) = self.servers.get_mut(&server) else {
            return Ok(());
        };
        let (before, shown_in) = server.lengths.get(&queue).copied().unwrap_or((0, None));
        let now_in = self.stretches.at(at);
        let index = now_in.map(|(index, _)| index);
        server.lengths.insert(queue, (length, index.or(shown_in)));
        let Some((index, began)) = now_in else {
            return Ok(());
        };
        let track = server.rows.counter(self.timeline, queue)?;
        if shown_in != Some(index) {
            self.timeline.count(track, whole_ns(began), before as i64)?;
        }
        self.timeline.count(track, whole_ns(at), length as i64)
    }

    fn draw_request(&mut self, waterfall: &Waterfall) -> io::Result<()> {
        let flow = [self.flow(waterfall.service, waterfall.request)];
        let service = self.names.services[waterfall.service].as_str();
        let Some(server) = self.servers.get_mut(&waterfall.server) else {
            return Ok(());
        };
        let times = (whole_ns(waterfall.arrived), whole_ns(waterfall.ended));
        let timeline = &mut *self.timeline;
        let track = server
            .rows
            .request(timeline, (waterfall.service, service), times)?;
        let name = format!("{service} {}", waterfall.request);
        let time = match waterfall.timed_out {
            true => "ended_us",
            false => "response_us",
        };
        let mut arguments = vec![
            ("request", Argument::Number(waterfall.request)),
            (time, Argument::Real(waterfall.length().as_us_f64())),
            ("error", Argument::Truth(waterfall.error)),
        ];
        if waterfall.timed_out {
            arguments.push(("timed_out", Argument::Truth(true)));
        }
        let whole = Slice {
            name: &name,
            category: "request",
            flows: &flow,
            ends: &[],
            arguments: &arguments,
        };
        timeline.begin(track, times.0, &whole)?;
        for segment in waterfall.critical() {
            draw_segment(timeline, self.names, track, segment)?;
        }
        let response = Slice {
            name: match waterfall.timed_out {
                true => "no response",
                false => "response",
            },
            category: "request",
            ends: &flow,
            ..Slice::default()
        };
        timeline.instant(track, times.1, &response)?;
        timeline.end(track, times.1)?;
        for segment in waterfall
            .segments
            .iter()
            .filter(|segment| !segment.critical)
        {
            let times = (whole_ns(segment.from), whole_ns(segment.until));
            let stack = server.beside.entry(track).or_default();
            let row = stack.place(timeline, (track, "beside"), times)?;
            draw_segment(timeline, self.names, row, segment)?;
        }
        Ok(())
    }
}

impl<W: Write> Observer for Drawing<'_, W> {
    fn see(&mut self, seen: &Seen) {
        let shown = self.shown;
        if let Some(waterfall) = self.assembler.see(seen, |key| shown.contains_key(&key)) {
            self.attempt(|drawing| drawing.draw_request(&waterfall));
        }
    }

    fn begin(&mut self, server: &ServerShape) {
        self.attempt(|drawing| drawing.begin_server(server));
    }

    fn follows_hardware(&self) -> bool {
        true
    }

    fn act(&mut self, activity: &Activity) {
        self.assembler.act(activity);
        self.attempt(|drawing| drawing.draw(activity));
    }
}

fn draw_segment<W: Write>(
    timeline: &mut Timeline<W>,
    names: ResourceNames<'_>,
    track: Track,
    segment: &Segment,
) -> io::Result<()> {
    let name = match segment.waits {
        true => format!("waits for {}", segment.at.name(names)),
        false => segment.at.name(names),
    };
    let mut arguments = vec![("part", Argument::Text(segment.part.name()))];
    if let Some(trace) = segment.trace {
        arguments.push(("trace", Argument::Text(names.image.name(trace))));
    }
    let slice = Slice {
        name: &name,
        category: if segment.waits { "wait" } else { "work" },
        arguments: &arguments,
        ..Slice::default()
    };
    let times = (whole_ns(segment.from), whole_ns(segment.until));
    timeline.slice(track, times, &slice)
}

/// Perfetto counts whole ns. Rounding down keeps the order of moments.
fn whole_ns(time: Time) -> u64 {
    time.as_ps() / 1_000
}
