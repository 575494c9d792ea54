//! What a request passes on to what it causes: tenant, priority, deadline, limit; and a client's
//! own traces.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use accelflow_accel::Settings;
use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{
    CallError, Carried, Client, ClientConfig, ClientTraces, Config, DispatchPolicy, Executed,
    Execution, GrpcCode, Handler, HandlerError, HandlerResult, PoolSettings, Priority, Request,
    Running, Scope, Server, Tenant, Terms, TraceLimit, begin_chain, current_terms, with_carried,
    with_deadline,
};
use accelflow_workload::profile::RecordedPhase;
use socket2::{Domain, Socket, Type};

use crate::common::services::{LONG, client as grpc_client, once};
use crate::common::taken::source;
use crate::common::*;

const FAR: Duration = Duration::from_secs(3_000);

fn client(running: &Running, config: ClientConfig) -> Client {
    let settings = Settings {
        schema: schema(),
        ..Settings::default()
    };
    Client::new(running.address(), settings, Protocol::Binary, None, config).expect("settings")
}

fn call_from(running: &Running, last: u8, method: &str) -> (MessageType, String) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let address = SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0));
    socket.bind(&address.into()).expect("all of 127/8 is here");
    socket
        .connect(&running.address().into())
        .expect("it listens");
    let mut stream: TcpStream = socket.into();
    call(&mut stream, method, Protocol::Binary, "{}")
}

/// Lets the handler of `nothing` say which terms it has.
fn telling(server: &mut Server) -> std::sync::mpsc::Receiver<(Terms, Terms)> {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let handler = move |_: &Request<'_>| {
        let scope = Scope::current().expect("a request is handled");
        let elsewhere = std::thread::spawn(move || scope.enter(current_terms));
        let terms = (current_terms(), elsewhere.join().expect("no panic"));
        tell.lock()
            .expect("no panic")
            .send(terms)
            .expect("it is awaited");
        Ok(Vec::new())
    };
    server.handle("Test.nothing", handler).expect("known");
    told
}

fn tenant(name: &str, last: u8) -> Tenant {
    let address = Ipv4Addr::new(127, 0, 0, last);
    Tenant::new(name, vec![std::net::IpAddr::from(address).into()])
}

#[test]
fn handlers_have_the_terms_of_their_requests() {
    let mut server = server();
    let told = telling(&mut server);
    let urgent = Tenant {
        priority: Priority::High,
        due_within: Some(FAR),
        ..tenant("urgent", 3)
    };
    server
        .set_tenants(vec![tenant("plain", 2), urgent])
        .expect("two");
    server
        .set_due_within("Test.nothing", FAR / 100)
        .expect("known");
    let running = start(server);
    for (last, number, priority) in [(2, 0, Priority::Normal), (3, 1, Priority::High)] {
        let sent = Instant::now();
        call_from(&running, last, "nothing");
        let (terms, elsewhere) = told.recv_timeout(LONG).expect("it is told");
        assert_eq!((terms.tenant, terms.priority), (number, priority));
        assert_eq!(terms, elsewhere);
        // Due when the function says, which is earlier than the tenant does.
        let due = terms.due.expect("the function has a time");
        assert!(
            due <= Instant::now() + FAR / 100 && due >= sent,
            "{:?}",
            due - sent
        );
    }
    let unknown = crate::common::server()
        .set_due_within("Test.nothin", FAR)
        .expect_err("none");
    assert!(unknown.to_string().contains("nothin"), "{unknown}");
    let zero = crate::common::server()
        .set_due_within("Test.nothing", Duration::ZERO)
        .expect_err("no time");
    assert!(
        zero.to_string().starts_with("due_within = 0ns: must be"),
        "{zero}"
    );
}

