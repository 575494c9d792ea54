//! The error for a value that is not allowed.

use std::error::Error;
use std::fmt;

use crate::{number_text, similar};

/// The largest number of names that are proposed instead of a wrong one.
const PROPOSED: usize = 4;

/// The largest number of names that are listed; of longer lists only some are shown.
const LISTED: usize = 40;
const SHOWN: usize = 3;

/// A value that is not allowed: `KEY = VALUE: must be ..., did you mean ...?`.
///
/// For an unknown name, the place is the kind of thing that is named, such as
/// `service = 'Login2': must be CPost or Login, did you mean Login?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The parameter, setting or field, as users write it.
    pub place: String,
    /// The value as given; texts are in quotes.
    pub value: String,
    /// What is allowed, as a clause that follows the value: `must be ...`.
    pub allowed: String,
    /// Names that may have been meant.
    pub similar: Vec<String>,
}

impl Refusal {
    /// Creates the refusal of `value` for `place`. Messages show `value` as it is given here.
    /// `allowed` is a clause such as `must be 1 or 2`.
    pub fn new(
        place: impl Into<String>,
        value: impl ToString,
        allowed: impl Into<String>,
    ) -> Refusal {
        Refusal {
            place: place.into(),
            value: value.to_string(),
            allowed: allowed.into(),
            similar: Vec::new(),
        }
    }

    /// The refusal of a setting that is left out but needed.
    pub fn left_out(place: impl Into<String>, allowed: impl Into<String>) -> Refusal {
        Refusal::new(place, "left out", allowed)
    }

    /// The refusal of a number.
    pub fn number(place: impl Into<String>, value: f64, allowed: impl Into<String>) -> Refusal {
        Refusal::new(place, number_text(value), allowed)
    }

    /// The refusal of `name`, which is not one of `known`. It lists them, unless there are too
    /// many, and proposes those that are spelt alike.
    pub fn unknown<'k>(
        place: impl Into<String>,
        name: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Refusal {
        let known: Vec<&str> = known.into_iter().collect();
        let allowed = match known.len() > LISTED {
            false => format!("must be {}", any_of(known.iter().copied())),
            true => {
                let first = known[..SHOWN].join(", ");
                format!("must be one of {} names ({first}, ...)", known.len())
            }
        };
        Refusal::new(place, quoted(name), allowed).proposing(name, known)
    }

    /// The refusal of `key`, which is not one of `known`, the keys of parameters.
    pub fn unknown_key<'k>(key: &str, known: impl IntoIterator<Item = &'k str>) -> Refusal {
        let allowed = "must be a key that `accelflow explain` lists";
        Refusal::new("parameter", quoted(key), allowed).proposing(key, known)
    }

    /// Adds a proposal: the names of `known` that are spelt like `name`.
    #[must_use]
    pub fn proposing<'k>(
        mut self,
        name: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Refusal {
        let found = similar(name, known);
        let proposed = found.into_iter().take(PROPOSED);
        self.similar = proposed.map(str::to_owned).collect();
        self
    }

    /// Adds the place `outer` before the refusal's own, such as the kernel that a value belongs to.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Refusal {
        if !outer.is_empty() {
            self.place = format!("{outer}.{}", self.place);
        }
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.place, self.value, self.allowed)?;
        match self.similar.is_empty() {
            true => Ok(()),
            false => write!(f, ", did you mean {}?", any_of(&self.similar)),
        }
    }
}

impl Error for Refusal {}

/// `names` as an enumeration: `a`, `a or b`, `a, b or c`.
pub fn any_of<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let mut text = String::new();
    let mut names = names.into_iter().peekable();
    while let Some(name) = names.next() {
        if !text.is_empty() {
            text += if names.peek().is_some() { ", " } else { " or " };
        }
        text += name.as_ref();
    }
    text
}

/// The number of letters of a text that a message shows.
const LONGEST: usize = 300;

/// `text` in the quotes that set a value apart from the words around it. Control characters, which a
/// terminal would obey, are escaped. Of a long text it has the beginning, which `...` follows.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for (number, letter) in text.chars().enumerate() {
        if number == LONGEST {
            quoted.push_str("...");
            break;
        }
        match letter.is_control() {
            true => quoted.extend(letter.escape_default()),
            false => quoted.push(letter),
        }
    }
    quoted.push('\'');
    quoted
}
