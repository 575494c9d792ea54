//! The allowed values of each field of a scenario.
//!
//! The rules apply to JSON values, so a value of the wrong type causes the same message as a value
//! out of range. [`crate::check`] checks the consistency of the fields.

use accelflow_shaping::Unit;
use accelflow_sim::compare::Placement;
use accelflow_sim::config::DispatchPolicy;
use accelflow_workload::file;
use accelflow_workload::sizes::SizePreset;
use accelflow_workload::suites::Suite;
use serde_json::{Map, Value};

use crate::choice::Choice;
use crate::error::{ScenarioError, twice};
use crate::limits::{
    MAX_ACCELERATOR_S_PER_S, MAX_BURST_ACCELERATOR_S, MAX_CHIPS, MAX_PRIORITY, MAX_RATE_RPS,
    MAX_REGISTER, MAX_REQUESTS, MAX_SLO_FACTOR, MAX_SLO_US, MAX_TCP_COST_NS, MAX_TENANT,
    MIN_ACCELERATOR_S, MIN_RATE_RPS, MIN_REQUESTS, MIN_TCP_COST_NS, check_chip_name,
};
use crate::names::{Arrivals, CostSource, FactSource, Remote, Times};
use crate::scenario::SCHEMA;
use crate::settings::{place_of_chip, setting};
use crate::shown::shown;
use accelflow_parameters::number_text;
use accelflow_parameters::{Refusal, any_of, quoted};

