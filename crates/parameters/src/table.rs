//! Tables that bind parameters to the fields of a configuration.

use std::collections::BTreeSet;

use crate::{Kind, Parameter, Refusal, similar};

/// The largest relative error when a field keeps a value as a quantity, such as picoseconds.
const ROUNDED: f64 = 1e-9;

/// One row of a [`Table`]: a parameter, and the functions that read and write its value in a
/// configuration of type `C`.
#[derive(Debug)]
pub struct Row<C> {
    /// The description of the parameter.
    pub parameter: Parameter,
    /// Reads the parameter's value from a configuration.
    pub get: fn(&C) -> f64,
    /// Writes a value of the parameter to a configuration. The value must be allowed.
    pub set: fn(&mut C, f64),
}

/// A list of all parameters of a simulator, model or server. Each parameter has functions that read
/// and write its value in a configuration of type `C`.
#[derive(Debug)]
pub struct Table<C: 'static> {
    sections: &'static [&'static [Row<C>]],
    members: Members,
}

/// A group, such as `accelerator`, and the names of its members, such as `TCP`.
type Members = (&'static str, &'static [&'static str]);

impl<C> Table<C> {
    /// Creates a table of the parameters in `sections`, in this order.
    pub const fn new(sections: &'static [&'static [Row<C>]]) -> Table<C> {
        Table {
            sections,
            members: ("", &[]),
        }
    }

    /// Adds a second spelling for the parameter keys that end in one of `members`, so that a file
    /// can have a section for each member. If `group` is `accelerator` and a member is `TCP`, the
    /// key `pes.TCP` may also be written `accelerator.TCP.pes`. A key with another member,
    /// such as `pes.Hash`, is an error, which proposes the key of the last member, such as
    /// `pes.own`: the last member is for all that are not listed.
    #[must_use]
    pub const fn with_members(
        self,
        group: &'static str,
        members: &'static [&'static str],
    ) -> Table<C> {
        Table {
            sections: self.sections,
            members: (group, members),
        }
    }

    /// Returns the second spelling of a parameter key, which [`Table::with_members`] adds:
    /// `accelerator.TCP.pes` for the `key` `pes.TCP`. `None` if `key` has no second spelling.
    pub fn by_member(&self, key: &str) -> Option<String> {
        let (group, members) = self.members;
        let (what, member) = key.split_once('.')?;
        let known = members.contains(&member);
        known.then(|| format!("{group}.{member}.{what}"))
    }

    /// Whether `key` is the second spelling of `of`.
    fn is_by_member(&self, key: &str, of: &str) -> bool {
        let begins = key.strip_prefix(self.members.0);
        begins.is_some_and(|rest| rest.starts_with('.'))
            && self.by_member(of).as_deref() == Some(key)
    }

    /// The spellings to propose for the unknown key `key`: those of its member where it names one,
    /// else all keys, and all second spellings where it begins like these.
    fn spellings(&self, key: &str) -> Vec<String> {
        let (group, members) = self.members;
        let keys = self.parameters().map(|parameter| parameter.key.to_owned());
        let parts: Vec<&str> = key.split('.').collect();
        if group.is_empty() || parts.len() < 3 || parts[0] != group {
            return keys.collect();
        }
        let by_member: Vec<String> = self
            .parameters()
            .filter_map(|parameter| self.by_member(parameter.key))
            .collect();
        let named = members
            .iter()
            .find(|name| name.eq_ignore_ascii_case(parts[1]));
        match named.map(|name| format!("{group}.{name}.")) {
            Some(section) => {
                let of_member = by_member
                    .into_iter()
                    .filter(|key| key.starts_with(&section));
                of_member.collect()
            }
            None => keys.chain(by_member).collect(),
        }
    }

    /// Returns the rows of the table in order: each parameter with the functions that read and
    /// write its value.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row<C>> + use<C> {
        self.sections.iter().copied().flatten()
    }

    /// Returns the descriptions of the parameters, in the order of the table.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> + use<C> {
        self.rows().map(|row| &row.parameter)
    }

    /// Returns the row of the parameter `key`, in either spelling ([`Table::with_members`]).
    ///
    /// # Errors
    /// A [`Refusal`] if the table does not have `key`. The error's text proposes keys that are
    /// spelt like it.
    pub fn row(&self, key: &str) -> Result<&'static Row<C>, Refusal> {
        let is_asked = |row: &&Row<C>| {
            let known = row.parameter.key;
            known == key || self.is_by_member(key, known)
        };
        self.rows().find(is_asked).ok_or_else(|| {
            if let Some(shared) = self.of_other_members(key) {
                return Refusal {
                    similar: vec![shared],
                    ..Refusal::unknown_key(key, [])
                };
            }
            let known = self.spellings(key);
            Refusal::unknown_key(key, known.iter().map(String::as_str))
        })
    }

    /// Returns the key to propose if `key` is a known key with an unknown member, such as `pes.own`
    /// for `pes.Hash`: that of the last member, which stands for all members without a name.
    fn of_other_members(&self, key: &str) -> Option<String> {
        let (group, members) = self.members;
        let parts: Vec<&str> = key.split('.').collect();
        let (what, member) = match parts[..] {
            [what, member] => (what, member),
            [of, member, what] if of == group => (what, member),
            _ => return None,
        };
        let shared = format!("{what}.{}", members.last()?);
        let is_other = !member.is_empty() && similar(member, members.iter().copied()).is_empty();
        let is_key = self.parameters().any(|parameter| parameter.key == shared);
        (is_other && is_key).then_some(shared)
    }

    /// Returns the description of the parameter `key`.
    ///
    /// # Errors
    /// The errors of [`Table::row`].
    pub fn parameter(&self, key: &str) -> Result<&'static Parameter, Refusal> {
        Ok(&self.row(key)?.parameter)
    }

    /// Returns the value of the parameter `key` in `config`.
    ///
    /// # Errors
    /// The errors of [`Table::row`].
    pub fn get(&self, config: &C, key: &str) -> Result<f64, Refusal> {
        Ok((self.row(key)?.get)(config))
    }

    /// Sets the parameter `key` to `value` in `config`.
    ///
    /// # Errors
    /// A [`Refusal`] of an unknown key or of a value that is not allowed; `config` is then
    /// unchanged.
    pub fn set(&self, config: &mut C, key: &str, value: f64) -> Result<(), Refusal> {
        let row = self.row(key)?;
        row.parameter.check(value)?;
        (row.set)(config, value);
        Ok(())
    }

    /// Sets the parameter `key` to its choice called `name` in `config`.
    ///
    /// # Errors
    /// A [`Refusal`] of an unknown key, or if the parameter has no choice called `name`.
    pub fn set_by_name(&self, config: &mut C, key: &str, name: &str) -> Result<(), Refusal> {
        let row = self.row(key)?;
        (row.set)(config, row.parameter.number_of(name)?);
        Ok(())
    }

    /// Sets all parameters of `config` to their defaults.
    pub fn set_defaults(&self, config: &mut C) {
        for row in self.rows() {
            (row.set)(config, row.parameter.default);
        }
    }

    /// Checks the value of every parameter in `config`. This is for configurations whose fields
    /// were set directly, without [`Table::set`].
    ///
    /// # Errors
    /// A [`Refusal`] of the first value that is not allowed.
    pub fn check(&self, config: &C) -> Result<(), Refusal> {
        let mut rows = self.rows();
        rows.try_for_each(|row| row.parameter.check((row.get)(config)))
    }

    /// Checks the table itself and returns its defects as texts; empty for a correct table. It is
    /// meant for tests of code that declares a table. `config` creates a configuration with all
    /// defaults.
    ///
    /// In a correct table, every key occurs once. Every default is allowed and has a source, and
    /// `config` has the defaults. The error for a value that is not allowed states the key. When a
    /// field is set to its smallest or largest allowed value, reading the field returns this value,
    /// and no other field changes, except for constants. The choices of a parameter have distinct
    /// numbers and names, and each is found by its name.
    pub fn faults(&self, config: impl Fn() -> C) -> Vec<String> {
        let mut faults = Vec::new();
        let mut keys = BTreeSet::new();
        for row in self.rows() {
            let parameter = &row.parameter;
            let mut fault = |what: &str| faults.push(format!("{}: {what}", parameter.key));
            if !keys.insert(parameter.key) {
                fault("the key is there twice");
            }
            if (row.get)(&config()) != parameter.default {
                fault("the configuration does not have the default");
            }
            if parameter.source.is_empty() {
                fault("has no source");
            }
            for found in refusal_faults(parameter)
                .into_iter()
                .chain(choice_faults(parameter))
            {
                fault(&found);
            }
            for found in self.field_faults(row, &config) {
                fault(&found);
            }
        }
        faults
    }

    fn field_faults(&self, row: &Row<C>, config: impl Fn() -> C) -> Vec<String> {
        let mut faults = Vec::new();
        let parameter = &row.parameter;
        let (min, max) = parameter.kind.range(parameter.default);
        for value in [min, max] {
            let mut changed = config();
            (row.set)(&mut changed, value);
            let found = (row.get)(&changed);
            if (found - value).abs() > value.abs() * ROUNDED {
                faults.push(format!("{value} is read back as {found}"));
            }
            for other in self.rows() {
                let may_follow = other.parameter.kind == Kind::Fixed;
                if other.parameter.key == parameter.key || may_follow {
                    continue;
                }
                if (other.get)(&changed) != other.parameter.default {
                    faults.push(format!("setting it changes {}", other.parameter.key));
                }
            }
        }
        faults
    }
}

