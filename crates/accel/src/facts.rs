//! Facts about a message: the numbers and texts that branches of traces test.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The name of a fact. A fact is a value of a message, and branches of traces test it. The name is
/// a constant of the program, such as `hit`, or a shared text, such as the name of a field in a
/// schema.
#[derive(Clone)]
pub enum FactName {
    /// A name known at compile time.
    Static(&'static str),
    /// A name that was created at run time, such as the name of a field in a schema.
    Shared(Arc<str>),
}

impl FactName {
    /// Returns the name of the fact as text.
    pub fn as_str(&self) -> &str {
        match self {
            FactName::Static(name) => name,
            FactName::Shared(name) => name,
        }
    }
}

impl Borrow<str> for FactName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for FactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq for FactName {
    fn eq(&self, other: &FactName) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for FactName {}

impl From<&'static str> for FactName {
    fn from(name: &'static str) -> FactName {
        FactName::Static(name)
    }
}

impl From<Arc<str>> for FactName {
    fn from(name: Arc<str>) -> FactName {
        FactName::Shared(name)
    }
}

/// The facts of a message: named numbers and named texts that branches of a trace (a program of
/// accelerator calls) test. Both are ordered by name.
///
/// Accelerators set the facts when they read a message. RPC sets `message_type` and `seqid`
/// (Thrift) or `compressed` and `exception` (gRPC), and the texts `service` and `method`. Dser
/// (deserialization) sets a fact for each integer, enum and boolean field at the top level of a
/// Thrift, gRPC or storage message. Dser also sets the facts that the paper's twelve traces test.
/// These take precedence over fields of the same name:
///
/// - Thrift and gRPC: `compressed`, `exception`;
/// - storage: `hit`, `found`, `compressed` (the data of this message are compressed),
///   `c_compressed` (the cache keeps the collection compressed), `exception`;
/// - HTTP: `compressed`, and `status` of a response or the text `method` of a request.
///
/// A custom accelerator sets the facts that its declaration lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    numbers: Vec<(FactName, i64)>,
    texts: Vec<(FactName, Arc<str>)>,
}

impl Facts {
    /// Sets the fact `name` to the number `value`. Replaces an earlier number of the same name.
    pub fn set(&mut self, name: impl Into<FactName>, value: i64) {
        let name = name.into();
        match self
            .numbers
            .binary_search_by(|(known, _)| known.as_str().cmp(name.as_str()))
        {
            Ok(place) => self.numbers[place].1 = value,
            Err(place) => self.numbers.insert(place, (name, value)),
        }
    }

    /// Returns the value of the fact `name`, a number; `None` if no number has this name.
    pub fn get(&self, name: &str) -> Option<i64> {
        let place = self
            .numbers
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
            .ok()?;
        Some(self.numbers[place].1)
    }

    /// Iterates over the facts that are numbers, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.numbers
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
    }

    /// Sets the fact `name` to the text `value`. Replaces an earlier text of the same name.
    pub fn set_text(&mut self, name: impl Into<FactName>, value: Arc<str>) {
        let name = name.into();
        match self
            .texts
            .binary_search_by(|(known, _)| known.as_str().cmp(name.as_str()))
        {
            Ok(place) => self.texts[place].1 = value,
            Err(place) => self.texts.insert(place, (name, value)),
        }
    }

    /// Returns the value of the fact `name`, a text; `None` if no text has this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        let place = self
            .texts
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
            .ok()?;
        Some(&self.texts[place].1)
    }

    /// Iterates over the facts that are texts, in the order of their names.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_ref()))
    }

    /// Removes all facts of the message.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
    }
}
