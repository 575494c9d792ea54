//! What becomes of requests whose accelerators fail: the core does the work, and counts why.

use std::time::Duration;

use accelflow_accel::thrift::Protocol;
use accelflow_serve::{Config, Execution, Fault, FaultKind, FaultWhen, PoolSettings};
use accelflow_trace::Accel;

use crate::common::*;

fn fault(accel: Accel, when: FaultWhen, kind: FaultKind) -> Fault {
    Fault { accel, when, kind }
}

/// Runs 100 calls on a server with faults; the counts of the given series.
fn counts<const N: usize>(execution: Execution, faults: &[Fault], series: [&str; N]) -> [u64; N] {
    let mut server = server();
    server.set_config(Config {
        execution,
        ..Config::default()
    });
    server.set_faults(faults).expect("good");
    let running = start(server);
    let mut client = connect(&running);
    for number in 0..100 {
        let arguments = format!(r#"{{"a":{number},"b":1}}"#);
        let sum = call(&mut client, "add", Protocol::Compact, &arguments).1;
        assert_eq!(sum, format!(r#"{{"success":{}}}"#, number + 1));
    }
    let calls = r#"accelflow_requests_total{function="Test.add",result="ok"}"#;
    assert_eq!(counted(&running, calls), 100);
    series.map(|accelerator| {
        counted(
            &running,
            &format!("accelflow_fallbacks_total{{{accelerator}}}"),
        )
    })
}

#[test]
fn every_request_is_answered_and_every_failure_counted_by_its_reason() {
    let some = |ratio, seed| FaultWhen::Share { ratio, seed };
    let faults = [
        fault(Accel::Rpc, FaultWhen::Nth(5), FaultKind::Fail),
        fault(Accel::Dser, FaultWhen::Nth(5), FaultKind::Panic),
        fault(Accel::Dser, FaultWhen::Nth(50), FaultKind::Panic),
        fault(Accel::Ser, some(1.0, 1), FaultKind::Fail),
        fault(
            Accel::Tcp,
            FaultWhen::Nth(9),
            FaultKind::Delay(Duration::from_millis(1)),
        ),
    ];
    let series = [
        r#"trace="T1_plain",reason="device_failed""#,
        r#"trace="T1_plain",reason="panic""#,
        r#"trace="T2_plain",reason="device_failed""#,
        r#"trace="T2_plain",reason="panic""#,
    ];
    // Ser fails always, so RPC is reached by requests alone, and its fifth step is the fifth of
    // them; the core's own bodies never fail.
    let inline = counts(Execution::Inline, &faults, series);
    assert_eq!(inline, [1, 2, 100, 0]);
    // Workers fail likewise, and the core has bodies of its own for what it takes over.
    let pooled = counts(
        Execution::Ensemble(PoolSettings::default()),
        &faults,
        series,
    );
    assert_eq!(pooled, [1, 2, 100, 0]);
}
