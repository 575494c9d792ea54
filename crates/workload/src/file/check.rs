//! Checks of a workload's file that involve several values. The allowed values of each single field
//! are in the JSON Schema of the Rust types.

use std::collections::BTreeMap;

use accelflow_parameters::{Refusal, number_text, quoted};
use accelflow_units::{Bytes, Time};

use super::rates::check_mean;
use super::times;
use super::tree::{Chain, CpuTime, Phase, Service, Workload};
use super::values::{Arrivals, Costs, Size, Sizes, SizesPreset, Wait};
use crate::arrivals::{ArrivalsError, MIN_RATE_RPS, Modulation};
use crate::services::MAX_PARALLEL_CHAINS;
use crate::sizes::{MAX_SIZE, QuantileTable, SizeError, message_names};

/// The longest name of a workload or a service.
const MAX_NAME: usize = 64;

/// Whether `name` is a valid name of a workload: 1 to 64 letters, digits, `-` and `_`.
pub fn is_workload_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits)
}

/// Whether `name` is a valid name of a service: 1 to 64 letters, digits, `-`, `_` and dots.
pub fn is_service_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name
            .split('.')
            .all(|part| part.is_empty() || is_workload_name(part))
}

/// Refuses the first value of `workload` that is inconsistent with the others.
pub(super) fn workload(workload: &Workload) -> Result<(), Refusal> {
    if !is_workload_name(&workload.name) {
        let allowed = "must be 1 to 64 letters, digits, - and _";
        return Err(Refusal::new("name", quoted(&workload.name), allowed));
    }
    names(workload)?;
    rates(workload)?;
    let defaults = &workload.defaults;
    let of_defaults = Values {
        slo: (defaults.slo_us, defaults.slo_factor),
        arrivals: defaults.arrivals.as_ref(),
        sizes: defaults.sizes.as_ref(),
        costs: defaults.costs.as_ref(),
        waits: &defaults.waits,
    };
    of_defaults.check("defaults")?;
    check_mean(defaults.rate_rps, defaults.arrivals.as_ref(), "defaults")?;
    if let Some(network) = &defaults.network {
        times::check(network, "defaults.network")?;
    }
    for (index, service) in workload.services.iter().enumerate() {
        let place = format!("services[{index}]");
        check_own_messages(workload, service, &place)?;
        let own = Values {
            slo: (service.slo_us, service.slo_factor),
            arrivals: service.arrivals.as_ref(),
            sizes: service.sizes.as_ref(),
            costs: service.costs.as_ref(),
            waits: &service.waits,
        };
        own.check(&place)?;
        check_mean(service.rate_rps, service.arrivals.as_ref(), &place)?;
        path(workload, service, &place)?;
    }
    circles(workload)
}

fn names(workload: &Workload) -> Result<(), Refusal> {
    for (index, service) in workload.services.iter().enumerate() {
        let (place, name) = (format!("services[{index}].name"), &service.name);
        if !is_service_name(name) {
            let allowed = "must be 1 to 64 letters, digits, -, _ and dots";
            return Err(Refusal::new(place, quoted(name), allowed));
        }
        let before = &workload.services[..index];
        if let Some(first) = before.iter().position(|other| other.name == *name) {
            let allowed = format!("must be unique, but services[{first}] has the same name");
            return Err(Refusal::new(place, quoted(name), allowed));
        }
    }
    Ok(())
}

/// Checks that each named set of rates has a rate for each service.
fn rates(workload: &Workload) -> Result<(), Refusal> {
    let known = || {
        workload
            .services
            .iter()
            .map(|service| service.name.as_str())
    };
    for (name, shares) in &workload.rates {
        if matches!(name.as_str(), "equal" | "own") {
            let allowed = "must be another name: equal and own are reserved";
            return Err(Refusal::new("rates", quoted(name), allowed));
        }
        for service in shares.keys() {
            if known().all(|known| known != service) {
                let refusal = Refusal::unknown(format!("rates.{name}.{service}"), service, known());
                return Err(refusal);
            }
        }
        if let Some(missing) = known().find(|service| !shares.contains_key(*service)) {
            let allowed =
                "must be a rate in requests per second, since the other services have one";
            let place = format!("rates.{name}.{missing}");
            return Err(Refusal::new(place, "left out", allowed));
        }
    }
    match &workload.defaults.rates {
        Some(name) if workload.rates.is_empty() => {
            let allowed = "must be left out, as the file has no section [rates.NAME]";
            Err(Refusal::new("defaults.rates", quoted(name), allowed))
        }
        Some(name) if !workload.rates.contains_key(name) => {
            let known = workload.rates.keys().map(String::as_str);
            Err(Refusal::unknown("defaults.rates", name, known))
        }
        _ => Ok(()),
    }
}

