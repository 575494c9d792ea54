//! Converts Thrift structs to JSON text in one pass over the bytes, without a tree. The same pass
//! can run as a check that writes no text.

use std::marker::PhantomData;
use std::sync::Arc;

use simdutf8::compat::from_utf8;

use super::addresses::Addresses;
use super::schema::{Schema, Struct, StructId, Ty};
use super::wire::{Reader, WireType, skip};
use crate::error::AccelError;
use crate::json::{most_string_len, string_len, text_of_float, write_base64, write_string};
use crate::limits::Limits;

/// The field number of the envelope's codec, which no interface uses
/// (`docs/message-conventions.md`).
pub(crate) const ENVELOPE_CODEC: i16 = 32_000;
/// Field number of the envelope's data.
pub(crate) const ENVELOPE_DATA: i16 = 32_001;

/// A struct as JSON text, and facts about it.
#[derive(Debug, Default)]
pub(crate) struct Decoded<'a> {
    pub(crate) json: Vec<u8>,
    /// Integer, enum and bool fields at the top level.
    pub(crate) numbers: Vec<(Arc<str>, i64)>,
    /// The fields at the top level that were on the wire, as bits by place in the schema.
    pub(crate) present: u128,
    /// Codec number and data of a compressed body.
    pub(crate) envelope: Option<(i8, &'a [u8])>,
}

/// The destination of values that are read. The default implementation writes nothing.
trait Output {
    fn put(&mut self, _: &[u8]) {}
    fn number(&mut self, _: i64) {}
    fn double(&mut self, _: f64) -> Result<(), AccelError> {
        Ok(())
    }
    fn text(&mut self, _: &str) {}
    fn base64(&mut self, _: &[u8]) {}
    /// The size of the text so far, in bytes.
    fn len(&self) -> usize {
        0
    }
    /// The number of bytes that `text` will add, or an upper bound if the bound is at most `room`.
    fn text_len(&self, _: &str, _: usize) -> usize {
        0
    }
    /// The bytes that `base64` will add.
    fn base64_len(&self, _: &[u8]) -> usize {
        0
    }
    /// Called when a container or struct begins at this byte of the message. The result is passed
    /// to `end`.
    fn begin(&mut self, _: usize) -> usize {
        0
    }
    /// Called when the container or struct with this number ends before this byte.
    fn end(&mut self, _: usize, _: usize) {}
}

impl Output for Vec<u8> {
    fn put(&mut self, json: &[u8]) {
        self.extend_from_slice(json);
    }

    fn number(&mut self, value: i64) {
        self.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    fn double(&mut self, value: f64) -> Result<(), AccelError> {
        match text_of_float(value) {
            Some(text) => serde_json::to_writer(self, text).map_err(AccelError::from_json),
            None => serde_json::to_writer(self, &value).map_err(AccelError::from_json),
        }
    }

    fn text(&mut self, value: &str) {
        write_string(self, value);
    }

    fn base64(&mut self, value: &[u8]) {
        write_base64(self, value);
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn text_len(&self, value: &str, room: usize) -> usize {
        match most_string_len(value) {
            most if most <= room => most,
            _ => string_len(value),
        }
    }

    fn base64_len(&self, value: &[u8]) -> usize {
        value.len().div_ceil(3) * 4 + 2
    }
}

/// Writes no text.
struct Checked;

impl Output for Checked {}

/// Writes no text, but records the addresses of containers and structs.
impl Output for Addresses {
    fn begin(&mut self, at: usize) -> usize {
        Addresses::begin(self, at)
    }

    fn end(&mut self, number: usize, at: usize) {
        Addresses::end(self, number, at);
    }
}

/// Decodes bytes that are exactly one struct.
pub(super) fn whole_struct<'a, R: Reader<'a>>(
    schema: &Schema,
    id: StructId,
    mut reader: R,
    limits: &Limits,
) -> Result<Decoded<'a>, AccelError> {
    let decoded = one_struct(schema, id, &mut reader, limits)?;
    reader.finish("struct")?;
    Ok(decoded)
}

/// Checks bytes as [`whole_struct`] does.
pub(super) fn check<'a, R: Reader<'a>>(
    schema: &Schema,
    id: StructId,
    mut reader: R,
    limits: &Limits,
) -> Result<Decoded<'a>, AccelError> {
    let (decoded, Checked) = transcode(schema, id, &mut reader, limits, Checked)?;
    reader.finish("struct")?;
    Ok(decoded)
}

/// Checks bytes as [`check`] does, and records the addresses of containers and structs.
pub(super) fn address<'a, R: Reader<'a>>(
    schema: &Schema,
    id: StructId,
    mut reader: R,
    limits: &Limits,
) -> Result<(Decoded<'a>, Addresses), AccelError> {
    let found = transcode(schema, id, &mut reader, limits, Addresses::default())?;
    reader.finish("struct")?;
    Ok(found)
}

