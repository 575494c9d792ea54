//! The standard services that a gRPC server has beside its interface: health checks
//! (`grpc.health.v1.Health`), and the server's reflection (`grpc.reflection.v1.ServerReflection`,
//! also under its former name `v1alpha`). Their methods may have streams, and their messages do not
//! pass the traces for requests.

mod exchange;
mod health;
mod reflection;

use std::rc::Rc;
use std::time::Instant;

use accelflow_accel::protobuf::Schema;
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::Request;

use self::exchange::{Exchange, Stop};
use super::head::{check_is_grpc, encoding, timeout};
use super::stream::{Counting, Streams, late, until};

/// A method of a standard service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    /// Tells once whether a service is served.
    Check,
    /// Tells whether a service is served, now and at each change.
    Watch,
    /// Describes the interface.
    Reflect,
}

/// The methods: service, name.
const METHODS: [(&str, &str, Builtin); 4] = [
    ("grpc.health.v1.Health", "Check", Builtin::Check),
    ("grpc.health.v1.Health", "Watch", Builtin::Watch),
    (REFLECTION, "ServerReflectionInfo", Builtin::Reflect),
    (REFLECTION_ALPHA, "ServerReflectionInfo", Builtin::Reflect),
];
const REFLECTION: &str = "grpc.reflection.v1.ServerReflection";
const REFLECTION_ALPHA: &str = "grpc.reflection.v1alpha.ServerReflection";

/// A standard method, and its name `package.Service.Method` for metrics.
pub(super) type Named = (Builtin, String);

/// Finds the standard method that the path of a request names. `None` if there is none, if it is
/// reflection and the server has none, or if the interface declares the service itself.
pub(super) fn find(path: &str, schema: &Schema, reflection: bool) -> Option<Named> {
    let (service, name) = path.strip_prefix("/grpc.")?.split_once('/')?;
    let named =
        |known: &str, method: &str| known.strip_prefix("grpc.") == Some(service) && method == name;
    let mut methods = METHODS.into_iter();
    let (service, name, builtin) = methods.find(|(service, method, _)| named(service, method))?;
    if builtin == Builtin::Reflect && !reflection {
        return None;
    }
    let is_own = schema
        .methods()
        .iter()
        .any(|method| &*method.service == service);
    (!is_own).then(|| (builtin, format!("{service}.{name}")))
}

/// Serves one request of a standard method to its end. While the stream waits for a question of
/// reflection or for a change of health, its connection counts as idle.
pub(super) async fn serve(
    streams: Rc<Streams>,
    (builtin, function): Named,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    let (parts, body) = request.into_parts();
    let checked = check_is_grpc(&parts);
    let timeout = match checked.and_then(|()| Ok(timeout(&parts.headers)?)) {
        Ok(timeout) => timeout,
        Err(refusal) => return streams.refuse(refusal, parts.uri.path(), &mut respond),
    };
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut counting = Counting {
        metrics: &streams.shared.observers.metrics,
        function: &function,
        result: "cancelled",
    };
    let mut exchange = Exchange::new(&streams, body, encoding(&parts.headers), respond);
    let done = tokio::select! {
        biased;
        () = until(deadline) => Err(Stop::With(late())),
        done = builtin.serve(&mut exchange) => done,
    };
    // Requests that their clients cancel are those of a flood.
    let is_answered = !matches!(done, Err(Stop::Gone));
    counting.result = exchange.finish(done);
    drop(counting);
    if is_answered {
        streams.frames.borrow_mut().answered();
    }
}

impl Builtin {
    async fn serve(self, exchange: &mut Exchange<'_>) -> Result<(), Stop> {
        match self {
            Builtin::Check => health::check(exchange).await,
            Builtin::Watch => health::watch(exchange).await,
            Builtin::Reflect => reflection::reflect(exchange).await,
        }
    }
}
