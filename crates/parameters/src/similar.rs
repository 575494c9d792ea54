//! A search for names that are spelt alike, for proposals in error messages.

use std::cmp::Reverse;

/// The smallest likeness, from 0 to 1, of a misspelt word and the meant one: one letter of three
/// may be wrong.
const NEAR: f64 = 0.6;

/// The suffixes of names that state a unit.
const UNITS: [&str; 8] = ["rps", "us", "ns", "ms", "s", "bytes", "ratio", "w"];

/// Returns the names in `known` that a user may have meant by `name`, the most likely first.
///
/// Names have parts separated by dots, such as `accelerator.pes`. The result has the known names
/// that end in the last part of `name` (`pes` finds `accelerator.pes`), or begin with all parts of
/// `name`. Of the names that end so, only those with a similar beginning count if there are any. If
/// the result would be empty, it has the known names with a similar beginning whose last part has a
/// similar spelling (`pes.TPC` finds `pes.TCP`), or adds only a unit (`rate` finds `rate_rps`).
///
/// Case is ignored, and `-` and blanks count as `_`.
pub fn similar<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let whole = plain(name);
    let (head, last) = parts(&whole);
    let known: Vec<Known<'k>> = known.into_iter().map(Known::new).collect();
    let same_head = |other: &Known| head.is_empty() || near(head, parts(&other.plain).0) > NEAR;
    let found = ending_in(last, &known, same_head);
    let beginning = format!("{whole}.");
    let begins = known
        .iter()
        .filter(|known| known.plain.starts_with(&beginning));
    let found: Vec<&str> = found
        .into_iter()
        .chain(begins.map(|known| known.name))
        .collect();
    if !found.is_empty() {
        return found;
    }
    let is_with_unit = |other: &Known| {
        let rest = parts(&other.plain).1.strip_prefix(last);
        let unit = rest.and_then(|rest| rest.strip_prefix('_'));
        unit.is_some_and(|unit| UNITS.contains(&unit))
    };
    let likeness = |other: &Known| match is_with_unit(other) {
        true => 1.0,
        false => near(last, parts(&other.plain).1),
    };
    let mut ranked: Vec<(f64, &str)> = known
        .iter()
        .filter(|other| same_head(other))
        .map(|other| (likeness(other), other.name))
        .filter(|(alike, _)| *alike > NEAR)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// The names whose last part is `last`; of these, the ones with the right beginning if there are
/// any.
fn ending_in<'k>(
    last: &str,
    known: &[Known<'k>],
    same_head: impl Fn(&Known) -> bool,
) -> Vec<&'k str> {
    let ends = known.iter().filter(|known| parts(&known.plain).1 == last);
    let mut found: Vec<(bool, &str)> = ends.map(|known| (same_head(known), known.name)).collect();
    found.sort_by_key(|(fits, _)| Reverse(*fits));
    if found.first().is_some_and(|(fits, _)| *fits) {
        found.retain(|(fits, _)| *fits);
    }
    found.into_iter().map(|(_, name)| name).collect()
}

struct Known<'k> {
    name: &'k str,
    plain: String,
}

impl<'k> Known<'k> {
    fn new(name: &'k str) -> Known<'k> {
        let plain = plain(name);
        Known { name, plain }
    }
}

/// `name` without case, and with one way to write the space between words.
pub(crate) fn plain(name: &str) -> String {
    let mut plain = name.to_lowercase();
    plain = plain.replace(['-', ' '], "_");
    plain
}

/// The parts of a name before and after the last point.
fn parts(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// The likeness of two words, from 0 to 1, by edits and transpositions per letter.
fn near(one: &str, other: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(one, other)
}
