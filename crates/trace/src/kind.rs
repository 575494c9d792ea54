//! Declarations of custom accelerators: "any accelerator with the standard interface can be
//! seamlessly integrated into AccelFlow" (section VIII).

use std::fmt;

use crate::Accel;
use crate::condition::Operand;
use crate::limits::{MAX_KIND_CHARS, MAX_YIELDS};

/// The declaration of a custom accelerator, one beyond the nine of the AccelFlow paper (section
/// VIII allows this). It states the accelerator's name, the directions of the messages that it
/// processes (received, sent or both), and the payload values (facts) that it extracts.
///
/// Two things that the declaration lacks are registered elsewhere under the accelerator's name: the
/// software implementation in the runtime, which must conform to the declaration, and the cost for
/// the simulator in a workload file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    name: String,
    directions: Directions,
    yields: Vec<(String, FactType)>,
}

/// The directions of the messages that a custom accelerator processes: received, sent or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Directions {
    /// The accelerator processes received and sent messages.
    #[default]
    Both = 0,
    /// The accelerator processes received messages only.
    Receives = 1,
    /// The accelerator processes sent messages only.
    Sends = 2,
}

/// The type of a payload value (a fact) that a custom accelerator extracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FactType {
    /// A signed 64-bit integer.
    Number = 0,
    /// A text, which conditions compare by `==` and `!=`.
    Text = 1,
}

/// The error of an invalid declaration of a custom accelerator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindError {
    /// The name is not valid for an accelerator. Holds the name.
    #[error(
        "accelerator name = '{}': must be 1 to {MAX_KIND_CHARS} letters and digits, start with a letter, and not be a keyword of the trace language",
        shown(.0)
    )]
    Name(String),
    /// The name is that of one of the paper's nine accelerators. Holds the name.
    #[error(
        "accelerator name = '{0}': must differ from the names of the paper's nine accelerators"
    )]
    Taken(String),
    /// The name is `core`, `cores` or `manager`, by which results call other parts of a server.
    /// Holds the name.
    #[error(
        "accelerator name = '{0}': must differ from core, cores and manager, which results call other parts of a server"
    )]
    Part(String),
    /// The name of a payload value (a fact) is not valid, or occurs twice. Holds the name.
    #[error(
        "fact = '{}': must be letters, digits and '_', not starting with a digit, and occur once",
        shown(.0)
    )]
    Fact(String),
    /// The accelerator extracts more than [`MAX_YIELDS`] payload values (facts). Holds the number
    /// of facts.
    #[error("facts that the accelerator yields = {0}: must be at most {MAX_YIELDS}")]
    TooManyFacts(usize),
}

/// The number of characters of a wrong name that a refusal shows.
const MAX_SHOWN: usize = 64;

/// A wrong name as a refusal shows it: a damaged file can have any text here.
pub(crate) fn shown(name: &str) -> String {
    let start: String = name.chars().take(MAX_SHOWN).collect();
    let more = if start.len() < name.len() { "..." } else { "" };
    format!("{}{more}", start.escape_debug())
}

/// The keywords of the text of traces.
const WORDS: [&str; 15] = [
    "branch", "fork", "join", "trans", "tail", "notify", "continue", "meet", "trace", "kind", "on",
    "both", "receives", "sends", "yields",
];

/// The names of other parts of a server in results: an accelerator of the same name would take
/// their place there.
const PARTS: [&str; 3] = ["core", "cores", "manager"];

impl Kind {
    /// Declares the custom accelerator `name`, which processes messages of the given directions.
    /// `yields` are the names and types of the payload values (facts) that the accelerator extracts
    /// from a message, and that later branches may test.
    ///
    /// # Errors
    /// [`KindError`] for an invalid name, for invalid or repeated facts, and for more than
    /// [`MAX_YIELDS`] facts.
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
        if PARTS.iter().any(|part| part.eq_ignore_ascii_case(name)) {
            return Err(KindError::Part(name.to_owned()));
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

    /// Returns the accelerator's name, by which traces, software implementations and costs refer to
    /// the accelerator.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the directions of the messages that the accelerator processes.
    pub fn directions(&self) -> Directions {
        self.directions
    }

    /// Returns the names and types of the payload values (facts) that the accelerator extracts from
    /// each message. Branches after the accelerator may test these values.
    pub fn yields(&self) -> &[(String, FactType)] {
        &self.yields
    }
}

impl Directions {
    /// All directions of messages, in the order of the numbers by which a trace file refers to
    /// them.
    pub const ALL: [Directions; 3] = [Directions::Both, Directions::Receives, Directions::Sends];

    /// Returns the keyword for these directions of messages in a declaration: `both`, `receives` or
    /// `sends`.
    pub const fn name(self) -> &'static str {
        match self {
            Directions::Both => "both",
            Directions::Receives => "receives",
            Directions::Sends => "sends",
        }
    }
}

impl FactType {
    /// All types of payload values (facts), in the order of the numbers by which a trace file
    /// refers to them.
    pub const ALL: [FactType; 2] = [FactType::Number, FactType::Text];

    /// Returns the keyword of the type in a declaration: `number` or `text`.
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
