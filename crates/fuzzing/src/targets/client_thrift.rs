//! Fuzz target of the Thrift client: the client reads any bytes as a reply or returns an error.
//! Half of the inputs are valid replies to the client's request, except for an arbitrary body.

use std::sync::{Arc, LazyLock};

use crate::parties::{Answerer, client_config, framed, limits, thrift_schema};
use accelflow_accel::Settings;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::Client;

static SERVICE: LazyLock<Answerer> = LazyLock::new(|| {
    Answerer::new(|request| match request.split_first_chunk::<4>() {
        Some((length, rest)) => rest.len() >= u32::from_be_bytes(*length) as usize,
        None => false,
    })
});
static CLIENTS: LazyLock<[Client; 2]> = LazyLock::new(|| {
    [Protocol::Binary, Protocol::Compact].map(|protocol| {
        let settings = Settings {
            limits: limits(),
            schema: thrift_schema(),
            ..Settings::default()
        };
        let client = Client::new(SERVICE.address(), settings, protocol, None, client_config());
        client.expect("valid settings")
    })
});

const FUNCTIONS: [(&str, &[u8]); 4] = [
    ("Shop.echo", br#"{"value":{"text":"a"}}"#),
    ("Shop.add", br#"{"a":1,"b":2}"#),
    ("Shop.nothing", b"{}"),
    ("Shop.broken", b"{}"),
];

/// Lets a server answer a Thrift client's call with `input`. Panics unless the client returns an
/// empty value, a JSON value or an error with a message.
///
/// The bits of the first byte choose the protocol, the function, and whether the other bytes are
/// the whole answer or only the body of a valid reply or exception.
pub fn check(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else {
        return;
    };
    let client = &CLIENTS[usize::from(first & 1)];
    let (function, arguments) = FUNCTIONS[usize::from(first >> 1 & 3)];
    match first & 8 {
        0 => SERVICE.answer_with(bytes.to_vec()),
        _ => SERVICE.answer_by(reply(bytes.to_vec(), first & 16 != 0)),
    }
    match client.call(function, arguments) {
        Ok(value) => {
            let whole = value.is_empty();
            assert!(whole || serde_json::from_slice::<serde_json::Value>(&value).is_ok());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Makes replies, or exceptions: the request's header with another message type, then `body`.
fn reply(body: Vec<u8>, exception: bool) -> impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static {
    let body: Arc<[u8]> = body.into();
    move |request| {
        let header = accelflow_accel::rpc::read_header(request, &limits()).expect("ours");
        let mut message = request[4..header.body].to_vec();
        match header.protocol {
            Protocol::Binary => message[3] = if exception { 3 } else { 2 },
            Protocol::Compact => message[1] = 1 | if exception { 3 << 5 } else { 2 << 5 },
        }
        message.extend_from_slice(&body);
        framed(&message)
    }
}
