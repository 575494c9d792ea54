//! Fuzz target of storage messages, the requests of a service to its cache or database. Dser (the
//! deserialization accelerator) and the store's own reader read the same data from a message that
//! both accept. If Dser refuses a message, the message's job (the envelope that accelerators pass
//! on) is unchanged.

use accelflow_accel::storage::{Operation, StorageCall, read_request};
use accelflow_accel::thrift::Schema;
use accelflow_accel::{Accelerator, Call, Dser, Job, Limits, Ser};
use accelflow_trace::Accel;

/// Reads bytes as the message of a cache or database operation. Panics unless Dser (the
/// deserialization accelerator) refuses the message and leaves the message's job unchanged, or
/// reads the same data as the store's own reader, if that accepts the message.
///
/// The input is (index of the operation, modulo 4; bytes of the message).
pub fn check(input: (u8, &[u8])) {
    let (operation, body) = input;
    let mut message = (body.len() as u32).to_be_bytes().to_vec();
    message.extend(body);
    let limits = Limits::default();
    let request = read_request(&message, &limits);

    let operation = Operation::ALL[usize::from(operation) % 4];
    let mut job = Job {
        bytes: message.clone(),
        call: Call::Storage(StorageCall::request(operation, "post", "1")),
        ..Job::default()
    };
    let schema = Schema::social_network();
    let mut dser = Dser::new(schema.clone(), limits);
    assert_eq!(dser.kind(), Accel::Dser);
    if let Err(error) = dser.run(&mut job) {
        assert_eq!(job.bytes, message);
        assert!(job.envelope.is_none() && job.packed.is_none() && job.facts.iter().count() == 0);
        assert!(!error.to_string().is_empty());
        return;
    }
    if let Ok(request) = request {
        assert_eq!(request.operation, operation);
        if let Some(data) = &request.data {
            assert_eq!(&*job.data().expect("an envelope").0, &data.bytes);
        }
    }
    serde_json::from_slice::<serde_json::Value>(&job.bytes).expect("Dser writes JSON");
    // The request that follows from a response can be read by a store.
    if Ser::new(schema, limits).run(&mut job).is_ok() {
        read_request(&job.bytes, &limits).expect("Ser writes requests");
    }
}
