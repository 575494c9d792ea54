//! OpenTelemetry spans: one for each sampled request, and one for each of its accelerator steps and
//! its handler.
//!
//! A server creates spans only if it has [`Telemetry`]. The spans of steps are created after the
//! answer, from recorded times, and a request never waits for the exporter.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, io};

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span, SpanKind, Status, TraceContextExt, Tracer, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};

use super::run::TraceRun;
use crate::config::telemetry::{Telemetry, TelemetryError};

/// The time limit for the collector to accept a batch.
const EXPORT_PATIENCE: Duration = Duration::from_secs(10);

/// How long a server that stops waits at least for the collector to accept its last spans. An
/// assumption: a collector beside the server needs milliseconds.
const LEAST_PATIENCE: Duration = Duration::from_millis(250);

/// How often a server that stops asks whether to wait on for the collector.
const ASKS_EVERY: Duration = Duration::from_millis(50);

/// The largest number of bytes that are read of a collector's answer.
const MAX_ANSWER_BYTES: u64 = 4 << 20;

/// The spans of a running server.
pub(crate) struct Spans {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// The same moment on both clocks.
    anchor: (Instant, SystemTime),
}

/// The trace context of a caller (W3C Trace Context).
#[derive(Clone, Debug)]
pub(crate) struct TraceParent(Context);

/// Version, trace, parent and flags in hexadecimal digits; later versions may append fields.
const TRACEPARENT_BYTES: usize = 2 + 1 + 32 + 1 + 16 + 1 + 2;

impl TraceParent {
    /// Reads a trace context. Returns `None` without a valid `traceparent`; a new trace then
    /// begins.
    pub(crate) fn read(traceparent: Option<&str>, tracestate: Option<&str>) -> Option<TraceParent> {
        // The library accepts shortened fields, but the standard fixes their lengths.
        let traceparent = traceparent.filter(|text| text.len() >= TRACEPARENT_BYTES)?;
        let mut headers = HashMap::new();
        headers.insert("traceparent".to_owned(), traceparent.to_owned());
        if let Some(tracestate) = tracestate {
            headers.insert("tracestate".to_owned(), tracestate.to_owned());
        }
        let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
        let good = context.span().span_context().is_valid();
        good.then_some(TraceParent(context))
    }
}

/// Returns headers with which a called service continues the trace of this thread's current span,
/// if there is one. On a handler's thread that is the request's span.
pub(crate) fn headers_for_services() -> Vec<(String, String)> {
    let mut headers = HashMap::new();
    Context::map_current(|context| {
        if context.span().span_context().is_valid() {
            TraceContextPropagator::new().inject_context(context, &mut headers);
        }
    });
    headers.retain(|_, value: &mut String| !value.is_empty());
    headers.into_iter().collect()
}

/// The span of a request in progress.
pub(crate) struct RequestSpan {
    pub(crate) result: &'static str,
    /// The context that holds the request's span.
    context: Context,
    steps: Vec<StepSpan>,
}

struct StepSpan {
    name: Cow<'static, str>,
    trace: String,
    begun: Instant,
    spent: Duration,
    sizes: Option<(usize, usize)>,
}

impl RequestSpan {
    /// The context that is current while the handler runs.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Adds the steps of a trace.
    pub(crate) fn add(&mut self, run: &TraceRun) {
        let steps = run.outcome.steps.iter().zip(&run.times);
        self.steps
            .extend(steps.map(|(step, (begun, spent))| StepSpan {
                name: match &step.own {
                    Some(kind) => Cow::Owned(kind.name().to_owned()),
                    None => Cow::Borrowed(step.accel.name()),
                },
                trace: step.trace.to_string(),
                begun: *begun,
                spent: *spent,
                sizes: Some((step.input_bytes, step.output_bytes)),
            }));
    }

    pub(crate) fn add_handler(&mut self, begun: Instant, spent: Duration) {
        self.steps.push(StepSpan {
            name: Cow::Borrowed("handler"),
            trace: String::new(),
            begun,
            spent,
            sizes: None,
        });
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").finish_non_exhaustive()
    }
}

