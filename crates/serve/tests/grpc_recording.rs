//! Requests of gRPC, and the calls of their handlers, are recorded as the paper's traces.

use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::Settings;
use accelflow_serve::{
    ClientConfig, GrpcClient, HandlerError, RecordedPath, Request, Running, Server,
};
use accelflow_workload::profile::{RecordedPhase, RecordedStep};

use crate::common::grpc::schema;
use crate::common::*;

fn client(running: &Running, certificate: Option<&Certificate>, compress: bool) -> GrpcClient {
    let config = ClientConfig {
        timeout: LONG,
        compress,
        ..ClientConfig::default()
    };
    let trust = certificate.map(Certificate::trust);
    let made = GrpcClient::new(
        schema(),
        running.address(),
        Settings::default(),
        trust,
        config,
    );
    made.expect("settings that exist")
}

/// A server that records, whose method Echo calls that of another.
fn pair(certificate: Option<&Certificate>) -> (Running, Running) {
    let secured = |mut server: Server| {
        if let Some(certificate) = certificate {
            server.set_tls(certificate.identity());
        }
        start(server)
    };
    let mut inner = Server::grpc(schema());
    let echo = |request: &Request<'_>| Ok(request.arguments.to_vec());
    inner.handle("Echo", echo).expect("declared");
    let inner = secured(inner);
    let onward = Arc::new(client(&inner, certificate, false));
    let mut outer = Server::grpc(schema());
    let pass = move |request: &Request<'_>| {
        let called = onward.call("Echo", request.arguments);
        called.map_err(|error| HandlerError::Internal(error.to_string()))
    };
    outer.handle("Echo", pass).expect("declared");
    outer.handle("Add", echo).expect("declared");
    outer.set_recording(true);
    (inner, secured(outer))
}

/// The paths of a method once `requests` were kept: they are when their records have been sent.
fn recorded(running: &Running, method: &str, requests: u64) -> Vec<RecordedPath> {
    let begun = Instant::now();
    loop {
        let paths = running.recorded_paths(&format!("test.Calculator.{method}"));
        if paths.iter().map(|path| path.requests).sum::<u64>() >= requests {
            return paths;
        }
        assert!(begun.elapsed() < LONG, "{method}: {paths:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn steps(phase: &RecordedPhase) -> &[RecordedStep] {
    match phase {
        RecordedPhase::Chains(chains) if chains.len() == 1 => &chains[0].steps,
        other => panic!("{other:?}"),
    }
}

fn names(phase: &RecordedPhase) -> String {
    let named = |step: &RecordedStep| format!("{}:{}", step.trace, step.accelerator);
    let names: Vec<String> = steps(phase).iter().map(named).collect();
    names.join(" ")
}

#[test]
fn requests_over_tls_are_t1_and_t2_or_t3() {
    let certificate = Certificate::new("grpc-recording");
    let (_inner, outer) = pair(Some(&certificate));
    let plain = client(&outer, Some(&certificate), false);
    for _ in 0..20 {
        plain.call("Add", br#"{"a":"1"}"#).expect("it adds");
    }
    let paths = recorded(&outer, "Add", 20);
    assert_eq!((paths.len(), paths[0].requests), (1, 20));
    let [receive, RecordedPhase::Cpu { .. }, send] = &*paths[0].phases else {
        panic!("{paths:?}");
    };
    assert_eq!(names(receive), "T1:TCP T1:Decr T1:RPC T1:Dser T1:LdB");
    assert_eq!(names(send), "T2:Ser T2:RPC T2:Encr T2:TCP");
    let receive = steps(receive);
    // Records have a header of 5 bytes and 17 of protection, and hold the headers, too.
    assert!(
        receive[1].input_bytes >= receive[1].output_bytes + 22,
        "{receive:?}"
    );
    assert!(
        receive[1].output_bytes > receive[2].input_bytes,
        "{receive:?}"
    );
    assert_eq!(receive[2].input_bytes, receive[3].input_bytes + 5);
    assert_eq!(receive[3].facts.get("compressed"), Some(&0));
    assert!(receive.iter().all(|step| step.cost_ns >= 1.0));
    let packed = client(&outer, Some(&certificate), true);
    packed.call("Add", br#"{"a":"1"}"#).expect("it adds");
    let paths = recorded(&outer, "Add", 21);
    assert_eq!(paths.len(), 2);
    let phases = &paths[1].phases;
    assert_eq!(
        names(&phases[0]),
        "T1:TCP T1:Decr T1:RPC T1:Dser T1:Dcmp T1:LdB"
    );
    assert_eq!(names(&phases[2]), "T3:Cmp T3:Ser T3:RPC T3:Encr T3:TCP");
    // Handlers are named in the same ways.
    let made = |name| outer.recording(&[(name, "UniqId")], "a machine", "2026-01-01");
    for name in ["test.Calculator.Add", "Calculator.Add", "Add"] {
        assert!(made(name).is_ok(), "{name}");
    }
    assert!(made("dd").is_err());
}

#[test]
fn calls_of_handlers_are_t9_and_t10_between_phases_of_logic() {
    let certificate = Certificate::new("grpc-recording-calls");
    for (certificate, call) in [
        (
            Some(&certificate),
            "T9:Ser T9:RPC T9:Encr T9:TCP T10:TCP T10:Decr T10:RPC T10:Dser T10:LdB",
        ),
        (
            None,
            "T9_plain:Ser T9_plain:RPC T9_plain:TCP \
             T10_plain:TCP T10_plain:RPC T10_plain:Dser T10_plain:LdB",
        ),
    ] {
        let (_inner, outer) = pair(certificate);
        let client = client(&outer, certificate, false);
        for _ in 0..10 {
            client.call("Echo", br#"{"text":"x"}"#).expect("it echoes");
        }
        let paths = recorded(&outer, "Echo", 10);
        assert_eq!(paths.len(), 1);
        let phases = &paths[0].phases;
        assert_eq!(phases.len(), 5, "{phases:?}");
        assert_eq!(names(&phases[2]), call);
        assert!(steps(&phases[2]).iter().all(|step| step.cost_ns >= 1.0));
        let response = call
            .split(' ')
            .next_back()
            .and_then(|part| part.split(':').next());
        let waits = &paths[0].waits_ns[response.expect("a name")];
        assert_eq!(waits.len(), 10);
        assert!(waits.iter().all(|wait| *wait > 0.0));
    }
}

#[test]
fn all_requests_of_a_shared_connection_are_kept() {
    let certificate = Certificate::new("grpc-recording-many");
    let (_inner, outer) = pair(Some(&certificate));
    let client = client(&outer, Some(&certificate), false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    client
                        .call("Echo", br#"{"text":"some text"}"#)
                        .expect("it echoes");
                }
            });
        }
    });
    let kept: u64 = recorded(&outer, "Echo", 200)
        .iter()
        .map(|service| service.requests)
        .sum();
    assert_eq!(kept, 200);
}
