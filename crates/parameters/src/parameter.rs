//! The description of one parameter of a model, and checks of its value.

use crate::refusal::quoted;
use crate::similar::plain;
use crate::{Choice, Kind, Provenance, Refusal, number_text};

/// The description of a parameter of a model: its key, unit, allowed values, default and the
/// default's origin.
///
/// Users can set most parameters. Constants of the model are also parameters, so that lists show
/// where they come from. `S` is the type of the strings: `&'static str` in constant tables,
/// `String` for parameters derived from data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter<S = &'static str> {
    /// The parameter's name in files and on command lines, such as `core.clock_ghz`.
    pub key: S,
    /// The unit of the value, such as `us`; empty if the value has none, such as a ratio or a
    /// choice.
    pub unit: &'static str,
    /// The kind and range of the allowed values.
    pub kind: Kind,
    /// The value that the parameter has unless a user sets another one.
    pub default: f64,
    /// The kind of the default's origin: a paper, a calculation, a measurement or an assumption.
    pub provenance: Provenance,
    /// The origin of the default: paper and section, the measured thing, or `no source`.
    pub source: S,
    /// The calculation of the default, or the reason for choosing it; empty if `source` says
    /// enough.
    pub why: S,
}

impl<S: AsRef<str>> Parameter<S> {
    /// Checks that the parameter may have the value `value`.
    ///
    /// # Errors
    /// A [`Refusal`] that states the allowed values.
    pub fn check(&self, value: f64) -> Result<(), Refusal> {
        match self.kind.allows(value, self.default) {
            true => Ok(()),
            false => Err(self.refusal(number_text(value))),
        }
    }

    /// Returns the number of the choice called `name`, for a parameter whose values have names. For
    /// example, `on` gives 1 for a switch. Case is ignored, and `-` and blanks count as `_`.
    ///
    /// # Errors
    /// A [`Refusal`] if the parameter has no choice called `name`.
    pub fn number_of(&self, name: &str) -> Result<f64, Refusal> {
        let wanted = plain(name);
        let mut choices = self.kind.choices().iter();
        let found = choices.find(|choice| !choice.name.is_empty() && plain(choice.name) == wanted);
        found.map(|choice| choice.value).ok_or_else(|| {
            let known = self.kind.choices().iter().map(|choice| choice.name);
            let mut refusal = self.refusal(quoted(name)).proposing(name, known);
            let number = name.trim().parse();
            if number.is_ok_and(|number| self.kind.allows(number, self.default)) {
                refusal.allowed.push_str("; numbers have no quotes"); // they are easily overlooked
            }
            refusal
        })
    }

    /// Creates the error that refuses `value` for this parameter and states the allowed values. The
    /// error's text shows `value` as it is and adds no quotes.
    pub fn refusal(&self, value: impl ToString) -> Refusal {
        let meaning = match self.kind {
            // The range before it says nothing about the value beside it.
            Kind::WholeOr { named: [only], .. } if !only.meaning.is_empty() => {
                format!(" ({})", only.meaning)
            }
            _ => String::new(),
        };
        let allowed = format!("must be {}{meaning}", self.allowed());
        Refusal::new(self.key.as_ref(), value, allowed)
    }

    /// Returns the allowed values in words, with the unit, such as `a whole number from 1 to 64
    /// cores`.
    pub fn allowed(&self) -> String {
        let words = self.kind.words(self.default, self.unit);
        let fixed = match self.kind {
            Kind::Fixed => ": it is a constant of the model",
            _ => "",
        };
        format!("{words}{fixed}")
    }

    /// Returns the choice (one of the parameter's listed values) with the number `value`; `None` if
    /// there is no such choice.
    pub fn choice(&self, value: f64) -> Option<&'static Choice> {
        let mut choices = self.kind.choices().iter();
        choices.find(|choice| choice.value == value)
    }

    /// Returns `value` as users write it: its name if the parameter has a name for it, such as `on`
    /// for 1, else the number.
    pub fn text(&self, value: f64) -> String {
        self.choice(value)
            .map_or_else(|| number_text(value), Choice::label)
    }
}
