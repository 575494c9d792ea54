//! The check of a plan file, which turns its fields into a platform and admission requests.

use accelflow_parameters::Refusal;
use accelflow_units::{Bytes, Time};
use serde_json::Value;

use super::error::{Key, PlanError};
use super::file::{AcceleratorTable, ArrivalKind, FlowTable, Pair, PlanFile, PromiseClass};
use super::platform::platform_of;
use super::schema::read;
use crate::control::{
    AdmissionRequest, Availability, LatencySlo, Manager, ProfileTable, Rate, STORAGE, ServiceClass,
};
use crate::{Arrivals, Platform, PlatformError, Settings, Sizes, parameters};

/// The number of messages at the promised rate in a period: by default, so that one message is 1 %,
/// and at least.
const PERIOD_MESSAGES: f64 = 100.0;
const LEAST_PERIOD_MESSAGES: f64 = 10.0;
/// The shortest period by default, in microseconds.
const LEAST_PERIOD_US: f64 = 100.0;
/// The defaults of a managed burst.
const BURST_FACTOR: f64 = 10.0;
const WINDOW_US: u64 = 1_000_000;

/// A flow of a plan: its admission request, its arrival process, and the times at which it asks for
/// admission and leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFlow {
    /// The flow's request for admission.
    pub request: AdmissionRequest,
    /// The arrival process of the flow's messages.
    pub arrivals: Arrivals,
    /// The simulated time when the flow asks for admission, counted from the end of the warm-up. A
    /// flow with 0 asks before the simulation and is present during the warm-up, too.
    pub from: Time,
    /// The simulated time when the flow leaves, counted from the end of the warm-up; `None` if it
    /// stays to the end.
    pub until: Option<Time>,
}

/// A plan that passed all checks, ready for [`plan`](super::plan).
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    /// The plan's fields as given.
    pub file: PlanFile,
    /// The platform that the plan describes.
    pub platform: Platform,
    /// The plan's flows, in the order of the plan file.
    pub flows: Vec<PlannedFlow>,
    /// The length and the seed of the plan's simulations.
    pub settings: Settings,
}

impl CheckedPlan {
    /// Reads and checks a plan, which is a JSON object with the fields of [`PlanFile`].
    ///
    /// # Errors
    /// [`PlanError`], with the path to the refused value, for the first value that is not allowed.
    pub fn from_json(value: &Value) -> Result<CheckedPlan, PlanError> {
        let file = read(value)?;
        let known = known_accelerators(&file)?;
        if file.storage_devices == 0 && file.storage != super::file::StorageTable::default() {
            let allowed = "must be left out unless storage_devices is above 0";
            let refusal = Refusal::new("plan: storage", "{...}", allowed);
            return Err(PlanError::of(keys(&["storage"]), refusal));
        }
        let mut flows = Vec::with_capacity(file.flow.len());
        for (number, flow) in file.flow.iter().enumerate() {
            let checked = FlowCheck {
                flow,
                known: &known,
            };
            let place = [Key::Name("flow".to_owned()), Key::Index(number)];
            let unique = checked.check_name(&file.flow[..number]);
            let planned = unique.and_then(|()| checked.planned(&file));
            flows.push(planned.map_err(|error| error.within(&place))?);
        }
        let platform = platform_of(&file)?;
        let settings = settings_of(&file);
        Ok(CheckedPlan {
            platform,
            flows,
            settings,
            file,
        })
    }

    /// Creates a control plane without flows for the plan's platform, with the capacities in
    /// `profiles`.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] if the plan's `oversubscription` is not from 1 to 100.
    pub fn manager(&self, profiles: ProfileTable) -> Result<Manager, PlatformError> {
        Manager::new(self.platform.clone())
            .with_profiles(profiles)
            .oversubscribed(self.file.oversubscription)
    }
}

