//! Timelines of simulated scenarios.

use std::io::Write;

use accelflow_parameters::Refusal;
use accelflow_sim::compare::observe;
use accelflow_timeline::Timeline;
use accelflow_units::Time;

use super::drawing::Drawing;
use super::fates::{Fate, Fates, Selection};
use super::resource::ResourceNames;
use super::times::Stretches;
use crate::checked::Checked;
use crate::error::{ScenarioError, engine};
use crate::options::RunOptions;
use crate::setup::Setup;

/// The largest number of requests in a timeline, over all systems. For SocialNetwork, a request
/// takes about 40 kB of the file, including the activity of the hardware.
pub const MAX_TIMELINE_REQUESTS: u64 = 10_000;

/// The choice of requests that a timeline shows. A request from a client is shown if it passes all
/// filters. Requests that services send to each other are not shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimelineOptions {
    /// The start of the time window, from the start of the simulation. Only requests that arrive in
    /// this window are shown.
    pub from: Time,
    /// The length of the time window; `None` means up to the end of the simulation.
    pub length: Option<Time>,
    /// The names of the services whose requests are shown; all services if empty.
    pub services: Vec<String>,
    /// The indices of the shown requests, counted from 0 among the clients' requests to each
    /// service in the order of arrival; all requests if empty.
    pub requests: Vec<u64>,
    /// The largest number of requests shown of each service under each system: the slowest ones
    /// that pass the other filters. `None` means all requests.
    pub slowest: Option<u64>,
}

/// The number of systems and requests in a written timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The number of simulated systems; with several chips, each system counts once per chip.
    pub systems: u64,
    /// The number of shown requests, over all systems.
    pub requests: u64,
}

/// The advice for a timeline with too many requests.
const NARROW: &str = "show a window of time, some services, some requests by number, or only the \
    slowest (in Python with Shown; options --timeline-from, --timeline-for, --timeline-service, \
    --timeline-request and --timeline-slowest)";

impl Checked {
    /// Simulates the scenario and writes a timeline of the simulation to `out`, in Perfetto's
    /// format. Each server of each system has a group of rows; all groups share one axis of
    /// simulated time.
    ///
    /// The timeline shows the requests that pass the filters of `options`, and the activity of the
    /// hardware from the start of the time window to its end or, if that is later, to the end of
    /// the last shown request. With a filter by service, index or slowness, it shows the hardware
    /// only while the shown requests were in progress. Each system is simulated twice, first to
    /// find the requests to show, then to draw them. `progress` is called as in
    /// [`Checked::run_beside`], but separately for each simulation. If `progress` returns `false`,
    /// the result is `None`, and `out` has part of a timeline.
    ///
    /// # Errors
    /// [`ScenarioError`] for options that are not allowed, for no requests or more than
    /// [`MAX_TIMELINE_REQUESTS`] to show, for a scenario that the simulator cannot run, or for a
    /// failed write.
    pub fn write_timeline(
        &self,
        options: &TimelineOptions,
        out: impl Write + Send,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Option<Written>, ScenarioError> {
        let selection = self.selection(options)?;
        let name = format!("simulated {}", self.hash()?);
        let mut timeline = Timeline::new(&name, out);
        let services = self.service_names();
        let mut written = Written {
            systems: 0,
            requests: 0,
        };
        for (chip, server) in self.servers.iter().enumerate() {
            let setup = Setup::new(self, server)?;
            let comparison = setup.comparison(self, &RunOptions::default());
            if !selection.is_filter() && options.length.is_none() && options.from == Time::ZERO {
                let counted = (0..services.len()).map(|service| comparison.counted(service));
                let runs = self.systems.len() as u64 * self.servers.len() as u64;
                self.check_count(counted.fold(0, u64::saturating_add).saturating_mul(runs))?;
            }
            for (system, orchestrator) in self.systems.iter().enumerate() {
                let most = MAX_TIMELINE_REQUESTS as usize;
                let mut fates = Fates::new(&selection, most);
                let chosen = observe(&comparison, system, &mut fates, progress).map_err(engine)?;
                if chosen.is_none() {
                    return Ok(None);
                }
                self.check_count(written.requests.saturating_add(fates.found))?;
                let shown = fates.finish();
                let label = match self.resolved.chips.get(chip) {
                    Some(chip) if self.servers.len() > 1 => {
                        format!("{} on {}", orchestrator.id(), chip.name)
                    }
                    _ => orchestrator.id().to_owned(),
                };
                let stretches = stretches(&selection, &shown);
                let names = ResourceNames::new(&setup, &services);
                let mut drawing = Drawing::new(&mut timeline, label, names, &shown, stretches);
                let drawn = observe(&comparison, system, &mut drawing, progress).map_err(engine)?;
                if drawn.is_none() {
                    return Ok(None);
                }
                drawing.finish().map_err(engine)?;
                written.systems += 1;
                written.requests += shown.len() as u64;
            }
        }
        if written.requests == 0 {
            let allowed = "must have at least one request that arrives in the time window and passes the filters";
            return Err(Refusal::new("timeline", "0 requests", allowed).into());
        }
        timeline.finish().map_err(engine)?;
        Ok(Some(written))
    }

    fn check_count(&self, requests: u64) -> Result<(), ScenarioError> {
        if requests <= MAX_TIMELINE_REQUESTS {
            return Ok(());
        }
        let rate_rps = self.resolved.rate_rps * self.services.len() as f64;
        let each = MAX_TIMELINE_REQUESTS as f64 / (self.systems.len() * self.servers.len()) as f64;
        let allowed = format!(
            "must be at most {MAX_TIMELINE_REQUESTS} over all systems, as many as arrive in \
             about {:.0} us: {NARROW}",
            each / rate_rps * 1e6
        );
        let value = format!("{requests} requests");
        Err(Refusal::new("timeline", value, allowed).into())
    }

    fn selection(&self, options: &TimelineOptions) -> Result<Selection, ScenarioError> {
        if options.length == Some(Time::ZERO) {
            return Err(Refusal::new("timeline window", "0 us", "must be longer than 0 us").into());
        }
        if options.slowest == Some(0) {
            return Err(
                Refusal::new("slowest requests per service", "0", "must be at least 1").into(),
            );
        }
        let services = options.services.iter().map(|name| self.service_index(name));
        Ok(Selection {
            window: (
                options.from,
                options.length.map(|length| options.from + length),
            ),
            services: services.collect::<Result<_, _>>()?,
            numbers: options.requests.clone(),
            slowest: options.slowest.map(|slowest| slowest as usize),
        })
    }

    /// The names of the services, in the order of the results.
    pub(crate) fn service_names(&self) -> Vec<String> {
        let names = self.services.iter().map(|service| service.name());
        names.map(str::to_owned).collect()
    }

    /// The index of the service called `name`.
    pub(crate) fn service_index(&self, name: &str) -> Result<usize, ScenarioError> {
        let names = || self.services.iter().map(|service| service.name());
        let index = names().position(|service| service == name);
        index.ok_or_else(|| Refusal::unknown("service", name, names()).into())
    }
}

/// The stretches of time in which the hardware is shown.
fn stretches(selection: &Selection, shown: &Fate) -> Stretches {
    let lives = shown.values().copied();
    if selection.is_filter() {
        return Stretches::of(lives.collect());
    }
    let (from, until) = selection.window;
    // Requests that arrive in the window are shown to their ends, and the hardware with them.
    let last = lives.map(|(_, responded)| responded).max().unwrap_or(from);
    Stretches::of(vec![(from, until.unwrap_or(last).max(last))])
}
