//! Spans as a collector of OpenTelemetry gets them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use accelflow_accel::Settings;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{
    ClientConfig, Config, GrpcClient, HandlerResult, HttpClient, HttpRequest, Request, Scope,
    Steering, SteeringPolicy, Telemetry, TelemetryError,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::common::*;

/// Takes what is posted to /v1/traces.
fn collector() -> (SocketAddr, Receiver<ExportTraceServiceRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(patient(stream.expect("a connection")));
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if stream.read_line(&mut head).expect("a head") == 0 {
                    break;
                }
            }
            if head.is_empty() {
                continue;
            }
            assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).expect("a length");
            let length = length.lines().next().and_then(|line| line.parse().ok());
            let mut body = vec![0; length.expect("a number")];
            stream.read_exact(&mut body).expect("a body");
            let request = ExportTraceServiceRequest::decode(&body[..]).expect("OTLP");
            if sender.send(request).is_err() {
                return;
            }
            // A server that has its answer has told all there is to look at.
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.get_mut().write_all(answer).expect("it reads");
        }
    });
    (address, receiver)
}

/// The spans of four calls, two of which fail, on a server with so many samples.
fn spans(sample_ratio: f64) -> Vec<Span> {
    let (address, exported) = collector();
    let mut server = server();
    let telemetry = Telemetry {
        endpoint: format!("http://{address}/v1/traces"),
        service: "calculator".to_owned(),
        sample_ratio,
    };
    server.set_telemetry(telemetry).expect("good");
    let running = start(server);
    let mut client = connect(&running);
    call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    call(&mut client, "nothing", Protocol::Compact, "{}");
    call(&mut client, "panics", Protocol::Binary, "{}");
    call(&mut client, "broken", Protocol::Binary, "{}");
    drop(client);
    assert_eq!(running.stop(Duration::from_secs(60)), 0);
    collected(&exported)
}

fn collected(exported: &Receiver<ExportTraceServiceRequest>) -> Vec<Span> {
    let mut spans = Vec::new();
    for batch in exported.try_iter() {
        for resource in batch.resource_spans {
            let attributes = resource.resource.expect("there is one").attributes;
            let service = attributes
                .iter()
                .find(|attribute| attribute.key == "service.name");
            let service = service.and_then(|attribute| attribute.value.clone()?.value);
            assert_eq!(service, Some(Value::StringValue("calculator".to_owned())));
            spans.extend(
                resource
                    .scope_spans
                    .into_iter()
                    .flat_map(|scope_span| scope_span.spans),
            );
        }
    }
    spans
}

#[test]
fn a_request_is_a_span_with_one_for_each_step_inside() {
    let spans = spans(1.0);
    let roots: Vec<&Span> = spans
        .iter()
        .filter(|span| span.parent_span_id.is_empty())
        .collect();
    let names: Vec<&str> = roots.iter().map(|root| &*root.name).collect();
    assert_eq!(
        names,
        ["Test.add", "Test.nothing", "Test.panics", "Test.broken"]
    );
    let failed: Vec<bool> = roots
        .iter()
        .map(|root| root.status.as_ref().is_some_and(|status| status.code == 2))
        .collect();
    assert_eq!(failed, [false, false, true, true]);
    let mut children: Vec<&Span> = spans
        .iter()
        .filter(|span| span.parent_span_id == roots[0].span_id)
        .collect();
    assert!(
        children
            .iter()
            .all(|span| span.trace_id == roots[0].trace_id)
    );
    children.sort_by_key(|span| span.start_time_unix_nano);
    let names: Vec<&str> = children.iter().map(|span| &*span.name).collect();
    assert_eq!(
        names,
        ["TCP", "RPC", "Dser", "LdB", "handler", "Ser", "RPC", "TCP"]
    );
    let mut before = roots[0].start_time_unix_nano;
    for child in children {
        assert!(child.start_time_unix_nano >= before, "one after the other");
        assert!(child.end_time_unix_nano >= child.start_time_unix_nano);
        before = child.end_time_unix_nano;
    }
    assert!(before <= roots[0].end_time_unix_nano);
}