/// Decodes one struct; more may follow it.
pub(crate) fn one_struct<'a, R: Reader<'a>>(
    schema: &Schema,
    id: StructId,
    reader: &mut R,
    limits: &Limits,
) -> Result<Decoded<'a>, AccelError> {
    // With names and quotes, JSON is about 1.5 times as long as binary Thrift.
    let room = (reader.remaining() / 2 * 3).min(limits.max_message_bytes);
    let out = Vec::with_capacity(room);
    let (decoded, json) = transcode(schema, id, reader, limits, out)?;
    Ok(Decoded { json, ..decoded })
}

fn transcode<'a, R: Reader<'a>, O: Output>(
    schema: &Schema,
    id: StructId,
    reader: &mut R,
    limits: &Limits,
    out: O,
) -> Result<(Decoded<'a>, O), AccelError> {
    let mut top = Decoded::default();
    let mut transcoder = Transcoder {
        schema,
        reader,
        limits,
        out,
        input: PhantomData,
    };
    transcoder.structure(schema.get(id), 0, Some(&mut top))?;
    Ok((top, transcoder.out))
}

struct Transcoder<'s, 'r, 'a, R, O> {
    schema: &'s Schema,
    reader: &'r mut R,
    limits: &'s Limits,
    out: O,
    input: PhantomData<&'a [u8]>,
}

impl<'s, 'a, R: Reader<'a>, O: Output> Transcoder<'s, '_, 'a, R, O> {
    fn structure(
        &mut self,
        structure: &'s Struct,
        depth: usize,
        mut top: Option<&mut Decoded<'a>>,
    ) -> Result<(), AccelError> {
        self.check_depth(depth)?;
        let mark = self.out.begin(self.reader.at());
        let outer = self.reader.struct_begin();
        self.out.put(b"{");
        let mut seen = 0u128;
        let mut codec = None;
        while let Some((wire, id)) = self.reader.field()? {
            let Some((place, field)) = structure.field_by_id(id) else {
                match (top.as_deref_mut(), id, wire) {
                    (Some(_), ENVELOPE_CODEC, WireType::I8) => codec = Some(self.reader.i8()?),
                    (Some(top), ENVELOPE_DATA, WireType::Bytes) => {
                        top.envelope = Some((codec.unwrap_or(0), self.reader.bytes()?));
                    }
                    _ => self.unknown(wire, depth)?,
                }
                continue;
            };
            if seen >> place & 1 == 1 {
                let (container, field) = (structure.name.to_string(), field.name.to_string());
                return Err(AccelError::DuplicateField { container, field });
            }
            if seen != 0 {
                self.out.put(b",");
            }
            seen |= 1 << place;
            self.out.put(&field.json_key);
            let number = self.value(&field.ty, wire, &field.name, depth)?;
            if let (Some(top), Some(number)) = (top.as_deref_mut(), number) {
                top.numbers.push((field.name.clone(), number));
            }
        }
        // A compressed body's fields are in the compressed data.
        if top.as_ref().is_none_or(|top| top.envelope.is_none()) {
            self.defaults(structure, seen, top.as_deref_mut())?;
        }
        self.out.put(b"}");
        self.reader.struct_end(outer);
        self.out.end(mark, self.reader.at());
        if let Some(top) = top {
            top.present = seen;
            if top.envelope.is_some() {
                return self.check_envelope(seen);
            }
        }
        structure.check_presence(seen)
    }

    /// Skips a field that the interface does not have.
    fn unknown(&mut self, wire: WireType, depth: usize) -> Result<(), AccelError> {
        let mark = wire.nests().then(|| self.out.begin(self.reader.at()));
        let depth = self.limits.max_depth.saturating_sub(depth + 1);
        skip(self.reader, wire, depth, self.limits)?;
        if let Some(mark) = mark {
            self.out.end(mark, self.reader.at());
        }
        Ok(())
    }

    /// Writes the default values of the fields that are not in `seen`.
    fn defaults(
        &mut self,
        structure: &'s Struct,
        seen: u128,
        top: Option<&mut Decoded<'a>>,
    ) -> Result<(), AccelError> {
        structure.charge_defaults(seen, self.reader.budget())?;
        structure.write_defaults(seen, |json| self.out.put(json));
        if let Some(top) = top {
            let defaults = structure.absent_defaults(seen);
            let numbers = defaults
                .filter_map(|(_, field, default)| Some((field.name.clone(), default.number?)));
            top.numbers.extend(numbers);
        }
        Ok(())
    }

    /// Checks that an envelope is the only content of the struct, since its data has the fields.
    fn check_envelope(&self, seen: u128) -> Result<(), AccelError> {
        if seen == 0 {
            return Ok(());
        }
        let why = format!(
            "compression envelope: must be the only content of the struct, but {} fields of the interface precede or follow it",
            seen.count_ones()
        );
        Err(AccelError::BadFrame {
            what: "compression envelope",
            at: self.reader.at(),
            why,
        })
    }

