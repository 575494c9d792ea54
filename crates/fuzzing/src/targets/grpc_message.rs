//! Fuzz target of gRPC messages: any bytes are read as the message of a call to any path, or are
//! refused and stay unchanged. A message that is read can be written as an equal message.

use std::sync::{Arc, LazyLock};

use crate::parties::{PROTO, limits};
use accelflow_accel::Settings;
use accelflow_accel::balance::{CoreLoads, RoundRobin};
use accelflow_accel::grpc::{GrpcCall, message_length};
use accelflow_accel::protobuf::Schema;
use accelflow_accel::{AccelError, Call, Codec, Ensemble, Job};
use accelflow_trace::Accel;

static SCHEMA: LazyLock<Arc<Schema>> =
    LazyLock::new(|| Arc::new(Schema::parse(PROTO).expect("a constant")));

const METHODS: [&str; 4] = ["Echo", "Clear", "Watch", "None"];

/// Reads `input` as the message of a gRPC call. Panics unless
///
/// * an accelerator that refuses the message leaves its bytes unchanged;
/// * a message that was read has the same value after writing and reading. A compressed message
///   may instead be too large to write after decompression.
///
/// The bits of the first byte choose the method, whether the message is gzip-compressed, and the
/// call's path: the path of the method, or the message itself if it is text.
pub fn check(input: &[u8]) {
    let Some((first, message)) = input.split_first() else {
        return;
    };
    let gzip = (first & 4 != 0).then_some(Codec::Gzip);
    let method = METHODS[usize::from(first & 3)];
    // A path of any form, if the bytes are text.
    let path = match (first & 8, std::str::from_utf8(message)) {
        (0, _) | (_, Err(_)) => format!("/shop.Shop/{method}"),
        (_, Ok(text)) => text.to_owned(),
    };
    let settings = Settings {
        limits: limits(),
        ..Settings::default()
    };
    let policy = Box::new(RoundRobin::default());
    let mut bodies = Ensemble::software(&settings, policy, CoreLoads::idle(1)).expect("valid");
    let mut job = Job {
        bytes: message.to_vec(),
        call: Call::Grpc(GrpcCall::received(SCHEMA.clone(), &path, gzip)),
        ..Job::default()
    };
    if let Ok(Some(length)) = message_length(message, &settings.limits) {
        assert!(length <= settings.limits.max_message_bytes);
    }
    let mut run = |accel, job: &mut Job| run(&mut bodies, accel, job);
    if run(Accel::Rpc, &mut job).is_err() {
        return;
    }
    if job.packed.is_some() && run(Accel::Dcmp, &mut job).is_err() {
        return;
    }
    if run(Accel::Dser, &mut job).is_err() {
        return;
    }
    let json: serde_json::Value = serde_json::from_slice(&job.bytes).expect("Dser writes JSON");
    let mut sent = Job {
        bytes: job.bytes.clone(),
        format: job.format,
        call: Call::Grpc(
            GrpcCall::request(SCHEMA.clone(), method_name(&job), None).expect("RPC has found it"),
        ),
        ..Job::default()
    };
    for accel in [Accel::Ser, Accel::Rpc] {
        if run(accel, &mut sent).is_err() {
            // The decompressed message may be larger than the limit.
            return assert!(gzip.is_some());
        }
    }
    let mut again = Job {
        bytes: sent.bytes,
        call: Call::Grpc(GrpcCall::received(SCHEMA.clone(), &path, None)),
        ..Job::default()
    };
    for accel in [Accel::Rpc, Accel::Dser] {
        run(accel, &mut again).expect("just written");
    }
    let second: serde_json::Value = serde_json::from_slice(&again.bytes).expect("JSON");
    assert_eq!(second, json);
}

/// Runs one accelerator, which leaves the bytes unchanged if it refuses them.
fn run(bodies: &mut Ensemble, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
    let before = job.bytes.clone();
    bodies.run(accel, job).inspect_err(|error| {
        assert!(!error.to_string().is_empty());
        assert_eq!(job.bytes, before);
    })
}

fn method_name(job: &Job) -> &str {
    job.facts.text("method").unwrap_or_default()
}