impl Spans {
    /// Starts the exporter of spans.
    pub(crate) fn start(telemetry: &Telemetry) -> Result<Spans, TelemetryError> {
        telemetry.check()?;
        let client = Collector(
            ureq::Agent::config_builder()
                .timeout_global(Some(EXPORT_PATIENCE))
                .http_status_as_error(false)
                .build()
                .into(),
        );
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&telemetry.endpoint)
            .with_timeout(EXPORT_PATIENCE)
            .build()
            .map_err(|error| TelemetryError::Exporter(error.to_string()))?;
        let ratio = Sampler::TraceIdRatioBased(telemetry.sample_ratio);
        let resource = Resource::builder().with_service_name(telemetry.service.clone());
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(Sampler::ParentBased(Box::new(ratio)))
            .with_resource(resource.build())
            .build();
        Ok(Spans {
            tracer: provider.tracer("accelflow"),
            provider,
            anchor: (Instant::now(), SystemTime::now()),
        })
    }

    /// Begins the span of a request to `function`. `received` is the run of T1. `parent` is the
    /// caller's trace context.
    pub(crate) fn begin(
        &self,
        function: &str,
        peer: SocketAddr,
        tenant: u16,
        received: &TraceRun,
        parent: Option<&TraceParent>,
    ) -> RequestSpan {
        let begun = received
            .times
            .first()
            .map_or_else(Instant::now, |step| step.0);
        let parent = parent.map_or_else(Context::new, |parent| parent.0.clone());
        let (service, method) = function.rsplit_once('.').unwrap_or_default();
        let builder = self
            .tracer
            .span_builder(function.to_owned())
            .with_kind(SpanKind::Server)
            .with_start_time(self.at(begun))
            .with_attributes([
                KeyValue::new("rpc.service", service.to_owned()),
                KeyValue::new("rpc.method", method.to_owned()),
                KeyValue::new("network.peer.address", peer.ip().to_string()),
                KeyValue::new("network.peer.port", i64::from(peer.port())),
                KeyValue::new("accelflow.tenant", i64::from(tenant)),
            ]);
        let span = builder.start_with_context(&self.tracer, &parent);
        let mut request = RequestSpan {
            result: "",
            context: parent.with_span(span),
            steps: Vec::new(),
        };
        request.add(received);
        request
    }

    /// Ends the span of an answered request, and creates the spans of its steps.
    pub(crate) fn emit(&self, request: RequestSpan) {
        let (now, context) = (Instant::now(), request.context);
        let span = context.span();
        if !span.is_recording() {
            return;
        }
        span.set_attribute(KeyValue::new("accelflow.result", request.result));
        if !matches!(request.result, "ok" | "oneway" | "exception") {
            span.set_status(Status::error(request.result));
        }
        for step in request.steps {
            let builder = self
                .tracer
                .span_builder(step.name)
                .with_start_time(self.at(step.begun));
            let mut child = builder.start_with_context(&self.tracer, &context);
            if let Some((input, output)) = step.sizes {
                child.set_attributes([
                    KeyValue::new("accelflow.trace", step.trace),
                    KeyValue::new("accelflow.input_bytes", input as i64),
                    KeyValue::new("accelflow.output_bytes", output as i64),
                ]);
            }
            child.end_with_timestamp(self.at(step.begun + step.spent));
        }
        span.end_with_timestamp(self.at(now));
    }

    /// Sends the remaining spans, and waits for it up to `patience`, or [`LEAST_PATIENCE`] if that
    /// is longer: the collector may be absent or hang. Beyond [`LEAST_PATIENCE`] it waits only
    /// while `waits` returns true.
    pub(crate) fn flush(&self, patience: Duration, waits: &dyn Fn() -> bool) {
        let (provider, (done, flushed)) = (self.provider.clone(), channel());
        // The library's own time limit cannot be set.
        let flush = move || {
            let _ = provider.force_flush();
            let _ = done.send(());
        };
        let thread = Builder::new().name("accelflow-flush".to_owned());
        if thread.spawn(flush).is_err() {
            return;
        }
        let begun = Instant::now();
        loop {
            let spent = begun.elapsed();
            let patience = match spent < LEAST_PATIENCE || waits() {
                true => patience.max(LEAST_PATIENCE),
                false => LEAST_PATIENCE,
            };
            let left = patience.saturating_sub(spent).min(ASKS_EVERY);
            match flushed.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                _ => return,
            }
        }
    }

    fn at(&self, moment: Instant) -> SystemTime {
        self.anchor.1 + moment.saturating_duration_since(self.anchor.0)
    }
}

impl Drop for Spans {
    fn drop(&mut self) {
        // The exporter's thread still sends what it has, and then ends. Nobody waits for it: after
        // `flush`, that is at most the spans of requests that the server cut off.
        let _ = self.provider.shutdown_with_timeout(Duration::ZERO);
    }
}

/// The HTTP client of the exporter, which calls it on its own thread.
#[derive(Debug)]
struct Collector(ureq::Agent);

#[async_trait::async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let answer = self.0.run(Request::from_parts(parts, &body[..]))?;
        let (parts, mut body) = answer.into_parts();
        let read = body.with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let body = read.map_err(io::Error::other)?;
        Ok(Response::from_parts(parts, Bytes::from(body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_traceparent_of_the_standard_is_one() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let good = format!("00-{trace}-b7ad6b7169203331-01");
        let read = TraceParent::read(Some(&good), Some("vendor=1")).expect("W3C's example");
        let context = read.0.span().span_context().clone();
        assert_eq!(context.trace_id().to_string(), trace);
        assert!(context.is_sampled() && context.is_remote());
        let none = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        for bad in ["", "00-1", &good[..54], &none, &good.replace('-', "_")] {
            assert!(TraceParent::read(Some(bad), None).is_none(), "{bad}");
        }
        assert!(TraceParent::read(None, Some("vendor=1")).is_none());
    }
}
