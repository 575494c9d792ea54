//! Fuzz target of the parser of `.proto` interfaces: any text is read as an interface or refused
//! with an error message. Every method of an interface is found by its path. If the type of a
//! method's request allows an empty request, this request can be written and read.

use std::sync::Arc;

use accelflow_accel::grpc::GrpcCall;
use accelflow_accel::protobuf::Schema;
use accelflow_accel::{Call, Ensemble, Job};
use accelflow_trace::{Accel, Format};

/// Parses `text` as a `.proto` interface. Panics unless the text is refused with an error message,
/// or every method is found by its path, and every empty request can be written and read. Request
/// types that do not allow an empty request are left out.
pub fn check(text: &str) {
    let schema = match Schema::parse(text) {
        Ok(schema) => Arc::new(schema),
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut bodies = Ensemble::with_cores(1).expect("valid");
    assert!(!schema.methods().is_empty());
    for method in schema.methods() {
        let id = schema.find_path(&method.path).expect("it is declared");
        assert_eq!(schema.method(id).expect("found").path, method.path);
        let name = format!("{}.{}", method.service, method.name);
        let Ok(call) = GrpcCall::request(schema.clone(), &name, None) else {
            // The end of one method's full name may be another's.
            continue;
        };
        let mut job = Job {
            bytes: b"{}".to_vec(),
            format: Format::Json,
            call: Call::Grpc(call),
            ..Job::default()
        };
        // Some of Google's types have another JSON; proto2 has fields that must be there.
        if bodies.run(Accel::Ser, &mut job).is_err() {
            continue;
        }
        bodies.run(Accel::Rpc, &mut job).expect("it is small");
        assert_eq!(job.bytes, [0; 5]);
        job.call = Call::Grpc(GrpcCall::received(schema.clone(), &method.path, None));
        for accel in [Accel::Rpc, Accel::Dser] {
            bodies.run(accel, &mut job).expect("just written");
        }
    }
}
