//! Thrift calls: the function that a message belongs to, and the type of the message.

use std::sync::{Arc, LazyLock};

use super::header::{MessageHeader, MessageType, read_header, write_header};
use super::protocol::Protocol;
use super::schema::{FunctionId, Schema, StructId};
use crate::error::AccelError;
use crate::limits::Limits;

/// The header of a Thrift message, with the function that the message calls or answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThriftCall {
    /// The index of the function in the schema, which is also the index of the function's handler
    /// in a server.
    pub function: FunctionId,
    /// The name of the service that declares the function.
    pub service: Arc<str>,
    /// The name of the Thrift function.
    pub method: Arc<str>,
    /// The Thrift protocol of the message.
    pub protocol: Protocol,
    /// The message's type: call, reply, exception or oneway.
    pub message_type: MessageType,
    /// The sequence identifier, equal in a request and its reply.
    pub sequence: i32,
    /// Whether a request with this header names the method as `service:method` (Thrift's
    /// multiplexed protocol). Replies name only the method.
    pub multiplexed: bool,
}

impl ThriftCall {
    /// Creates the header of a request to `method` (or `service:method`) of `schema`. The header is
    /// not [`multiplexed`](ThriftCall::multiplexed) in either case.
    ///
    /// # Errors
    /// `unknown_service` or `unknown_method` if `schema` does not have the service or the method;
    /// `unknown_method` also if several services have the method and `method` does not name the
    /// service.
    pub fn request(
        schema: &Schema,
        method: &str,
        protocol: Protocol,
        sequence: i32,
    ) -> Result<ThriftCall, AccelError> {
        let id = schema.find(method)?;
        ThriftCall::new(schema, id, protocol, MessageType::Call, sequence)
    }

    fn new(
        schema: &Schema,
        function: FunctionId,
        protocol: Protocol,
        message_type: MessageType,
        sequence: i32,
    ) -> Result<ThriftCall, AccelError> {
        let found = schema.function(function).ok_or_else(|| foreign(function))?;
        let message_type = match message_type {
            MessageType::Call if found.oneway => MessageType::Oneway,
            other => other,
        };
        let (service, method) = (found.service.clone(), found.name.clone());
        let multiplexed = false;
        Ok(ThriftCall {
            function,
            service,
            method,
            protocol,
            message_type,
            sequence,
            multiplexed,
        })
    }

    /// Returns the header of the reply to this request, for a function that returned a result or
    /// threw an exception that the interface declares.
    pub fn reply(&self) -> ThriftCall {
        ThriftCall {
            message_type: MessageType::Reply,
            ..self.clone()
        }
    }

    /// Returns the header of a reply that reports a failure of the RPC layer. The body of the reply
    /// is a `TApplicationException`; the caller gives it to the serializer as the JSON text
    /// `{"message": text, "type": number}`.
    pub fn exception(&self) -> ThriftCall {
        ThriftCall {
            message_type: MessageType::Exception,
            ..self.clone()
        }
    }

    /// Writes the frame length and the header of this message for a body of `body_bytes`.
    ///
    /// # Errors
    /// `too_large`.
    pub(crate) fn write_header(
        &self,
        body_bytes: usize,
        limits: &Limits,
    ) -> Result<Vec<u8>, AccelError> {
        let is_request = matches!(self.message_type, MessageType::Call | MessageType::Oneway);
        let service = (self.multiplexed && is_request).then_some(&*self.service);
        let header = MessageHeader {
            protocol: self.protocol,
            message_type: self.message_type,
            sequence: self.sequence,
            name: &self.method,
            body: 0,
        };
        write_header(&header, service, body_bytes, limits)
    }

    /// Returns the schema and the struct that describe the message's body.
    ///
    /// # Errors
    /// `unknown_method` if the call belongs to another schema.
    pub(crate) fn body<'s>(
        &self,
        schema: &'s Schema,
    ) -> Result<(&'s Schema, StructId), AccelError> {
        if self.message_type == MessageType::Exception {
            return Ok((&APPLICATION_EXCEPTION.0, APPLICATION_EXCEPTION.1));
        }
        let function = schema
            .function(self.function)
            .ok_or_else(|| foreign(self.function))?;
        Ok(match self.message_type {
            MessageType::Reply => (schema, function.result),
            _ => (schema, function.arguments),
        })
    }
}

fn foreign(function: FunctionId) -> AccelError {
    let name = format!("function {}", function.0);
    AccelError::UnknownMethod {
        name,
        known: "a function of this schema, not of another one".to_owned(),
    }
}

/// The type (error code) of a `TApplicationException` from an overloaded service that has not
/// processed the call. The client may repeat the call. The number is that of fbthrift; Apache
/// Thrift defines none.
pub const LOADSHEDDING: i32 = 11;

/// The exception of the RPC layer, as in the Thrift specification.
static APPLICATION_EXCEPTION: LazyLock<(Schema, StructId)> = LazyLock::new(|| {
    let text = "exception TApplicationException { 1: string message, 2: i32 type }";
    let schema = Schema::parse(text).expect("a constant that tests use");
    let id = schema
        .struct_id("TApplicationException")
        .expect("declared in the line above");
    (schema, id)
});

impl MessageHeader<'_> {
    /// Returns the header of a reply that refuses an unreadable request or a request to an unknown
    /// method. The body of the reply is a `TApplicationException`, as for
    /// [`ThriftCall::exception`].
    pub fn exception(&self) -> ThriftCall {
        let (service, method) = self.name.split_once(':').unwrap_or(("", self.name));
        ThriftCall {
            // The body of an exception does not depend on the function.
            function: FunctionId(usize::MAX),
            service: service.into(),
            method: method.into(),
            protocol: self.protocol,
            message_type: MessageType::Exception,
            sequence: self.sequence,
            multiplexed: false,
        }
    }
}

/// Reads the frame length and the header of a Thrift message, and finds the message's function in
/// `schema`. Returns the header, and the offset of the body in `message`, in bytes.
///
/// # Errors
/// The errors of [`read_header`]; `unknown_service` and `unknown_method` if `schema` does not have
/// the function.
pub fn read_message(
    schema: &Schema,
    message: &[u8],
    limits: &Limits,
) -> Result<(ThriftCall, usize), AccelError> {
    read_answer(schema, message, None, limits)
}

/// Like [`read_message`], for a message that may answer a call of the function `asked`. If the
/// header has this function's name, the message is of this function; other services may have
/// functions of the same name, and headers of answers do not name the service.
pub(crate) fn read_answer(
    schema: &Schema,
    message: &[u8],
    asked: Option<FunctionId>,
    limits: &Limits,
) -> Result<(ThriftCall, usize), AccelError> {
    let header = read_header(message, limits)?;
    let named = |id: &FunctionId| {
        let function = schema.function(*id);
        function.is_some_and(|function| *function.name == *header.name)
    };
    let function = match asked.filter(named) {
        Some(asked) => asked,
        None => schema.find(header.name)?,
    };
    let (protocol, sequence) = (header.protocol, header.sequence);
    let mut call = ThriftCall::new(schema, function, protocol, header.message_type, sequence)?;
    call.message_type = header.message_type;
    call.multiplexed = header.name.contains(':');
    Ok((call, header.body))
}

/// Returns a whole Thrift message: frame length, the header `call`, and `body`.
///
/// # Errors
/// `too_large` for a message beyond the limits.
pub fn write_message(
    call: &ThriftCall,
    body: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let header = call.write_header(body.len(), limits)?;
    Ok([header.as_slice(), body].concat())
}
