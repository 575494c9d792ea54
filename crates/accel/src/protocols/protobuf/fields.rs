//! The fields of protobuf messages in their wire form, read without copies. The messages must have
//! passed the check of the module `scan`.

use super::scan::{END_GROUP, FIXED32, FIXED64, GROUP, LENGTH, VARINT};
use super::shape::{Field, Holds, Shape, Ty};

/// A value on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// The bytes are not a message. Cannot occur for bytes that Dser has checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// An iterator over fields on the wire.
pub(super) struct Wire<'a> {
    rest: &'a [u8],
}

impl<'a> Wire<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Wire<'a> {
        Wire { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The number and value of the next field that is not a group; groups are skipped.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Raw<'a>)>, Malformed> {
        let mut groups = 0usize;
        while !self.rest.is_empty() {
            let key = self.varint()?;
            let (number, wire) = ((key >> 3) as u32, (key & 7) as u8);
            let value = match wire {
                GROUP => {
                    groups += 1;
                    continue;
                }
                END_GROUP => {
                    groups = groups.checked_sub(1).ok_or(Malformed)?;
                    continue;
                }
                _ => self.value(wire)?,
            };
            if groups == 0 {
                return Ok(Some((number, value)));
            }
        }
        match groups {
            0 => Ok(None),
            _ => Err(Malformed),
        }
    }

    fn value(&mut self, wire: u8) -> Result<Raw<'a>, Malformed> {
        Ok(match wire {
            VARINT => Raw::Varint(self.varint()?),
            FIXED64 => Raw::Fixed64(u64::from_le_bytes(self.array()?)),
            FIXED32 => Raw::Fixed32(u32::from_le_bytes(self.array()?)),
            LENGTH => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                let (value, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
                self.rest = rest;
                Raw::Bytes(value)
            }
            _ => return Err(Malformed),
        })
    }

    /// The next element of a packed list.
    pub(super) fn element(&mut self, ty: Ty) -> Result<Raw<'a>, Malformed> {
        self.value(match ty {
            Ty::Double | Ty::Fixed64 | Ty::Sfixed64 => FIXED64,
            Ty::Float | Ty::Fixed32 | Ty::Sfixed32 => FIXED32,
            Ty::String | Ty::Bytes | Ty::Message(_) => return Err(Malformed),
            _ => VARINT,
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (value, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*value)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for (place, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[place + 1..];
                return Ok(value);
            }
        }
        Err(Malformed)
    }
}

/// The integer in a value of an integer type. Excess bits are dropped.
pub(super) fn integer(ty: Ty, raw: Raw<'_>) -> Option<i128> {
    let zigzag = |value: u64| (value >> 1) as i64 ^ -((value & 1) as i64);
    Some(match (ty, raw) {
        (Ty::Int32 | Ty::Enum(_), Raw::Varint(value)) => (value as i32).into(),
        (Ty::Int64, Raw::Varint(value)) => (value as i64).into(),
        (Ty::Uint32, Raw::Varint(value)) => (value as u32).into(),
        (Ty::Uint64, Raw::Varint(value)) => value.into(),
        (Ty::Sint32, Raw::Varint(value)) => zigzag((value as u32).into()).into(),
        (Ty::Sint64, Raw::Varint(value)) => zigzag(value).into(),
        (Ty::Bool, Raw::Varint(value)) => (value != 0).into(),
        (Ty::Fixed32, Raw::Fixed32(value)) => value.into(),
        (Ty::Sfixed32, Raw::Fixed32(value)) => (value as i32).into(),
        (Ty::Fixed64, Raw::Fixed64(value)) => value.into(),
        (Ty::Sfixed64, Raw::Fixed64(value)) => (value as i64).into(),
        _ => return None,
    })
}