    /// Writes a value. Returns it if it is an integer or bool.
    fn value(
        &mut self,
        ty: &'s Ty,
        wire: WireType,
        name: &Arc<str>,
        depth: usize,
    ) -> Result<Option<i64>, AccelError> {
        if wire != WireType::of(ty) {
            let (at, field, found) = (self.reader.at(), name.to_string(), wire.name());
            return Err(AccelError::WrongFieldType {
                at,
                field,
                found,
                expected: ty.name(),
            });
        }
        let number = match ty {
            Ty::Bool => {
                let value = self.reader.bool()?;
                self.out.put(if value { b"true" } else { b"false" });
                return Ok(Some(value.into()));
            }
            Ty::I8 => self.reader.i8()?.into(),
            Ty::I16 => self.reader.i16()?.into(),
            Ty::I32 => self.reader.i32()?.into(),
            Ty::I64 => self.reader.i64()?,
            Ty::Double => return self.double().map(|()| None),
            Ty::String => return self.text(name).map(|()| None),
            Ty::Binary => return self.binary().map(|()| None),
            Ty::List(element) | Ty::Set(element) => {
                return self.list(element, name, depth + 1).map(|()| None);
            }
            Ty::Map(pair) => return self.map(&pair.0, &pair.1, name, depth + 1).map(|()| None),
            Ty::Struct(id) => {
                return self
                    .structure(self.schema.get(*id), depth + 1, None)
                    .map(|()| None);
            }
        };
        self.out.number(number);
        Ok(Some(number))
    }

    fn double(&mut self) -> Result<(), AccelError> {
        let value = self.reader.double()?;
        self.out.double(value)
    }

    fn text(&mut self, name: &Arc<str>) -> Result<(), AccelError> {
        let bytes = self.reader.bytes()?;
        let start = self.reader.at() - bytes.len();
        let text = from_utf8(bytes).map_err(|error| AccelError::BadUtf8 {
            what: format!("'{name}'"),
            at: start + error.valid_up_to(),
        })?;
        let room = self.limits.max_message_bytes.saturating_sub(self.out.len());
        self.check_room(self.out.text_len(text, room))?;
        self.out.text(text);
        Ok(())
    }

    fn binary(&mut self) -> Result<(), AccelError> {
        let bytes = self.reader.bytes()?;
        self.reader.budget().base64(bytes)?;
        self.check_room(self.out.base64_len(bytes))?;
        self.out.base64(bytes);
        Ok(())
    }

    fn list(&mut self, ty: &'s Ty, name: &Arc<str>, depth: usize) -> Result<(), AccelError> {
        self.check_depth(depth)?;
        let mark = self.out.begin(self.reader.at());
        let (wire, count) = self.reader.list()?;
        self.out.put(b"[");
        for index in 0..count {
            self.separate(index)?;
            self.value(ty, wire, name, depth)?;
        }
        self.out.put(b"]");
        self.out.end(mark, self.reader.at());
        Ok(())
    }

    fn map(
        &mut self,
        key: &'s Ty,
        value: &'s Ty,
        name: &Arc<str>,
        depth: usize,
    ) -> Result<(), AccelError> {
        self.check_depth(depth)?;
        let mark = self.out.begin(self.reader.at());
        let (types, count) = self.reader.map()?;
        let object = *key == Ty::String;
        let [open, close] = if object { [b"{", b"}"] } else { [b"[", b"]"] };
        self.out.put(open);
        for index in 0..count {
            let Some((key_wire, value_wire)) = types else {
                break;
            };
            self.separate(index)?;
            if !object {
                self.out.put(b"[");
            }
            self.value(key, key_wire, name, depth)?;
            self.out.put(if object { b":" } else { b"," });
            self.value(value, value_wire, name, depth)?;
            if !object {
                self.out.put(b"]");
            }
        }
        self.out.put(close);
        self.out.end(mark, self.reader.at());
        Ok(())
    }

    fn separate(&mut self, index: usize) -> Result<(), AccelError> {
        if index > 0 {
            self.out.put(b",");
        }
        self.check_output()
    }

    fn check_depth(&self, depth: usize) -> Result<(), AccelError> {
        let limit = self.limits.max_depth;
        if depth < limit {
            Ok(())
        } else {
            Err(AccelError::TooDeep {
                at: self.reader.at(),
                limit,
            })
        }
    }

    fn check_output(&self) -> Result<(), AccelError> {
        self.check_room(0)
    }

    /// Checks that the text has room for `more` bytes, before they are written.
    fn check_room(&self, more: usize) -> Result<(), AccelError> {
        self.limits
            .check_size("bytes of the JSON text", self.out.len() + more)
    }
}
