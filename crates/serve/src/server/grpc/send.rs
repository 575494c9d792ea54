//! Sends the responses of gRPC requests. The headers that end a response have one limit in all,
//! since a client that gets more than it accepts takes the whole response for malformed.

use bytes::Bytes;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::request::Answer;
use super::status::Status;
use crate::memory::room::Sending;
use crate::transport::grpc::code::{Code, message_header};
use crate::transport::grpc::headers::ENCODINGS;
use crate::transport::grpc::message::send_all;
use crate::transport::grpc::metadata::{FIELD, size_of};
use crate::transport::grpc::response::{DETAILS, ResponseMetadata, details_header};

/// The code of reports of what a response lacks.
pub(super) const DROPPED: &str = "trailers_too_large";

/// The most bytes of the headers that end a response, counted as HTTP/2 counts them. Several
/// implementations of gRPC accept no more by default.
const MAX_TRAILERS: usize = 8 << 10;

/// The pseudo-header `:status` as HTTP/2 counts it.
const HTTP_STATUS: usize = ":status".len() + "200".len() + FIELD;

/// The headers that end a response.
struct Trailers {
    headers: HeaderMap,
    /// What they lack since they would be too large, and why.
    dropped: Option<String>,
}

impl Trailers {
    /// Puts the trailing metadata beside `status`, and `details` if the status has some. `before`
    /// are the bytes of other headers in the same block. The status alone always fits: its message
    /// is cut.
    fn new(
        status: HeaderMap,
        details: Option<HeaderValue>,
        added: &ResponseMetadata,
        before: usize,
    ) -> Trailers {
        let mut metadata = HeaderMap::new();
        added.write_trailing(&mut metadata);
        let (mut headers, mut dropped) = (status, Vec::new());
        let without = before + size_of(&headers) + size_of(&metadata);
        let all = without
            + details
                .as_ref()
                .map_or(0, |text| DETAILS.len() + text.len() + FIELD);
        match details {
            Some(details) if all <= MAX_TRAILERS => drop(headers.insert(DETAILS, details)),
            Some(_) => dropped.push("the details of the status"),
            None => {}
        }
        match without <= MAX_TRAILERS {
            true => headers.extend(metadata),
            false => dropped.push("the trailing metadata"),
        }
        let dropped = (!dropped.is_empty()).then(|| {
            let lacks = dropped.join(" and ");
            format!(
                "trailers = {all} bytes, including 32 for each field: must be at most {MAX_TRAILERS}; the \
                 response is sent without {lacks}"
            )
        });
        Trailers { headers, dropped }
    }
}

/// The headers before all messages of a response.
pub(super) fn headers() -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    let grpc = HeaderValue::from_static("application/grpc");
    headers.insert(header::CONTENT_TYPE, grpc);
    let encodings = HeaderValue::from_static(ENCODINGS);
    headers.insert("grpc-accept-encoding", encodings);
    response
}

/// Sends a response with a message. Returns what it lacks, and why.
pub(super) async fn send_answer(
    respond: &mut SendResponse<Bytes>,
    answer: Answer,
    added: &ResponseMetadata,
) -> Result<Option<String>, h2::Error> {
    let mut response = headers();
    added.write_initial(response.headers_mut());
    if answer.gzip {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert("grpc-encoding", gzip);
    }
    let mut stream = respond.send_response(response, false)?;
    // The memory is wiped and released when the last part has been sent.
    let sending = Sending {
        message: answer.message,
        _budget: answer.budget,
    };
    send_all(&mut stream, Bytes::from_owner(sending), false).await?;
    let mut status = HeaderMap::new();
    status.insert("grpc-status", Code::Ok.header());
    let trailers = Trailers::new(status, None, added, 0);
    stream.send_trailers(trailers.headers)?;
    Ok(trailers.dropped)
}

/// Sends a response that has a status and no message. Returns what it lacks, and why.
pub(super) fn send_status(
    respond: &mut SendResponse<Bytes>,
    status: &Status,
    added: &ResponseMetadata,
) -> Option<String> {
    let mut response = headers();
    let of_status = status_trailers(status);
    // Without initial metadata, one block of headers is the whole response.
    let before = HTTP_STATUS + size_of(response.headers());
    let has_initial = added.write_initial(response.headers_mut());
    let before = if has_initial { 0 } else { before };
    let details = details_header(&status.details);
    let Trailers { headers, dropped } = Trailers::new(of_status, details, added, before);
    if !has_initial {
        response.headers_mut().extend(headers);
        // Sending fails if the stream is gone.
        let _ = respond.send_response(response, true);
    } else if let Ok(mut stream) = respond.send_response(response, false) {
        let _ = stream.send_trailers(headers);
    }
    dropped
}

/// The code and the message of a status.
pub(super) fn status_trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", status.code.header());
    trailers.insert("grpc-message", message_header(&status.message));
    trailers
}
