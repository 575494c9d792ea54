//! The settings of telemetry.

use accelflow_parameters::Refusal;

use super::tables::SAMPLE_RATIO;

/// Settings of tracing: the OpenTelemetry collector that receives spans, and which requests are
/// sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Telemetry {
    /// The collector's address, for OTLP over HTTP with Protocol Buffers:
    /// `http://127.0.0.1:4318/v1/traces`. TLS is not supported, so the collector should run on the
    /// same machine.
    pub endpoint: String,
    /// The name of the service (`service.name`).
    pub service: String,
    /// The share of requests that are sampled, from 0 to 1. If a request has a W3C `traceparent`,
    /// its caller decides instead. Thrift's framed messages cannot have one.
    pub sample_ratio: f64,
}

/// The error of invalid settings of tracing, or of an exporter that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// `sample_ratio` is not allowed.
    #[error(transparent)]
    Ratio(#[from] Refusal),
    /// `endpoint` is not an HTTP URL; the value.
    #[error("endpoint = '{0}': must begin with http://, such as http://127.0.0.1:4318/v1/traces")]
    Endpoint(String),
    /// The exporter of spans could not be created; the reason.
    #[error("exporter: {0}")]
    Exporter(String),
}

impl Telemetry {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`TelemetryError`] for a ratio or an endpoint that is not allowed.
    pub fn check(&self) -> Result<(), TelemetryError> {
        SAMPLE_RATIO.check(self.sample_ratio)?;
        let uri = self.endpoint.parse::<http::Uri>();
        match uri.map(|uri| (uri.scheme_str() == Some("http"), uri.host().is_some())) {
            Ok((true, true)) => Ok(()),
            _ => Err(TelemetryError::Endpoint(self.endpoint.clone())),
        }
    }
}
