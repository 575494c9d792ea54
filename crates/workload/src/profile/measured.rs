//! Cost profiles from recordings.

use accelflow_parameters::Provenance;
use accelflow_trace::{Accel, Image};
use accelflow_units::{Bytes, Time};

use super::checks::{COSTS_NS, check_calibration, check_names, check_sizes, time};
use super::cost::{ASSUMED_SIZE_SHARES, Cost, Payload};
use super::number::{ProfileParameter, number};
use super::paper::{PAPER_SHARES, ShareKind};
use super::quantiles::distribution;
use super::recording::{
    Direction, FORMAT, READ_VERSIONS, RecordedPhase, RecordedService, RecordedStep, Recording,
    RecordingError, Spot,
};
use super::services::{
    Drawn, OperationProfile, OutsideTimes, PhaseProfile, Profile, ServiceProfile,
};
use super::size_shares::SizeShares;
use super::waits::{RemoteWaits, WaitDistribution};
use crate::services::{ChainWalk, Operation, PhaseWalk, RecordedRequests, Service};

/// Whether the costs from a recording are the medians of the recorded times, or are drawn from the
/// distributions of the recorded times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecordedTimes {
    /// Every request takes the recorded medians; the cost of an operation also depends on the size
    /// of the request's message ([`Cost::at`]). Time outside of accelerator calls and application
    /// logic (kernel, sockets, scheduling) is left out.
    #[default]
    Median,
    /// Each request takes times drawn from the recorded distributions, including the time outside
    /// of accelerator calls and application logic (kernel, sockets, scheduling). For operations and
    /// application logic without a recorded distribution, the medians are used; time outside of
    /// both without one is left out. Recordings before version 4 have no distributions.
    Distribution,
}

/// Options of [`Profile::from_recording`]: values that a recording does not contain, and whether
/// medians or distributions of its times are used.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingOptions {
    /// The share of each operation's cost that is proportional to the payload's size, indexed by
    /// [`Accel::index`]; by default [`ASSUMED_SIZE_SHARES`]. Custom accelerators have 0.5.
    ///
    /// It is used only for accelerators whose share cannot be measured from the recording. To
    /// measure the share, the recording must have enough calls grouped by size (from version 5 on),
    /// and the standard error of the share must be at most 0.1.
    pub size_shares: [f64; Accel::COUNT],
    /// The times that remote sides take to answer; by default [`RemoteWaits::short`].
    pub waits: RemoteWaits,
    /// Whether the profile uses medians or distributions of the recorded times; by default medians.
    /// Medians are the default because a comparison of systems needs the same costs for all, and
    /// because the recording machine itself causes some of the longest times in a distribution.
    pub times: RecordedTimes,
}

impl Default for RecordingOptions {
    fn default() -> RecordingOptions {
        RecordingOptions {
            size_shares: ASSUMED_SIZE_SHARES,
            waits: RemoteWaits::short(),
            times: RecordedTimes::Median,
        }
    }
}

impl Profile {
    /// Creates the costs of `services` from the measurements in `recording`, operation by
    /// operation. `image` has the services' traces. Services of the recording that are not in
    /// `services` are ignored.
    ///
    /// CPU phases (phases of application logic) that were not measured all take the same time in a
    /// service. If all CPU phases of the service took this time, application logic would be 20.7 %
    /// of the core time of an invocation, as in the AccelFlow paper.
    ///
    /// # Errors
    /// [`RecordingError`] for an unknown format or version, if the recording lacks one of
    /// `services` or has a service twice, if operations or requests do not fit the service's path
    /// in `image`, or if a number is out of its range.
    pub fn from_recording(
        recording: &Recording,
        services: &[Service],
        image: &Image,
        options: &RecordingOptions,
    ) -> Result<Profile, RecordingError> {
        check_header(recording)?;
        check_names(recording)?;
        let used = recording.services.iter().filter(|recorded| {
            let mut names = services.iter().map(Service::name);
            names.any(|name| name == recorded.service)
        });
        let shares = SizeShares::new(used, image, &options.size_shares);
        let mut parameters = vec![];
        let mut profiles = Vec::with_capacity(services.len());
        for service in services {
            let recorded = recording
                .services
                .iter()
                .find(|recorded| recorded.service == service.name());
            let reader = Reader {
                recorded: recorded.ok_or_else(|| missing(service, recording))?,
                image,
                options,
                shares: &shares,
            };
            check_calibration(reader.recorded)?;
            let mut profile = reader.profile(service, &service.walk(image)?)?;
            profile.requests = super::requests::read(reader.recorded, service, image)?;
            parameters.extend(reader.parameters(&profile, recording));
            profiles.push(profile);
        }
        parameters.extend(shares.parameters());
        Ok(Profile::new(profiles, options.waits.clone(), parameters))
    }
}

