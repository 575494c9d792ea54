//! What a client says of a call that it has attempted before, and calls that wait for their tenant.

use std::cell::{Cell, RefCell};
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use accelflow_accel::Settings;
use accelflow_accel::thrift::Protocol;
use accelflow_runtime::{Terms, TraceLimit};
use accelflow_serve::{
    CallError, CallOptions, Cancel, Carried, Client, ClientConfig, Executed, GrpcCode, RetryPolicy,
    checking, with_carried, with_deadline,
};
use h2::Reason;

use crate::common::services::{ADD as GRPC_ADD, client as grpc_client, scripted};
use crate::common::*;

const ADD: &[u8] = br#"{"a":1,"b":1}"#;

fn thrift_client(address: SocketAddr, config: ClientConfig) -> Client {
    let settings = Settings {
        schema: schema(),
        ..Settings::default()
    };
    Client::new(address, settings, Protocol::Binary, None, config).expect("settings that exist")
}

fn config(base_delay: Duration) -> ClientConfig {
    ClientConfig {
        timeout: 2 * LONG,
        retry: RetryPolicy {
            base_delay,
            max_delay: base_delay,
            ..RetryPolicy::default()
        },
        ..ClientConfig::default()
    }
}

fn idempotent(cancel: &Cancel) -> CallOptions {
    CallOptions {
        idempotent: true,
        cancel: Some(cancel.clone()),
        ..CallOptions::default()
    }
}

/// A service that reads one request, listens no more, and closes the connection.
fn leaving() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let thread = std::thread::spawn(move || {
        let mut stream = waits::accept(&listener);
        receive(&mut stream).expect("a call");
        drop(listener);
    });
    (address, thread)
}

/// The same as a gRPC service.
fn leaving_grpc() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let thread = std::thread::spawn(move || {
        let stream = waits::accept(&listener);
        stream.set_nonblocking(true).expect("a socket");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
            let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
            let call = tokio::time::timeout(LONG, connection.accept()).await;
            call.expect("in time")
                .expect("a call")
                .expect("well-formed");
            drop(listener);
        });
    });
    (address, thread)
}

fn is_repeated(error: &CallError, reason: &str, code: GrpcCode, address: SocketAddr) {
    let found = (error.reason(), error.executed(), error.code());
    assert_eq!(found, (reason, Executed::Perhaps, code), "{error}");
    let text = error.to_string();
    let earlier = format!("; an earlier attempt of the call may have been executed: {address}: ");
    assert!(text.contains(&earlier), "{text}");
    assert!(text.contains("the connection was lost"), "{text}");
}

/// Whether the last thing of a call was a cancelled wait with nothing on a connection.
fn is_cancelled_unsent(error: &CallError) -> bool {
    let unsent = |last: &CallError| matches!(last, CallError::Cancelled { sent: false, .. });
    matches!(error, CallError::Repeated { last, .. } if unsent(last))
}

#[test]
fn attempts_that_are_not_sent_do_not_hide_an_earlier_one_that_was() {
    let cancel = Cancel::new();
    let brief = config(Duration::from_millis(1));
    let (address, service) = leaving();
    let client = thrift_client(address, brief.clone());
    let gone = client.call_with("add", ADD, &idempotent(&cancel));
    let gone = gone.expect_err("nobody listens");
    is_repeated(&gone, "connect", GrpcCode::Unavailable, address);
    service.join().expect("no panic");

    let (address, service) = leaving_grpc();
    let client = grpc_client(address, None, brief);
    let gone = client.call_with("Add", GRPC_ADD, &idempotent(&cancel));
    let gone = gone.expect_err("nobody listens");
    is_repeated(&gone, "connect", GrpcCode::Unavailable, address);
    service.join().expect("no panic");
    // Of a call whose attempts all failed so, it is known.
    let never = client.call_with("Add", GRPC_ADD, &idempotent(&cancel));
    assert_eq!(never.expect_err("gone").executed(), Executed::No);
}

