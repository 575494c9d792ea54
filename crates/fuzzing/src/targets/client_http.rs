//! Fuzz target of the HTTP client: the client reads any bytes as a whole response or returns an
//! error, and does not wait for more bytes after the server has closed the connection.

use std::sync::LazyLock;

use crate::parties::{Answerer, client_config, limits};
use accelflow_accel::Settings;
use accelflow_accel::http::response_length;
use accelflow_serve::{HttpClient, HttpRequest};

static SERVICE: LazyLock<Answerer> =
    LazyLock::new(|| Answerer::new(|request| request.windows(4).any(|four| four == b"\r\n\r\n")));
static CLIENT: LazyLock<HttpClient> = LazyLock::new(|| {
    let settings = Settings {
        limits: limits(),
        ..Settings::default()
    };
    let client = HttpClient::new(SERVICE.address(), settings, None, client_config());
    client.expect("valid settings")
});

/// Lets a server answer an HTTP client's request with `input`. Panics unless the client reads a
/// complete response from these bytes or returns an error with a message.
///
/// The first byte chooses the request's method (HEAD if it is odd, GET if even), and the other
/// bytes are the answer. An empty `input` sends nothing.
pub fn check(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else {
        return;
    };
    SERVICE.answer_with(bytes.to_vec());
    let method = if first & 1 == 1 { "HEAD" } else { "GET" };
    let request = HttpRequest {
        method,
        target: "/",
        headers: &[],
        body: b"",
    };
    match CLIENT.request(&request) {
        Ok(response) => {
            let length = response_length(bytes, method == "HEAD", true, &limits());
            let length = length.expect("it was read").expect("it was whole");
            assert!(length <= bytes.len());
            assert!(
                (200..1000).contains(&response.status),
                "{}",
                response.status
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
