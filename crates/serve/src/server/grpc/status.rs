//! The gRPC status with which a server answers a request that has no result.

use accelflow_accel::Limits;
use accelflow_accel::protobuf::Schema;
use serde_json::Value as Json;

use crate::transport::grpc::code::Code;
use crate::transport::grpc::response::MAX_DETAILS;

/// The status of a call without a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// Its label in the metrics.
    pub(crate) label: &'static str,
    pub(crate) detail: Detail,
    /// The message `google.rpc.Status` for the client; empty if the status has no details.
    pub(crate) details: Vec<u8>,
}

/// Who may see the message of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The client.
    Open,
    /// The operators.
    Private,
    /// The operators. Their log has the message under this id.
    Logged(String),
    /// No one. The stream is refused, so the client knows that the call was not processed and may
    /// be retried.
    Unprocessed,
}

impl Status {
    pub(crate) fn new(code: Code, label: &'static str, message: impl ToString) -> Status {
        Status {
            code,
            message: message.to_string(),
            label,
            detail: Detail::Open,
            details: Vec::new(),
        }
    }

    /// The status of a request for which there is no memory.
    pub(crate) fn no_memory() -> Status {
        let why = "no memory for the request at present";
        Status {
            detail: Detail::Unprocessed,
            ..Status::new(Code::Unavailable, "no_memory", why)
        }
    }

    /// Creates a status whose message is only for operators.
    pub(crate) fn private(code: Code, label: &'static str, message: impl ToString) -> Status {
        Status {
            detail: Detail::Private,
            ..Status::new(code, label, message)
        }
    }

    /// The status that a handler has chosen: in gRPC every method may end with every status code.
    /// `body` has the members `message` and `details`, each of which may be absent.
    pub(crate) fn declared(name: &str, body: &[u8], schema: &Schema, limits: &Limits) -> Status {
        let declared = Status::of_members(name, body, schema, limits);
        declared.unwrap_or_else(|why| {
            let why = format!("the handler's result cannot be sent: {why}");
            Status::private(Code::Internal, "bad_result", why)
        })
    }

    fn of_members(
        name: &str,
        body: &[u8],
        schema: &Schema,
        limits: &Limits,
    ) -> Result<Status, String> {
        let code = Code::error_named(name);
        let code = code.ok_or_else(|| format!("'{name}' is not an error code of gRPC"))?;
        let members: Option<Json> = serde_json::from_slice(body).ok();
        let members = members.as_ref().and_then(Json::as_object);
        let members = members.ok_or_else(|| format!("the details of {name} must be an object"))?;
        let known = |member: &str| matches!(member, "message" | "details");
        if let Some(other) = members.keys().find(|member| !known(member)) {
            return Err(format!(
                "the details of {name} have no field '{other}', only 'message' and 'details'"
            ));
        }
        let message = match members.get("message").unwrap_or(&Json::Null) {
            Json::Null => "",
            Json::String(message) => message,
            _ => return Err(format!("the 'message' of {name} must be a string")),
        };
        let details = match members.get("details").unwrap_or(&Json::Null) {
            Json::Null => &[][..],
            Json::Array(details) => details,
            _ => return Err(format!("the 'details' of {name} must be a list")),
        };
        let status = Status::new(code, "exception", message);
        if details.is_empty() {
            return Ok(status);
        }
        let written = schema.status_with_details(code.number(), message, details, limits);
        let details = written.map_err(|error| format!("'details' of {name}: {error}"))?;
        match details.len() {
            size if size > MAX_DETAILS => Err(format!(
                "'message' and 'details' of {name} = {size} bytes: must be at most {MAX_DETAILS}"
            )),
            _ => Ok(Status { details, ..status }),
        }
    }
}
