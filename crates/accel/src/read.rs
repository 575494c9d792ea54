//! Reads from a job the values that branch conditions test.

use std::borrow::Cow;
use std::fmt;

use accelflow_trace::{Format, Operand, Source, Span};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::job::Job;

impl Job {
    /// Returns the value in this job that a branch condition tests: the value of `operand`. `None`
    /// if the job has no such value.
    ///
    /// - Field: the number of the fact that the operand names.
    /// - Bytes: the bytes of the payload in the operand's range, as a big-endian integer. If the
    ///   payload is a record (a message in its wire form), the bytes are those of its JSON text.
    /// - Bit: one bit, 0 or 1, of a field or of bytes as above.
    /// - Text: 1 if a text in the job equals the given text, otherwise 0. The operand names either
    ///   a range of the payload or a text fact. If the job has no such text fact, the string of the
    ///   same name at the top level of a JSON payload is compared. Strings of an envelope, JSON
    ///   that only wraps the actual data in its member `data`, are never compared.
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