fn check_header(recording: &Recording) -> Result<(), RecordingError> {
    if recording.format != FORMAT {
        return Err(RecordingError::Format(recording.format.clone()));
    }
    if READ_VERSIONS.contains(&recording.version) {
        return Ok(());
    }
    Err(RecordingError::Version(recording.version))
}

fn missing(service: &Service, recording: &Recording) -> RecordingError {
    let names: Vec<&str> = recording
        .services
        .iter()
        .map(|recorded| &*recorded.service)
        .collect();
    let found = match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    RecordingError::MissingService {
        service: service.name().to_owned(),
        found,
    }
}

/// Reads one service of a recording.
struct Reader<'a> {
    recorded: &'a RecordedService,
    image: &'a Image,
    options: &'a RecordingOptions,
    shares: &'a SizeShares<'a>,
}

impl Reader<'_> {
    fn spot(&self, phase: usize) -> Spot {
        Spot {
            service: self.recorded.service.clone(),
            phase,
            chain: None,
            step: None,
        }
    }

    fn profile(
        &self,
        service: &Service,
        walks: &[PhaseWalk],
    ) -> Result<ServiceProfile, RecordingError> {
        let recorded = &self.recorded.phases;
        if recorded.len() != walks.len() {
            let spot = self.spot(recorded.len().min(walks.len()));
            let found = format!("{} phases in all", recorded.len());
            return Err(path_error(
                spot,
                format!("{} phases in all", walks.len()),
                found,
            ));
        }
        let mut phases = Vec::with_capacity(walks.len());
        for (phase, (walk, recorded)) in walks.iter().zip(recorded).enumerate() {
            phases.push(self.phase(self.spot(phase), walk, recorded)?);
        }
        let mut profile = ServiceProfile {
            service: service.clone(),
            phases,
            requests: RecordedRequests::default(),
            drawn: self.drawn()?,
            stated: Vec::new(),
        };
        let app = self.unmeasured_app_time(&profile);
        for (phase, recorded) in profile.phases.iter_mut().zip(recorded) {
            if matches!(recorded, RecordedPhase::Cpu { app_ns: None, .. }) {
                *phase = PhaseProfile::Cpu(app);
            }
        }
        Ok(profile)
    }

    /// The time of a CPU phase, from the paper's share of application logic.
    fn unmeasured_app_time(&self, profile: &ServiceProfile) -> Time {
        let tax_ns: f64 = profile
            .operations()
            .map(|operation| operation.cost.mean().as_ns_f64())
            .sum();
        let app = PAPER_SHARES[ShareKind::App as usize];
        let tax = PAPER_SHARES.iter().sum::<f64>() - app;
        let phases = profile.service.cpu_phases().max(1);
        Time::from_ns_f64(tax_ns * app / tax / phases as f64)
    }

    fn phase(
        &self,
        spot: Spot,
        walk: &PhaseWalk,
        recorded: &RecordedPhase,
    ) -> Result<PhaseProfile, RecordingError> {
        match (walk, recorded) {
            (PhaseWalk::Cpu, RecordedPhase::Cpu { app_ns: None, .. }) => {
                Ok(PhaseProfile::Cpu(Time::ZERO))
            }
            (
                PhaseWalk::Cpu,
                RecordedPhase::Cpu {
                    app_ns: Some(app_ns),
                    samples,
                    ..
                },
            ) => {
                let median = time(*app_ns, *samples, "app_ns", &spot)?;
                let spread = self.app_spread(&spot, recorded)?;
                Ok(PhaseProfile::Cpu(
                    spread.map_or(median, |spread| spread.mean()),
                ))
            }
            (PhaseWalk::Traces(walks), RecordedPhase::Chains(chains)) => {
                if walks.len() != chains.len() {
                    let expected = format!("{} chains", walks.len());
                    return Err(path_error(
                        spot,
                        expected,
                        format!("{} chains", chains.len()),
                    ));
                }
                let read = walks
                    .iter()
                    .zip(chains)
                    .enumerate()
                    .map(|(chain, (walk, recorded))| {
                        self.chain(
                            &Spot {
                                chain: Some(chain),
                                ..spot.clone()
                            },
                            walk,
                            &recorded.steps,
                        )
                    });
                Ok(PhaseProfile::Traces(read.collect::<Result<_, _>>()?))
            }
            (PhaseWalk::Cpu, RecordedPhase::Chains(_)) => Err(path_error(
                spot,
                "application logic".to_owned(),
                "chains".to_owned(),
            )),
            (PhaseWalk::Traces(_), RecordedPhase::Cpu { .. }) => Err(path_error(
                spot,
                "chains".to_owned(),
                "application logic".to_owned(),
            )),
        }
    }

    fn chain(
        &self,
        chain: &Spot,
        walk: &ChainWalk,
        steps: &[RecordedStep],
    ) -> Result<Vec<OperationProfile>, RecordingError> {
        let length = walk.operations.len().max(steps.len());
        let mut profiles = Vec::with_capacity(length);
        for index in 0..length {
            let spot = Spot {
                step: Some(index),
                ..chain.clone()
            };
            match (walk.operations.get(index), steps.get(index)) {
                (Some(operation), Some(step)) => {
                    profiles.push(self.step(&spot, operation, step)?);
                }
                (operation, step) => {
                    let end = || "the end of the chain".to_owned();
                    let found = step.map_or_else(end, |step| {
                        format!("{} in {}", step.accelerator, step.trace)
                    });
                    return Err(path_error(
                        spot,
                        operation.map_or_else(end, describe),
                        found,
                    ));
                }
            }
        }
        Ok(profiles)
    }

    fn step(
        &self,
        spot: &Spot,
        operation: &Operation,
        step: &RecordedStep,
    ) -> Result<OperationProfile, RecordingError> {
        let accel = self.image.accelerator(&step.accelerator).ok_or_else(|| {
            let (spot, name) = (spot.clone(), step.accelerator.clone());
            RecordingError::UnknownAccelerator { spot, name }
        })?;
        let receives = accel == Accel::Tcp && step.direction == Direction::Receive;
        if accel != operation.accel
            || step.trace != operation.trace
            || receives != operation.receives
        {
            let trace = step.trace.clone();
            let found = Operation {
                trace,
                accel,
                receives,
                arm: operation.arm,
            };
            return Err(path_error(
                spot.clone(),
                describe(operation),
                describe(&found),
            ));
        }
        let median = time(step.cost_ns, step.samples, "cost_ns", spot)?;
        let spread = self.spread(&step.cost_quantiles_ns, "cost_quantiles_ns", &|| {
            spot.to_string()
        })?;
        check_sizes(step, spot)?;
        let payload = Payload {
            input: Bytes(step.input_bytes),
            output: Bytes(step.output_bytes),
        };
        Ok(OperationProfile {
            operation: operation.clone(),
            // A recorded distribution already includes the variation of message sizes.
            cost: match &spread {
                Some(spread) => Cost::new(spread.mean(), 0.0),
                None => Cost::new(median, self.shares.of(accel, step)),
            },
            payload: Some(payload),
            spread,
        })
    }

    /// The distribution that `table` describes, if distributions are used. It is checked in any
    /// case.
    fn spread(
        &self,
        table: &[(f64, f64)],
        member: &'static str,
        place: &dyn Fn() -> String,
    ) -> Result<Option<WaitDistribution>, RecordingError> {
        let found = distribution(table, *COSTS_NS.start(), member, place)?;
        Ok(found.filter(|_| self.options.times == RecordedTimes::Distribution))
    }

    fn app_spread(
        &self,
        spot: &Spot,
        recorded: &RecordedPhase,
    ) -> Result<Option<WaitDistribution>, RecordingError> {
        match recorded {
            RecordedPhase::Cpu {
                app_ns: Some(_),
                app_quantiles_ns,
                ..
            } => self.spread(app_quantiles_ns, "app_quantiles_ns", &|| spot.to_string()),
            _ => Ok(None),
        }
    }

    /// The times that vary from request to request, other than the costs of operations.
    fn drawn(&self) -> Result<Drawn, RecordingError> {
        let phases = self.recorded.phases.iter().enumerate();
        let app = phases.map(|(phase, recorded)| self.app_spread(&self.spot(phase), recorded));
        Ok(Drawn {
            app: app.collect::<Result<_, _>>()?,
            outside: self.outside()?,
        })
    }

    fn outside(&self) -> Result<OutsideTimes, RecordingError> {
        let Some(outside) = &self.recorded.outside else {
            return Ok(OutsideTimes::default());
        };
        let (core, client) = (&outside.core_quantiles_ns, &outside.client_quantiles_ns);
        let service = || self.recorded.service.clone();
        if outside.samples == 0 || (core.is_empty() && client.is_empty()) {
            return Err(RecordingError::EmptyOutside(service()));
        }
        let place = || format!("service {}, outside", service());
        let used = self.options.times == RecordedTimes::Distribution;
        let read = |table: &[(f64, f64)], member| {
            let found = distribution(table, 0.0, member, &place);
            found.map(|times| times.filter(|_| used))
        };
        Ok(OutsideTimes {
            core: read(core, "core_quantiles_ns")?,
            client: read(client, "client_quantiles_ns")?,
        })
    }

    /// The parameters of the phases' times. (Those of operations are in the profile itself, all
    /// measured.)
    fn parameters(&self, profile: &ServiceProfile, recording: &Recording) -> Vec<ProfileParameter> {
        let name = &self.recorded.service;
        let operations = profile.core_time().saturating_sub(profile.app_time());
        let mut list = vec![number(
            format!("{name}.operations_ns"),
            operations.as_ns_f64(),
            Provenance::Measured,
            format!(
                "sum of the recorded {}; {}, {}",
                match self.options.times {
                    RecordedTimes::Median => "medians",
                    RecordedTimes::Distribution => "distributions' means",
                },
                recording.machine,
                recording.date
            ),
        )];
        for (index, phase) in profile.phases.iter().enumerate() {
            let PhaseProfile::Cpu(time) = phase else {
                continue;
            };
            let measured = !matches!(
                self.recorded.phases[index],
                RecordedPhase::Cpu { app_ns: None, .. }
            );
            let (provenance, source) = match measured {
                true if profile.app_spread(index).is_some() => {
                    (Provenance::Measured, "mean of the recorded distribution")
                }
                true => (Provenance::Measured, "recorded median"),
                false => (
                    Provenance::Derived,
                    "the paper's share of application logic",
                ),
            };
            let key = format!("{name}.phase_{index}.app_ns");
            list.push(number(key, time.as_ns_f64(), provenance, source));
        }
        let OutsideTimes { core, client } = profile.outside();
        for (place, times) in [("core", core), ("client", client)] {
            if let Some(times) = times {
                let key = format!("{name}.outside_{place}_ns");
                let source = "mean of the recorded time of a request outside of its steps";
                let mean_ns = times.mean().as_ns_f64();
                list.push(number(key, mean_ns, Provenance::Measured, source));
            }
        }
        list
    }
}

fn path_error(spot: Spot, expected: String, found: String) -> RecordingError {
    RecordingError::Path {
        spot,
        expected,
        found,
    }
}

fn describe(operation: &Operation) -> String {
    let way = match (operation.accel, operation.receives) {
        (Accel::Tcp, true) => " (receive)",
        (Accel::Tcp, false) => " (send)",
        _ => "",
    };
    format!("{}{way} in {}", operation.accel, operation.trace)
}