/// The length and the seed of a plan's simulations.
fn settings_of(file: &PlanFile) -> Settings {
    Settings::lasting(Time::from_us(file.duration_us)).seeded(file.seed)
}

/// A time in whole microseconds, rounded down.
fn whole_us(time: Time) -> u64 {
    time.as_ps() / Time::from_us(1).as_ps()
}

fn keys(names: &[&str]) -> Vec<Key> {
    names
        .iter()
        .map(|name| Key::Name((*name).to_owned()))
        .collect()
}

/// The names of accelerators that flows may use.
fn known_accelerators(file: &PlanFile) -> Result<Vec<String>, PlanError> {
    let built_in = parameters::catalogue().into_iter();
    let mut known: Vec<String> = built_in.map(|accelerator| accelerator.name).collect();
    for (number, own) in file.accelerator.iter().enumerate() {
        let place = format!("accelerator '{}'", own.name);
        let refuse = |field: &str, refusal: Refusal| {
            let place = [Key::Name("accelerator".to_owned()), Key::Index(number)];
            PlanError::of([&place[..], &keys(&[field])].concat(), refusal)
        };
        if known.contains(&own.name) {
            let allowed =
                "must differ from built-in accelerators and from earlier ones of the plan";
            let name = accelflow_parameters::quoted(&own.name);
            return Err(refuse(
                "name",
                Refusal::new("accelerator: name", name, allowed),
            ));
        }
        if own.name == STORAGE {
            let allowed = "must not be 'storage', which stands for the SSDs";
            let refusal = Refusal::new(format!("{place}: name"), "'storage'", allowed);
            return Err(refuse("name", refusal));
        }
        check_curve(own, &place).map_err(|(field, message)| {
            let place = [Key::Name("accelerator".to_owned()), Key::Index(number)];
            let field: Vec<Key> = field.map(|field| keys(&[field])).unwrap_or_default();
            PlanError::of([&place[..], &field].concat(), message)
        })?;
        known.push(own.name.clone());
    }
    if file.storage_devices > 0 {
        known.push(STORAGE.to_owned());
    }
    Ok(known)
}

/// Checks that an accelerator has no fields that exclude each other. An error has the field, if it
/// is a single one, and the message.
fn check_curve(own: &AcceleratorTable, place: &str) -> Result<(), (Option<&'static str>, String)> {
    if own.peak_gbit_per_s.is_none() == own.points.is_none() {
        return Err((
            None,
            format!("{place}: needs peak_gbit_per_s or points, but not both"),
        ));
    }
    let number = |value: Option<f64>| value.map(accelflow_parameters::number_text);
    let whole = |value: Option<u64>| value.map(|value| value.to_string());
    let excluded = [
        (
            "setup_ns",
            number(own.setup_ns),
            own.points.is_some(),
            "points are given",
        ),
        (
            "block_bytes",
            whole(own.block_bytes),
            own.points.is_some(),
            "points are given",
        ),
        (
            "setup_ns",
            number(own.setup_ns),
            own.block_bytes.is_some(),
            "block_bytes is given",
        ),
        (
            "egress_ratio",
            number(own.egress_ratio),
            own.egress_bytes.is_some(),
            "egress_bytes is given",
        ),
    ];
    for (field, value, with, other) in excluded {
        if let (Some(value), true) = (value, with) {
            let allowed = format!("must be left out, since {other}");
            let refusal = Refusal::new(format!("{place}: {field}"), value, allowed);
            return Err((Some(field), refusal.to_string()));
        }
    }
    Ok(())
}

/// A flow that is being checked.
struct FlowCheck<'a> {
    flow: &'a FlowTable,
    known: &'a [String],
}

