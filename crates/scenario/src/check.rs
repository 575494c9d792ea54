//! The check of a scenario: first each field, then the consistency of the fields.

use std::collections::BTreeMap;

use accelflow_shaping::{FlowConfig, Registers, Splitting, Timing, Unit};
use accelflow_sim::orchestrators::{Orchestrator, SYSTEMS};
use accelflow_sim::{Config, Limits};
use accelflow_trace::Image;
use accelflow_units::Bytes;
use accelflow_workload::file::Workload;
use accelflow_workload::services::Service;
use accelflow_workload::sizes::SizePreset;
use accelflow_workload::suites::SOCIAL_NETWORK_NAMES;
use serde_json::Value;

use crate::checked::Checked;
use crate::choice::{Choice, OrOwn};
use crate::error::{ScenarioError, engine, twice};
use crate::names::{CostSource, Costs, FactSource, Times};
use crate::own::Own;
use crate::resolved::{Resolved, ResolvedChip};
use crate::rules;
use crate::scenario::{Limit, Scenario};
use crate::settings::{self, Numbers};
use crate::setup::Setup;
use crate::shares;
use accelflow_parameters::{Refusal, any_of, quoted};

impl Scenario {
    /// Reads a scenario from JSON. Fields that are left out get their defaults. The field
    /// `$schema`, which editors use, is ignored. A workload file must be given as its content: a
    /// file's name is refused, although it is allowed in a scenario file.
    ///
    /// # Errors
    /// [`ScenarioError`] for text that is not JSON, an unknown field, or a value that the field
    /// does not allow.
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        let mut document: Value = serde_json::from_str(text)?;
        if let Some(fields) = document.as_object_mut() {
            fields.remove("$schema");
        }
        rules::check(&document)?;
        Ok(serde_json::from_value(document)?)
    }

    /// Returns the scenario as indented JSON with all fields.
    ///
    /// # Errors
    /// Does not fail for a scenario that [`Scenario::check`] has accepted.
    pub fn to_json(&self) -> Result<String, ScenarioError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Checks each field of the scenario and whether the fields fit each other, except the content
    /// of a recording, which a simulation checks. Returns the scenario with every default filled
    /// in.
    ///
    /// # Errors
    /// [`ScenarioError`] for the first field with a value that is not allowed. The error names the
    /// field, its value and what is allowed.
    pub fn check(&self) -> Result<Checked, ScenarioError> {
        check_finite(self)?;
        rules::check(&serde_json::to_value(self)?)?;
        let workload = self.workload.workload().map_err(engine)?;
        let workload = workload.as_ref();
        let image = memory(workload)?;
        let all = workload.paths().map_err(engine)?;
        let systems = systems(&self.orchestrators)?;
        check_services(self, &all)?;
        let (config, chips) = chips(self)?;
        let ids = systems.iter().map(|system| system.id()).collect();
        let services: Vec<Service> = all
            .into_iter()
            .filter(|service| wanted(self, service))
            .collect();
        let names = services
            .iter()
            .map(|service| service.name().to_owned())
            .collect();
        let resolved = Resolved::new(self, workload, ids, names, (config, chips))?;
        check_fit(self, workload, &resolved)?;
        check_rates(self, workload, &services)?;
        shares::check_requests(self, workload, &resolved, &services)?;
        let checked = Checked {
            servers: servers(&resolved)?,
            flows: flows(&self.shaping)?,
            scenario: self.clone(),
            resolved,
            services,
            image,
            systems,
        };
        check_setup(&checked)?;
        Ok(checked)
    }
}

/// The trace memory with the paper's traces and those of `workload`, which must be able to run it.
fn memory(workload: &Workload) -> Result<Image, ScenarioError> {
    let image = workload
        .memory()
        .map_err(|refusal| refusal.within("workload"))?;
    let run = workload.check_traces(&image);
    run.map_err(|refusal| refusal.within("workload"))?;
    Ok(image)
}

/// Refuses costs, traces and calls that do not fit each other. A run checks recordings.
fn check_setup(checked: &Checked) -> Result<(), ScenarioError> {
    let measured =
        checked.resolved.costs == Costs::Measured || checked.scenario.recording.is_some();
    match checked.servers.first() {
        Some(server) if !measured => Setup::new(checked, server).map(|_| ()),
        _ => Ok(()),
    }
}

/// The parameters of all chips, and those of each chip if there are several: a single chip is as
/// if the scenario had its parameters.
fn chips(scenario: &Scenario) -> Result<(Numbers, Vec<ResolvedChip>), ScenarioError> {
    let common = settings::numbers(scenario)?;
    let chips = settings::numbers_of_chips(scenario)?;
    Ok(match &chips[..] {
        [only] => (settings::merged(&common, &only.config), Vec::new()),
        _ => (common, chips),
    })
}