/// The kind of a field's values.
enum Kind {
    /// The name of this description.
    Schema,
    /// A name.
    Choice(fn() -> Vec<&'static str>),
    /// The name of a suite, or the tree of a workload's file.
    Workload,
    /// The name of a workload's rates.
    Rates,
    /// A text, with a description of it.
    Text(&'static str),
    /// Texts.
    List,
    /// true or false.
    Flag,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// A number above 0, at most this.
    Positive(f64),
    /// Parameters of the server by key.
    Settings,
    /// Chips, each with a name and parameters.
    Chips,
    /// Values by service.
    ByService(&'static Kind),
    /// Limits by tenant.
    Shaping,
}

/// A field: its name, whether it may be null, and the kind of its values.
struct Field(&'static str, bool, Kind);

const CLOSED: bool = false;
const OPEN: bool = true;

const FIELDS: &[Field] = &[
    Field("schema", CLOSED, Kind::Schema),
    Field("workload", CLOSED, Kind::Workload),
    Field("orchestrators", CLOSED, Kind::List),
    Field("services", CLOSED, Kind::List),
    Field("placement", CLOSED, Kind::Choice(Placement::names)),
    Field("arrivals", OPEN, Kind::Choice(Arrivals::names)),
    Field("rate_rps", OPEN, Kind::Number(MIN_RATE_RPS, MAX_RATE_RPS)),
    Field("rates", OPEN, Kind::Rates),
    Field(
        "rates_rps",
        CLOSED,
        Kind::ByService(&Kind::Number(MIN_RATE_RPS, MAX_RATE_RPS)),
    ),
    Field("facts", OPEN, Kind::Choice(FactSource::names)),
    Field("requests", CLOSED, Kind::Whole(MIN_REQUESTS, MAX_REQUESTS)),
    Field("warmup", OPEN, Kind::Whole(0, MAX_REQUESTS)),
    Field("by_rate", OPEN, Kind::Flag),
    Field("seed", CLOSED, Kind::Whole(0, u64::MAX)),
    Field(
        "recording",
        OPEN,
        Kind::Text("the text of a recording, not its path"),
    ),
    Field("recorded_times", OPEN, Kind::Choice(Times::names)),
    Field("profile", OPEN, Kind::Choice(CostSource::names)),
    Field(
        "tcp_cost_ns",
        OPEN,
        Kind::Number(MIN_TCP_COST_NS, MAX_TCP_COST_NS),
    ),
    Field("remote", OPEN, Kind::Choice(Remote::names)),
    Field("sizes", OPEN, Kind::Choice(SizePreset::names)),
    Field("config", CLOSED, Kind::Settings),
    Field("chips", CLOSED, Kind::Chips),
    Field(
        "slo_us",
        CLOSED,
        Kind::ByService(&Kind::Positive(MAX_SLO_US)),
    ),
    Field("policy", OPEN, Kind::Choice(DispatchPolicy::names)),
    Field("slo_factor", OPEN, Kind::Positive(MAX_SLO_FACTOR)),
    Field(
        "tenants",
        CLOSED,
        Kind::ByService(&Kind::Whole(0, MAX_TENANT)),
    ),
    Field(
        "priorities",
        CLOSED,
        Kind::ByService(&Kind::Whole(0, MAX_PRIORITY)),
    ),
    Field("shaping", CLOSED, Kind::Shaping),
];

/// The fields of a chip.
const CHIP: &[Field] = &[
    Field("name", CLOSED, Kind::Text("a string")),
    Field("config", CLOSED, Kind::Settings),
];

/// The names of rates that commands offer.
const RATES: [&str; 4] = ["equal", "alibaba", "azure", file::OWN];

/// The fields of a limit of a traffic shaper.
const LIMIT: &[Field] = &[
    Field("unit", CLOSED, Kind::Choice(Unit::names)),
    Field("refill", CLOSED, Kind::Whole(1, MAX_REGISTER)),
    Field("bucket", CLOSED, Kind::Whole(1, MAX_REGISTER)),
    Field("interval", CLOSED, Kind::Whole(1, MAX_REGISTER)),
];

/// The fields of a limit in accelerator time.
const TIME_LIMIT: &[Field] = &[
    Field(
        "accelerator_s_per_s",
        CLOSED,
        Kind::Number(MIN_ACCELERATOR_S, MAX_ACCELERATOR_S_PER_S),
    ),
    Field(
        "burst_accelerator_s",
        OPEN,
        Kind::Number(MIN_ACCELERATOR_S, MAX_BURST_ACCELERATOR_S),
    ),
];

/// Returns the allowed values of the scenario's field `name`, in words that complete "must be ...";
/// `None` for an unknown field.
pub fn allowed(name: &str) -> Option<String> {
    let found = FIELDS.iter().find(|field| field.0 == name);
    found.map(|field| field.2.allowed())
}

/// Returns the fields of a scenario whose values users choose by name, as pairs (field, names to
/// choose from). The names are in the order in which commands list them. `workload` also allows
/// workload files, and `rates` the names of other sets of rates that a workload has.
pub fn choices() -> Vec<(&'static str, Vec<&'static str>)> {
    let names = |field: &Field| match field.2 {
        Kind::Choice(names) => Some((field.0, names())),
        Kind::Workload => Some((field.0, Suite::names())),
        Kind::Rates => Some((field.0, RATES.to_vec())),
        _ => None,
    };
    FIELDS.iter().filter_map(names).collect()
}

/// The value called `name` of the field `field`.
///
/// # Errors
/// [`Refusal`] of an unknown name.
pub(crate) fn chosen<T: Choice>(field: &str, name: &str) -> Result<T, Refusal> {
    T::named(name).ok_or_else(|| Refusal::unknown(field, name, T::names()))
}

/// Refuses a suite's name for another workload: results could not be distinguished.
fn own_name(place: &str, name: &str) -> Result<(), ScenarioError> {
    if Suite::named(name).is_none() {
        return Ok(());
    }
    let allowed = "must differ from the names of the suites";
    Err(Refusal::new(format!("{place}.name"), quoted(name), allowed).into())
}

/// The refusal of `name` where the name of a suite or a file is expected.
pub(crate) fn unknown_workload(name: &str) -> Refusal {
    Kind::Workload.refusal("workload", &name.into())
}

/// Refuses the first field of `document` with a value that is not allowed.
pub(crate) fn check(document: &Value) -> Result<(), ScenarioError> {
    let Some(fields) = document.as_object() else {
        let allowed = "must be an object with the fields of a scenario";
        return Err(Refusal::new("scenario", shown(document), allowed).into());
    };
    check_fields(FIELDS, fields, "")
}

fn check_fields(
    known: &[Field],
    fields: &Map<String, Value>,
    place: &str,
) -> Result<(), ScenarioError> {
    for name in fields.keys() {
        if known.iter().all(|field| field.0 != name) {
            let names = known.iter().map(|field| field.0);
            return Err(Refusal::unknown(format!("{place}field"), name, names).into());
        }
    }
    for Field(name, open, kind) in known {
        match fields.get(*name) {
            None => {}
            Some(Value::Null) if *open => {}
            Some(value) => kind.check(&format!("{place}{name}"), value)?,
        }
    }
    Ok(())
}

impl Kind {
    /// A description of the allowed values, to follow "must be".
    fn allowed(&self) -> String {
        match self {
            Kind::Schema => SCHEMA.to_owned(),
            Kind::Choice(names) => any_of(names()),
            Kind::Workload => {
                let suites = Suite::names().into_iter();
                any_of(suites.chain(["a file whose name ends in .toml or .json"]))
            }
            Kind::Rates => "equal, own or the name of a set of rates of the workload".to_owned(),
            Kind::Text(what) => (*what).to_owned(),
            Kind::List => "a list of strings".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Number(least, most) => format!("a number from {least} to {}", number_text(*most)),
            Kind::Positive(most) => format!("a number above 0, at most {}", number_text(*most)),
            Kind::Settings => "a mapping from parameters to values".to_owned(),
            Kind::Chips => {
                format!("a list of at most {MAX_CHIPS} chips, each {{name, config}}")
            }
            Kind::ByService(of) => format!(
                "a mapping from names of services to values, each {}",
                of.allowed()
            ),
            Kind::Shaping => "a mapping from tenants to limits".to_owned(),
        }
    }

    fn check(&self, place: &str, value: &Value) -> Result<(), ScenarioError> {
        match (self, value) {
            (Kind::Workload, Value::Object(_)) => {
                let document = file::read(&value.to_string(), place)?;
                document.check()?;
                own_name(place, &document.workload.name)
            }
            (Kind::Settings, Value::Object(settings)) => settings
                .iter()
                .try_for_each(|(key, value)| setting(place, key, value).map(drop)),
            (Kind::Chips, Value::Array(chips)) if chips.len() <= MAX_CHIPS => check_chips(chips),
            (Kind::ByService(of), Value::Object(values)) => values
                .iter()
                .try_for_each(|(name, value)| of.check(&format!("{place}['{name}']"), value)),
            (Kind::Shaping, Value::Object(tenants)) => tenants
                .iter()
                .try_for_each(|(tenant, limits)| check_limits(tenant, limits)),
            _ if self.is_fine(value) => Ok(()),
            _ => Err(self.refusal(place, value).into()),
        }
    }

    /// Whether `value`, which is not an object, is allowed.
    fn is_fine(&self, value: &Value) -> bool {
        match self {
            Kind::Schema => value == SCHEMA,
            Kind::Choice(names) => value.as_str().is_some_and(|name| names().contains(&name)),
            Kind::Workload => value
                .as_str()
                .is_some_and(|name| Suite::names().contains(&name)),
            Kind::Rates => value.is_string(),
            Kind::Text(_) => value.is_string(),
            Kind::List => value
                .as_array()
                .is_some_and(|items| items.iter().all(Value::is_string)),
            Kind::Flag => value.is_boolean(),
            Kind::Whole(least, most) => value
                .as_u64()
                .is_some_and(|number| (*least..=*most).contains(&number)),
            Kind::Number(least, most) => value
                .as_f64()
                .is_some_and(|number| (*least..=*most).contains(&number)),
            Kind::Positive(most) => value
                .as_f64()
                .is_some_and(|number| number > 0.0 && number <= *most),
            Kind::Settings | Kind::Chips | Kind::ByService(_) | Kind::Shaping => false,
        }
    }

    fn refusal(&self, place: &str, value: &Value) -> Refusal {
        let text = match (self, value) {
            // A fraction of 0 is what the rule refuses.
            (Kind::Whole(..), Value::Number(number)) => number.to_string(),
            _ => shown(value),
        };
        let is_file = |name: &str| name.ends_with(".toml") || name.ends_with(".json");
        let allowed = match (self, value.as_str()) {
            // A name that a scenario file may have, whose reader replaces it by the content.
            (Kind::Workload, Some(name)) if is_file(name) => {
                let content = "an object with the content of a workload file";
                any_of(Suite::names().into_iter().chain([content]))
            }
            _ => self.allowed(),
        };
        let refusal = Refusal::new(place, text, format!("must be {allowed}"));
        match (self, value.as_str()) {
            (Kind::Choice(names), Some(name)) => refusal.proposing(name, names()),
            (Kind::Workload, Some(name)) => refusal.proposing(name, Suite::names()),
            _ => refusal,
        }
    }
}

fn check_chips(chips: &[Value]) -> Result<(), ScenarioError> {
    let mut names = Vec::new();
    for (index, chip) in chips.iter().enumerate() {
        let place = format!("chips[{index}]");
        let Some(fields) = chip.as_object() else {
            let allowed = "must be an object with name and config";
            return Err(Refusal::new(place, shown(chip), allowed).into());
        };
        let given = fields.get("name").unwrap_or(&Value::Null);
        let name = given.as_str().unwrap_or_default();
        check_chip_name(given.as_str())
            .map_err(|allowed| Refusal::new(format!("{place}.name"), shown(given), allowed))?;
        if names.contains(&name) {
            return Err(twice("chips", name));
        }
        names.push(name);
        check_fields(CHIP, fields, &format!("{}.", place_of_chip(name)))?;
    }
    Ok(())
}

fn check_limits(tenant: &str, limits: &Value) -> Result<(), ScenarioError> {
    let place = format!("shaping[{tenant}]");
    let number = tenant.parse::<u64>();
    if !number.is_ok_and(|number| number <= MAX_TENANT) {
        let known = Kind::Whole(0, MAX_TENANT);
        return Err(known.refusal("shaping: tenant", &tenant.into()).into());
    }
    let items = limits.as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, limit) in items.iter().enumerate() {
        let Some(fields) = limit.as_object() else {
            return Err(not_limits(&place, limits));
        };
        check_limit(fields, &format!("{place}[{index}]."))?;
    }
    // A limit in accelerator time has no unit.
    let mut units: Vec<&Value> = items.iter().map(|limit| &limit["unit"]).collect();
    units.sort_by_key(|unit| unit.as_str());
    units.dedup();
    if items.is_empty() || units.len() < items.len() {
        return Err(not_limits(&place, limits));
    }
    Ok(())
}

/// Checks the fields of a limit: registers, or accelerator time.
fn check_limit(fields: &Map<String, Value>, place: &str) -> Result<(), ScenarioError> {
    let is_known = |name: &&String| !LIMIT.iter().chain(TIME_LIMIT).any(|field| field.0 == *name);
    if let Some(name) = fields.keys().find(is_known) {
        let names = LIMIT.iter().chain(TIME_LIMIT).map(|field| field.0);
        return Err(Refusal::unknown(format!("{place}field"), name, names).into());
    }
    let in_time = TIME_LIMIT.iter().any(|field| fields.contains_key(field.0));
    let of_kind = if in_time { TIME_LIMIT } else { LIMIT };
    check_fields(of_kind, fields, place)?;
    let is_missing = |field: &&Field| !field.1 && !fields.contains_key(field.0);
    match of_kind.iter().find(is_missing) {
        Some(Field(name, _, kind)) => {
            Err(kind.refusal(&format!("{place}{name}"), &Value::Null).into())
        }
        None => Ok(()),
    }
}

fn not_limits(place: &str, limits: &Value) -> ScenarioError {
    let units = Unit::names().join(", ");
    let allowed = format!(
        "must be a list of one limit, or of several in different units ({units}, accelerator time)"
    );
    Refusal::new(place, shown(limits), allowed).into()
}
