//! Thrift records: structs that applications read field by field instead of as JSON text.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeSeed;

use super::addresses::Addresses;
use super::convert::{decode_struct, encode_struct};
use super::protocol::Protocol;
use super::schema::{FunctionId, Schema, StructId, Ty};
use super::wire::{BinaryReader, BinaryWriter, CompactReader, CompactWriter, Writer};
use super::{read, write};
use crate::budget::Budget;
use crate::error::AccelError;
use crate::json::may_have_float_texts;
use crate::limits::Limits;

/// The struct type and the encoding of a record. A record is a Thrift struct that was checked but
/// stays in its wire form, instead of being converted to JSON text.
///
/// Reading a record gives the same values as reading the JSON that [`super::struct_to_json`] writes
/// for the record's bytes.
#[derive(Clone, Debug)]
pub struct Record {
    schema: Arc<Schema>,
    id: StructId,
    protocol: Protocol,
    limits: Limits,
    /// The addresses of its containers and structs, if Dser has recorded them.
    addresses: Option<Arc<Addresses>>,
}

impl Record {
    pub(crate) fn new(
        schema: Arc<Schema>,
        id: StructId,
        protocol: Protocol,
        limits: Limits,
    ) -> Record {
        Record {
            schema,
            id,
            protocol,
            limits,
            addresses: None,
        }
    }

    /// The record type of the arguments of `function` in the binary protocol; `None` if `schema`
    /// has no such function.
    pub fn of_arguments(
        schema: &Arc<Schema>,
        function: FunctionId,
        limits: &Limits,
    ) -> Option<Record> {
        let id = schema.function(function)?.arguments;
        Some(Record::new(schema.clone(), id, Protocol::Binary, *limits))
    }

    /// The record type of the result of `function` in the binary protocol; `None` if `schema` has
    /// no such function.
    pub fn of_result(
        schema: &Arc<Schema>,
        function: FunctionId,
        limits: &Limits,
    ) -> Option<Record> {
        let id = schema.function(function)?.result;
        Some(Record::new(schema.clone(), id, Protocol::Binary, *limits))
    }

    /// Converts JSON text to the bytes of the record, in which a `double` may be NaN or infinite.
    /// Returns `None` if no text in `json` can stand for such a number: the values can then be read
    /// from the JSON text itself.
    ///
    /// # Errors
    /// An error of JSON text that does not fit the struct.
    pub fn with_floats(&self, json: &[u8]) -> Result<Option<Vec<u8>>, AccelError> {
        if !may_have_float_texts(json) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let (schema, limits) = (&self.schema, &self.limits);
        encode_struct(schema, self.id, self.protocol, json, limits, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Checks that `value` fits the record. Appends the value to `out` in the binary protocol; the
    /// caller may wipe `out`.
    ///
    /// # Errors
    /// Every error of a value that does not fit, such as `wrong_json_type`.
    pub fn check<T: Serialize + ?Sized>(
        &self,
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), AccelError> {
        let (schema, id, limits) = (&*self.schema, self.id, &self.limits);
        whole(schema, id, &mut BinaryWriter::new(out), value, limits)
    }

    /// Checks like [`Record::check`] that the member `field` of the result of `function` may be
    /// `value`. `self` is a record of the same interface. Checks nothing if the interface has no
    /// such function.
    ///
    /// # Errors
    /// Those of [`Record::check`].
    pub fn check_result<T: Serialize + ?Sized>(
        &self,
        function: FunctionId,
        field: &str,
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), AccelError> {
        match Record::of_result(&self.schema, function, &self.limits) {
            Some(result) => result.check(&BTreeMap::from([(field, value)]), out),
            None => Ok(()),
        }
    }

    /// Adds the addresses of its containers and structs, so that a reader can skip those it does
    /// not need.
    pub(crate) fn with_addresses(self, addresses: Addresses) -> Record {
        let addresses = Some(Arc::new(addresses));
        Record { addresses, ..self }
    }

    /// Whether the record is the body of a message with the struct `id` of `schema` in `protocol`.
    pub(crate) fn is_body(&self, schema: &Schema, id: StructId, protocol: Protocol) -> bool {
        std::ptr::eq(&*self.schema, schema) && self.id == id && self.protocol == protocol
    }

    /// The JSON text of the record in `bytes`.
    pub(crate) fn to_json(&self, bytes: &[u8]) -> Result<Vec<u8>, AccelError> {
        let decoded = decode_struct(&self.schema, self.id, self.protocol, bytes, &self.limits);
        decoded.map(|decoded| decoded.json)
    }

    /// Like [`crate::Record::read_seed`].
    pub(crate) fn read_seed<'a, S: DeserializeSeed<'a>>(
        &self,
        bytes: &'a [u8],
        seed: S,
    ) -> Result<S::Value, AccelError> {
        let whole = read::Whole {
            schema: &self.schema,
            id: self.id,
            limits: &self.limits,
            addresses: self.addresses.as_deref(),
        };
        match self.protocol {
            Protocol::Binary => whole.read(BinaryReader::new(bytes, whole.limits), seed),
            Protocol::Compact => whole.read(CompactReader::new(bytes, whole.limits), seed),
        }
    }

    /// Like [`crate::Record::result`].
    pub(crate) fn result<T: Serialize + ?Sized>(
        &self,
        function: FunctionId,
        value: &T,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<Record, AccelError> {
        let (schema, limits) = (&*self.schema, &self.limits.of_at_most(most));
        let found = schema.function(function).map(|found| found.result);
        let id = found.ok_or_else(|| AccelError::UnknownMethod {
            name: format!("function {}", function.0),
            known: "a function of this schema, not of another one".to_owned(),
        })?;
        out.clear();
        match self.protocol {
            Protocol::Binary => {
                success(schema, id, &mut BinaryWriter::new(out), value, limits)?;
            }
            Protocol::Compact => {
                success(schema, id, &mut CompactWriter::new(out), value, limits)?;
            }
        }
        Ok(Record {
            id,
            addresses: None,
            ..self.clone()
        })
    }
}

/// Writes the result struct whose member `success` is `value`.
fn success<W: Writer, T: Serialize + ?Sized>(
    schema: &Schema,
    id: StructId,
    writer: &mut W,
    value: &T,
    limits: &Limits,
) -> Result<(), AccelError> {
    whole(schema, id, writer, &Success { success: value }, limits)
}

/// Writes the struct `id` that `value` is.
fn whole<W: Writer, T: Serialize + ?Sized>(
    schema: &Schema,
    id: StructId,
    writer: &mut W,
    value: &T,
    limits: &Limits,
) -> Result<(), AccelError> {
    let mut sink = write::Sink {
        schema,
        writer,
        limits,
        budget: Budget::new(limits),
    };
    let message = write::Value {
        sink: &mut sink,
        ty: &Ty::Struct(id),
        name: "message",
        field: None,
        depth: 0,
        is_pair: false,
    };
    let written = value.serialize(message);
    written.map(drop).map_err(|error| error.0)
}

#[derive(serde::Serialize)]
struct Success<'v, T: ?Sized> {
    success: &'v T,
}