/// The server of each chip, in the order of the results.
fn servers(resolved: &Resolved) -> Result<Vec<Config>, ScenarioError> {
    let common = &resolved.config;
    if resolved.chips.is_empty() {
        return Ok(vec![settings::server(settings::CONFIG, common)?]);
    }
    let server = |chip: &ResolvedChip| {
        let place = settings::place_of_chip(&chip.name);
        settings::server(&place, &settings::merged(common, &chip.config))
    };
    resolved.chips.iter().map(server).collect()
}

fn wanted(scenario: &Scenario, service: &Service) -> bool {
    let names = &scenario.services;
    names.is_empty() || names.iter().any(|name| name == service.name())
}

/// Checks that numbers are finite: JSON would turn others into null.
fn check_finite(scenario: &Scenario) -> Result<(), ScenarioError> {
    let open = [
        ("rate_rps", scenario.rate_rps),
        ("tcp_cost_ns", scenario.tcp_cost_ns),
        ("slo_factor", scenario.slo_factor),
    ];
    for (name, number) in open {
        if let Some(number) = number.filter(|number| !number.is_finite()) {
            let allowed = format!("must be {}", rules::allowed(name).unwrap_or_default());
            return Err(Refusal::new(name, number, allowed).into());
        }
    }
    Ok(())
}

/// The systems called `names`, by default those that the paper compares.
fn systems(names: &[String]) -> Result<Vec<&'static dyn Orchestrator>, ScenarioError> {
    if names.is_empty() {
        return Ok(accelflow_sim::orchestrators::ORCHESTRATORS.to_vec());
    }
    let mut found: Vec<&'static dyn Orchestrator> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let system = system(name).ok_or_else(|| {
            let ids = SYSTEMS.iter().map(|system| system.id());
            Refusal::unknown(format!("orchestrators[{index}]"), name, ids)
        })?;
        if found.iter().any(|other| other.id() == system.id()) {
            return Err(twice("orchestrators", system.id()));
        }
        found.push(system);
    }
    Ok(found)
}

/// The system with this identifier or name of the paper, ignoring case, and with - for _.
fn system(name: &str) -> Option<&'static dyn Orchestrator> {
    let plain = name.to_lowercase();
    let id = plain.replace('-', "_");
    let same = |system: &&&dyn Orchestrator| {
        system.paper_name().to_lowercase() == plain || system.id() == id
    };
    SYSTEMS.iter().find(same).copied()
}

/// Refuses names of services that the workload does not have.
fn check_services(scenario: &Scenario, all: &[Service]) -> Result<(), ScenarioError> {
    let known: Vec<&str> = all.iter().map(Service::name).collect();
    let check = |place: &str, name: &str| match known.contains(&name) {
        true => Ok(()),
        false => Err(Refusal::unknown(place, name, known.iter().copied())),
    };
    for (index, name) in scenario.services.iter().enumerate() {
        check(&format!("services[{index}]"), name)?;
        if scenario.services[..index].contains(name) {
            return Err(twice("services", name));
        }
    }
    let mapped = [
        ("rates_rps", scenario.rates_rps.keys().collect::<Vec<_>>()),
        ("slo_us", scenario.slo_us.keys().collect()),
        ("tenants", scenario.tenants.keys().collect()),
        ("priorities", scenario.priorities.keys().collect()),
    ];
    for (field, names) in mapped {
        for name in names {
            check(&format!("{field}: service"), name)?;
        }
    }
    Ok(())
}

/// Refuses values that are inconsistent with others.
fn check_fit(
    scenario: &Scenario,
    workload: &Workload,
    resolved: &Resolved,
) -> Result<(), ScenarioError> {
    let own = Own { scenario, workload };
    own.check_times()?;
    check_costs(scenario, workload, resolved)?;
    let rates = workload.rate_names();
    if !rates.contains(&resolved.rates.as_str()) {
        let of = format!("(the rates that {} has)", workload.name);
        return Err(refused("rates", &resolved.rates, &rates, &of));
    }
    let own = SizePreset::SocialNetwork;
    if resolved.sizes == OrOwn::Chosen(own) && !is_social_network(workload) {
        let others = SizePreset::ALL.into_iter().filter(|sizes| *sizes != own);
        let others: Vec<&str> = others.map(SizePreset::name).collect();
        let of = format!("for the workload {}", workload.name);
        return Err(misfit("sizes", own, &others, &of));
    }
    Ok(())
}

/// Refuses rates of single services that do not state the rate of each service, or that are given
/// together with other rates.
fn check_rates(
    scenario: &Scenario,
    workload: &Workload,
    services: &[Service],
) -> Result<(), ScenarioError> {
    let given = &scenario.rates_rps;
    if given.is_empty() {
        return Ok(());
    }
    let beside = "must be left out if rates_rps is given";
    if let Some(rate) = scenario.rate_rps {
        return Err(Refusal::number("rate_rps", rate, beside).into());
    }
    if let Some(rates) = &scenario.rates {
        return Err(Refusal::new("rates", quoted(rates), beside).into());
    }
    let names: Vec<&str> = services.iter().map(Service::name).collect();
    // A service that others call may have no other requests.
    let is_called = |name: &str| {
        let stated = workload.service(name);
        stated.is_some_and(|service| workload.is_called(service))
    };
    let silent = |name: &&&str| !given.contains_key(**name) && !is_called(name);
    if let Some(missing) = names.iter().find(silent) {
        let place = format!("rates_rps['{missing}']");
        return Err(Refusal::left_out(place, "must be a rate in requests per second").into());
    }
    match given.keys().find(|name| !names.contains(&name.as_str())) {
        Some(other) => Err(Refusal::unknown("rates_rps: service", other, names).into()),
        None => Ok(()),
    }
}

