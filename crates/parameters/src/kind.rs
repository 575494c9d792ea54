//! The allowed values of a parameter.

use crate::number_text;
use crate::refusal::any_of;

/// One of the values that a parameter may have, if they are listed one by one ([`Kind::Choice`],
/// [`Kind::WholeOr`]): its number, name and meaning. For example, 1 has the name `on`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The number that stands for the choice in a configuration. Users may write this number
    /// instead of `name`.
    pub value: f64,
    /// The name of the choice in files, on command lines and in tables; empty if the choice has
    /// only a number.
    pub name: &'static str,
    /// What the choice means, as a clause; empty if its name or number already says this.
    pub meaning: &'static str,
}

impl Choice {
    /// Creates a choice: the number `value`, the name that users may write for it, and its meaning
    /// as a clause.
    pub const fn named(value: f64, name: &'static str, meaning: &'static str) -> Choice {
        Choice {
            value,
            name,
            meaning,
        }
    }

    /// Creates a choice that has only the number `value`, without a name.
    pub const fn number(value: f64) -> Choice {
        Choice::named(value, "", "")
    }

    /// Returns the name of the choice, or its number if it has no name.
    pub fn label(&self) -> String {
        match self.name {
            "" => number_text(self.value),
            name => name.to_owned(),
        }
    }
}

/// The allowed values of a parameter: a range of numbers, a list of choices, a switch or a
/// constant. All values are numbers, and choices may have names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any number from `min` to `max`.
    Number {
        /// The smallest allowed value of the parameter.
        min: f64,
        /// The largest allowed value of the parameter.
        max: f64,
    },
    /// A whole number from `min` to `max`.
    Whole {
        /// The smallest allowed value of the parameter.
        min: f64,
        /// The largest allowed value of the parameter.
        max: f64,
    },
    /// A whole number from `min` to `max`, or one of the values in `named`, such as 0 with the name
    /// `none`.
    WholeOr {
        /// The smallest whole number of the allowed range.
        min: f64,
        /// The largest whole number of the allowed range.
        max: f64,
        /// The allowed values in addition to the range: whole numbers with names.
        named: &'static [Choice],
    },
    /// One of several listed values. Most of them have names.
    Choice(&'static [Choice]),
    /// A switch: the value 0 (off) or 1 (on).
    Switch,
    /// A constant of the model, listed for its provenance. Only the default is allowed.
    Fixed,
}

const SWITCH: &[Choice] = &[Choice::named(0.0, "off", ""), Choice::named(1.0, "on", "")];

impl Kind {
    /// Creates the kind of a parameter whose value is any number from `min` to `max`.
    pub const fn number(min: f64, max: f64) -> Kind {
        Kind::Number { min, max }
    }

    /// Creates the kind of a parameter whose value is a whole number from `min` to `max`.
    pub const fn whole(min: f64, max: f64) -> Kind {
        Kind::Whole { min, max }
    }

    /// Creates the kind of a parameter whose value is a whole number from `min` to `max`, or one of
    /// the choices `named`.
    pub const fn whole_or(min: f64, max: f64, named: &'static [Choice]) -> Kind {
        Kind::WholeOr { min, max, named }
    }

    /// Returns the name of the kind in lists of parameters: `number`, `whole`, `choice`, `switch`
    /// or `fixed`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Number { .. } => "number",
            Kind::Whole { .. } | Kind::WholeOr { .. } => "whole",
            Kind::Choice(_) => "choice",
            Kind::Switch => "switch",
            Kind::Fixed => "fixed",
        }
    }

    /// Returns the allowed values that are listed one by one, most of them with names; empty for a
    /// plain range or a constant.
    pub const fn choices(self) -> &'static [Choice] {
        match self {
            Kind::Choice(choices) => choices,
            Kind::WholeOr { named, .. } => named,
            Kind::Switch => SWITCH,
            Kind::Number { .. } | Kind::Whole { .. } | Kind::Fixed => &[],
        }
    }

    /// Returns the smallest and the largest allowed value. `default` is the parameter's default:
    /// for a constant ([`Kind::Fixed`]), both values are equal to it. Other kinds ignore it.
    pub fn range(self, default: f64) -> (f64, f64) {
        match self {
            Kind::Number { min, max } | Kind::Whole { min, max } => (min, max),
            Kind::Fixed => (default, default),
            Kind::WholeOr { min, max, .. } => self.with_choices(min, max),
            Kind::Choice(_) | Kind::Switch => self.with_choices(f64::INFINITY, f64::NEG_INFINITY),
        }
    }

    /// The smallest and the largest of two numbers and all choices.
    fn with_choices(self, min: f64, max: f64) -> (f64, f64) {
        let choices = self.choices().iter();
        choices.fold((min, max), |(min, max), choice| {
            (min.min(choice.value), max.max(choice.value))
        })
    }

    /// Returns whether all allowed values are whole numbers; `false` for [`Kind::Fixed`].
    pub fn is_whole(self) -> bool {
        match self {
            Kind::Whole { .. } | Kind::WholeOr { .. } => true,
            Kind::Number { .. } | Kind::Fixed => false,
            Kind::Choice(_) | Kind::Switch => {
                let mut choices = self.choices().iter();
                choices.all(|choice| choice.value.fract() == 0.0)
            }
        }
    }

    /// Returns whether `value` is allowed. `default` is the parameter's default: a constant
    /// ([`Kind::Fixed`]) allows only this value. Other kinds ignore it.
    pub fn allows(self, value: f64, default: f64) -> bool {
        match self {
            Kind::Number { min, max } => (min..=max).contains(&value),
            Kind::Whole { min, max } => (min..=max).contains(&value) && value.fract() == 0.0,
            Kind::WholeOr { min, max, .. } => {
                Kind::whole(min, max).allows(value, default)
                    || self.choices().iter().any(|choice| choice.value == value)
            }
            Kind::Fixed => value == default,
            Kind::Choice(_) | Kind::Switch => {
                let mut choices = self.choices().iter();
                choices.any(|choice| choice.value == value)
            }
        }
    }

    /// The allowed values in words, with the `unit` of a number: `a number from 0 to 1`, `on or
    /// off`.
    pub(crate) fn words(self, default: f64, unit: &str) -> String {
        let words = self.words_before_unit(default);
        let words = format!("{words} {unit}");
        let also = match self {
            Kind::WholeOr { named, .. } => {
                format!(", or {}", any_of(named.iter().map(Choice::label)))
            }
            _ => String::new(),
        };
        format!("{}{also}", words.trim_end())
    }

    fn words_before_unit(self, default: f64) -> String {
        let range = |what, min, max| {
            let (min, max) = (number_text(min), number_text(max));
            format!("{what} from {min} to {max}")
        };
        match self {
            Kind::Number { min, max } => range("a number", min, max),
            Kind::Whole { min, max } | Kind::WholeOr { min, max, .. } => {
                range("a whole number", min, max)
            }
            Kind::Fixed => number_text(default),
            Kind::Choice(_) | Kind::Switch => any_of(self.choices().iter().map(Choice::label)),
        }
    }
}
