//! Bodies of custom accelerators.

use std::borrow::Cow;
use std::sync::Arc;

use accelflow_trace::{Directions, FactType, Format, Kind};

use crate::error::AccelError;
use crate::facts::Facts;
use crate::job::{Direction, Job};
use crate::limits::Limits;

/// The implementation (body) of a custom accelerator, which a library of traces declares in
/// addition to the nine. It processes the bytes of a message.
///
/// The output takes effect only if all of it conforms to the accelerator's declaration. If it does
/// not, or the body fails or panics, the message stays unchanged, so that a core can take over.
pub trait CustomBody: Send {
    /// Returns the accelerator's declaration: its name, the directions of the messages that it
    /// processes, and the facts that it sets. A library of traces contains the same declaration.
    fn kind(&self) -> &Kind;

    /// Processes one message.
    ///
    /// # Errors
    /// [`AccelError::custom`] with the reason why the message cannot be processed.
    fn run(&mut self, input: &Input<'_>) -> Result<Output, AccelError>;
}

/// The input of a [`CustomBody`]: a message.
#[derive(Clone, Copy, Debug)]
pub struct Input<'j> {
    /// The payload of the message; for a [`Record`](crate::Record), its JSON text. Data that are
    /// compressed or in a JSON envelope remain so.
    pub bytes: &'j [u8],
    /// The format of the payload: JSON or BSON for application data, otherwise `Str`.
    pub format: Format,
    /// Whether the message is received or sent.
    pub direction: Direction,
    /// The facts that earlier accelerators have found in the message.
    pub facts: &'j Facts,
}

/// The output of a custom accelerator ([`CustomBody`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The new payload and its format; `None` leaves both unchanged. A new payload counts as
    /// uncompressed, and as neither a JSON envelope nor a record.
    pub payload: Option<(Vec<u8>, Format)>,
    /// The facts for branches of the trace: exactly those that the accelerator's declaration lists.
    pub facts: Vec<(String, Fact)>,
}

/// The value of a fact (a named value for branches of the trace) that a custom accelerator outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The fact is an integer.
    Number(i64),
    /// The fact is a text.
    Text(String),
}

impl Fact {
    fn of(&self) -> FactType {
        match self {
            Fact::Number(_) => FactType::Number,
            Fact::Text(_) => FactType::Text,
        }
    }
}

impl AccelError {
    /// Creates the error `body_failed` of the custom accelerator `name`, which cannot process a
    /// message because of `why`.
    pub fn custom(name: &str, why: impl ToString) -> AccelError {
        AccelError::Custom {
            name: name.to_owned(),
            reason: "body_failed",
            why: why.to_string(),
        }
    }

    /// Creates the error `no_body` for a call of the custom accelerator `kind`, for which no body
    /// (implementation) is registered.
    pub fn no_body(kind: &Kind) -> AccelError {
        AccelError::Custom {
            name: kind.name().to_owned(),
            reason: "no_body",
            why: "no body is registered for this accelerator".to_owned(),
        }
    }
}

/// Runs `body` on a job. The body's declaration must equal the trace's.
pub(crate) fn run(
    body: &mut dyn CustomBody,
    kind: &Kind,
    job: &mut Job,
    limits: &Limits,
) -> Result<(), AccelError> {
    if body.kind() != kind {
        let why = format!(
            "the trace declares '{kind}', but its body declares '{}'",
            body.kind()
        );
        return Err(refusal(kind, "other_kind", why));
    }
    let wrong = match kind.directions() {
        Directions::Both => false,
        Directions::Receives => job.direction == Direction::Send,
        Directions::Sends => job.direction == Direction::Receive,
    };
    if wrong {
        let why = format!(
            "the accelerator is declared with '{}', but the message has the other direction",
            kind.directions().name()
        );
        return Err(refusal(kind, "wrong_direction", why));
    }
    let text = job.record.as_ref().map(|record| record.to_json(&job.bytes));
    let payload = text
        .transpose()?
        .map_or(Cow::Borrowed(&job.bytes), Cow::Owned);
    limits.check_size(
        "bytes of the message of a custom accelerator",
        payload.len(),
    )?;
    let input = Input {
        bytes: &payload,
        format: job.format,
        direction: job.direction,
        facts: &job.facts,
    };
    let output = body.run(&input)?;
    if let Some((bytes, _)) = &output.payload {
        limits.check_size("bytes of the output of a custom accelerator", bytes.len())?;
    }
    check_facts(kind, &output.facts)?;
    for (name, fact) in output.facts {
        let name: Arc<str> = name.into();
        match fact {
            Fact::Number(value) => job.facts.set(name, value),
            Fact::Text(text) => job.facts.set_text(name, text.into()),
        }
    }
    if let Some((bytes, format)) = output.payload {
        job.bytes = bytes;
        job.format = format;
        (job.packed, job.envelope, job.record) = (None, None, None);
    }
    Ok(())
}

/// Checks that facts are exactly those of the declaration.
fn check_facts(kind: &Kind, facts: &[(String, Fact)]) -> Result<(), AccelError> {
    let declared = |name: &str| kind.yields().iter().find(|known| known.0 == name);
    let keeps = facts.len() == kind.yields().len()
        && facts.iter().enumerate().all(|(index, (name, fact))| {
            let first = facts[..index].iter().all(|before| before.0 != *name);
            first && declared(name).is_some_and(|known| known.1 == fact.of())
        });
    if !keeps {
        let found: Vec<String> = facts
            .iter()
            .map(|(name, fact)| format!("{name} {}", fact.of().name()))
            .collect();
        let why = format!(
            "facts of the body's output = '{}': must be those of its declaration '{kind}'",
            found.join(", ")
        );
        return Err(refusal(kind, "wrong_facts", why));
    }
    Ok(())
}

fn refusal(kind: &Kind, reason: &'static str, why: String) -> AccelError {
    AccelError::Custom {
        name: kind.name().to_owned(),
        reason,
        why,
    }
}
