//! Tokens that stand for accelerator time: one limit for requests of any size.
//!
//! No test depends on the machine's speed: refills come once an hour, and the compared requests
//! differ by orders of magnitude in processor time.

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use accelflow_accel::thrift::Protocol;
use accelflow_runtime::thread_time;
use accelflow_serve::{Config, Execution, Running, Server, Shaping, Tenant};
use accelflow_shaping::Registers;
use common::*;

const HOUR: u64 = 3_600_000_000;
const GENEROUS: u64 = 4_000_000_000;

/// So many nanoseconds of accelerators now, and one an hour.
fn nanoseconds(tokens: u64) -> Shaping {
    Shaping {
        time: Some(Registers::new(1, tokens, HOUR).expect("they fit")),
        ..Shaping::default()
    }
}

/// A tenant for each of these names, at 127.0.0.2 and further.
fn started(mut server: Server, tenants: &[(&str, Shaping)]) -> Running {
    let tenant = |(&(name, shaping), last)| Tenant {
        shaping,
        ..Tenant::new(name, vec![from(last).into()])
    };
    let tenants = tenants.iter().zip(2..).map(tenant).collect();
    server.set_tenants(tenants).expect("they can be told apart");
    start(server)
}

fn of_tenant(running: &Running, what: &str, tenant: &str) -> f64 {
    let series = format!("accelflow_tenant_{what}_total{{tenant=\"{tenant}\"}} ");
    let text = running.metrics();
    let found = text.lines().find_map(|line| line.strip_prefix(&series));
    found.map_or(0.0, |value| value.parse().expect("a number"))
}

