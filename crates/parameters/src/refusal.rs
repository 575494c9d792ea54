//! The error for a value that is not allowed.

use std::error::Error;
use std::fmt;

use crate::{number_text, similar};

/// The largest number of names that are proposed instead of a wrong one.
const PROPOSED: usize = 4;

/// The largest number of names that are listed, without and with proposals. Of longer lists, three
/// are shown or none.
const LISTED: usize = 40;
const LISTED_BESIDE: usize = 20;
const SHOWN: usize = 3;

/// The values of settings that are missing, and of settings that must not be there whatever their
/// value is.
const LEFT_OUT: &str = "left out";
const GIVEN: &str = "given";

/// The error for a value that is not allowed. Its text is `PLACE = VALUE: must be ..., did you mean
/// ...?`, such as `cores = 0: must be at least 1`. For a missing value it is `PLACE is left out:
/// must be ...`.
///
/// PLACE is the name of the parameter, setting or field. If VALUE is an unknown name, PLACE states
/// its kind: `service = 'Login2': must be CPost or Login, did you mean Login?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The parameter, setting or field that has the value, as users write it, such as
    /// `core.clock_ghz`.
    pub place: String,
    /// The refused value as it was given. Texts are in single quotes.
    pub value: String,
    /// The allowed values, as a clause that follows the value in the error's text: `must be ...`.
    pub allowed: String,
    /// The allowed names that the user may have meant instead of an unknown name; empty if there
    /// are none.
    pub similar: Vec<String>,
}

impl Refusal {
    /// Creates the error that refuses `value` for the parameter or field named `place`. `allowed`
    /// is a clause such as `must be 1 or 2`. The error's text shows `value` as it is and adds no
    /// quotes.
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

    /// Creates the error for a missing value of the parameter or field named `place`. Its text is
    /// `PLACE is left out: ALLOWED`. `allowed` is a clause such as `must be 1 or 2`.
    pub fn left_out(place: impl Into<String>, allowed: impl Into<String>) -> Refusal {
        Refusal::new(place, LEFT_OUT, allowed)
    }

    /// Creates the error for a parameter or field `place` that is given but must be left out,
    /// whatever its value is. Its text is `PLACE is given: ALLOWED`. `allowed` is a clause that
    /// states why.
    pub fn given(place: impl Into<String>, allowed: impl Into<String>) -> Refusal {
        Refusal::new(place, GIVEN, allowed)
    }

    /// Creates the error that refuses the number `value` for the parameter or field named `place`.
    /// `allowed` is a clause such as `must be 1 or 2`.
    pub fn number(place: impl Into<String>, value: f64, allowed: impl Into<String>) -> Refusal {
        Refusal::new(place, number_text(value), allowed)
    }

    /// Creates the error for the unknown name `name`. `place` states what `name` should name, such
    /// as `service`. The error's text proposes names in `known` that are spelt like `name` (unless
    /// `known` has only one name), and lists the names in `known`:
    ///
    /// * with proposals, all names if there are at most 20, else none;
    /// * without proposals, all names if there are at most 40, else the first three.
    pub fn unknown<'k>(
        place: impl Into<String>,
        name: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Refusal {
        let known: Vec<&str> = known.into_iter().collect();
        let refusal = Refusal::new(place, quoted(name), "");
        let refusal = match known.len() {
            1 => refusal, // the text names it already
            _ => refusal.proposing(name, known.iter().copied()),
        };
        refusal.listing(&known)
    }

    /// Makes the names in `known` the allowed values. The error's text lists them by the rules of
    /// [`Refusal::unknown`].
    #[must_use]
    pub fn listing(mut self, known: &[&str]) -> Refusal {
        let (number, proposed) = (known.len(), !self.similar.is_empty());
        self.allowed = if proposed && number > LISTED_BESIDE {
            format!("must be one of {number} known names")
        } else if number > LISTED {
            let first = known[..SHOWN].join(", ");
            format!("must be one of {number} known names, such as {first}")
        } else {
            format!("must be {}", any_of(known))
        };
        self
    }

    /// Creates the error for `key`, which is not one of the parameter keys in `known`. The error's
    /// text proposes known keys that are spelt like `key`, or else names the first known key as an
    /// example.
    pub fn unknown_key<'k>(key: &str, known: impl IntoIterator<Item = &'k str>) -> Refusal {
        let known: Vec<&str> = known.into_iter().collect();
        let allowed = "must be the key of a parameter";
        let refusal = Refusal::new("parameter", quoted(key), allowed);
        let refusal = refusal.proposing(key, known.iter().copied());
        match known.first().filter(|_| refusal.similar.is_empty()) {
            Some(first) => Refusal {
                allowed: format!("{allowed}, such as {first}"),
                ..refusal
            },
            None => refusal,
        }
    }

    /// Adds "did you mean ...?" to the error's text, with those names in `known` that are spelt
    /// like `name`, at most four.
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

    /// Adds to the error's text the section `outer` that contains the refused value: the text
    /// begins with `OUTER.PLACE = VALUE` instead of `PLACE = VALUE`. An empty `outer` has no
    /// effect.
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
        // Texts are quoted, so an unquoted `left out` or `given` is not a value.
        let is = match self.value.as_str() {
            LEFT_OUT | GIVEN => "is",
            _ => "=",
        };
        write!(f, "{} {is} {}: {}", self.place, self.value, self.allowed)?;
        match self.similar.is_empty() {
            true => Ok(()),
            false => write!(f, ", did you mean {}?", any_of(&self.similar)),
        }
    }
}

impl Error for Refusal {}

/// Returns `names` as an enumeration in words: `a`, `a or b`, `a, b or c`.
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

/// Returns `text` in single quotes, for messages. Control characters are escaped, since a terminal
/// would obey them. Of a text with more than 300 characters, the first 300 and `...` remain.
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
