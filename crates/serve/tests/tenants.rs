//! Tenants: what one of them sends does not change what another gets.
//!
//! Nothing here depends on how fast anything is: buckets are refilled once an hour, or never make
//! anyone wait.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use accelflow_accel::thrift::Protocol;
use accelflow_serve::{Running, Shaping, Tenant, TenantError};
use accelflow_shaping::Registers;

use crate::common::*;

const HOUR: u64 = 3_600_000_000;

/// So many tokens now, and one an hour.
fn once(tokens: u64) -> Option<Registers> {
    Some(Registers::new(1, tokens, HOUR).expect("they fit"))
}

fn tenant(name: &str, last: u8) -> Tenant {
    Tenant::new(name, vec![from(last).into()])
}

fn start_with(tenants: Vec<Tenant>) -> Running {
    let mut server = server();
    server.set_tenants(tenants).expect("they can be told apart");
    start(server)
}

fn add(stream: &mut TcpStream) -> String {
    call(stream, "add", Protocol::Binary, r#"{"a":1,"b":1}"#).1
}

fn passed(running: &Running, tenant: &str) -> u64 {
    let series = format!(r#"accelflow_tenant_requests_total{{tenant="{tenant}"}}"#);
    counted(running, &series)
}

fn await_waiting(running: &Running, tenant: &str, count: u64) {
    let series = format!(r#"accelflow_tenant_waiting{{tenant="{tenant}"}}"#);
    await_count(running, &series, count);
    assert_eq!(counted(running, &series), count);
}

#[test]
fn a_flood_of_one_tenant_leaves_the_other_its_rate() {
    let mut greedy = tenant("greedy", 2);
    greedy.shaping.requests = once(10);
    let running = start_with(vec![greedy, tenant("modest", 3)]);
    let message = frame("add", Protocol::Binary, 77, r#"{"a":1,"b":1}"#);
    // Eight connections send a hundred requests each and wait for nothing.
    let mut flood: Vec<TcpStream> = (0..8).map(|_| connect_from(&running, from(2))).collect();
    for stream in &mut flood {
        stream
            .write_all(&message.repeat(100))
            .expect("the system buffers it");
    }
    await_waiting(&running, "greedy", 8);
    let mut modest = connect_from(&running, from(3));
    for _ in 0..500 {
        assert_eq!(add(&mut modest), r#"{"success":2}"#);
    }
    assert_eq!(
        (passed(&running, "greedy"), passed(&running, "modest")),
        (10, 500)
    );
    // Registers are rewritten while the server runs, and those who wait go by the new ones. The
    // bucket has no room for more than it had, so the first write takes the limit away.
    running
        .reshape("greedy", Shaping::default())
        .expect("known");
    for stream in &mut flood {
        for _ in 0..100 {
            let (_, sequence, body) = read_reply(&receive(stream).expect("a reply"));
            assert_eq!((sequence, &*body), (77, r#"{"success":2}"#));
        }
    }
    assert_eq!(passed(&running, "greedy"), 800);
    await_waiting(&running, "greedy", 0);
}

#[test]
fn bytes_are_shaped_too_and_a_message_larger_than_the_bucket_takes_it_several_times() {
    let message = frame("note", Protocol::Binary, 0, r#"{"text":"0123456789"}"#);
    let size = message.len() as u64;
    let mut small = tenant("small", 2);
    // Enough for three messages, one token at a time would be for ever.
    small.shaping.bytes = once(3 * size);
    let mut quick = tenant("quick", 3);
    // Ten bytes every ten microseconds: a message needs several refills.
    quick.shaping.bytes = Some(Registers::new(10, 10, 10).expect("they fit"));
    let running = start_with(vec![small, quick]);
    let mut stream = connect_from(&running, from(2));
    stream
        .write_all(&message.repeat(5))
        .expect("the system buffers it");
    await_waiting(&running, "small", 1);
    assert_eq!(passed(&running, "small"), 3);
    let mut stream = connect_from(&running, from(3));
    for _ in 0..20 {
        assert_eq!(add(&mut stream), r#"{"success":2}"#);
    }
    let bytes = r#"accelflow_tenant_request_bytes_total{tenant="quick"}"#;
    let request = frame("add", Protocol::Binary, 77, r#"{"a":1,"b":1}"#);
    assert_eq!(counted(&running, bytes), 20 * request.len() as u64);
}

/// What a limit in one unit promises, floods of small or of large messages break: both hold each.
#[test]
fn a_tenant_can_be_shaped_in_requests_and_in_bytes() {
    let note = |length: usize| {
        let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(length));
        frame("note", Protocol::Binary, 0, &text)
    };
    let (small, large) = (note(1), note(10_000));
    let both = |name, last| {
        let mut shaped = tenant(name, last);
        shaped.shaping.requests = once(5);
        shaped.shaping.bytes = once(2 * large.len() as u64);
        shaped
    };
    let running = start_with(vec![both("many", 2), both("huge", 3)]);
    for (name, last, message, may_pass) in [("many", 2, &small, 5), ("huge", 3, &large, 2)] {
        let mut stream = connect_from(&running, from(last));
        stream
            .write_all(&message.repeat(8))
            .expect("the system buffers it");
        await_waiting(&running, name, 1);
        assert_eq!(passed(&running, name), may_pass, "{name}");
        running.reshape(name, Shaping::default()).expect("known");
        let series = format!(r#"accelflow_tenant_requests_total{{tenant="{name}"}}"#);
        await_count(&running, &series, 8);
    }
}

/// Messages of gRPC wait without a thread of their own.
#[tokio::test]
async fn a_flood_of_grpc_waits_for_its_own_tokens_too() {
    let mut greedy = tenant("greedy", 2);
    greedy.shaping.requests = once(3);
    let mut server = grpc::server();
    server
        .set_tenants(vec![greedy, tenant("modest", 3)])
        .expect("good");
    let running = start(server);
    let client = grpc::client(connect_from(&running, from(2))).await;
    // More than the threads that run handlers.
    let flood: Vec<_> = (0..100)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { grpc::increment(client, number, &[]).await })
        })
        .collect();
    let modest = grpc::client(connect_from(&running, from(3))).await;
    for number in 0..100 {
        assert_eq!(
            grpc::increment(modest.clone(), number, &[]).await,
            number + 1
        );
    }
    for _ in 0..3_000 {
        if passed(&running, "greedy") == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        (passed(&running, "greedy"), passed(&running, "modest")),
        (3, 100)
    );
    running
        .reshape("greedy", Shaping::default())
        .expect("known");
    for (number, call) in (0..).zip(flood) {
        assert_eq!(call.await.expect("no panic"), number + 1);
    }
    assert_eq!(passed(&running, "greedy"), 100);
}

#[test]
fn tenants_keep_their_limits_of_connections_and_traces() {
    let mut few = tenant("few", 2);
    few.max_connections = 2;
    few.max_traces = 1;
    let running = start_with(vec![few]);
    let mut kept: Vec<TcpStream> = (0..2).map(|_| connect_from(&running, from(2))).collect();
    for stream in &mut kept {
        assert_eq!(add(stream), r#"{"success":2}"#);
    }
    let third = connect_from(&running, from(2));
    await_count(
        &running,
        r#"accelflow_connections_total{end="too_many_of_tenant"}"#,
        1,
    );
    drop(third);
    // Others are not touched by that, and a place that is given up can be had.
    assert_eq!(
        add(&mut connect_from(&running, from(9))),
        r#"{"success":2}"#
    );
    kept.pop();
    await_count(&running, r#"accelflow_connections_total{end="done"}"#, 2);
    assert_eq!(
        add(&mut connect_from(&running, from(2))),
        r#"{"success":2}"#
    );
    // Many at once, one trace at a time.
    let mut threads = Vec::new();
    for mut stream in kept {
        threads.push(std::thread::spawn(move || {
            for _ in 0..200 {
                assert_eq!(add(&mut stream), r#"{"success":2}"#);
            }
        }));
    }
    for thread in threads {
        thread.join().expect("all were answered");
    }
}

#[test]
fn stopping_does_not_wait_for_requests_that_wait_for_tokens() {
    let mut never = tenant("never", 2);
    never.shaping.requests = once(1);
    let running = start_with(vec![never]);
    let mut stream = connect_from(&running, from(2));
    assert_eq!(add(&mut stream), r#"{"success":2}"#);
    let again = frame("add", Protocol::Binary, 1, r#"{"a":1,"b":1}"#);
    stream.write_all(&again).expect("the server reads");
    await_waiting(&running, "never", 1);
    assert_eq!(running.stop(Duration::from_millis(50)), 1);
}

#[test]
fn tenants_that_cannot_be_told_apart_are_refused() {
    let mut server = server();
    let text = |refused: Result<(), TenantError>| refused.expect_err("no tenants").to_string();
    let nameless = text(server.set_tenants(vec![tenant("", 2)]));
    assert!(nameless.starts_with("tenant 0: name = ''"), "{nameless}");
    let twice = text(server.set_tenants(vec![tenant("a", 2), tenant("a", 3)]));
    assert!(twice.starts_with("tenant 1: name = 'a'"), "{twice}");
    let nowhere = text(server.set_tenants(vec![Tenant::new("a", Vec::new())]));
    assert!(nowhere.contains("at least one network"), "{nowhere}");
    server
        .set_tenants(vec![tenant("a", 2), tenant("b", 3)])
        .expect("good");
    let running = start(server);
    let unknown = text(running.reshape("c", Shaping::default()));
    assert_eq!(unknown, "tenant = 'c': must be one of a, b");
}
