//! The operators' port, which serves metrics and recordings over HTTP/1.1.
//!
//! One thread serves all connections of the port. A connection has one request, and the number of
//! open connections is bounded. A POST to `/traces/reload`, without a body, makes the server reload
//! its trace file. There is no access control, so clients should not be able to reach the port.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{Notify, Semaphore};

use crate::error::ServeError;

/// The largest number of open connections. Further ones wait in the listener's backlog.
const MAX_CONNECTIONS: usize = 16;

/// The largest head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The time limit from the start of a connection to the end of its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    /// The allowed methods of the path, if the request had another.
    pub(crate) allows: Option<&'static str>,
}

impl Answer {
    pub(crate) fn ok(content_type: &'static str, body: String) -> Answer {
        Answer {
            status: StatusCode::OK,
            content_type,
            body,
            allows: None,
        }
    }

    pub(crate) fn not_allowed(methods: &'static str) -> Answer {
        let why = format!("only {} is allowed", methods.replace(", ", " or "));
        Answer {
            allows: Some(methods),
            ..Answer::refused(StatusCode::METHOD_NOT_ALLOWED, &why)
        }
    }

    pub(crate) fn refused(status: StatusCode, why: &str) -> Answer {
        Answer {
            status,
            content_type: "text/plain; charset=utf-8",
            body: format!("{why}\n"),
            allows: None,
        }
    }
}

/// A request of an operator.
pub(crate) struct Asked<'a> {
    /// Whether the request changes state (POST) or only reads (GET).
    pub(crate) changes: bool,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
}

/// Maps a request to its answer.
pub(crate) type Answers = dyn Fn(&Asked<'_>) -> Answer + Send + Sync;

/// The operators' port. Dropping it closes the port.
pub(crate) struct Admin {
    address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Admin {
    pub(crate) fn start(listener: TcpListener, answers: Arc<Answers>) -> Result<Admin, ServeError> {
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let stop = Arc::new(Notify::new());
        let stopped = stop.clone();
        let thread = thread::Builder::new()
            .name("accelflow-admin".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener, answers) => {}
                        () = stopped.notified() => {}
                    }
                });
            })?;
        Ok(Admin {
            address: bound,
            stop,
            thread: Some(thread),
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, answers: Arc<Answers>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let local = tokio::task::LocalSet::new();
    let accept = async {
        while let Ok(place) = room.clone().acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                // No descriptors are left, or the connection is already gone.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let answers = answers.clone();
            tokio::task::spawn_local(async move {
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(PATIENCE)
                    .keep_alive(false)
                    .max_buf_size(MAX_HEAD_BYTES)
                    .serve_connection(
                        TokioIo::new(stream),
                        service_fn(|request| {
                            let answer = respond(&request, &answers);
                            async move { Ok::<_, Infallible>(answer) }
                        }),
                    );
                // An invalid or slow request is dropped without an answer.
                let _ = tokio::time::timeout(PATIENCE, connection).await;
                drop(place);
            });
        }
    };
    local.run_until(accept).await;
}

fn respond(request: &Request<Incoming>, answers: &Arc<Answers>) -> Response<Full<Bytes>> {
    let known = matches!(*request.method(), Method::GET | Method::POST);
    let uri = request.uri();
    let answer = match known {
        true => answers(&Asked {
            changes: request.method() == Method::POST,
            path: uri.path(),
            query: uri.query().unwrap_or_default(),
        }),
        false => Answer::not_allowed("GET, POST"),
    };
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static(answer.content_type);
    headers.insert(CONTENT_TYPE, content_type);
    if let Some(allowed) = answer.allows {
        headers.insert(ALLOW, HeaderValue::from_static(allowed));
    }
    response
}
