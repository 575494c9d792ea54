//! HTTP messages without their bodies.

use std::sync::Arc;

use crate::error::AccelError;
use crate::role::Role;

/// The description of an HTTP/1.1 message: everything but its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpCall {
    /// Whether the message is a request or a response. The code that creates the job sets the role:
    /// Ser writes, and Dser expects, a message of this role.
    pub role: Role,
    /// The HTTP method of the request, such as `POST`; for a response, the method of the request
    /// that it answers.
    pub method: Arc<str>,
    /// The target of the request, such as `/wrk2-api/post/compose`; for a response, the target of
    /// the request that it answers.
    pub target: Arc<str>,
    /// The host that the request is for, which Ser writes as the `host` header; for a response, the
    /// host of the request that it answers. Dser does not read the header, so the code that creates
    /// the job sets the host.
    pub host: Arc<str>,
    /// The HTTP status of a response, 100 to 999. A request has no status, but the value must be in
    /// this range too.
    pub status: u16,
    /// The names and values of additional headers to write, in order. Ser refuses headers that it
    /// writes itself, such as `content-length`, and `transfer-encoding` and `upgrade`.
    pub headers: Arc<[(Arc<str>, Arc<str>)]>,
    /// Whether the connection ends with this message. Ser then writes `connection: close`; Dser
    /// sets the value from the message that it has read.
    ///
    /// Before Dser reads a response, the code that runs Dser sets whether the peer has already
    /// closed the connection. A response that does not state its length is complete only after the
    /// peer has closed the connection.
    pub close: bool,
}

impl HttpCall {
    /// Creates the description of a POST request to `target` on the server `host`.
    pub fn post(host: &str, target: &str) -> HttpCall {
        HttpCall::request("POST", host, target)
    }

    /// Creates the description of a request with the HTTP method `method` to `target` on the server
    /// `host`.
    pub fn request(method: &str, host: &str, target: &str) -> HttpCall {
        HttpCall {
            role: Role::Request,
            method: method.into(),
            target: target.into(),
            host: host.into(),
            status: 200,
            headers: Arc::default(),
            close: false,
        }
    }

    /// Creates the description of the response to this request, for a server to write or a client
    /// to read. A client may pass any `status`, since the deserialization accelerator Dser replaces
    /// it by the received one.
    pub fn response(&self, status: u16) -> HttpCall {
        HttpCall {
            role: Role::Response,
            status,
            headers: Arc::default(),
            close: false,
            ..self.clone()
        }
    }
}

/// Header names that Ser writes itself and callers cannot set.
const OWN_HEADERS: [&str; 7] = [
    "host",
    "connection",
    "content-type",
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "upgrade",
];

impl HttpCall {
    /// Refuses parts that would make the head ambiguous.
    ///
    /// # Errors
    /// `bad_http`.
    pub(crate) fn check(&self) -> Result<(), AccelError> {
        let parts = [
            ("method", &self.method),
            ("target", &self.target),
            ("host", &self.host),
        ];
        for (name, part) in parts {
            let legal = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
            if !legal && self.role == Role::Request {
                let why = format!(
                    "{name} = '{}': must be one or more printable ASCII characters without spaces",
                    part.escape_default()
                );
                return Err(AccelError::BadHttp { at: None, why });
            }
        }
        let rooted = self.target.starts_with('/') || &*self.target == "*";
        if !rooted && self.role == Role::Request {
            let target = self.target.escape_default();
            let why = format!("target = '{target}': must begin with / or be *");
            return Err(AccelError::BadHttp { at: None, why });
        }
        for (name, value) in self.headers.iter() {
            if let Some(why) = refused_header(name, value) {
                return Err(AccelError::BadHttp { at: None, why });
            }
        }
        if !(100..=999).contains(&self.status) {
            let why = format!("status = {}: must be from 100 to 999", self.status);
            return Err(AccelError::BadHttp { at: None, why });
        }
        Ok(())
    }
}

/// Why a header cannot be sent, if it cannot. The value may be a secret, and is not shown.
fn refused_header(name: &str, value: &str) -> Option<String> {
    const SIGNS: &str = "!#$%&'*+-.^_`|~";
    let token = |byte: u8| byte.is_ascii_alphanumeric() || SIGNS.as_bytes().contains(&byte);
    let shown = name.escape_debug();
    if name.is_empty() || !name.bytes().all(token) {
        return Some(format!(
            "header name = '{shown}': must be one or more letters, digits and signs of {SIGNS}"
        ));
    }
    if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        let own = OWN_HEADERS.join(", ");
        return Some(format!(
            "header name = '{shown}': must be none of {own}, which Ser writes itself or never sends"
        ));
    }
    let place = value
        .chars()
        .position(|each| each < ' ' || each == '\x7f')?;
    Some(format!(
        "header '{shown}': character {} of its value is a control character, such as the end of a \
         line: must be left out",
        place + 1
    ))
}
