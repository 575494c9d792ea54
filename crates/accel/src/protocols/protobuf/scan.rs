//! Checks a protobuf message in its wire form before a tree is built from it.

use std::ops::Range;

use simdutf8::compat::from_utf8;

use super::shape::{Field, Holds, Shape, ShapeId, Shapes, Ty};
use crate::budget::Budget;
use crate::error::AccelError;
use crate::limits::Limits;

/// Checks that `bytes` are one message of a type: complete fields with the right wire types, text
/// in UTF-8, and nesting within [`Limits::max_depth`]. Charges the message's budget: fields and
/// elements on the wire, absent fields without presence, text and binary data.
///
/// # Errors
/// `truncated`, `bad_varint`, `bad_wire_type`, `wrong_field_type`, `bad_utf8`, `bad_frame`,
/// `too_deep`, `too_large`.
pub(super) fn check(
    shapes: &Shapes,
    id: ShapeId,
    bytes: &[u8],
    limits: &Limits,
) -> Result<(), AccelError> {
    limits.check_size("bytes of the protobuf message", bytes.len())?;
    let mut scan = Scan {
        shapes,
        bytes,
        at: 0,
        budget: Budget::new(limits),
        limits,
    };
    scan.message(Some(id), bytes.len(), None, 0)
}

/// The wire types of the protobuf encoding, by number.
pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const LENGTH: u8 = 2;
pub(super) const GROUP: u8 = 3;
pub(super) const END_GROUP: u8 = 4;
pub(super) const FIXED32: u8 = 5;

struct Scan<'b> {
    shapes: &'b Shapes,
    bytes: &'b [u8],
    at: usize,
    budget: Budget,
    limits: &'b Limits,
}

