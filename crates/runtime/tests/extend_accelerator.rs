//! The worked example of CONTRIBUTING.md: a body of one's own for an accelerator.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

// quoted: begin
use accelflow_accel::compress::Cmp;
use accelflow_accel::{AccelError, Accelerator, Codec, Ensemble, Job, Limits, Session};
use accelflow_trace::Accel;

/// Compresses with both codecs and keeps what is smaller.
struct SmallerCmp {
    bodies: [Cmp; 2],
}

impl SmallerCmp {
    fn new(limits: Limits) -> Result<SmallerCmp, AccelError> {
        let body = |codec| Cmp::new(codec, 1, limits);
        let bodies = [body(Codec::Zstd)?, body(Codec::Snappy)?];
        Ok(SmallerCmp { bodies })
    }
}

impl Accelerator for SmallerCmp {
    fn kind(&self) -> Accel {
        Accel::Cmp
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        // On copies: after an error, `job` must be as it was.
        let [mut one, mut other] = [(); 2].map(|()| job.fork(Session::default()));
        self.bodies[0].run(&mut one)?;
        self.bodies[1].run(&mut other)?;
        let smaller = if other.bytes.len() < one.bytes.len() {
            other
        } else {
            one
        };
        let session = std::mem::take(&mut job.session);
        *job = Job { session, ..smaller };
        Ok(())
    }
}

fn ensemble_with_smaller_cmp(cores: usize) -> Result<Ensemble, AccelError> {
    let mut ensemble = Ensemble::with_cores(cores)?;
    ensemble.replace(Box::new(SmallerCmp::new(Limits::default())?));
    Ok(ensemble)
}
// quoted: end

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{Call, Packed, messages};
use accelflow_runtime::{Answers, Executor, Message, demo};
use accelflow_trace::{Format, templates};

/// What the demo's client reads of T3's reply, and how it was compressed.
fn reply_through_t3(method: &str, reply: &[u8]) -> (Vec<u8>, Codec) {
    let image = templates().unwrap().link().unwrap();
    let mut executor = Executor::new(image, ensemble_with_smaller_cmp(4).unwrap());
    let request =
        ThriftCall::request(&Schema::social_network(), method, Protocol::Binary, 7).unwrap();
    let message = Message::json(reply, Call::Thrift(request.reply()));
    let outcome = demo::run_trace_as(&mut executor, "T3", &message, Answers::default()).unwrap();
    let (client, _) = demo::connection(0).unwrap();
    let mut job = Job::receive(outcome.sent[0].bytes.clone(), client);
    let mut ensemble = Ensemble::with_cores(1).unwrap();
    for step in [Accel::Tcp, Accel::Decr, Accel::Rpc, Accel::Dser] {
        ensemble.run(step, &mut job).unwrap();
    }
    let codec = job.packed.unwrap().codec;
    ensemble.run(Accel::Dcmp, &mut job).unwrap();
    (job.bytes, codec)
}

#[test]
fn a_trace_runs_with_a_body_of_ones_own() {
    let mut codecs = Vec::new();
    for method in ["ReadHomeTimeline", "ComposeUniqueId"] {
        let reply = messages::response(method, 1, 0).unwrap().to_string();
        let (received, codec) = reply_through_t3(method, reply.as_bytes());
        assert_eq!(received, reply.as_bytes());
        codecs.push(codec);
    }
    assert_eq!(codecs, [Codec::Zstd, Codec::Snappy]);
}

#[test]
fn a_refused_job_is_as_it_was() {
    let packed = Some(Packed {
        codec: Codec::Zstd,
        format: Format::Json,
    });
    let mut job = Job {
        packed,
        ..Job::receive(b"compressed before".to_vec(), Session::default())
    };
    let mut body = SmallerCmp::new(Limits::default()).unwrap();
    assert_eq!(body.run(&mut job).unwrap_err().reason(), "wrong_format");
    assert_eq!(job.bytes, b"compressed before");
    assert_eq!(job.packed, packed);
}
