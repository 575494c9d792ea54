//! The simulation of several servers whose services call each other. The server with the earliest
//! event always proceeds first.

use std::sync::atomic::Ordering;

use accelflow_units::Time;

use super::engine::{EVENTS_BETWEEN_LOOKS, Engine, check_time};
use super::error::SimError;
use super::run::Watch;
use crate::stats::SimulationResult;

/// Servers under simulation, in the order of their numbers.
pub(crate) struct Servers<'r> {
    numbers: Vec<usize>,
    engines: Vec<Engine<'r>>,
}

impl<'r> Servers<'r> {
    /// The servers with these numbers, before the first event.
    pub(crate) fn new(servers: Vec<(usize, Engine<'r>)>) -> Servers<'r> {
        let (numbers, engines) = servers.into_iter().unzip();
        Servers { numbers, engines }
    }

    /// Simulates until nothing is left to do or `watch` stops the run: the outcomes, in the order
    /// of the servers.
    pub(crate) fn run(mut self, watch: Option<&Watch>) -> Result<Vec<SimulationResult>, SimError> {
        for engine in &mut self.engines {
            engine.begin();
        }
        self.share_progress(Time::ZERO);
        let (mut events, mut stopped) = (0_u64, false);
        while !stopped && let Some((index, until)) = self.earliest() {
            stopped = self.advance(index, until, &mut events, watch)?;
            self.deliver(index);
        }
        self.engines
            .into_iter()
            .map(|engine| Ok(engine.finish(stopped)?.0))
            .collect()
    }

    /// The server with the earliest event, and the earliest event of the others. Of events at the
    /// same time the one of the lowest server is first.
    fn earliest(&self) -> Option<(usize, (Time, usize))> {
        let next = |(index, engine): (usize, &Engine<'_>)| Some((engine.next_time()?, index));
        let (mut first, mut second) = (None, (Time::MAX, usize::MAX));
        for event in self.engines.iter().enumerate().filter_map(next) {
            match first {
                Some(least) if least < event => second = second.min(event),
                Some(least) => (first, second) = (Some(event), least),
                None => first = Some(event),
            }
        }
        first.map(|(_, index)| (index, second))
    }

    /// Runs a server up to the event `until` of another server, or to a message to another server.
    /// Returns whether `watch` stops the run.
    fn advance(
        &mut self,
        index: usize,
        until: (Time, usize),
        events: &mut u64,
        watch: Option<&Watch>,
    ) -> Result<bool, SimError> {
        while !self.engines[index].calls.has_posted()
            && let Some(now) = self.engines[index].next_time()
            && (now, index) < until
        {
            self.engines[index].go_on_until(until.0);
            let arrived = self.engines[index].step().map_err(|failure| *failure)?;
            if arrived.is_some_and(|arrived| arrived) {
                self.share_progress(now);
            }
            *events += 1;
            if events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                check_time(now)?;
                if self.stopped(watch) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Delivers the messages of a server to others.
    fn deliver(&mut self, index: usize) {
        for envelope in self.engines[index].calls.take_posted() {
            if let Ok(to) = self.numbers.binary_search(&envelope.server) {
                self.engines[to].receive(envelope.message, envelope.at);
            }
        }
    }

    /// Tells each server how far the loads of the others are. The measured window is that of all:
    /// it begins when all loads are past their warm-ups, and ends when all counted requests have
    /// arrived.
    fn share_progress(&mut self, now: Time) {
        let warm: Vec<bool> = self.engines.iter().map(|e| e.arrivals.own_warm()).collect();
        let ended: Vec<bool> = self
            .engines
            .iter()
            .map(|e| e.arrivals.own_ended())
            .collect();
        let others = |all: &[bool], own: usize| {
            let mut others = all.iter().enumerate().filter(|(index, _)| *index != own);
            others.all(|(_, done)| *done)
        };
        for (index, engine) in self.engines.iter_mut().enumerate() {
            let (warm, ended) = (others(&warm, index), others(&ended, index));
            engine.arrivals.set_others(warm, ended);
            engine.open_window(now);
            if engine.arrivals.have_ended() {
                engine.close_window(now);
            }
        }
    }

    /// Reports the progress to the watch. Returns whether it stops the run.
    fn stopped(&self, watch: Option<&Watch>) -> bool {
        watch.is_some_and(|watch| {
            let ended: u64 = self.engines.iter().map(Engine::ended).sum();
            watch.ended.store(ended, Ordering::Relaxed);
            watch.stop.load(Ordering::Relaxed)
        })
    }
}