#[test]
fn a_deadline_orders_the_steps_of_the_calls_that_a_request_causes() {
    let inner = start(server());
    let pools = PoolSettings {
        policy: DispatchPolicy::Edf,
        ..PoolSettings::default()
    };
    let config = ClientConfig {
        execution: Execution::Ensemble(pools),
        ..ClientConfig::default()
    };
    let client = Arc::new(client(&inner, config));
    let caller = client.clone();
    let mut server = server();
    let ask = move |_: &Request<'_>| {
        let sum = caller.call("Test.add", br#"{"a":1,"b":2}"#);
        Ok(sum.expect("an answer"))
    };
    server.handle("Test.nothing", ask).expect("known");
    server.set_due_within("Test.nothing", FAR).expect("known");
    let outer = start(server);
    // A call for nobody has no deadline; T9 and T10 for the request have its.
    client
        .call("Test.add", br#"{"a":1,"b":2}"#)
        .expect("an answer");
    let steps = |result: &str| {
        let text = client.metrics();
        let of = |line: &&str| line.starts_with("accelflow_client_pool_steps_total");
        let has = |line: &&str| line.contains(&format!("result=\"{result}\""));
        let number = |line: &str| line.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok());
        text.lines()
            .filter(of)
            .filter(has)
            .filter_map(number)
            .sum::<u64>()
    };
    assert_eq!((steps("done"), steps("with_deadline")), (7, 0));
    call(&mut connect(&outer), "nothing", Protocol::Binary, "{}");
    assert_eq!(
        (steps("done"), steps("with_deadline"), steps("late")),
        (14, 7, 0)
    );
}