#[test]
fn a_call_that_is_cancelled_in_a_pause_may_have_been_executed() {
    // The pauses are long enough, as the seed determines them.
    let patient = config(LONG);
    let cancel = Cancel::new();
    let (address, service) = leaving();
    let client = thrift_client(address, patient.clone());
    std::thread::scope(|scope| {
        let call = scope.spawn(|| client.call_with("add", ADD, &idempotent(&cancel)));
        eventually("a pause", || client.metrics().contains("reason=\"lost\""));
        cancel.cancel();
        let error = call.join().expect("no panic").expect_err("cancelled");
        is_repeated(&error, "cancelled", GrpcCode::Cancelled, address);
        assert!(is_cancelled_unsent(&error), "{error:?}");
    });
    service.join().expect("no panic");

    let cancel = Cancel::new();
    let (address, service) = leaving_grpc();
    let client = grpc_client(address, None, patient);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| client.call_with("Add", GRPC_ADD, &idempotent(&cancel)));
        eventually("a pause", || client.metrics().contains("reason=\"lost\""));
        cancel.cancel();
        let error = call.join().expect("no panic").expect_err("cancelled");
        is_repeated(&error, "cancelled", GrpcCode::Cancelled, address);
        assert!(is_cancelled_unsent(&error), "{error:?}");
    });
    service.join().expect("no panic");
}

/// A call that a tenant's limit lets begin.
type Limited = Arc<dyn Fn(&CallOptions) -> Result<Vec<u8>, CallError> + Send + Sync>;

/// Calls of clients that need no service, since they wait for the tenant's other calls.
fn with_limited_calls(test: impl Fn(&Limited)) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let client = thrift_client(address, config(Duration::from_millis(1)));
    let call = move |options: &CallOptions| client.call_with("add", ADD, options);
    test(&(Arc::new(call) as Limited));
    let client = grpc_client(address, None, config(Duration::from_millis(1)));
    let call = move |options: &CallOptions| client.call_with("Add", GRPC_ADD, options);
    test(&(Arc::new(call) as Limited));
}

#[test]
fn calls_that_wait_for_their_tenant_end_when_they_are_cancelled() {
    with_limited_calls(|call| {
        let limit = TraceLimit::new(1);
        let carried = Carried::new(Terms::default(), Some(limit.clone()));
        let running = limit.begin(None).expect("nobody runs");
        let cancel = Cancel::new();
        let options = CallOptions {
            cancel: Some(cancel.clone()),
            ..CallOptions::default()
        };
        std::thread::scope(|scope| {
            let limited = || with_carried(Some(&carried), || call(&options));
            let calls = [0, 1].map(|_| scope.spawn(limited));
            eventually("both wait", || limit.waiting() == 2);
            // One behind them, which nobody cancels.
            let stays = scope.spawn(|| limit.begin(None).map(drop));
            eventually("three wait", || limit.waiting() == 3);
            cancel.cancel();
            eventually("one waits", || limit.waiting() == 1);
            for call in calls {
                let error = call.join().expect("no panic").expect_err("cancelled");
                let found = (error.reason(), error.executed());
                assert_eq!(found, ("cancelled", Executed::No), "{error}");
            }
            drop(running);
            assert_eq!(stays.join().expect("no panic"), Ok(()));
        });
        let late = with_carried(Some(&carried), || call(&options));
        assert_eq!(late.expect_err("cancelled before").reason(), "cancelled");
        assert_eq!((limit.running(), limit.peak()), (0, 1));
    });
}

