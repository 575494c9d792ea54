//! The findings of an import: what was understood, guessed and dropped.

use serde_json::{Value, json};

use crate::error::ImportError;

/// The certainty of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// The file states it.
    Understood,
    /// The file does not state it, or states something impossible.
    Guessed,
    /// It is not in the workload.
    Dropped,
}

/// Something that is counted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    pub(crate) sure: Sure,
    pub(crate) what: &'static str,
    pub(crate) done: &'static str,
}

/// Counts of topics, with the first places of each.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Whether guesses and losses are refused.
    strict: bool,
    found: Vec<(&'static Topic, u64, Vec<String>)>,
    /// Findings about the whole import, with a count.
    said: Vec<(Sure, String, u64, String)>,
}

/// The largest number of places that are listed for a topic.
const PLACES: usize = 5;

impl Findings {
    pub(crate) fn new(strict: bool) -> Findings {
        Findings {
            strict,
            ..Findings::default()
        }
    }

    /// Counts `topic`, which was met at `place`.
    ///
    /// # Errors
    /// [`ImportError::Strict`] for a guess or a loss if the options refuse them.
    pub(crate) fn count(
        &mut self,
        topic: &'static Topic,
        place: impl Fn() -> String,
    ) -> Result<(), ImportError> {
        self.count_many(topic, 1, place)
    }

    /// Counts `count` of `topic`, which were met at `place`.
    ///
    /// # Errors
    /// The errors of [`Findings::count`].
    pub(crate) fn count_many(
        &mut self,
        topic: &'static Topic,
        count: u64,
        place: impl Fn() -> String,
    ) -> Result<(), ImportError> {
        if count == 0 {
            return Ok(());
        }
        if self.strict && topic.sure != Sure::Understood {
            return Err(ImportError::Strict {
                place: place(),
                what: topic.what.to_owned(),
                done: topic.done.to_owned(),
            });
        }
        let known = self.found.iter().position(|(known, ..)| *known == topic);
        let index = known.unwrap_or_else(|| {
            self.found.push((topic, 0, Vec::new()));
            self.found.len() - 1
        });
        let (_, total, places) = &mut self.found[index];
        *total += count;
        if places.len() < PLACES {
            let place = place();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Ok(())
    }

    /// Adds a finding about the whole import, without a place. `strict` does not refuse it.
    pub(crate) fn say(&mut self, sure: Sure, what: &str, count: u64, done: &str) {
        self.said
            .push((sure, what.to_owned(), count, done.to_owned()));
    }

    /// The findings of this certainty: objects with `what`, `count`, `places` and `done`.
    pub(crate) fn list(&self, sure: Sure) -> Value {
        let found = self.found.iter().filter(|(topic, ..)| topic.sure == sure);
        let found = found.map(|(topic, count, places)| {
            json!({"what": topic.what, "count": count, "places": places, "done": topic.done})
        });
        let said = self.said.iter().filter(|said| said.0 == sure);
        let said = said.map(|(_, what, count, done)| {
            json!({"what": what, "count": count, "places": [], "done": done})
        });
        found.chain(said).collect()
    }

    /// The first topic with losses, and how many, for the message of an import that found nothing.
    pub(crate) fn first_loss(&self) -> Option<(&'static Topic, u64)> {
        let mut lost = self.found.iter();
        lost.find(|(topic, ..)| topic.sure == Sure::Dropped)
            .map(|(topic, count, _)| (*topic, *count))
    }
}