/// The fields that defaults and services both have.
struct Values<'w> {
    slo: (Option<f64>, Option<f64>),
    arrivals: Option<&'w Arrivals>,
    sizes: Option<&'w Sizes>,
    costs: Option<&'w Costs>,
    waits: &'w BTreeMap<String, Wait>,
}

impl Values<'_> {
    fn check(&self, place: &str) -> Result<(), Refusal> {
        if let (Some(_), Some(factor)) = self.slo {
            let allowed = "must be left out if slo_us is given";
            return Err(Refusal::number(
                format!("{place}.slo_factor"),
                factor,
                allowed,
            ));
        }
        if let Some(arrivals) = self.arrivals {
            check_arrivals(arrivals, &format!("{place}.arrivals"))?;
        }
        if let Some(sizes) = self.sizes {
            check_sizes(sizes, &format!("{place}.sizes"))?;
        }
        if let Some(Costs::Recording { file, text }) = self.costs {
            let place = format!("{place}.costs");
            one_of(file.is_some(), text.is_some(), &place, "file", "text")?;
        }
        check_waits(self.waits, place)
    }
}

/// Refuses both and neither of two fields.
fn one_of(first: bool, second: bool, place: &str, one: &str, other: &str) -> Result<(), Refusal> {
    if first != second {
        return Ok(());
    }
    let given = if first { "both" } else { "neither" };
    let allowed = format!("must be exactly one of the fields {one} and {other}");
    Err(Refusal::new(place, given, allowed))
}

fn check_arrivals(arrivals: &Arrivals, place: &str) -> Result<(), Refusal> {
    match arrivals {
        Arrivals::Poisson {} | Arrivals::Preset { .. } => Ok(()),
        Arrivals::Modulated { states, dwell_us } => {
            let made = Modulation::new(states, Time::from_ns_f64(dwell_us * 1e3));
            made.map(drop).map_err(|error| wrong_states(&error, place))
        }
        Arrivals::Times { file, times_us } => {
            let (from_file, inline) = (file.is_some(), times_us.is_some());
            one_of(from_file, inline, place, "file", "times_us")?;
            times_us
                .as_deref()
                .map_or(Ok(()), |times| check_times(times, place))
        }
        Arrivals::Rates {
            file,
            rates,
            from_us,
        } => {
            one_of(file.is_some(), rates.is_some(), place, "file", "rates")?;
            check_rates(rates.as_deref(), place)?;
            match from_us {
                Some(from) if !(0.0..=MAX_TIME_US).contains(from) => {
                    let allowed = format!("must be from 0 to {} us", number_text(MAX_TIME_US));
                    Err(Refusal::number(format!("{place}.from_us"), *from, allowed))
                }
                _ => Ok(()),
            }
        }
    }
}

fn wrong_states(error: &ArrivalsError, place: &str) -> Refusal {
    match error {
        ArrivalsError::Multiplier { state, value } => Refusal::number(
            format!("{place}.states[{state}]"),
            *value,
            "must be a ratio of the rate to the mean rate, 0 or more",
        ),
        ArrivalsError::Weight { state, value } => Refusal::number(
            format!("{place}.states[{state}]"),
            *value,
            "must be a weight of at least 0.0001 of the sum of all weights",
        ),
        ArrivalsError::MeanMultiplier(mean) => Refusal::number(
            format!("{place}.states"),
            *mean,
            "must be 1 (to a millionth): this number is the weighted mean of the states' rates; \
             divide each rate by it",
        ),
        other => Refusal::new(format!("{place}.states"), "[...]", other.to_string()),
    }
}

/// The latest time of a list: about 11 days.
const MAX_TIME_US: f64 = 1e12;

fn check_times(times_us: &[f64], place: &str) -> Result<(), Refusal> {
    if times_us.is_empty() {
        let allowed = "must have at least one time";
        return Err(Refusal::new(format!("{place}.times_us"), "[]", allowed));
    }
    let mut last = 0.0;
    for (index, &time) in times_us.iter().enumerate() {
        if !(last..=MAX_TIME_US).contains(&time) {
            let allowed = format!(
                "must be from {} to {} us: times must not decrease",
                number_text(last),
                number_text(MAX_TIME_US)
            );
            return Err(Refusal::number(
                format!("{place}.times_us[{index}]"),
                time,
                allowed,
            ));
        }
        last = time;
    }
    Ok(())
}