impl FlowCheck<'_> {
    fn place(&self) -> String {
        format!("flow '{}'", self.flow.name)
    }

    fn refuse(&self, field: &str, value: impl ToString, allowed: impl Into<String>) -> PlanError {
        let refusal = Refusal::new(format!("{}: {field}", self.place()), value, allowed);
        PlanError::of(keys(&[field]), refusal)
    }

    /// The error for fields that are missing.
    fn needs(&self, what: &str) -> PlanError {
        PlanError::of(Vec::new(), format!("{}: needs {what}", self.place()))
    }

    /// Checks the flow's name: results and commands refer to flows by their names, also to flows
    /// that were rejected or have left.
    fn check_name(&self, earlier: &[FlowTable]) -> Result<(), PlanError> {
        let name = &self.flow.name;
        let allowed = match () {
            () if name.trim().is_empty() => "must not be empty",
            () if earlier.iter().any(|flow| flow.name == *name) => {
                "must differ from the names of earlier flows of the plan"
            }
            () => return Ok(()),
        };
        let refusal = Refusal::new("flow: name", accelflow_parameters::quoted(name), allowed);
        Err(PlanError::of(keys(&["name"]), refusal))
    }

    fn planned(&self, file: &PlanFile) -> Result<PlannedFlow, PlanError> {
        self.check_accelerators()?;
        let sizes = self.sizes()?;
        self.check_times(file)?;
        self.check_burst()?;
        self.check_of_arrivals()?;
        let class = self.class();
        let (slo, also) = self.rates()?;
        let request = AdmissionRequest {
            name: self.flow.name.clone(),
            vm: self.flow.vm,
            accelerator: self.flow.accelerator.clone(),
            instead: self.flow.instead.clone(),
            then: self.flow.then.clone(),
            path: self.flow.path,
            other_paths: self.flow.other_paths.clone(),
            sizes,
            slo,
            also,
            class,
            availability: None,
            latency: self.flow.slo_latency_us.map(|most_us| LatencySlo {
                percent: self.flow.slo_latency_percentile,
                most: Time::from_ns_f64(most_us * 1e3),
            }),
            priority: self.flow.priority,
            burst: self.flow.slo_burst_messages,
        };
        let availability = self.availability(&request)?;
        Ok(PlannedFlow {
            arrivals: self.arrivals(&request.sizes)?,
            request: AdmissionRequest {
                availability,
                ..request
            },
            from: Time::from_us(self.flow.from_us),
            until: self.flow.until_us.map(Time::from_us),
        })
    }

    fn check_accelerators(&self) -> Result<(), PlanError> {
        let named = [("accelerator", std::slice::from_ref(&self.flow.accelerator))];
        let named = named.into_iter().chain([
            ("instead", &self.flow.instead[..]),
            ("then", &self.flow.then[..]),
        ]);
        for (field, names) in named {
            if let Some(name) = names.iter().find(|name| !self.known.contains(name)) {
                let place = format!("{}: {field}", self.place());
                let known = self.known.iter().map(String::as_str);
                let refusal = match name == STORAGE {
                    true => {
                        let unless = "unless storage_devices is above 0";
                        let allowed = match field {
                            "accelerator" => {
                                let known = known.collect::<Vec<_>>().join(", ");
                                format!("must be an accelerator ({known}) {unless}")
                            }
                            _ => format!("must be left out {unless}"),
                        };
                        Refusal::new(place, accelflow_parameters::quoted(name), allowed)
                    }
                    false => Refusal::unknown(place, name, known),
                };
                return Err(PlanError::of(keys(&[field]), refusal));
            }
        }
        Ok(())
    }

    fn sizes(&self) -> Result<Sizes, PlanError> {
        match (self.flow.message_bytes, &self.flow.sizes) {
            (Some(size), None) => Ok(Sizes::Fixed(Bytes(size))),
            (None, Some(sizes)) => Ok(match sizes[..] {
                [Pair(size, _)] => Sizes::Fixed(Bytes(size)),
                _ => Sizes::Mix(sizes.iter().map(|pair| (Bytes(pair.0), pair.1)).collect()),
            }),
            _ => Err(self.needs("message_bytes or sizes, but not both")),
        }
    }

    fn check_times(&self, file: &PlanFile) -> Result<(), PlanError> {
        let from = self.flow.from_us;
        let settings = settings_of(file);
        let last = settings.last_control().map_or(0, whole_us);
        if from > last {
            let period = whole_us(settings.control_period);
            let allowed = match last {
                0 => format!("must be 0: no control period of {period} us ends within the run"),
                _ => format!(
                    "must be at most {last}: flows come at the ends of control periods of {period} \
                     us, and the last within the run is then"
                ),
            };
            return Err(self.refuse("from_us", from, allowed));
        }
        match self.flow.until_us {
            Some(until) if until <= from => {
                Err(self.refuse("until_us", until, format!("must be above from_us = {from}")))
            }
            _ => Ok(()),
        }
    }

    /// Fields that only managed bursts have.
    fn check_burst(&self) -> Result<(), PlanError> {
        if self.flow.policy == PromiseClass::ManagedBurst {
            return Ok(());
        }
        let given = [
            (
                "burst_factor",
                self.flow
                    .burst_factor
                    .map(accelflow_parameters::number_text),
            ),
            (
                "burst_us",
                self.flow.burst_us.map(|value| value.to_string()),
            ),
            (
                "window_us",
                self.flow.window_us.map(|value| value.to_string()),
            ),
        ];
        for (field, value) in given {
            if let Some(value) = value {
                let policy = self.class().name();
                let allowed = format!(
                    "must be left out unless policy is 'managed-burst', but policy is '{policy}'"
                );
                return Err(self.refuse(field, value, allowed));
            }
        }
        Ok(())
    }

    /// Fields that only some arrivals have.
    fn check_of_arrivals(&self) -> Result<(), PlanError> {
        use ArrivalKind::{Bursts, Closed, Paced, Poisson};
        let number = |value: Option<f64>| value.map(accelflow_parameters::number_text);
        let whole = |value: Option<u32>| value.map(|value| value.to_string());
        let flow = self.flow;
        let open: &[ArrivalKind] = &[Poisson, Paced, Bursts];
        let any: &[ArrivalKind] = &[Poisson, Paced, Bursts, Closed];
        let given = [
            ("offered_gbit_per_s", number(flow.offered_gbit_per_s), open),
            (
                "offered_operations_per_s",
                number(flow.offered_operations_per_s),
                open,
            ),
            ("burst_messages", whole(flow.burst_messages), &[Bursts]),
            ("clients", whole(flow.clients), &[Closed]),
            ("think_us", number(flow.think_us), &[Closed]),
            ("slo_latency_us", number(flow.slo_latency_us), any),
        ];
        for (field, value, kinds) in given {
            if let (Some(value), false) = (value, kinds.contains(&flow.arrivals)) {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                let allowed = format!(
                    "must be left out unless arrivals are {}; they are {}",
                    names.join(" or "),
                    flow.arrivals.name()
                );
                return Err(self.refuse(field, value, allowed));
            }
        }
        Ok(())
    }

    fn class(&self) -> ServiceClass {
        match self.flow.policy {
            PromiseClass::Reserved => ServiceClass::Reserved,
            PromiseClass::OnDemand => ServiceClass::OnDemand,
            PromiseClass::ManagedBurst => ServiceClass::ManagedBurst {
                factor: self.flow.burst_factor.unwrap_or(BURST_FACTOR),
                allowance: Time::from_us(self.flow.burst_us.unwrap_or(0)),
                window: Time::from_us(self.flow.window_us.unwrap_or(WINDOW_US)),
            },
            PromiseClass::Opportunistic => ServiceClass::Opportunistic,
        }
    }

    /// The first rate limit of the flow, and the second.
    fn rates(&self) -> Result<(Option<Rate>, Option<Rate>), PlanError> {
        let gbit = self.flow.slo_gbit_per_s.map(Rate::GbitPerS);
        let operations = self.flow.slo_operations_per_s.map(Rate::OperationsPerS);
        let optional = self.flow.policy == PromiseClass::Opportunistic;
        match (gbit, operations) {
            (None, None) if !optional => {
                Err(self.needs("slo_gbit_per_s, slo_operations_per_s, or both"))
            }
            (Some(rate), also) => Ok((Some(rate), also)),
            (None, rate) => Ok((rate, None)),
        }
    }

    fn availability(&self, request: &AdmissionRequest) -> Result<Option<Availability>, PlanError> {
        let (percent, period_us) = (self.flow.slo_percent, self.flow.slo_period_us);
        let Some(percent) = percent else {
            return match period_us {
                Some(period) => {
                    let allowed = "must be left out unless slo_percent is given";
                    let period = accelflow_parameters::number_text(period);
                    Err(self.refuse("slo_period_us", period, allowed))
                }
                None => Ok(None),
            };
        };
        if self.flow.policy == PromiseClass::Opportunistic {
            let allowed = "must be left out of an opportunistic flow, which has no promise";
            let percent = accelflow_parameters::number_text(percent);
            return Err(self.refuse("slo_percent", percent, allowed));
        }
        let gbit_per_s = request.asked_gbit_per_s().unwrap_or(f64::NAN);
        let message_us = request.sizes.mean() * 8e-3 / gbit_per_s;
        let least = LEAST_PERIOD_MESSAGES * message_us;
        let period_us = match period_us {
            None => (PERIOD_MESSAGES * message_us).ceil().max(LEAST_PERIOD_US),
            Some(period) if period < least => {
                let allowed = format!("must be at least {least:.1}, the time of 10 messages");
                let period = accelflow_parameters::number_text(period);
                return Err(self.refuse("slo_period_us", period, allowed));
            }
            Some(period) => period,
        };
        let period = Time::from_ns_f64(period_us * 1e3);
        Ok(Some(Availability { percent, period }))
    }

    fn arrivals(&self, sizes: &Sizes) -> Result<Arrivals, PlanError> {
        let kind = self.flow.arrivals;
        let needs = |what: &str| self.needs(&format!("{what}, since arrivals are {}", kind.name()));
        match kind {
            ArrivalKind::Backlog => return Ok(Arrivals::Backlogged),
            ArrivalKind::Closed => {
                let clients = self.flow.clients.ok_or_else(|| needs("clients"))?;
                let think = Time::from_ns_f64(self.flow.think_us.unwrap_or(0.0) * 1e3);
                return Ok(Arrivals::Closed { clients, think });
            }
            _ => {}
        }
        let offered = (
            self.flow.offered_gbit_per_s,
            self.flow.offered_operations_per_s,
        );
        let every_ns = match offered {
            (Some(gbit), None) => sizes.mean() * 8.0 / gbit,
            (None, Some(operations)) => 1e9 / operations,
            _ => {
                return Err(needs(
                    "offered_gbit_per_s or offered_operations_per_s, but not both",
                ));
            }
        };
        let every = Time::from_ns_f64(every_ns);
        match kind {
            ArrivalKind::Poisson => Ok(Arrivals::Poisson(every)),
            ArrivalKind::Paced => Ok(Arrivals::Paced(every)),
            _ => {
                let messages = self.flow.burst_messages;
                let burst = messages.ok_or_else(|| needs("burst_messages"))?;
                let every = Time::from_ns_f64(every_ns * f64::from(burst));
                Ok(Arrivals::Bursts { burst, every })
            }
        }
    }
}

impl ArrivalKind {
    /// The arrival process's name in plan files.
    const fn name(self) -> &'static str {
        match self {
            ArrivalKind::Backlog => "backlog",
            ArrivalKind::Poisson => "poisson",
            ArrivalKind::Paced => "paced",
            ArrivalKind::Bursts => "bursts",
            ArrivalKind::Closed => "closed",
        }
    }
}