fn add(stream: &mut TcpStream) -> String {
    call(stream, "add", Protocol::Binary, r#"{"a":1,"b":1}"#).1
}

/// Sends `count` texts of `length` one after the other, and waits until the last is accounted for.
fn echo(running: &Running, tenant: &str, stream: &mut TcpStream, (count, length): (u64, usize)) {
    let text = "x".repeat(length);
    for _ in 0..count {
        let arguments = format!(r#"{{"value":{{"text":"{text}"}}}}"#);
        let reply = call(stream, "echo", Protocol::Binary, &arguments).1;
        assert!(reply.len() > length, "{reply}");
    }
    // An answer is sent before its account is closed; that of the one before it is closed then.
    let done = format!(r#"accelflow_tenant_charged_total{{tenant="{tenant}"}}"#);
    await_count(running, &done, count);
}

#[test]
fn a_tenant_that_has_used_its_time_waits_and_others_do_not() {
    let running = started(
        server(),
        &[
            ("greedy", nanoseconds(1)),
            ("modest", nanoseconds(GENEROUS)),
        ],
    );
    let mut first = connect_from(&running, from(2));
    // Nothing is known of its cost yet, so it passes, and is charged when it is done.
    assert_eq!(add(&mut first), r#"{"success":2}"#);
    await_count(
        &running,
        r#"accelflow_tenant_charged_total{tenant="greedy"}"#,
        1,
    );
    let mut flood: Vec<TcpStream> = (0..4).map(|_| connect_from(&running, from(2))).collect();
    let message = frame("add", Protocol::Binary, 77, r#"{"a":1,"b":1}"#);
    for stream in &mut flood {
        stream.write_all(&message.repeat(50)).expect("buffered");
    }
    await_count(&running, r#"accelflow_tenant_waiting{tenant="greedy"}"#, 4);
    let mut modest = connect_from(&running, from(3));
    for _ in 0..200 {
        assert_eq!(add(&mut modest), r#"{"success":2}"#);
    }
    assert_eq!(of_tenant(&running, "requests", "greedy"), 1.0);
    assert_eq!(of_tenant(&running, "requests", "modest"), 200.0);
    // A debt goes with its bucket: a new one is full, and no request needs that much.
    running
        .reshape("greedy", Shaping::default())
        .expect("known");
    running
        .reshape("greedy", nanoseconds(GENEROUS))
        .expect("known");
    for stream in &mut flood {
        for _ in 0..50 {
            let (_, sequence, body) = read_reply(&receive(stream).expect("a reply"));
            assert_eq!((sequence, &*body), (77, r#"{"success":2}"#));
        }
    }
    assert_eq!(of_tenant(&running, "requests", "greedy"), 201.0);
}

#[test]
fn large_requests_are_charged_for_what_they_take_and_predicted_from_that() {
    let running = started(
        server(),
        &[
            ("small", nanoseconds(GENEROUS)),
            ("large", nanoseconds(GENEROUS)),
        ],
    );
    for (tenant, last, length) in [("small", 2, 8), ("large", 3, 400_000)] {
        let mut stream = connect_from(&running, from(last));
        echo(&running, tenant, &mut stream, (30, length));
    }
    let [small, large] = ["small", "large"].map(|tenant| {
        let spent = of_tenant(&running, "accelerator_seconds", tenant);
        let predicted = of_tenant(&running, "predicted_seconds", tenant);
        // Only of the first request was nothing known, and the mean follows what is measured.
        assert!(
            spent > 0.0 && predicted > 0.0,
            "{tenant}: {spent} {predicted}"
        );
        spent
    });
    assert!(large > 5.0 * small, "{small} {large}");
}

#[test]
fn the_handler_s_own_work_is_not_charged() {
    let busy = Duration::from_millis(200);
    let mut server = Server::new(schema());
    let work = move |_: &accelflow_serve::Request<'_>| {
        let start = thread_time();
        while thread_time() - start < busy {}
        Ok(Vec::new())
    };
    server.handle("Test.nothing", work).expect("declared");
    let running = started(server, &[("worker", nanoseconds(GENEROUS))]);
    let mut stream = connect_from(&running, from(2));
    for _ in 0..2 {
        call(&mut stream, "nothing", Protocol::Binary, "{}");
    }
    await_count(
        &running,
        r#"accelflow_tenant_charged_total{tenant="worker"}"#,
        2,
    );
    let spent = of_tenant(&running, "accelerator_seconds", "worker");
    assert!(spent > 0.0 && spent < busy.as_secs_f64(), "{spent}");
}

#[test]
fn the_work_of_an_ensemble_is_charged_too() {
    let charged = |execution: Execution| {
        let mut server = server();
        server.set_config(Config {
            execution,
            ..verbose()
        });
        let running = started(server, &[("large", nanoseconds(GENEROUS))]);
        let mut stream = connect_from(&running, from(2));
        echo(&running, "large", &mut stream, (10, 200_000));
        of_tenant(&running, "accelerator_seconds", "large")
    };
    let inline = charged(Execution::Inline);
    let apart = charged(Execution::Ensemble(accelflow_serve::PoolSettings::default()));
    // Most of the work of large messages is that of the ensemble.
    assert!(inline > 0.0 && apart > 0.5 * inline, "{inline} {apart}");
}

#[tokio::test]
async fn grpc_requests_are_charged_for_their_traces() {
    let mut server = grpc::server();
    let tenant = Tenant {
        shaping: nanoseconds(1),
        ..Tenant::new("greedy", vec![from(2).into()])
    };
    server.set_tenants(vec![tenant]).expect("good");
    let running = start(server);
    let client = grpc::client(connect_from(&running, from(2))).await;
    assert_eq!(grpc::increment(client.clone(), 1, &[]).await, 2);
    let charged = r#"accelflow_tenant_charged_total{tenant="greedy"}"#;
    while counted(&running, charged) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(of_tenant(&running, "accelerator_seconds", "greedy") > 0.0);
    let again = tokio::spawn(async move { grpc::increment(client, 2, &[]).await });
    while counted(&running, r#"accelflow_tenant_waiting{tenant="greedy"}"#) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running
        .reshape("greedy", Shaping::default())
        .expect("known");
    assert_eq!(again.await.expect("no panic"), 3);
}
