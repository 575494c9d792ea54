//! gRPC's health checking protocol: whether a service is served, which load balancers and
//! Kubernetes ask.

use prost::Message;

use super::exchange::{Exchange, Stop};
use crate::server::grpc::status::Status;
use crate::server::grpc::stream::{Active, Streams, stopping};
use crate::transport::grpc::code::Code;

/// `grpc.health.v1.HealthCheckRequest`.
#[derive(Clone, PartialEq, Message)]
struct HealthCheckRequest {
    /// The full name of a service; empty for the server as a whole.
    #[prost(string, tag = "1")]
    service: String,
}

/// `grpc.health.v1.HealthCheckResponse`.
#[derive(Clone, PartialEq, Message)]
struct HealthCheckResponse {
    #[prost(enumeration = "ServingStatus", tag = "1")]
    status: i32,
}

/// `grpc.health.v1.HealthCheckResponse.ServingStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum ServingStatus {
    Unknown = 0,
    Serving = 1,
    NotServing = 2,
    ServiceUnknown = 3,
}

pub(super) async fn check(exchange: &mut Exchange<'_>) -> Result<(), Stop> {
    let streams = exchange.streams;
    let _active = Active::begin(streams);
    let asked: HealthCheckRequest = exchange.only().await?;
    if !serves(streams, &asked.service) {
        let why = format!("service = '{}': unknown", asked.service.escape_default());
        return Err(Status::new(Code::NotFound, "unknown_service", why).into());
    }
    let health = health(*streams.stop.borrow());
    exchange.send(&health).await
}

/// Tells the health of a service until the client has enough, or the server stops.
pub(super) async fn watch(exchange: &mut Exchange<'_>) -> Result<(), Stop> {
    let streams = exchange.streams;
    let arriving = Active::begin(streams);
    let asked: HealthCheckRequest = exchange.only().await?;
    drop(arriving);
    let known = serves(streams, &asked.service);
    let mut stop = streams.stop.clone();
    let is_stopping = *stop.borrow_and_update();
    let now = match known {
        true => health(is_stopping),
        false => of(ServingStatus::ServiceUnknown),
    };
    exchange.send(&now).await?;
    if !is_stopping {
        // Fails if the server's state is gone, which ends the watch too.
        let _ = exchange.unless_gone(stop.changed()).await?;
        if known {
            exchange.send(&health(true)).await?;
        }
    }
    Err(stopping().into())
}

fn serves(streams: &Streams, service: &str) -> bool {
    service.is_empty() || streams.schema.services().any(|known| known == service)
}

fn health(is_stopping: bool) -> HealthCheckResponse {
    of(match is_stopping {
        true => ServingStatus::NotServing,
        false => ServingStatus::Serving,
    })
}

fn of(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}
