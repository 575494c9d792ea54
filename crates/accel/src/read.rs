//! Reads from a job the values that branch conditions test.

use std::borrow::Cow;
use std::fmt;

use accelflow_trace::{Format, Operand, Source, Span};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::job::Job;

impl Job {
    /// Returns the value of `operand`, which a branch condition tests; `None` if the job has no such
    /// value.
    ///
    /// - Field: the number that is the value of the named fact.
    /// - Bytes: the integer in the given bytes of the payload. The payload of a record is its JSON
    ///   text.
    /// - Bit: 0 or 1, one bit of such a number or integer.
    /// - Text: 1 if the text in the job equals the given text, otherwise 0. The text in the job is
    ///   a range of the payload, or the value of the named fact. Without such a fact it is the
    ///   string with the same name at the top level of a JSON payload that is not an envelope.
    pub fn read(&self, operand: Operand<'_>) -> Option<i64> {
        match operand {
            Operand::Field(name) => self.facts.get(name),
            Operand::Bytes(span) => span.integer(&self.payload()?),
            Operand::Bit { of, bit } => {
                let value = match of {
                    Source::Field(name) => self.facts.get(name)?,
                    Source::Bytes(span) => span.integer(&self.payload()?)?,
                };
                Some(value >> bit & 1)
            }
            Operand::Text { of, is } => {
                let equal = match of {
                    Source::Field(name) => self.text(name)? == is,
                    Source::Bytes(span) => self.bytes_are(span, is)?,
                };
                Some(i64::from(equal))
            }
        }
    }

    /// The previous accelerator's output; `None` for a record that cannot be converted to JSON.
    fn payload(&self) -> Option<Cow<'_, [u8]>> {
        match &self.record {
            Some(record) => record.to_json(&self.bytes).ok().map(Cow::Owned),
            None => Some(Cow::Borrowed(&self.bytes)),
        }
    }

    fn bytes_are(&self, span: Span, text: &str) -> Option<bool> {
        Some(span.of(&self.payload()?)? == text.as_bytes())
    }

    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        if let Some(text) = self.facts.text(name) {
            return Some(Cow::Borrowed(text));
        }
        if self.format != Format::Json || self.envelope.is_some() {
            return None;
        }
        let payload = self.payload()?;
        let mut reader = serde_json::Deserializer::from_slice(&payload);
        let found = reader.deserialize_map(Member(name)).ok()?;
        found.map(Cow::Owned)
    }
}

/// Finds the string of this name at the top level of an object.
struct Member<'n>(&'n str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match key == self.0 {
                true => {
                    found = map
                        .next_value::<serde_json::Value>()?
                        .as_str()
                        .map(str::to_owned)
                }
                false => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}
