//! Runs simulations.

use std::sync::atomic::Ordering;

use super::engine::Engine;
use super::error::SimError;
use super::observer::Observer;
use super::run::{Run, Watch};
use crate::stats::{Operated, Outcome};

/// Simulates `run` until every request has ended.
///
/// # Errors
/// [`SimError`] for an invalid server, plan or load.
pub fn simulate(run: &Run<'_>) -> Result<Outcome, SimError> {
    let config = run.config.with_generation_costs();
    Ok(Engine::new(&run.on(&config))?.run()?.0)
}

/// Simulates like [`simulate`] until `watch` asks to stop; `None` if it did.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_watched(run: &Run<'_>, watch: &Watch) -> Result<Option<Outcome>, SimError> {
    let config = run.config.with_generation_costs();
    let engine = Engine::new(&run.on(&config))?.watched_by(watch);
    let (outcome, _) = engine.run()?;
    Ok((!watch.stop.load(Ordering::Relaxed)).then_some(outcome))
}

/// Simulates like [`simulate`] and shows `observer` what happens to each request.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_observed(run: &Run<'_>, observer: &mut dyn Observer) -> Result<Outcome, SimError> {
    let config = run.config.with_generation_costs();
    let engine = Engine::new(&run.on(&config))?.observed_by(observer);
    Ok(engine.run()?.0)
}

/// Simulates like [`simulate`] and also reports every operation, in the order of simulated time.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_logged(run: &Run<'_>) -> Result<(Outcome, Vec<Operated>), SimError> {
    let config = run.config.with_generation_costs();
    Engine::new(&run.on(&config))?.with_log().run()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use accelflow_trace::{Accel, templates};
    use accelflow_units::Time;
    use accelflow_workload::arrivals::ArrivalProcess;
    use accelflow_workload::profile::{PaperOptions, Profile};
    use accelflow_workload::services::social_network;
    use accelflow_workload::sizes::{PayloadSizes, SizePreset};

    use super::*;
    use crate::config::Config;
    use crate::orchestrators::AccelFlow;
    use crate::plan::Plan;
    use crate::server::run::Load;
    use crate::server::state::Unit;

    #[test]
    fn a_run_whose_requests_cannot_end_is_refused() {
        let (image, services) = (
            templates().unwrap().link().unwrap(),
            social_network().unwrap(),
        );
        let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
        let sizes = PayloadSizes::preset(SizePreset::Fleet);
        let plan = Plan::new(&profile, &image, &sizes).unwrap();
        let arrivals = ArrivalProcess::Trace(vec![Time::from_us(1)]);
        let run = Run {
            config: &Config::default(),
            plan: &plan,
            orchestrator: &AccelFlow,
            loads: &[Load::new(0, arrivals, 1, 0)],
            seed: 1,
        };
        // Nobody will free this entry.
        let mut engine = Engine::new(&run).unwrap();
        let unit = Unit {
            accel: Accel::Ser,
            instance: 0,
            share: 0,
        };
        assert!(engine.ensemble.station_mut(unit).reserve_input());
        let error = engine.run().unwrap_err();
        let found = error.to_string();
        assert!(found.starts_with("0 requests can never end"), "{found}");
        assert!(
            found.ends_with(": 0 traces are in flight, Ser is not idle"),
            "{found}"
        );
        let engine = Engine::new(&run).unwrap();
        assert!(engine.run().unwrap().0.totals.drained);
    }
}