fn check_rates(rates: Option<&[(f64, f64)]>, place: &str) -> Result<(), Refusal> {
    let Some(rates) = rates else { return Ok(()) };
    let place = format!("{place}.rates");
    let mut last = -1.0;
    for (index, &(start, rate)) in rates.iter().enumerate() {
        let place = format!("{place}[{index}]");
        if !(0.0..=MAX_TIME_US).contains(&start) || start <= last {
            let allowed = "must be a start time in us from 0 to 1e12, later than the one before it";
            return Err(Refusal::number(format!("{place}[0]"), start, allowed));
        }
        if !(0.0..=1e9).contains(&rate) {
            let allowed = "must be a rate from 0 to 1e9 requests per second";
            return Err(Refusal::number(format!("{place}[1]"), rate, allowed));
        }
        last = start;
    }
    match rates.last() {
        Some(&(_, rate)) if rate >= MIN_RATE_RPS => Ok(()),
        Some(&(_, rate)) => Err(Refusal::number(
            format!("{place}[{}][1]", rates.len() - 1),
            rate,
            "must be at least 0.001 requests per second, since the last rate lasts to the end",
        )),
        None => Err(Refusal::new(
            place,
            "[]",
            "must have at least one pair [start in us, rate per second]",
        )),
    }
}

fn check_sizes(sizes: &Sizes, place: &str) -> Result<(), Refusal> {
    match sizes {
        Sizes::Quantiles(points) => {
            let points: Vec<(f64, Bytes)> =
                points.iter().map(|&(p, size)| (p, Bytes(size.0))).collect();
            let place = format!("{place}.quantiles");
            QuantileTable::new(&points)
                .map(drop)
                .map_err(|error| match error {
                    SizeError::Order(index) => {
                        let place = format!("{place}[{index}]");
                        let (probability, size) = points[index];
                        let value = format!("[{probability}, {}]", size.get());
                        Refusal::new(
                            place,
                            value,
                            "must not have a smaller probability or value than the pair before it",
                        )
                    }
                    SizeError::Ends { first, last } => times::ends(&place, first, last),
                    other => Refusal::new(place, "[...]", other.to_string()),
                })
        }
        Sizes::Histogram(rows) => {
            let place = format!("{place}.histogram");
            let fits = |row: &(Size, u64)| (1..=MAX_SIZE.get()).contains(&row.0.0);
            if let Some(index) = rows.iter().position(|row| !fits(row)) {
                let allowed = format!("must be from 1 to {} bytes", MAX_SIZE.get());
                let place = format!("{place}[{index}]");
                return Err(Refusal::new(place, rows[index].0.0, allowed));
            }
            if let Some(index) = rows.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
                let size = rows[index + 1].0.0;
                let place = format!("{place}[{}]", index + 1);
                return Err(Refusal::new(
                    place,
                    size,
                    "must be larger than the size before it",
                ));
            }
            match rows.iter().map(|row| row.1 as f64).sum::<f64>() > 0.0 {
                true => Ok(()),
                false => Err(Refusal::new(
                    place,
                    "[...]",
                    "must have at least one count above 0",
                )),
            }
        }
        Sizes::FixedBytes(_) | Sizes::LogNormal(_) | Sizes::HistogramFile(_) | Sizes::Preset(_) => {
            Ok(())
        }
    }
}

/// Refuses the sizes of SocialNetwork's messages for a service that has other messages.
fn check_own_messages(workload: &Workload, service: &Service, place: &str) -> Result<(), Refusal> {
    let own = Some(&Sizes::Preset(SizesPreset::SocialNetwork));
    let refuse = |place: String| {
        let allowed = "must be other sizes: this preset is only for whole services of \
                       SocialNetwork";
        Err(Refusal::new(place, "'socialnetwork'", allowed))
    };
    let has_messages = !message_names(&service.name, 0, 0).is_empty();
    let by_default = service.sizes.is_none() && workload.defaults.sizes.as_ref() == own;
    if by_default && !has_messages {
        return refuse("defaults.sizes.preset".to_owned());
    }
    if service.sizes.as_ref() == own && !has_messages {
        return refuse(format!("{place}.sizes.preset"));
    }
    for (place, chain) in service.placed_chains(place) {
        let mut sizes = chain.placed_sizes(&place).into_iter();
        if let Some((place, _)) = sizes.find(|(_, sizes)| Some(*sizes) == own) {
            return refuse(place);
        }
    }
    Ok(())
}

fn check_waits(waits: &BTreeMap<String, Wait>, place: &str) -> Result<(), Refusal> {
    let mut each = waits.iter();
    each.try_for_each(|(trace, wait)| times::check(wait, &format!("{place}.waits.{trace}")))
}

