//! Unique names of the workload's services, of letters, digits, `-`, `_` and dots.

use std::collections::{HashMap, HashSet};

use crate::names::Names;
use crate::span::Method;

/// The longest name of a service, with room for the number of a shape.
const LONGEST: usize = 58;

/// A name for each of `methods`: the operation's, preceded by the service's where two are alike.
pub(super) fn service_names(methods: &[Method], names: &Names) -> HashMap<Method, String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for method in methods {
        *counts.entry(cleaned(names.text(method.1))).or_default() += 1;
    }
    let mut taken = HashSet::new();
    let mut found = HashMap::new();
    for method in methods {
        let short = cleaned(names.text(method.1));
        let is_unique = counts.get(&short) == Some(&1) && !short.is_empty();
        let name = match is_unique {
            true => short,
            false => cleaned(&format!("{}.{short}", names.text(method.0))),
        };
        let name = if name.is_empty() {
            "service".to_owned()
        } else {
            name
        };
        found.insert(*method, unique(&name, &mut taken));
    }
    found
}

/// `name`, or with a number behind it if it is among the names in `taken`, which it joins.
pub(super) fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let mut own = name.to_owned();
    let mut number = 2;
    while !taken.insert(own.clone()) {
        own = format!("{name}-{number}");
        number += 1;
    }
    own
}

/// `text` with `-` for characters that are not allowed in names, and none at its ends.
fn cleaned(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        let fits = c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        if fits {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(LONGEST);
    name.trim_matches(['-', '.']).to_owned()
}
