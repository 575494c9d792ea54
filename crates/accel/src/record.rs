//! Records: messages in memory as applications read them field by field, and not as JSON text.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{Deserialize, DeserializeSeed};

use crate::error::AccelError;
use crate::protocols::thrift::FunctionId;
use crate::protocols::{protobuf, thrift};

/// What the bytes of a record are.
///
/// A record means a JSON text, no more and no less. It is what Dser delivers where the application
/// reads values itself: checked, and where it lay.
#[derive(Clone, Debug)]
pub enum Record {
    /// A struct of Thrift.
    Thrift(thrift::Record),
    /// A message of gRPC.
    Protobuf(protobuf::Record),
}

impl Record {
    /// The JSON text of the record in `bytes`.
    ///
    /// # Errors
    /// `too_large` for text beyond the limits; for bytes that Dser has not checked those of
    /// [`thrift::struct_to_json`] and [`protobuf::message_to_json`].
    pub fn to_json(&self, bytes: &[u8]) -> Result<Vec<u8>, AccelError> {
        match self {
            Record::Thrift(record) => record.to_json(bytes),
            Record::Protobuf(record) => record.to_json(bytes),
        }
    }

    /// Reads the record in `bytes` as a value of the application's own type, which may borrow its
    /// text.
    ///
    /// # Errors
    /// `bad_value` if the type is another one than the interface's. Of gRPC there are types that can
    /// be read from the JSON alone: those that borrow text which is not on the wire as it is.
    pub fn read<'a, T: Deserialize<'a>>(&self, bytes: &'a [u8]) -> Result<T, AccelError> {
        self.read_seed(bytes, PhantomData)
    }

    /// As [`Record::read`], with a state that builds the value.
    ///
    /// # Errors
    /// Those of [`Record::read`].
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

    /// The record of the result of `function`, whose arguments this is the record of, when it
    /// returns `value`. Its bytes are put in the place of what is in `out`.
    ///
    /// # Errors
    /// Of Thrift `unknown_method` for a function of another schema, `unknown_field` for one that
    /// returns nothing, and every way in which the value does not fit the interface; of gRPC
    /// `bad_value` and others for a value that does not fit or can be written from its JSON alone.
    pub fn result<T: Serialize + ?Sized>(
        &self,
        function: FunctionId,
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<Record, AccelError> {
        self.result_within(function, value, usize::MAX, out)
    }

    /// As [`Record::result`], of at most `most` bytes.
    ///
    /// # Errors
    /// Those of [`Record::result`], and `too_large` before more than `most` bytes are written.
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

    /// Whether what does not fit as a value may do so as JSON.
    pub fn may_fit_as_json(&self) -> bool {
        matches!(self, Record::Protobuf(_))
    }
}
