//! Checks a message on the wire before a tree is made of it.

use simdutf8::compat::from_utf8;

use super::shape::{Field, Holds, ShapeId, Shapes, Ty};
use crate::error::AccelError;
use crate::limits::Limits;

/// Checks that `bytes` are one message of a type: whole fields of the right wire types, text in
/// UTF-8, not nested deeper than [`Limits::max_depth`], and at most
/// [`Limits::max_container_elements`] fields and elements in all.
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
    AccelError::check_size("message", bytes.len(), limits)?;
    let mut scan = Scan {
        shapes,
        bytes,
        at: 0,
        elements: 0,
        limits,
    };
    scan.message(Some(id), bytes.len(), None, 0)
}

/// The wire types of the protobuf encoding, as their numbers.
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
    elements: usize,
    limits: &'b Limits,
}

impl Scan<'_> {
    /// Checks the fields up to `end`, or up to the end of the group that has the number `group`.
    /// Of a type that is not known, only the form is checked.
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
        while self.at < end {
            let start = self.at;
            let (number, wire) = self.key(end)?;
            if wire == END_GROUP {
                return match group == Some(number) {
                    true => Ok(()),
                    false => Err(self.malformed(start, "the end of a group that did not begin")),
                };
            }
            self.count(1)?;
            let place = shape.and_then(|shape| Some((shape, shape.place(number)?)));
            match place {
                Some((shape, place)) => {
                    self.known(&shape.fields[place], wire, start, end, depth)?;
                }
                None => self.skip(number, wire, start, end, depth)?,
            }
        }
        match group {
            None => Ok(()),
            Some(_) => Err(AccelError::Truncated {
                what: "group",
                at: end,
                need: 1,
                have: 0,
            }),
        }
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
                checked.map(drop)
            }
            _ if packed => self.packed(expected, end),
            _ => self.skip(field.number, wire, start, end, depth),
        }
    }

    /// The elements of a packed field.
    fn packed(&mut self, wire: u8, end: usize) -> Result<(), AccelError> {
        let end = self.length(end)?;
        while self.at < end {
            self.count(1)?;
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
                // The tenth byte has room for one bit.
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

    /// Reads a length; where what it is of ends.
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

    fn count(&mut self, more: usize) -> Result<(), AccelError> {
        self.elements += more;
        let limit = self.limits.max_container_elements;
        match self.elements <= limit {
            true => Ok(()),
            false => Err(AccelError::TooLarge {
                what: "number of fields and elements",
                size: self.elements,
                limit,
            }),
        }
    }

    fn malformed(&self, at: usize, why: &str) -> AccelError {
        AccelError::BadFrame {
            what: "protobuf message",
            at,
            why: why.to_owned(),
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
        _ => "no wire type",
    }
}
