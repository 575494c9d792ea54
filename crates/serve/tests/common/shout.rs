//! A custom accelerator. Tests of `accelflow-storage` use this file, too.

use accelflow_accel::{AccelError, CustomBody, Fact, Input, Output};
use accelflow_serve::CustomBodies;
use accelflow_trace::{Directions, FactType, Kind};

/// Replaces a word by another of the same length, and counts how often it did.
pub(crate) struct Shout {
    kind: Kind,
    word: &'static str,
    by: &'static str,
}

/// The declaration of [`Shout`] in a text of traces.
pub(crate) const SHOUT: &str = "kind Shout yields shouted number\n";

impl Shout {
    pub(crate) fn new(word: &'static str, by: &'static str) -> Shout {
        let yields = vec![("shouted".to_owned(), FactType::Number)];
        let kind = Kind::new("Shout", Directions::Both, yields).expect("a name");
        Shout { kind, word, by }
    }

    /// Bodies for the executors of a service.
    pub(crate) fn bodies(word: &'static str, by: &'static str) -> CustomBodies {
        CustomBodies::new(move || vec![Box::new(Shout::new(word, by))])
    }
}

impl CustomBody for Shout {
    fn kind(&self) -> &Kind {
        &self.kind
    }

    fn run(&mut self, input: &Input<'_>) -> Result<Output, AccelError> {
        let text = std::str::from_utf8(input.bytes);
        let text = text.map_err(|error| AccelError::custom("Shout", error))?;
        if text.contains("unspeakable") {
            return Err(AccelError::custom("Shout", "not in this house"));
        }
        assert!(!text.contains("explosive"), "on purpose");
        let count = text.matches(self.word).count() as i64;
        let payload = text.replace(self.word, self.by).into_bytes();
        Ok(Output {
            payload: Some((payload, input.format)),
            facts: vec![("shouted".to_owned(), Fact::Number(count))],
        })
    }
}