fn refusal_faults(parameter: &Parameter) -> Vec<String> {
    let mut faults = Vec::new();
    let (min, max) = parameter.kind.range(parameter.default);
    if parameter.check(parameter.default).is_err() {
        faults.push("the default is not allowed".to_owned());
    }
    let below = min - min.abs().max(1.0);
    let above = max + max.abs().max(1.0);
    for value in [below, above, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        match parameter.check(value) {
            Ok(()) => faults.push(format!("{value} is allowed")),
            Err(refusal) => {
                let text = refusal.to_string();
                if !text.starts_with(&format!("{} = ", parameter.key)) || !text.contains("must be ")
                {
                    faults.push(format!("{value} is refused by '{text}'"));
                }
            }
        }
    }
    if parameter.kind.is_whole() && parameter.check(min + 0.5).is_ok() {
        faults.push(format!("{} is allowed", min + 0.5));
    }
    faults
}

fn choice_faults(parameter: &Parameter) -> Vec<String> {
    let mut faults = Vec::new();
    let (mut values, mut names) = (BTreeSet::new(), BTreeSet::new());
    for choice in parameter.kind.choices() {
        let label = choice.label();
        if !values.insert(choice.value.to_bits()) || !names.insert(choice.label()) {
            faults.push(format!("the choice {label} is there twice"));
        }
        if parameter.check(choice.value).is_err() {
            faults.push(format!("the choice {label} is not allowed"));
        }
        if !choice.name.is_empty() && parameter.number_of(choice.name) != Ok(choice.value) {
            faults.push(format!("the choice {label} is not found by its name"));
        }
    }
    faults
}