/// Calls `fact` with the integers, enums and bools of a message.
pub(super) fn facts(
    shape: &Shape,
    bytes: &[u8],
    mut fact: impl FnMut(&Field, i64),
) -> Result<(), Malformed> {
    let mut found: Vec<Option<i64>> = shape
        .fields
        .iter()
        .map(|field| field.default_fact)
        .collect();
    let mut set = vec![None; shape.oneofs];
    if shape.fields.iter().any(Field::is_fact) {
        let mut wire = Wire::new(bytes);
        while let Some((number, raw)) = wire.next()? {
            let Some(place) = shape.place(number) else {
                continue;
            };
            let field = &shape.fields[place];
            if let Some(oneof) = field.oneof {
                set[oneof] = Some(place);
            }
            if field.is_fact() {
                let value = integer(field.ty, raw).ok_or(Malformed)?;
                found[place] = i64::try_from(value).ok();
            }
        }
    }
    for (place, (field, mut value)) in shape.fields.iter().zip(found).enumerate() {
        // The last field of a oneof that is set unsets the others.
        if field.oneof.is_some_and(|oneof| set[oneof] != Some(place)) {
            value = field.default_fact;
        }
        if let (true, Some(value)) = (field.is_fact(), value) {
            fact(field, value);
        }
    }
    Ok(())
}

/// The fields of one message with all their occurrences on the wire, in the order of JSON.
pub(super) struct Found<'a> {
    /// The places of fields and their values, ordered by place.
    values: Vec<(usize, Raw<'a>)>,
}

impl<'a> Found<'a> {
    /// The fields of the message that is the concatenation of `parts`.
    pub(super) fn new(
        shape: &Shape,
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Found<'a>, Malformed> {
        let mut values: Vec<(usize, Raw<'a>)> = Vec::new();
        let mut oneofs = Oneofs::new(shape);
        let mut sorted = true;
        for part in parts {
            let mut wire = Wire::new(part);
            while let Some((number, raw)) = wire.next()? {
                let Some(place) = shape.place(number) else {
                    continue;
                };
                oneofs.set(shape, place, values.len());
                sorted &= values.last().is_none_or(|(last, _)| *last <= place);
                values.push((place, raw));
            }
        }
        oneofs.finish(shape, &mut values);
        if !sorted {
            // Values of one field stay in their order.
            values.sort_by_key(|(place, _)| *place);
        }
        Ok(Found { values })
    }

    /// The range of the values of the field at `place`, which begins at `from`.
    pub(super) fn of(&self, place: usize, from: usize) -> std::ops::Range<usize> {
        let rest = self.values[from..].iter();
        let count = rest.take_while(|(other, _)| *other == place).count();
        from..from + count
    }

    pub(super) fn values(&self, range: std::ops::Range<usize>) -> &[(usize, Raw<'a>)] {
        &self.values[range]
    }
}

/// The set fields of oneofs. Setting a field unsets the others of its oneof and drops their values.
struct Oneofs {
    /// For each oneof the field that is set, and the index of the first value that counts.
    set: Vec<(Option<usize>, usize)>,
    changed: bool,
}

impl Oneofs {
    fn new(shape: &Shape) -> Oneofs {
        Oneofs {
            set: vec![(None, 0); shape.oneofs],
            changed: false,
        }
    }

    /// Records that value number `count` belongs to the field at `place`.
    fn set(&mut self, shape: &Shape, place: usize, count: usize) {
        if let Some(oneof) = shape.fields[place].oneof {
            let (now, _) = self.set[oneof];
            if now != Some(place) {
                self.changed |= now.is_some();
                self.set[oneof] = (Some(place), count);
            }
        }
    }

    /// Removes the values that do not count.
    fn finish(self, shape: &Shape, values: &mut Vec<(usize, Raw<'_>)>) {
        if !self.changed {
            return;
        }
        let mut count = 0;
        values.retain(|(place, _)| {
            let at = count;
            count += 1;
            let oneof = shape.fields[*place].oneof;
            oneof.is_none_or(|oneof| at >= self.set[oneof].1)
        });
    }
}

/// Whether an occurrence of a field is a packed list of elements, and not one element.
pub(super) fn is_packed(field: &Field, raw: Raw<'_>) -> bool {
    let scalar = !matches!(field.ty, Ty::String | Ty::Bytes | Ty::Message(_));
    scalar && matches!(field.holds, Holds::List { .. }) && matches!(raw, Raw::Bytes(_))
}
