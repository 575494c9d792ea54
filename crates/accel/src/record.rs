//! Records: messages that applications read field by field instead of as JSON text.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{Deserialize, DeserializeSeed};

use crate::error::AccelError;
use crate::protocols::thrift::FunctionId;
use crate::protocols::{protobuf, thrift};

/// The message type of a record. A record is a message that was checked but stays in its wire form,
/// instead of being converted to JSON text.
///
/// The record's bytes are stored elsewhere and passed to the methods. The accelerator Dser
/// (deserialization) delivers records to applications that read the fields themselves.
#[derive(Clone, Debug)]
pub enum Record {
    /// A Thrift struct.
    Thrift(thrift::Record),
    /// A gRPC message.
    Protobuf(protobuf::Record),
}

impl Record {
    /// Returns the JSON text of the record in `bytes`.
    ///
    /// # Errors
    /// `too_large` for text beyond the limits. For bytes that Dser has not checked, also the errors
    /// of [`thrift::struct_to_json`] and [`protobuf::message_to_json`].
    pub fn to_json(&self, bytes: &[u8]) -> Result<Vec<u8>, AccelError> {
        match self {
            Record::Thrift(record) => record.to_json(bytes),
            Record::Protobuf(record) => record.to_json(bytes),
        }
    }

    /// Reads the record in `bytes` as a value of the application's type `T`, which may borrow text
    /// from `bytes`.
    ///
    /// # Errors
    /// `bad_value` if `T` does not fit the message type. For gRPC, also if `T` borrows text that
    /// occurs only in the message's JSON form, such as the digits of a 64-bit integer.
    /// [`Record::to_json`] returns JSON from which such a `T` can be read. For bytes that Dser has
    /// not checked, also other errors of [`AccelError`].
    pub fn read<'a, T: Deserialize<'a>>(&self, bytes: &'a [u8]) -> Result<T, AccelError> {
        self.read_seed(bytes, PhantomData)
    }

    /// Reads the record in `bytes` like [`Record::read`], with a serde seed that builds the value.
    ///
    /// # Errors
    /// The errors of [`Record::read`].
    pub fn read_seed<'a, S: DeserializeSeed<'a>>(
        &self,
        bytes: &'a [u8],
        seed: S,
    ) -> Result<S::Value, AccelError> {
        match self {
            Record::Thrift(record) => record.read_seed(bytes, seed),
            Record::Protobuf(record) => record.read_seed(bytes, seed),
        }
    }

    /// Encodes `value`, the result of `function`, as a record. The record's bytes replace the
    /// content of `out`, and its type is returned. `self` is the type of the function's arguments.
    /// For gRPC, `function` is ignored, since `self` determines the method.
    ///
    /// # Errors
    /// Thrift: `unknown_method` for a function that the schema does not have, `unknown_field` for a
    /// function that returns nothing, and every error of a value that does not fit the interface.
    /// gRPC: `bad_value` and others for a value that does not fit, or that can only be encoded
    /// through JSON ([`Record::may_fit_as_json`]).
    pub fn result<T: Serialize + ?Sized>(
        &self,
        function: FunctionId,
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<Record, AccelError> {
        self.result_within(function, value, usize::MAX, out)
    }

    /// Encodes a function's result like [`Record::result`], but in at most `most` bytes.
    ///
    /// # Errors
    /// The errors of [`Record::result`], and `too_large` before more than `most` bytes are written.
    pub fn result_within<T: Serialize + ?Sized>(
        &self,
        function: FunctionId,
        value: &T,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<Record, AccelError> {
        match self {
            Record::Thrift(record) => record
                .result(function, value, most, out)
                .map(Record::Thrift),
            Record::Protobuf(record) => record.result(value, most, out).map(Record::Protobuf),
        }
    }

    /// Returns whether a value that [`Record::result`] refuses may still be encoded by conversion
    /// to JSON first: true for gRPC, false for Thrift.
    pub fn may_fit_as_json(&self) -> bool {
        matches!(self, Record::Protobuf(_))
    }
}
