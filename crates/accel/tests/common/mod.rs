//! Two ends of one connection, and jobs on them.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its part, and fails by panicking"
)]

use accelflow_accel::tcp::TcpSession;
use accelflow_accel::tls::{CipherSuite, TlsSession};
use accelflow_accel::{Call, Direction, Ensemble, Job, Session};
use accelflow_trace::{Accel, nine::*};
use accelflow_trace::{Format, Transform};

/// A client's and a server's session of the same connection.
pub(crate) fn connection() -> (Session, Session) {
    let tcp = TcpSession::new(
        "10.0.0.1:40000".parse().unwrap(),
        "10.0.0.2:9090".parse().unwrap(),
        u32::MAX - 700,
        1_000,
    );
    let (up, down) = ([1; 32], [2; 32]);
    let tls = |write: &[u8], read: &[u8]| {
        Some(TlsSession::from_secrets(CipherSuite::Aes128GcmSha256, write, read).unwrap())
    };
    let server = Session {
        tcp: Some(tcp.mirrored()),
        tls: tls(&down, &up),
    };
    (
        Session {
            tcp: Some(tcp),
            tls: tls(&up, &down),
        },
        server,
    )
}

pub(crate) fn ensemble() -> Ensemble {
    Ensemble::with_cores(4).unwrap()
}

/// Runs accelerators one after the other.
pub(crate) fn run(ensemble: &mut Ensemble, job: &mut Job, steps: &[Accel]) {
    for step in steps {
        ensemble
            .run(*step, job)
            .unwrap_or_else(|error| panic!("{step}: {error}"));
    }
}

pub(crate) const JSON_TO_STR: Transform = Transform {
    src: Format::Json,
    dst: Format::Str,
};

/// Sends application data as `call` through `steps` and returns what goes over the wire.
pub(crate) fn send(
    ensemble: &mut Ensemble,
    session: &mut Session,
    call: Call,
    (bytes, format): (Vec<u8>, Format),
    steps: &[Accel],
) -> Vec<u8> {
    let mut job = Job::send(bytes, format, call, std::mem::take(session));
    run(ensemble, &mut job, steps);
    *session = job.session;
    job.bytes
}

/// Receives up to and with Dser; the job keeps the session.
pub(crate) fn receive(
    ensemble: &mut Ensemble,
    session: Session,
    call: Call,
    bytes: Vec<u8>,
    rpc: bool,
) -> Job {
    let mut job = Job {
        call,
        ..Job::receive(bytes, session)
    };
    assert_eq!(job.direction, Direction::Receive);
    run(ensemble, &mut job, &[Tcp, Decr]);
    if rpc {
        run(ensemble, &mut job, &[Rpc]);
    }
    run(ensemble, &mut job, &[Dser]);
    job
}