fn path(workload: &Workload, service: &Service, place: &str) -> Result<(), Refusal> {
    let place = format!("{place}.path");
    for (index, phase) in service.path.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let count: usize = phase.chains().iter().map(Chain::count).sum();
        if let Phase::Cpu(phase) = phase
            && let CpuTime::Drawn(drawn) = &phase.cpu
        {
            times::check(drawn, &format!("{place}.cpu"))?;
        }
        let first = index == 0;
        if first && count != 1 {
            let allowed = "must be one chain, which receives the request";
            return Err(Refusal::new(place, phase_in_words(phase, count), allowed));
        }
        if count > MAX_PARALLEL_CHAINS {
            let allowed = format!("must be at most {MAX_PARALLEL_CHAINS}");
            return Err(Refusal::new(place, phase_in_words(phase, count), allowed));
        }
        for (number, chain) in phase.chains().iter().enumerate() {
            let place = phase.place_of(&place, number);
            check_chain(workload, service, chain, first, &place)?;
            if first || index + 1 == service.path.len() {
                check_ends(chain, &place)?;
            }
        }
    }
    match service.path.last().map(Phase::chains) {
        Some([]) => {
            let place = format!("{place}[{}]", service.path.len() - 1);
            let allowed =
                "must be followed by a chain: the last phase of a path sends the response";
            Err(Refusal::new(place, "application time", allowed))
        }
        _ => Ok(()),
    }
}

/// Refuses what a chain of the first or the last phase cannot be.
fn check_ends(chain: &Chain, place: &str) -> Result<(), Refusal> {
    let allowed = "must be left out of the first and the last phase, which receive the request and \
                   send the answer";
    if chain.is_detached() {
        return Err(Refusal::new(format!("{place}.detached"), true, allowed));
    }
    match chain.retry {
        Some(_) => Err(Refusal::given(format!("{place}.retry"), allowed)),
        None => Ok(()),
    }
}

fn phase_in_words(phase: &Phase, count: usize) -> String {
    match phase {
        Phase::Timed(_) | Phase::Cpu(_) => "application time".to_owned(),
        Phase::Chain(_) | Phase::Parallel(_) => format!("{count} chains"),
    }
}

fn check_chain(
    workload: &Workload,
    service: &Service,
    chain: &Chain,
    first: bool,
    place: &str,
) -> Result<(), Refusal> {
    for (place, sizes) in chain.placed_sizes(place) {
        check_sizes(sizes, &place)?;
    }
    check_waits(&chain.waits, place)?;
    if let Some(network) = &chain.network {
        let place = format!("{place}.network");
        if chain.calls.is_none() {
            let allowed =
                "must be left out without calls: only calls of other services use the network";
            return Err(Refusal::given(place, allowed));
        }
        times::check(network, &place)?;
    }
    let Some(called) = &chain.calls else {
        return Ok(());
    };
    let place = format!("{place}.calls");
    if first {
        let allowed = "must be left out of the chain that receives the request";
        return Err(Refusal::new(place, quoted(called), allowed));
    }
    if workload.service(called).is_some() {
        return Ok(());
    }
    let names = workload.services.iter().map(|other| other.name.as_str());
    let mut others = names.filter(|name| *name != service.name).peekable();
    if others.peek().is_none() {
        let allowed = "must be left out, as the workload has no other service";
        return Err(Refusal::new(place, quoted(called), allowed));
    }
    Err(Refusal::unknown(place, called, others))
}

/// Refuses cycles of calls.
fn circles(workload: &Workload) -> Result<(), Refusal> {
    for (index, service) in workload.services.iter().enumerate() {
        let mut reached = vec![service.name.as_str()];
        let mut next = 0;
        while let Some(&name) = reached.get(next) {
            next += 1;
            let Some(caller) = workload
                .services
                .iter()
                .find(|service| service.name == name)
            else {
                continue;
            };
            for (place, called) in calls(caller) {
                if called == service.name {
                    let how = match name == service.name {
                        true => {
                            "must be another service: a service that calls itself never answers"
                                .to_owned()
                        }
                        false => format!(
                            "must be a service that does not call '{name}', directly or through \
                             others: calls in a circle are never answered"
                        ),
                    };
                    let at = workload
                        .services
                        .iter()
                        .position(|service| service.name == name);
                    let place = format!("services[{}].{place}", at.unwrap_or(index));
                    return Err(Refusal::new(place, quoted(called), how));
                }
                if !reached.contains(&called) {
                    reached.push(called);
                }
            }
        }
    }
    Ok(())
}

/// The services that `service` calls, with the place of each call.
fn calls(service: &Service) -> impl Iterator<Item = (String, &str)> {
    service.path.iter().enumerate().flat_map(|(index, phase)| {
        let chains = phase.chains().iter().enumerate();
        chains.filter_map(move |(number, chain)| {
            let inside = match phase {
                Phase::Parallel(_) => format!(".parallel[{number}]"),
                _ => String::new(),
            };
            let place = format!("path[{index}]{inside}.calls");
            Some((place, chain.calls.as_deref()?))
        })
    })
}
