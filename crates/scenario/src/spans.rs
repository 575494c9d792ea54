//! Export of the simulated requests of a scenario as spans.

use std::io::{self, Write};

use accelflow_import::{SpanWriter, Wait};
use accelflow_parameters::Refusal;
use accelflow_sim::compare::observe;
use accelflow_sim::plan::{ChainPlan, PhasePlan, Plan, ServicePlan};
use accelflow_sim::{Awaited, Observer, RequestEvent, Seen};
use accelflow_units::Time;

use crate::checked::Checked;
use crate::error::{ScenarioError, engine};
use crate::options::RunOptions;
use crate::setup::Setup;

impl Checked {
    /// Simulates the scenario, which must have one system and one chip, and writes spans to `out`:
    /// those of all requests that end, with or without a response. This includes the requests of
    /// the warm-up and the requests that services send to each other. The format is OTLP
    /// (OpenTelemetry), one line of JSON per request. Returns the number of written requests.
    /// `progress` is called as in [`Checked::run_beside`]; if it returns `false`, the result is
    /// `None`, and `out` has part of the spans.
    ///
    /// # Errors
    /// [`ScenarioError`] for several systems or chips, a scenario that the simulator cannot run, or
    /// a failed write.
    pub fn write_spans(
        &self,
        out: impl Write + Send,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Option<u64>, ScenarioError> {
        if self.systems.len() != 1 {
            let allowed = "must be a single system: one file holds the spans of one system";
            let names: Vec<&str> = self.systems.iter().map(|system| system.id()).collect();
            return Err(Refusal::new("orchestrators", names.join(", "), allowed).into());
        }
        let [server] = &self.servers[..] else {
            let allowed = "must be a single chip: one file holds the spans of one chip";
            return Err(Refusal::new("chips", self.servers.len(), allowed).into());
        };
        let setup = Setup::new(self, server)?;
        let mut writer = SpanWriter::new(&self.services, out);
        for (index, service) in setup.plan.services.iter().enumerate() {
            writer = writer.with_detached(index, detached(service).count());
        }
        let mut spans = Spans {
            plan: &setup.plan,
            writer,
            failed: None,
        };
        let comparison = setup.comparison(self, &RunOptions::default());
        let ended = observe(&comparison, 0, &mut spans, progress).map_err(engine)?;
        let written = match spans.failed {
            None => spans.writer.finish(),
            Some(error) => Err(error),
        };
        let (_, spans) = written.map_err(engine)?;
        Ok(ended.map(|()| spans))
    }
}

/// The detached chains of a service.
fn detached(service: &ServicePlan) -> impl Iterator<Item = &ChainPlan> {
    let chains = service.phases.iter().flat_map(|phase| match phase {
        PhasePlan::Cpu(_) => [].iter(),
        PhasePlan::Chains(chains) => chains.iter(),
    });
    chains.filter(|chain| chain.detached)
}

struct Spans<'p, W> {
    plan: &'p Plan,
    writer: SpanWriter<W>,
    /// The first error of writing.
    failed: Option<io::Error>,
}

impl<W: Write> Observer for Spans<'_, W> {
    fn see(&mut self, seen: &Seen) {
        let (service, request, at) = (seen.service, seen.request, ns(seen.at));
        let phases = &self.plan.services[service].phases;
        let wait = |awaited: Awaited| Wait {
            phase: awaited.phase,
            chain: awaited.chain,
            trace: self.plan.image.name(awaited.trace),
            compressed: awaited.compressed,
            detached: match phases.get(awaited.phase) {
                Some(PhasePlan::Chains(chains)) => chains
                    .get(awaited.chain)
                    .is_some_and(|chain| chain.detached),
                _ => false,
            },
        };
        match seen.what {
            RequestEvent::Arrived => self.writer.arrived(service, request, at),
            RequestEvent::Invoked => self.writer.invoked(service, request, at),
            RequestEvent::Application(time) => {
                self.writer.application(service, request, at, ns(time));
            }
            RequestEvent::Sent(awaited) => self.writer.sent(service, request, at, wait(awaited)),
            RequestEvent::Called {
                service: callee,
                request: number,
            } => self.writer.called(service, request, (callee, number)),
            RequestEvent::Answered(awaited) => {
                let written = self.writer.answered(service, request, at, wait(awaited));
                self.keep(written);
            }
            RequestEvent::TimedOut(awaited) => {
                let written = self.writer.timed_out(service, request, at, wait(awaited));
                self.keep(written);
            }
            RequestEvent::Responded { error, chain } => {
                let error = error.then_some(chain);
                let written = self.writer.responded(service, request, at, error);
                self.keep(written);
            }
            RequestEvent::Terminated { chain } => {
                let error = Some(Some(chain));
                let written = self.writer.responded(service, request, at, error);
                self.keep(written);
            }
        }
    }
}

impl<W> Spans<'_, W> {
    /// Keeps the first error of writing.
    fn keep(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}

/// `time` in whole ns.
fn ns(time: Time) -> u64 {
    time.as_ns_f64().round() as u64
}
