//! Checks of the facts that a workload's file states: missing ones, and impossible values.

use accelflow_parameters::Refusal;
use accelflow_trace::{Binary, Expr, Image, Operand};

use super::tree::{Phase, Service, Workload};
use crate::services;

impl Workload {
    /// Refuses facts that payloads cannot have: other values than 0 and 1 of a bit, or beside odds,
    /// and values that bytes do not have.
    ///
    /// # Errors
    /// [`Refusal`] of the first such fact.
    pub(super) fn check_facts(&self, image: &Image) -> Result<(), Refusal> {
        for (index, service) in self.services.iter().enumerate() {
            for (path, chain) in service.placed_chains(&format!("services[{index}]")) {
                for (trace, fields) in &chain.facts {
                    for (field, value) in fields {
                        let odds = chain.odds.get(trace);
                        let drawn = odds.is_some_and(|fields| fields.contains_key(field));
                        if let Some(allowed) = impossible(image, field, *value, drawn) {
                            let place = format!("{path}.facts.{trace}.{field}");
                            return Err(Refusal::new(place, value, allowed));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The refusal of all facts that the service called `name` leaves out and that branches of its
    /// traces test; `None` if there are none.
    pub(super) fn missing_facts(&self, name: &str, image: &Image) -> Option<Refusal> {
        let (index, service) = self
            .services
            .iter()
            .enumerate()
            .find(|(_, one)| one.name == name)?;
        let paths = service.to_path().ok()?;
        let mut found: Vec<(String, String)> = Vec::new();
        let mut is_first_bit = true;
        let chains = paths.chains().zip(service.chains());
        for ((_, chain), (phase, number, stated)) in chains {
            let path = place_of(service, index, phase, number);
            for fact in chain.missing_facts(image, &|trace, field| stated.is_open(trace, field)) {
                let place = format!("{path}.facts.{}.{}", fact.trace, fact.field);
                if found.is_empty() {
                    is_first_bit = is_bit(image, &fact.field);
                }
                if found.iter().all(|(known, _)| *known != place) {
                    found.push((place, condition(&fact)));
                }
            }
        }
        let (first, _) = found.first()?.clone();
        let trace = first.rsplit('.').nth(1).unwrap_or_default().to_owned();
        let values = match is_first_bit {
            true => "0 or 1, or a probability in odds",
            false => "a whole number, or a probability of 1 in odds",
        };
        let mut allowed = format!("must be {values}, since trace {trace} branches on it");
        let prefix = format!("services[{index}].");
        let others = found[1..].iter().map(|(place, given)| {
            let place = place.strip_prefix(&prefix).unwrap_or(place);
            format!("{place}{given}")
        });
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            allowed += &format!("; {name} also leaves out {}", others.join(", "));
        }
        Some(Refusal::left_out(first, allowed))
    }
}

impl super::tree::Chain {
    /// Whether requests have both values of a field: its odds are neither 0 nor 1.
    pub(super) fn is_open(&self, trace: &str, field: &str) -> bool {
        let odds = self.odds.get(trace).and_then(|fields| fields.get(field));
        odds.is_some_and(|odds| odds.0 > 0.0 && odds.0 < 1.0)
    }
}

/// The place of a chain of `part`, the phase with index `phase`.
fn place(part: &Phase, index: usize, phase: usize, number: usize) -> String {
    let inside = match part {
        Phase::Parallel(_) => format!(".parallel[{number}]"),
        _ => String::new(),
    };
    format!("services[{index}].path[{phase}]{inside}")
}

/// The place of the chain with index `number` in its phase; equal chains count separately.
fn place_of(service: &Service, index: usize, phase: usize, number: usize) -> String {
    let Some(part) = service.path.get(phase) else {
        return format!("services[{index}].path[{phase}]");
    };
    let mut left = number;
    for (number, chain) in part.chains().iter().enumerate() {
        if left < chain.count() {
            return place(part, index, phase, number);
        }
        left -= chain.count();
    }
    place(part, index, phase, 0)
}

/// A description of when a branch tests a missing fact.
fn condition(fact: &services::MissingFact) -> String {
    let each = fact.given.iter();
    let each = each.map(|(trace, field, value)| format!("{trace}.{field} = {value}"));
    let given: Vec<String> = each.collect();
    match given.is_empty() {
        true => String::new(),
        false => format!(" (if {})", given.join(" and ")),
    }
}

/// What the fact `field` must be if payloads cannot have `value`; `None` if they can. `drawn` says
/// whether odds draw the fact for each request.
fn impossible(image: &Image, field: &str, value: i64, drawn: bool) -> Option<String> {
    if matches!(value, 0 | 1) {
        return None;
    }
    if is_bit(image, field) {
        return Some("must be 0 or 1: branches test it as a bit".to_owned());
    }
    if drawn {
        return Some("must be 0 or 1, since odds is the probability that it is 1".to_owned());
    }
    let Some(Operand::Bytes(span)) = Operand::parse(field) else {
        return None;
    };
    // Eight bytes are a signed integer, which has all values.
    let bits = u32::try_from(8 * span.length())
        .ok()
        .filter(|bits| *bits < 64)?;
    let most = (1_i64 << bits) - 1;
    let is_possible = (0..=most).contains(&value);
    (!is_possible).then(|| format!("must be from 0 to {most}, as these bytes of a payload are"))
}

/// Whether at least one branch of `image` tests `field`, and all that do test it as a bit: by
/// itself, or for equality with 0 or 1.
fn is_bit(image: &Image, field: &str) -> bool {
    let table = image.predicates();
    let conditions = (0..=u8::MAX).map_while(|nibble| table.condition(nibble));
    let uses: Vec<Use> = conditions
        .map(|condition| used(condition.expr(), field))
        .collect();
    uses.contains(&Use::Bit) && !uses.contains(&Use::Number)
}

/// The kind of test that a condition makes of a payload field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    None,
    Bit,
    Number,
}

fn used(expr: &Expr, field: &str) -> Use {
    let is_it = |expr: &Expr| matches!(expr, Expr::Field(name) if name == field);
    match expr {
        Expr::Const(_) => Use::None,
        Expr::Field(_) if is_it(expr) => Use::Bit,
        Expr::Field(_) => Use::None,
        Expr::Not(inner) => used(inner, field),
        Expr::Binary(Binary::And | Binary::Or, left, right) => {
            used(left, field).max(used(right, field))
        }
        Expr::Binary(operator, left, right) => {
            let of_bit = matches!(operator, Binary::Eq | Binary::Ne);
            let bit = |expr: &Expr| matches!(expr, Expr::Const(0 | 1));
            if of_bit && ((is_it(left) && bit(right)) || (is_it(right) && bit(left))) {
                return Use::Bit;
            }
            match used(left, field).max(used(right, field)) {
                Use::None => Use::None,
                _ => Use::Number,
            }
        }
    }
}