/// Whether all services are SocialNetwork's. Only their messages have known sizes and can be
/// executed on real bytes.
fn is_social_network(workload: &Workload) -> bool {
    let mut names = workload
        .services
        .iter()
        .map(|service| service.name.as_str());
    names.all(|name| SOCIAL_NETWORK_NAMES.contains(&name))
}

/// Refuses costs that the workload does not have, and facts without a recording.
fn check_costs(
    scenario: &Scenario,
    workload: &Workload,
    resolved: &Resolved,
) -> Result<(), ScenarioError> {
    let recorded = scenario.recording.is_some();
    if resolved.facts == FactSource::Recorded && !recorded {
        let others = [FactSource::Common.name(), FactSource::Drawn.name()];
        return Err(misfit(
            "facts",
            resolved.facts,
            &others,
            "unless a recording is given",
        ));
    }
    let measured = resolved.costs == Costs::Measured;
    if resolved.recorded_times == Times::Distribution && !recorded && !measured {
        let times = resolved.recorded_times;
        let others = [Times::Median.name()];
        return Err(misfit(
            "recorded_times",
            times,
            &others,
            "unless a recording is given or the profile is measured",
        ));
    }
    if let Some(given) = scenario.tcp_cost_ns
        && matches!(resolved.costs, Costs::Measured | Costs::Recording)
    {
        let costs = if measured { "measured" } else { "recorded" };
        let allowed = format!("must be left out, since {costs} costs include that of TCP");
        return Err(Refusal::new("tcp_cost_ns", given, allowed).into());
    }
    let (paper, measured) = (CostSource::Paper, CostSource::Measured);
    if recorded && scenario.profile == Some(paper) {
        let others = match is_social_network(workload) {
            true => &[measured.name(), "left out"][..],
            false => &["left out"],
        };
        return Err(misfit("profile", paper, others, "if a recording is given"));
    }
    if resolved.costs == Costs::Measured && !is_social_network(workload) {
        if recorded {
            let here = format!(
                "for the workload {} if a recording is given: other measured costs exist only for \
                 socialnetwork",
                workload.name
            );
            return Err(misfit("profile", measured, &["left out"], &here));
        }
        let others = [paper.name(), "left out"];
        let of = format!(
            "for the workload {}: measured costs exist only for socialnetwork, or in a recording",
            workload.name
        );
        return Err(misfit("profile", measured, &others, &of));
    }
    Ok(())
}

/// The refusal of a value that is allowed elsewhere, but not `here`.
fn misfit(field: &str, value: impl Choice, others: &[&str], here: &str) -> ScenarioError {
    refused(field, value.name(), others, here)
}

fn refused(field: &str, value: &str, others: &[&str], here: &str) -> ScenarioError {
    let allowed = format!("must be {} {here}", any_of(others));
    let refusal = Refusal::new(field, quoted(value), allowed);
    refusal.proposing(value, others.iter().copied()).into()
}

/// The limits of tenants.
fn flows(limits: &BTreeMap<u16, Vec<Limit>>) -> Result<BTreeMap<u16, Limits>, ScenarioError> {
    let of_tenant = |(tenant, limits): (&u16, &Vec<Limit>)| Ok((*tenant, limits_of(limits)?));
    limits.iter().map(of_tenant).collect()
}

/// The limits in their units, of which the rules have refused several in one.
fn limits_of(limits: &[Limit]) -> Result<Limits, ScenarioError> {
    let mut all = Limits::default();
    for limit in limits {
        match limit {
            Limit::Registers(limit) => {
                let registers =
                    Registers::new(limit.refill, limit.bucket, limit.interval).map_err(engine)?;
                let mut flow = match all.flow {
                    Some(flow) => flow.and(registers),
                    None => FlowConfig::new(limit.unit, registers),
                };
                if limit.unit == Unit::Bytes {
                    // An input larger than the bucket passes in segments.
                    flow.splitting =
                        Splitting::segments(Bytes(limit.bucket), Bytes(0)).map_err(engine)?;
                }
                all.flow = Some(flow);
            }
            Limit::Time(limit) => {
                let (rate, burst) = (limit.accelerator_s_per_s, limit.burst_accelerator_s);
                let clock = Timing::default().clock;
                let registers = Registers::for_accelerator_time(rate, burst, clock);
                all.time = Some(registers.map_err(engine)?);
            }
        }
    }
    Ok(all)
}