impl Scan<'_> {
    /// Checks the fields up to `end`, or up to the end of the group with number `group`. Without a
    /// type, only the form is checked.
    fn message(
        &mut self,
        id: Option<ShapeId>,
        end: usize,
        group: Option<u32>,
        depth: usize,
    ) -> Result<(), AccelError> {
        let limit = self.limits.max_depth;
        if depth >= limit {
            return Err(AccelError::TooDeep { at: self.at, limit });
        }
        let shapes = self.shapes;
        let shape = id.map(|id| shapes.message(id));
        let mut found = 0;
        let mut any = Any::default();
        let mut single = Vec::new();
        while self.at < end {
            let start = self.at;
            let (number, wire) = self.key(end)?;
            if wire == END_GROUP {
                return match group == Some(number) {
                    true => self.absent(shape, found),
                    false => Err(self.malformed(start, "the end of a group without its beginning")),
                };
            }
            self.budget.elements(1)?;
            found += 1;
            match shape.and_then(|shape| shape.field(number)) {
                Some(field) => {
                    self.check_whole(field, start, &mut single)?;
                    self.known(field, wire, start, end, depth)?;
                    if shape.is_some_and(|shape| shape.wraps_float) {
                        self.check_finite(wire, start)?;
                    }
                    any.note(number, start..self.at);
                }
                None => {
                    self.skip(number, wire, start, end, depth)?;
                    if shape.is_some_and(|shape| shape.extensible) {
                        // Only the library knows whether they count.
                        self.budget.elements(self.at - start)?;
                    }
                }
            }
        }
        match group {
            None => {
                self.absent(shape, found)?;
                match shape.is_some_and(|shape| shape.is_any) {
                    true => self.within_any(&any, depth),
                    false => Ok(()),
                }
            }
            Some(_) => Err(AccelError::Truncated {
                what: "group",
                at: end,
                need: 1,
                have: 0,
            }),
        }
    }

    /// Refuses a wrapped number that is infinite or not a number. The library would write it as
    /// null, which stands for an absent wrapper.
    fn check_finite(&self, wire: u8, start: usize) -> Result<(), AccelError> {
        let read = &self.bytes[..self.at];
        let number = match wire {
            FIXED64 => read.last_chunk().map(|bytes| f64::from_le_bytes(*bytes)),
            _ => read
                .last_chunk()
                .map(|bytes| f32::from_le_bytes(*bytes).into()),
        };
        match number {
            Some(number) if !number.is_finite() => {
                let allowed = "must be finite, since JSON has no such number";
                Err(self.malformed(start, &format!("wrapped number = {number}: {allowed}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a message in several pieces, which the library would merge, if it may contain
    /// `google.protobuf.Any`: the type and the content of one could be in different pieces, and the
    /// content unchecked. `single` has the numbers of the singular message fields read so far.
    fn check_whole(
        &self,
        field: &Field,
        start: usize,
        single: &mut Vec<u32>,
    ) -> Result<(), AccelError> {
        let is_single = matches!(field.holds, Holds::One | Holds::Group);
        let may_hold_any = match field.ty {
            Ty::Message(inner) => self.shapes.message(inner).may_hold_any,
            _ => false,
        };
        if !may_hold_any || !is_single {
            return Ok(());
        }
        if single.contains(&field.number) {
            let why = format!("'{}' comes twice", field.full_name);
            return Err(self.malformed(start, &why));
        }
        single.push(field.number);
        Ok(())
    }

    fn known(
        &mut self,
        field: &Field,
        wire: u8,
        start: usize,
        end: usize,
        depth: usize,
    ) -> Result<(), AccelError> {
        let group = matches!(field.holds, Holds::Group | Holds::Groups);
        let expected = match field.ty {
            Ty::Message(_) if group => GROUP,
            Ty::Message(_) | Ty::String | Ty::Bytes => LENGTH,
            Ty::Double | Ty::Fixed64 | Ty::Sfixed64 => FIXED64,
            Ty::Float | Ty::Fixed32 | Ty::Sfixed32 => FIXED32,
            _ => VARINT,
        };
        let list = matches!(field.holds, Holds::List { .. });
        let packed = wire == LENGTH && expected != LENGTH && list;
        if wire != expected && !packed {
            return Err(AccelError::WrongFieldType {
                at: start,
                field: field.full_name.to_string(),
                found: wire_name(wire),
                expected: wire_name(expected),
            });
        }
        match field.ty {
            Ty::Message(inner) if group => {
                self.message(Some(inner), end, Some(field.number), depth + 1)
            }
            Ty::Message(inner) => {
                let end = self.length(end)?;
                self.message(Some(inner), end, None, depth + 1)
            }
            Ty::String => {
                let (from, end) = (self.at, self.length(end)?);
                let text = &self.bytes[self.at..end];
                let checked = from_utf8(text).map_err(|error| AccelError::BadUtf8 {
                    what: format!("'{}'", field.full_name),
                    at: from + (self.at - from) + error.valid_up_to(),
                });
                self.at = end;
                checked?;
                self.budget.bytes(text.len())
            }
            Ty::Bytes => {
                let end = self.length(end)?;
                let bytes = &self.bytes[self.at..end];
                self.at = end;
                self.budget.bytes(bytes.len())?;
                self.budget.base64(bytes)
            }
            _ if packed => self.packed(expected, end),
            _ => self.skip(field.number, wire, start, end, depth),
        }
    }

    /// The elements of a packed field.
    fn packed(&mut self, wire: u8, end: usize) -> Result<(), AccelError> {
        let end = self.length(end)?;
        while self.at < end {
            self.budget.elements(1)?;
            self.scalar(wire, end)?;
        }
        Ok(())
    }

    fn scalar(&mut self, wire: u8, end: usize) -> Result<(), AccelError> {
        match wire {
            VARINT => self.varint(end).map(drop),
            FIXED64 => self.take("64-bit value", 8, end),
            _ => self.take("32-bit value", 4, end),
        }
    }

    fn skip(
        &mut self,
        number: u32,
        wire: u8,
        start: usize,
        end: usize,
        depth: usize,
    ) -> Result<(), AccelError> {
        match wire {
            LENGTH => {
                self.at = self.length(end)?;
                Ok(())
            }
            GROUP => self.message(None, end, Some(number), depth + 1),
            VARINT | FIXED64 | FIXED32 => self.scalar(wire, end),
            _ => {
                let found = wire;
                Err(AccelError::BadWireType { at: start, found })
            }
        }
    }

    fn key(&mut self, end: usize) -> Result<(u32, u8), AccelError> {
        let start = self.at;
        let key = self.varint(end)?;
        let number = u32::try_from(key >> 3).ok();
        match number.filter(|number| (1..1 << 29).contains(number)) {
            Some(number) => Ok((number, (key & 7) as u8)),
            None => Err(self.malformed(start, "a field number outside 1 to 536870911")),
        }
    }

    fn varint(&mut self, end: usize) -> Result<u64, AccelError> {
        const LIMIT: usize = 10;
        let start = self.at;
        let mut value = 0u64;
        for (place, byte) in self.bytes[start..end].iter().take(LIMIT).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place).min(63);
            if byte & 0x80 == 0 {
                // The tenth byte has one significant bit.
                if place + 1 == LIMIT && *byte > 1 {
                    break;
                }
                self.at = start + place + 1;
                return Ok(value);
            }
        }
        if end - start < LIMIT {
            return Err(AccelError::Truncated {
                what: "variable-length integer",
                at: start,
                need: end - start + 1,
                have: end - start,
            });
        }
        Err(AccelError::BadVarint {
            at: start,
            limit: LIMIT,
        })
    }

    /// Reads a length. Returns the offset of the end of the value that follows.
    fn length(&mut self, end: usize) -> Result<usize, AccelError> {
        let start = self.at;
        let length = self.varint(end)?;
        let have = end - self.at;
        let need = usize::try_from(length).unwrap_or(usize::MAX);
        match need <= have {
            true => Ok(self.at + need),
            false => Err(AccelError::Truncated {
                what: "length-delimited value",
                at: start,
                need,
                have,
            }),
        }
    }

    fn take(&mut self, what: &'static str, need: usize, end: usize) -> Result<(), AccelError> {
        let (at, have) = (self.at, end - self.at);
        if have < need {
            return Err(AccelError::Truncated {
                what,
                at,
                need,
                have,
            });
        }
        self.at += need;
        Ok(())
    }

    /// Charges the absent fields of a message that has `found` fields on the wire. Fields without
    /// presence are in the JSON even if absent.
    fn absent(&mut self, shape: Option<&Shape>, found: usize) -> Result<(), AccelError> {
        let always = shape.map_or(0, |shape| shape.always);
        self.budget.elements(always.saturating_sub(found))
    }

    /// Checks the message in a `google.protobuf.Any`, whose fields are members of its JSON.
    fn within_any(&mut self, any: &Any, depth: usize) -> Result<(), AccelError> {
        let end = self.at;
        let url = self.content(&any.url)?;
        let url = std::str::from_utf8(&self.bytes[url]).unwrap_or_default();
        let name = url.rsplit('/').next().unwrap_or_default();
        // Other types have no JSON.
        let id = self.shapes.named(name);
        let content = self.content(&any.value)?;
        if let Some(id) = id {
            self.at = content.start;
            self.message(Some(id), content.end, None, depth + 1)?;
        }
        self.at = end;
        Ok(())
    }

    /// The content of the length-delimited field at `place`.
    fn content(&mut self, place: &Range<usize>) -> Result<Range<usize>, AccelError> {
        if place.is_empty() {
            return Ok(0..0);
        }
        self.at = place.start;
        self.key(place.end)?;
        let end = self.length(place.end)?;
        Ok(self.at..end)
    }

    fn malformed(&self, at: usize, why: &str) -> AccelError {
        AccelError::BadFrame {
            what: "protobuf message",
            at,
            why: why.to_owned(),
        }
    }
}

/// The fields of a `google.protobuf.Any` on the wire; the last ones if they are repeated.
#[derive(Default)]
struct Any {
    url: Range<usize>,
    value: Range<usize>,
}

impl Any {
    fn note(&mut self, number: u32, place: Range<usize>) {
        match number {
            1 => self.url = place,
            2 => self.value = place,
            _ => {}
        }
    }
}

fn wire_name(wire: u8) -> &'static str {
    match wire {
        VARINT => "varint",
        FIXED64 => "64-bit",
        LENGTH => "length-delimited",
        GROUP => "group",
        FIXED32 => "32-bit",
        _ => "an unknown wire type",
    }
}
