//! Fuzz target of the HTTP reader: the reader reads or refuses any bytes. A refusal leaves the
//! message's job (the envelope that accelerators pass on) unchanged. The body of a message that was
//! read survives being sent again.

use accelflow_accel::http::HttpCall;
use accelflow_accel::thrift::Schema;
use accelflow_accel::{Accelerator, Call, Dser, Job, Limits, Ser};

/// Reads bytes as an HTTP message: a response if the flag is true, else a request. Panics unless
///
/// * a refusal leaves the message's job (the envelope that accelerators pass on) unchanged;
/// * the body of a message that was read can be sent again and read back unchanged.
pub fn check(input: (bool, &[u8])) {
    let (response, message) = input;
    let request = HttpCall::post("media.example", "/upload");
    let call = if response {
        request.response(200)
    } else {
        request
    };
    let job = |bytes: &[u8], call: &Call| Job {
        bytes: bytes.to_vec(),
        call: call.clone(),
        ..Job::default()
    };
    let (schema, limits) = (Schema::social_network(), Limits::default());
    let mut dser = Dser::new(schema.clone(), limits);
    let mut first = job(message, &Call::Http(call));
    if let Err(error) = dser.run(&mut first) {
        assert_eq!(first.bytes, message);
        assert!(first.packed.is_none() && first.facts.iter().count() == 0);
        assert!(!error.to_string().is_empty());
        return;
    }
    let (body, call) = (first.bytes.clone(), first.call.clone());
    let packed = first.packed;
    Ser::new(schema, limits)
        .run(&mut first)
        .expect("it came like this");
    let mut second = job(&first.bytes, &call);
    dser.run(&mut second).expect("just written");
    assert_eq!((&second.bytes, &second.call), (&body, &call));
    assert_eq!(second.packed, packed);
}