#[tokio::test]
async fn a_request_of_grpc_is_in_the_trace_of_its_caller() {
    let (address, exported) = collector();
    let mut server = grpc::server();
    let telemetry = Telemetry {
        endpoint: format!("http://{address}/v1/traces"),
        service: "calculator".to_owned(),
        sample_ratio: 0.0,
    };
    server.set_telemetry(telemetry).expect("good");
    let running = start(server);
    let client = grpc::client(connect(&running)).await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    // The first is sampled by its caller, the second not, the third is left to the server.
    for (number, flags) in [(1, "01"), (2, "00")] {
        let parent = format!("00-{trace}-b7ad6b7169203331-{flags}");
        let headers = [("traceparent", parent.as_str())];
        assert_eq!(
            grpc::increment(client.clone(), number, &headers).await,
            number + 1
        );
    }
    assert_eq!(grpc::increment(client.clone(), 3, &[]).await, 4);
    drop(client);
    running.stop(Duration::from_millis(200));
    let spans = collected(&exported);
    let request = spans.iter().find(|span| span.name == "test.Calculator.Add");
    let request = request.expect("it was sampled");
    assert_eq!(
        request.parent_span_id,
        [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]
    );
    let hex: String = request
        .trace_id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hex, trace);
    let inside = spans
        .iter()
        .filter(|span| span.parent_span_id == request.span_id);
    let inside: Vec<&str> = inside.map(|span| &*span.name).collect();
    assert!(
        inside.contains(&"handler") && inside.contains(&"Dser"),
        "{inside:?}"
    );
    assert_eq!(spans.len(), inside.len() + 1);
}

/// The results of the requests' spans, in the order of their beginning.
fn results(spans: &[Span]) -> Vec<(String, bool)> {
    let mut roots: Vec<&Span> = spans
        .iter()
        .filter(|span| span.parent_span_id.is_empty())
        .collect();
    roots.sort_by_key(|span| span.start_time_unix_nano);
    let result = |root: &&Span| {
        let mut attributes = root.attributes.iter();
        let result = attributes.find(|attribute| attribute.key == "accelflow.result");
        let Some(Value::StringValue(result)) = result.and_then(|of| of.value.clone()?.value) else {
            panic!("{root:?}")
        };
        let failed = root.status.as_ref().is_some_and(|status| status.code == 2);
        (result, failed)
    };
    roots.iter().map(result).collect()
}

#[test]
fn spans_of_requests_that_nobody_waits_for_say_so() {
    let (address, exported) = collector();
    let (tell, told) = channel();
    let mut server = grpc::server();
    let telemetry = Telemetry {
        endpoint: format!("http://{address}/v1/traces"),
        service: "calculator".to_owned(),
        sample_ratio: 1.0,
    };
    server.set_telemetry(telemetry).expect("good");
    let wait = move |request: &Request<'_>| {
        tell.send(()).expect("the test listens");
        eventually("abandoned", || request.is_abandoned());
        Ok(Vec::new())
    };
    server.handle("Unhandled", wait).expect("declared");
    // A request of this connection runs once the thread has ended the one before.
    let config = Config {
        handler_threads: 1,
        ..Config::default()
    };
    let running = grpc::start(server, config);
    let mut client = grpc::connect(running.address());
    let late = client.call_with("Unhandled", &[("grpc-timeout", "50m")], grpc::text("x"));
    assert_eq!(late.code(), 4);
    told.recv_timeout(LONG).expect("the handler was called");
    let request = grpc::request("/test.Calculator/Unhandled", &[]);
    let asked = grpc::exchange(client.requests.clone(), request, grpc::text("x"));
    client.runtime.block_on(async {
        tokio::select! {
            _ = asked => panic!("nobody answers"),
            () = async { while told.try_recv().is_err() { tokio::task::yield_now().await } } => {}
        }
    });
    assert_eq!(client.call("Echo", grpc::text("x")).code(), 0);
    drop(client);
    running.stop(Duration::from_secs(60));
    let results = results(&collected(&exported));
    let expected = [("deadline", true), ("cancelled", true), ("ok", false)];
    assert_eq!(
        results,
        expected.map(|(result, failed)| (result.to_owned(), failed))
    );
}