#[test]
fn calls_that_wait_for_their_tenant_make_checks() {
    with_limited_calls(|call| {
        let limit = TraceLimit::new(1);
        let carried = Carried::new(Terms::default(), Some(limit.clone()));
        let _running = limit.begin(None).expect("nobody runs");
        let cancel = Cancel::new();
        let options = CallOptions {
            cancel: Some(cancel.clone()),
            ..CallOptions::default()
        };
        let limited = |options: &CallOptions| with_carried(Some(&carried), || call(options));
        let checks = Rc::new(Cell::new(0));
        let third = {
            let (checks, cancel) = (checks.clone(), cancel.clone());
            move || {
                checks.set(checks.get() + 1);
                if checks.get() == 3 {
                    cancel.cancel();
                }
            }
        };
        let until = Instant::now() + Duration::from_secs(5);
        let ended = checking(Rc::new(third), || {
            with_deadline(until, || limited(&options))
        });
        assert_eq!(ended.expect_err("the third check").reason(), "cancelled");
        assert_eq!((checks.get(), limit.waiting()), (3, 0));
        // The deadline passes within the first check, which is the last.
        let soon = Instant::now() + Duration::from_millis(200);
        let lasting = {
            let made = Cell::new(false);
            move || {
                assert!(!made.replace(true), "a check after the deadline");
                std::thread::sleep(soon.saturating_duration_since(Instant::now()));
            }
        };
        let busy = checking(Rc::new(lasting), || {
            with_deadline(soon, || limited(&CallOptions::default()))
        });
        assert_eq!(busy.expect_err("one runs").reason(), "tenant_busy");
        assert!(Instant::now() >= soon);
    });
}

#[test]
fn checks_can_make_calls_of_the_same_tenant() {
    with_limited_calls(|call| {
        let limit = TraceLimit::new(1);
        let carried = Carried::new(Terms::default(), Some(limit.clone()));
        let running = Cell::new(limit.begin(None).ok());
        let cancel = Cancel::new();
        let options = CallOptions {
            cancel: Some(cancel.clone()),
            ..CallOptions::default()
        };
        let ends = Rc::new(RefCell::new(Vec::new()));
        let check = {
            let (call, ends, within) = (call.clone(), ends.clone(), Cell::new(false));
            move || {
                assert!(!within.replace(true), "a check within a check");
                match ends.borrow().len() {
                    0 => {}
                    // The second call of the check has a place: the one that waits gives way.
                    1 => drop(running.take()),
                    _ => cancel.cancel(),
                }
                if !cancel.is_cancelled() {
                    let soon = Instant::now() + Duration::from_millis(200);
                    let ended = with_deadline(soon, || call(&CallOptions::default()));
                    let ended = ended.expect_err("nobody answers").reason();
                    ends.borrow_mut().push(ended);
                }
                within.set(false);
            }
        };
        let until = Instant::now() + LONG;
        let ended = with_carried(Some(&carried), || {
            checking(Rc::new(check), || with_deadline(until, || call(&options)))
        });
        assert_eq!(ended.expect_err("the third check").reason(), "cancelled");
        let ends = ends.take();
        assert_eq!((ends.len(), ends[0]), (2, "tenant_busy"));
        assert_ne!(ends[1], "tenant_busy");
        assert_eq!((limit.running(), limit.peak()), (0, 1));
    });
}

#[test]
fn a_deadline_after_a_refusal_names_the_refusal() {
    // One connection would do, unless a deadline passes while the service is slow.
    let (address, _service) = scripted(1_000, |_, mut connection| async move {
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            respond.send_reset(Reason::REFUSED_STREAM);
        }
    });
    let client = grpc_client(address, None, config(Duration::from_millis(1)));
    let refused = client.call("Add", GRPC_ADD).expect_err("refused");
    assert_eq!(refused.reason(), "unprocessed");
    let mut time = Duration::from_millis(10);
    eventually("a deadline in a pause", || {
        // The pauses end 1, 3, 7, 15, 31 and 63 ms after the first refusal.
        time += Duration::from_millis(5);
        let options = CallOptions {
            deadline: Some(Instant::now() + time),
            ..CallOptions::default()
        };
        let error = client.call_with("Add", GRPC_ADD, &options);
        let error = error.expect_err("refused");
        assert_ne!(error.reason(), "pool_timeout", "{error}");
        let told = error.to_string().contains("which the service had refused");
        if told {
            let found = (error.reason(), error.executed(), error.code());
            let late = ("timeout", Executed::No, GrpcCode::DeadlineExceeded);
            assert_eq!(found, late, "{error}");
        }
        told
    });
}