#[test]
fn a_tenant_has_so_many_calls_at_once() {
    let (begun, begins) = channel();
    let (open, opened) = channel::<()>();
    let (begun, opened) = (Mutex::new(begun), Mutex::new(opened));
    let mut slow = server();
    let wait = move |_: &Request<'_>| {
        begun
            .lock()
            .expect("no panic")
            .send(())
            .expect("it is awaited");
        let _ = opened.lock().expect("no panic").recv_timeout(LONG);
        Ok(Vec::new())
    };
    slow.handle("Test.nothing", wait).expect("known");
    let slow = start(slow);
    let client = client(&slow, ClientConfig::default());
    let limited = Carried::new(Terms::default(), Some(TraceLimit::new(1)));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            with_carried(Some(&limited), || client.call("Test.nothing", b"{}")).map(|_| ())
        });
        begins.recv_timeout(LONG).expect("the call is under way");
        let soon = Instant::now() + Duration::from_millis(50);
        let busy = with_carried(Some(&limited), || {
            with_deadline(soon, || client.call("Test.add", br#"{"a":1,"b":2}"#))
        });
        let busy = busy.expect_err("the tenant has one");
        assert!(matches!(busy, CallError::TenantBusy { .. }), "{busy}");
        assert_eq!(
            (busy.reason(), busy.executed()),
            ("tenant_busy", Executed::No)
        );
        // Others do not wait for it.
        client
            .call("Test.add", br#"{"a":1,"b":2}"#)
            .expect("no limit");
        open.send(()).expect("it waits");
        first.join().expect("no panic").expect("an answer");
    });
    let again = with_carried(Some(&limited), || {
        client.call("Test.add", br#"{"a":1,"b":2}"#)
    });
    assert_eq!(again.expect("it has none now"), b"3");
    assert!(
        begin_chain(Instant::now())
            .expect("no request, no limit")
            .is_none()
    );
}

fn traces(text: &str) -> ClientTraces {
    ClientTraces {
        source: source(text),
        call: Some("own_call".to_owned()),
        answer: Some("own_answer".to_owned()),
        ..ClientTraces::default()
    }
}

const ANSWER: &str = "trace own_answer:\n    TCP RPC Dser LdB\n";
const CALL: &str = "trace own_call:\n    Ser RPC TCP\n    tail own_answer\n";

/// The traces that a call takes.
fn taken(client: &Client) -> Vec<String> {
    let (sum, names) = taken::taken(|| client.call("Test.add", br#"{"a":1,"b":2}"#));
    assert_eq!(sum.expect("an answer"), b"3");
    names
}

#[test]
fn a_client_calls_with_traces_of_its_own() {
    let running = start(server());
    let client = client(&running, ClientConfig::default());
    assert_eq!(taken(&client), ["T9_plain", "T10_plain"]);
    let own = traces(&[CALL, ANSWER].concat());
    assert_eq!(client.set_traces(Some(own)).expect("they fit"), 1);
    // On the connection that was open, too.
    assert_eq!(taken(&client), ["own_call", "own_answer"]);
    for (text, why) in [
        (
            [ANSWER, "trace own_call:\n    Ser RPC TCP\n"].concat(),
            "call = 'own_call': trace 'own_call': the trace ends after sending: must continue with tail \
             'own_answer', which receives the answer",
        ),
        (
            [ANSWER, "trace own_call:\n    Ser RPC TCP\n    tail other\ntrace other:\n    TCP RPC Dser LdB\n"].concat(),
            "tail after sending = 'other': must be 'own_answer', which receives the answer",
        ),
        (
            [CALL, "trace own_answer:\n    TCP RPC LdB\n"].concat(),
            "the trace ends too early: Dser must follow",
        ),
        (
            [CALL, "trace own_answer:\n    TCP RPC Dser Ser RPC TCP\n"].concat(),
            "Ser comes after the message was sent",
        ),
        (CALL.to_owned(), "own_answer"),
    ] {
        let refused = client.set_traces(Some(traces(&text))).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}\n{why}");
        assert_eq!(taken(&client), ["own_call", "own_answer"]);
    }
    assert!(
        client
            .reload_traces()
            .expect_err("no file")
            .to_string()
            .contains("not read from a file")
    );
    client.set_traces(None).expect("those of every client");
    assert_eq!(taken(&client), ["T9_plain", "T10_plain"]);
}

/// A server whose handlers call `inner`, and tell clients of its exceptions by traces or not.
fn passing_on(
    inner: &Running,
    errors_to_caller: bool,
) -> (Server, std::sync::mpsc::Receiver<CallError>) {
    let client = Arc::new(client(inner, ClientConfig::default()));
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let mut server = server();
    server.set_config(Config {
        errors_to_caller,
        ..verbose()
    });
    let pass_on = move |request: &Request<'_>| {
        let called = match request.method {
            "add" => client.call("Test.add", request.arguments),
            _ => client.call("Test.panics", b"{}"),
        };
        called.map_err(|error| {
            tell.lock()
                .expect("no panic")
                .send(error)
                .expect("it is awaited");
            HandlerError::Internal("the handler's own error".to_owned())
        })
    };
    let pass_on = Arc::new(pass_on);
    for name in ["Test.add", "Test.nothing", "Test.note"] {
        let pass_on = pass_on.clone();
        let handler = move |request: &Request<'_>| pass_on(request);
        server.handle(name, handler).expect("known");
    }
    (server, told)
}

#[test]
fn the_ensemble_tells_callers_of_exceptions_itself() {
    let certificate = Certificate::new("callers");
    let inner = start(server());
    let max = format!(r#"{{"a":{},"b":1}}"#, i64::MAX);
    let overflow = r#"{"refused":{"code":7,"why":"overflow"}}"#;
    for tls in [false, true] {
        let (mut server, told) = passing_on(&inner, true);
        server.set_recording(true);
        if tls {
            server.set_tls(certificate.identity());
        }
        let running = start(server);
        let mut plain = connect(&running);
        let mut secure;
        let stream: &mut dyn ReadWrite = match tls {
            false => &mut plain,
            true => {
                secure = certificate.connect(&running, &[&rustls::version::TLS13]);
                &mut secure
            }
        };
        let mut stream = stream;
        for _ in 0..2 {
            // A declared exception passes on as it is, and nothing of the handler's.
            let refused = call(&mut stream, "add", Protocol::Compact, &max);
            assert_eq!(refused, (MessageType::Reply, overflow.to_owned()));
            let error = told.recv_timeout(LONG).expect("the handler learns of it");
            assert!(matches!(error, CallError::Answered { .. }), "{error}");
            // Others become exceptions of the RPC layer.
            let (kind, body) = call(&mut stream, "nothing", Protocol::Binary, "{}");
            assert_eq!(kind, MessageType::Exception);
            assert!(body.contains("panicked"), "{body}");
            assert_eq!(
                told.recv_timeout(LONG).expect("it learns").reason(),
                "answered"
            );
            // The connection goes on.
            let sum = call(&mut stream, "add", Protocol::Binary, r#"{"a":1,"b":2}"#);
            assert_eq!(sum.1, r#"{"success":3}"#);
        }
        let series = r#"accelflow_requests_total{function="Test.add",result="error_by_trace"}"#;
        await_count(&running, series, 2);
        assert_eq!(counted(&running, series), 2);
        let own = if tls { "T10_error" } else { "T10_error_plain" };
        let has_own = || {
            let phases = running.recorded_paths("Test.add").into_iter();
            let mut last = phases.filter_map(|path| path.phases.into_iter().next_back());
            last.any(|phase| match phase {
                RecordedPhase::Chains(chains) => chains[0].steps[0].trace == own,
                RecordedPhase::Cpu { .. } => false,
            })
        };
        // A request is recorded after its reply.
        let found = (0..600).any(|_| {
            let found = has_own();
            if !found {
                std::thread::sleep(Duration::from_millis(50));
            }
            found
        });
        assert!(found, "no request took {own}");
    }
}

#[test]
fn without_the_option_errors_are_the_handlers() {
    let inner = start(server());
    let (server, told) = passing_on(&inner, false);
    let running = start(server);
    let (kind, body) = call(&mut connect(&running), "nothing", Protocol::Binary, "{}");
    assert_eq!(kind, MessageType::Exception);
    assert!(body.contains("the handler's own error"), "{body}");
    let error = told.recv_timeout(LONG).expect("the handler learns of it");
    assert!(matches!(error, CallError::Application { .. }), "{error}");
    // Oneway calls are never answered.
    let (server, told) = passing_on(&inner, true);
    let running = start(server);
    let mut stream = connect(&running);
    stream
        .write_all(&frame("note", Protocol::Binary, 1, r#"{"text":""}"#))
        .expect("it reads");
    let error = told.recv_timeout(LONG).expect("the handler learns of it");
    assert!(matches!(error, CallError::Application { .. }), "{error}");
    let sum = call(&mut stream, "add", Protocol::Binary, r#"{"a":1,"b":2}"#);
    assert_eq!(sum.1, r#"{"success":3}"#);
}

/// A handler that makes a call which fails, and tells what it learns.
fn failing<T: 'static>(
    call: impl Fn(&[u8]) -> Result<T, CallError> + Send + Sync + 'static,
) -> (impl Handler + 'static, std::sync::mpsc::Receiver<CallError>) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let handler = move |request: &Request<'_>| -> HandlerResult {
        let error = call(request.arguments).map(|_| ()).expect_err("it fails");
        let tell = tell.lock().expect("no panic");
        tell.send(error).expect("it is awaited");
        Err(HandlerError::Internal("the handler's own error".to_owned()))
    };
    (handler, told)
}

#[test]
fn handlers_learn_that_a_client_could_not_be_told() {
    let inner = start(server());
    let nested = client(&inner, ClientConfig::default());
    let (enter, entered) = channel();
    let (release, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let (fails, of_failed) = failing(move |_| {
        enter.send(()).expect("the test listens");
        let _ = gate.lock().expect("no panic").recv_timeout(LONG);
        nested.call("Test.panics", b"{}")
    });
    let mut outer = server();
    outer.handle("Test.nothing", fails).expect("known");
    outer.set_config(Config {
        errors_to_caller: true,
        ..Config::default()
    });
    let running = start(outer);
    let mut leaving = connect(&running);
    let asked = frame("nothing", Protocol::Binary, 1, "{}");
    leaving.write_all(&asked).expect("the server reads");
    entered.recv_timeout(LONG).expect("the handler was called");
    // Closing it resets it, so that writing fails.
    let reset = socket2::SockRef::from(&leaving);
    reset.set_linger(Some(Duration::ZERO)).expect("a socket");
    drop(leaving);
    drop(release);
    let learnt = of_failed.recv_timeout(LONG).expect("it learns");
    assert_eq!(learnt.reason(), "application", "{learnt}");
    let series = r#"accelflow_requests_total{function="Test.nothing",result="error_by_trace"}"#;
    await_count(&running, series, 1);
}

const NO_SUCH: &[u8] = br#"{"text":"NOT_FOUND {\"message\":\"no such thing\"}"}"#;

#[test]
fn clients_of_grpc_are_told_by_a_status() {
    let inner = crate::common::grpc::start(crate::common::grpc::server(), Config::default());
    for handler_threads in [64, 0] {
        let nested = grpc_client(inner.address(), None, once(LONG));
        let (refused, of_refused) = failing(move |asked| nested.call("Refuse", asked));
        let mut outer = crate::common::grpc::server();
        outer
            .handle("test.Calculator.Fail", refused)
            .expect("known");
        let config = Config {
            errors_to_caller: true,
            handler_threads,
            ..Config::default()
        };
        let running = crate::common::grpc::start(outer, config);
        let asking = grpc_client(running.address(), None, once(LONG));
        let told = asking.call("test.Calculator.Fail", NO_SUCH);
        match told.expect_err("a status") {
            CallError::Status { code, message, .. } => {
                assert_eq!((code, &*message), (GrpcCode::NotFound, "no such thing"));
            }
            other => panic!("{other}"),
        }
        let learnt = of_refused
            .recv_timeout(LONG)
            .expect("the handler learns of it");
        assert!(matches!(learnt, CallError::Answered { .. }), "{learnt}");
        let series =
            r#"accelflow_requests_total{function="test.Calculator.Fail",result="error_by_trace"}"#;
        await_count(&running, series, 1);
    }
}

#[test]
fn statuses_are_told_to_clients_of_thrift_and_exceptions_to_those_of_grpc() {
    let inner = crate::common::grpc::start(crate::common::grpc::server(), Config::default());
    let nested = grpc_client(inner.address(), None, once(LONG));
    let (refused, of_refused) = failing(move |_| nested.call("Refuse", NO_SUCH));
    let mut outer = server();
    outer.handle("Test.nothing", refused).expect("known");
    outer.set_config(Config {
        errors_to_caller: true,
        ..verbose()
    });
    let (kind, body) = call(
        &mut connect(&start(outer)),
        "nothing",
        Protocol::Binary,
        "{}",
    );
    assert_eq!(kind, MessageType::Exception);
    assert!(body.contains("no such thing"), "{body}");
    assert_eq!(
        of_refused.recv_timeout(LONG).expect("it learns").reason(),
        "answered"
    );
    let exceptional = start(server());
    let thrift = client(&exceptional, ClientConfig::default());
    let (excepted, of_excepted) = failing(move |_| thrift.call("Test.panics", b"{}"));
    let mut outer = crate::common::grpc::server();
    outer
        .handle("test.Calculator.Fail", excepted)
        .expect("known");
    let config = Config {
        errors_to_caller: true,
        ..Config::default()
    };
    let running = crate::common::grpc::start(outer, config);
    let told = grpc_client(running.address(), None, once(LONG)).call("test.Calculator.Fail", b"{}");
    let told = told.expect_err("a status");
    assert_eq!(told.code(), GrpcCode::Internal);
    assert!(told.to_string().contains("panicked"), "{told}");
    assert_eq!(
        of_excepted.recv_timeout(LONG).expect("it learns").reason(),
        "answered"
    );
}

trait ReadWrite: std::io::Read + std::io::Write {}

impl<T: std::io::Read + std::io::Write> ReadWrite for T {}