/// A service of HTTP that tells the head of each request that it gets.
fn http_service() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (sender, heads) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(patient(stream.expect("a connection")));
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n")
                && stream.read_line(&mut head).is_ok_and(|read| read > 0)
            {}
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            stream.get_mut().write_all(answer).expect("it reads");
            if sender.send(head).is_err() {
                return;
            }
        }
    });
    (address, heads)
}

#[test]
fn calls_of_a_handler_are_in_the_trace_of_its_request() {
    let steered = Steering {
        workers: 1,
        policy: SteeringPolicy::RoundRobin,
        ..Steering::default()
    };
    for steering in [None, Some(steered)] {
        let (address, exported) = collector();
        let telemetry = Telemetry {
            endpoint: format!("http://{address}/v1/traces"),
            service: "calculator".to_owned(),
            sample_ratio: 1.0,
        };
        let mut called = grpc::server();
        called.set_telemetry(telemetry.clone()).expect("good");
        let called = start(called);
        let (web, heads) = http_service();
        let config = ClientConfig::default();
        let services = GrpcClient::new(
            grpc::schema(),
            called.address(),
            Settings::default(),
            None,
            config.clone(),
        );
        let services = services.expect("an address");
        let web = HttpClient::new(web, Settings::default(), None, config).expect("an address");
        let own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let mut server = server();
        server.set_config(Config {
            steering,
            ..Config::default()
        });
        server.set_telemetry(telemetry).expect("good");
        let handler = calling(services, web, own);
        server.handle("Test.add", handler).expect("declared");
        let running = start(server);
        let mut client = connect(&running);
        let added = call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
        assert_eq!(added.1, r#"{"success":2}"#);
        drop(client);
        for server in [running, called] {
            server.stop(Duration::from_secs(60));
        }
        let expected = parent_of_calls(&collected(&exported));
        for expected in [expected.as_str(), own] {
            assert_eq!(told_parents(&heads), [expected]);
        }
    }
}

/// A handler that calls a gRPC service on another thread and an HTTP service twice, the second time
/// with a `traceparent` of its own.
fn calling(
    services: GrpcClient,
    web: HttpClient,
    own: &'static str,
) -> impl Fn(&Request<'_>) -> HandlerResult + Send + Sync + 'static {
    let ask = move |headers: &[(&str, &str)]| {
        let (method, target, body) = ("POST", "/", &b"{}"[..]);
        let request = HttpRequest {
            method,
            target,
            headers,
            body,
        };
        web.request(&request).expect("a response");
    };
    move |_: &Request<'_>| {
        let scope = Scope::current().expect("a span");
        let add = || services.call("Add", br#"{"a":"1","b":"1"}"#);
        let added = std::thread::scope(|threads| {
            let elsewhere = threads.spawn(|| scope.enter(add));
            elsewhere.join().expect("no panic")
        });
        added.expect("a response");
        ask(&[]);
        // What the handler says itself counts.
        ask(&[("TraceParent", own)]);
        Ok(b"2".to_vec())
    }
}

/// The header of calls of the handler, whose gRPC call must be a child of its request.
fn parent_of_calls(spans: &[Span]) -> String {
    let named = |name: &str| {
        let mut found = spans.iter().filter(|span| span.name == name);
        found.next().expect("it was sampled")
    };
    let (outer, inner) = (named("Test.add"), named("test.Calculator.Add"));
    assert_eq!(inner.parent_span_id, outer.span_id);
    assert_eq!(inner.trace_id, outer.trace_id);
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    format!("00-{}-{}-01", hex(&outer.trace_id), hex(&outer.span_id))
}

/// The `traceparent` headers of the next request.
fn told_parents(heads: &Receiver<String>) -> Vec<String> {
    let head = heads
        .recv_timeout(LONG)
        .expect("a request")
        .to_ascii_lowercase();
    assert!(!head.contains("tracestate"), "{head}");
    let told = head
        .lines()
        .filter_map(|line| line.strip_prefix("traceparent: "));
    told.map(str::to_owned).collect()
}

#[test]
fn spans_that_are_not_sampled_are_not_sent() {
    assert_eq!(spans(0.0), []);
}

#[test]
fn invalid_collectors_are_refused() {
    let telemetry = |endpoint: &str, sample_ratio| Telemetry {
        endpoint: endpoint.to_owned(),
        service: "s".to_owned(),
        sample_ratio,
    };
    let good = "http://127.0.0.1:4318/v1/traces";
    assert!(telemetry(good, 0.5).check().is_ok());
    assert!(matches!(
        telemetry(good, 1.5).check(),
        Err(TelemetryError::Ratio(_))
    ));
    for endpoint in [
        "",
        "127.0.0.1:4318",
        "https://collector/v1/traces",
        "ftp://collector",
    ] {
        let refused = telemetry(endpoint, 1.0)
            .check()
            .map_err(|error| error.to_string());
        let text = refused.expect_err("no collector");
        assert!(
            text.starts_with(&format!("endpoint = '{endpoint}': must")),
            "{text}"
        );
    }
}

#[test]
fn a_missing_collector_delays_no_request() {
    let mut server = server();
    let telemetry = Telemetry {
        endpoint: "http://127.0.0.1:9/v1/traces".to_owned(),
        service: "s".to_owned(),
        sample_ratio: 1.0,
    };
    server.set_telemetry(telemetry).expect("good");
    let running = start(server);
    let mut client = connect(&running);
    for _ in 0..100 {
        let added = call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
        assert_eq!(added.1, r#"{"success":2}"#);
    }
    drop(client);
    assert_eq!(running.stop(Duration::from_secs(60)), 0);
}

#[test]
fn a_server_stops_within_its_grace_without_its_collector() {
    // Takes connections and never answers.
    let hanging = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let hanging = hanging.local_addr().map(|at| (hanging, at)).expect("bound");
    for (address, grace) in [
        ("127.0.0.1:1".to_owned(), Duration::from_millis(500)),
        (hanging.1.to_string(), Duration::from_millis(500)),
        (hanging.1.to_string(), Duration::ZERO),
    ] {
        let mut server = server();
        let telemetry = Telemetry {
            endpoint: format!("http://{address}/v1/traces"),
            service: "calculator".to_owned(),
            sample_ratio: 1.0,
        };
        server.set_telemetry(telemetry).expect("good");
        let running = start(server);
        let mut client = connect(&running);
        for _ in 0..300 {
            call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
        }
        drop(client);
        let begun = Instant::now();
        running.stop(grace);
        let spent = begun.elapsed();
        assert!(spent < grace + Duration::from_millis(1_500), "{spent:?}");
    }
}

#[test]
fn the_wait_for_a_collector_ends_once_the_caller_waits_no_longer() {
    // Takes connections and never answers.
    let hanging = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = hanging.local_addr().expect("bound");
    let mut server = server();
    let telemetry = Telemetry {
        endpoint: format!("http://{address}/v1/traces"),
        service: "calculator".to_owned(),
        sample_ratio: 1.0,
    };
    server.set_telemetry(telemetry).expect("good");
    let running = start(server);
    let mut client = connect(&running);
    call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    drop(client);
    let end = r#"accelflow_connections_total{end="done"}"#;
    await_count(&running, end, 1);
    eventually("no connection is open", || {
        counted(&running, "accelflow_connections_open ") == 0
    });
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let more = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2;
    running.stop_while(LONG, more);
    assert_eq!(asked.into_inner(), 3);
}
