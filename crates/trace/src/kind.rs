//! Custom accelerators: "any accelerator with the standard interface can be seamlessly integrated
//! into AccelFlow" (section VIII).

use std::fmt;

use crate::Accel;
use crate::condition::Operand;
use crate::limits::{MAX_KIND_CHARS, MAX_YIELDS};

/// The declaration of a custom accelerator, which is one in addition to the paper's nine. It states
/// the name, the directions of messages that the accelerator processes, and the facts that it
/// yields. Every body (software implementation) of that name must conform to it. The runtime
/// supplies the body, and the simulator its cost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    name: String,
    directions: Directions,
    yields: Vec<(String, FactType)>,
}

/// The directions of the messages that an accelerator processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Directions {
    /// Received and sent messages.
    #[default]
    Both = 0,
    /// Received messages only.
    Receives = 1,
    /// Sent messages only.
    Sends = 2,
}

/// The type of a fact that an accelerator yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FactType {
    /// An integer.
    Number = 0,
    /// A text.
    Text = 1,
}

/// The error of an invalid declaration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindError {
    /// A string that cannot be a name.
    #[error(
        "accelerator name = '{0}': must be 1 to {MAX_KIND_CHARS} letters and digits, start with a letter, and not be a keyword of the trace language"
    )]
    Name(String),
    /// The name of one of the nine.
    #[error(
        "accelerator name = '{0}': must differ from the names of the paper's nine accelerators"
    )]
    Taken(String),
    /// A string that cannot be a fact's name.
    #[error("fact = '{0}': must be letters, digits and '_', and occur once")]
    Fact(String),
    /// Too many facts.
    #[error("facts = {0}: must be at most {MAX_YIELDS} for an accelerator")]
    TooManyFacts(usize),
}

/// The keywords of the text of traces.
const WORDS: [&str; 15] = [
    "branch", "fork", "join", "trans", "tail", "notify", "continue", "meet", "trace", "kind", "on",
    "both", "receives", "sends", "yields",
];

impl Kind {
    /// Declares the custom accelerator `name`, which extracts the facts `yields` from a message.
    ///
    /// # Errors
    /// [`KindError`] for an invalid name or invalid facts.
    pub fn new(
        name: &str,
        directions: Directions,
        yields: Vec<(String, FactType)>,
    ) -> Result<Kind, KindError> {
        let legal = name.len() <= MAX_KIND_CHARS
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric())
            && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(name));
        if !legal {
            return Err(KindError::Name(name.to_owned()));
        }
        if name.parse::<Accel>().is_ok() {
            return Err(KindError::Taken(name.to_owned()));
        }
        if yields.len() > MAX_YIELDS {
            return Err(KindError::TooManyFacts(yields.len()));
        }
        for (index, (fact, _)) in yields.iter().enumerate() {
            let twice = yields[..index].iter().any(|(other, _)| other == fact);
            if twice || !matches!(Operand::parse(fact), Some(Operand::Field(_))) {
                return Err(KindError::Fact(fact.clone()));
            }
        }
        Ok(Kind {
            name: name.to_owned(),
            directions,
            yields,
        })
    }

    /// The accelerator's name in sources, bodies and costs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directions of the messages that it processes.
    pub fn directions(&self) -> Directions {
        self.directions
    }

    /// The facts that it extracts from each message. Later branches may test them.
    pub fn yields(&self) -> &[(String, FactType)] {
        &self.yields
    }
}

impl Directions {
    /// The values, in the order of their codes.
    pub const ALL: [Directions; 3] = [Directions::Both, Directions::Receives, Directions::Sends];

    /// The keyword in declarations.
    pub const fn name(self) -> &'static str {
        match self {
            Directions::Both => "both",
            Directions::Receives => "receives",
            Directions::Sends => "sends",
        }
    }
}

impl FactType {
    /// The values, in the order of their codes.
    pub const ALL: [FactType; 2] = [FactType::Number, FactType::Text];

    /// The keyword in declarations.
    pub const fn name(self) -> &'static str {
        match self {
            FactType::Number => "number",
            FactType::Text => "text",
        }
    }
}

impl fmt::Display for Kind {
    /// Writes the declaration as in a text of traces: `kind Hash yields size number, digest text`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kind {}", self.name)?;
        if self.directions != Directions::Both {
            write!(f, " {}", self.directions.name())?;
        }
        for (index, (fact, of)) in self.yields.iter().enumerate() {
            let before = if index == 0 { " yields" } else { "," };
            write!(f, "{before} {fact} {}", of.name())?;
        }
        Ok(())
    }
}
