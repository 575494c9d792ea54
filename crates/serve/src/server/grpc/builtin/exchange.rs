//! The messages of a standard method's stream, which come and go as long as it is open.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use accelflow_accel::compress::Dcmp;
use accelflow_accel::grpc::PREFIX;
use accelflow_accel::{AccelError, Codec, Limits};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::HeaderMap;
use prost::Message;
use tokio::time::timeout;

use crate::server::grpc::send::{headers, send_status, status_trailers};
use crate::server::grpc::status::Status;
use crate::server::grpc::stream::{Active, Streams, slow, stopping};
use crate::transport::grpc::code::Code;
use crate::transport::grpc::message::send_all;
use crate::transport::grpc::response::ResponseMetadata;

/// The most bytes of a request, as sent and inflated: a name, or a few.
const MAX_REQUEST: usize = 4 << 10;

/// Why a stream ends before its method is done.
pub(super) enum Stop {
    /// The server ends it with this status.
    With(Status),
    /// The client has ended it.
    Gone,
    /// The client does not read.
    Unsent,
}

impl From<Status> for Stop {
    fn from(status: Status) -> Stop {
        Stop::With(status)
    }
}

/// A message as it was sent.
struct Sent {
    /// What it is compressed with.
    codec: Option<Codec>,
    bytes: Bytes,
}

/// Both directions of a stream.
pub(super) struct Exchange<'s> {
    pub(super) streams: &'s Streams,
    body: RecvStream,
    /// The codec of compressed messages. An encoding that the server does not know fails only with
    /// the first message that has it.
    encoding: Result<Option<Codec>, Status>,
    /// What has come of the next messages.
    received: BytesMut,
    /// When the first byte of the next message came.
    since: Option<Instant>,
    respond: SendResponse<Bytes>,
    /// The responses, once the first has been sent.
    stream: Option<SendStream<Bytes>>,
}

impl<'s> Exchange<'s> {
    pub(super) fn new(
        streams: &'s Streams,
        body: RecvStream,
        encoding: Result<Option<Codec>, Status>,
        respond: SendResponse<Bytes>,
    ) -> Exchange<'s> {
        Exchange {
            streams,
            body,
            encoding,
            received: BytesMut::new(),
            since: None,
            respond,
            stream: None,
        }
    }

    /// Waits for the next request, and for the tenant's limits on it. `None` if the client has sent
    /// its last.
    pub(super) async fn next<M: Message + Default>(&mut self) -> Result<Option<M>, Stop> {
        let Some(sent) = self.receive().await? else {
            return Ok(None);
        };
        let (streams, size) = (self.streams, PREFIX + sent.bytes.len());
        let _active = Active::begin(streams);
        if let Some(tenants) = &streams.shared.admission.tenants {
            let passed = tenants.pass_without_work(streams.peer.tenant, size);
            if !self.unless_gone(passed).await? {
                return Err(stopping().into());
            }
        }
        let message = M::decode(sent.inflate()?).map_err(|error| {
            let why = format!("the request: {error}");
            Status::new(Code::Internal, "bad_message", why)
        })?;
        Ok(Some(message))
    }

    /// Waits for the only request of a method.
    pub(super) async fn only<M: Message + Default>(&mut self) -> Result<M, Stop> {
        let patience = self.streams.shared.config.message_timeout;
        self.since = Some(Instant::now());
        let unimplemented =
            |label, why: &str| Stop::With(Status::new(Code::Unimplemented, label, why));
        let why = "the method takes one message, but the request has none";
        let message = self.next().await?;
        let message = message.ok_or_else(|| unimplemented("truncated", why))?;
        let end = timeout(patience, self.receive()).await;
        match end.map_err(|_| slow())?? {
            None => Ok(message),
            Some(_) => {
                let why = "the method takes one message, but the request has more";
                Err(unimplemented("trailing_bytes", why))
            }
        }
    }

    /// Waits for the next message. Once it has begun, it must be complete in time.
    async fn receive(&mut self) -> Result<Option<Sent>, Stop> {
        let patience = self.streams.shared.config.message_timeout;
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            let data = self.body.data();
            let data = match self.since {
                None => data.await,
                Some(since) => {
                    let left = patience.saturating_sub(since.elapsed());
                    timeout(left, data).await.map_err(|_| slow())?
                }
            };
            match data {
                None if self.received.is_empty() => return Ok(None),
                None => {
                    let why = "the stream ends within a message";
                    return Err(Status::new(Code::Internal, "truncated", why).into());
                }
                Some(Err(_)) => return Err(Stop::Gone),
                Some(Ok(chunk)) => self.append(&chunk),
            }
        }
    }

    fn append(&mut self, chunk: &[u8]) {
        // Fails for a stream that has ended, where it does not matter.
        let _ = self.body.flow_control().release_capacity(chunk.len());
        self.received.extend_from_slice(chunk);
        self.since.get_or_insert_with(Instant::now);
        if let Some(account) = &self.streams.account {
            account.ledger.borrow_mut().receives(chunk.len());
        }
    }

    /// Takes the next message from what has come, if it is complete.
    fn take(&mut self) -> Result<Option<Sent>, Status> {
        let Some([flag, length @ ..]) = self.received.first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let codec = match *flag {
            0 => None,
            1 => Some(self.codec()?),
            other => {
                let why = format!("the flag of a message = {other}: must be 0 or 1");
                return Err(Status::new(Code::Internal, "bad_frame", why));
            }
        };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > MAX_REQUEST {
            let why = format!("the message = {length} bytes: must be at most {MAX_REQUEST}");
            return Err(Status::new(Code::ResourceExhausted, "too_large", why));
        }
        if self.received.len() < PREFIX + length {
            return Ok(None);
        }
        self.received.advance(PREFIX);
        let bytes = self.received.split_to(length).freeze();
        self.since = (!self.received.is_empty()).then(Instant::now);
        if let Some(account) = &self.streams.account {
            // Its costs are those of no recorded request.
            let _ = account.ledger.borrow_mut().charge_received(PREFIX + length);
        }
        Ok(Some(Sent { codec, bytes }))
    }

    /// The codec of a compressed message.
    fn codec(&self) -> Result<Codec, Status> {
        self.encoding.clone()?.ok_or_else(|| {
            let why = "the message is compressed, but its headers have no grpc-encoding";
            Status::new(Code::Internal, "bad_frame", why)
        })
    }

    /// Sends a response.
    pub(super) async fn send(&mut self, message: &impl Message) -> Result<(), Stop> {
        let length = message.encoded_len();
        let too_long = |_| {
            let why = format!("the response = {length} bytes: too long for a message");
            Status::new(Code::ResourceExhausted, "too_large", why)
        };
        let prefix = u32::try_from(length).map_err(too_long)?;
        let mut bytes = BytesMut::with_capacity(PREFIX + length);
        bytes.put_u8(0);
        bytes.put_u32(prefix);
        let written = message.encode(&mut bytes);
        written.map_err(|error| Status::new(Code::Internal, "bad_result", error))?;
        let patience: Duration = self.streams.shared.config.write_timeout;
        let account = self.streams.account.as_ref();
        let sending = account.map(|account| account.sends_unrecorded(PREFIX + length));
        let stream = self.open()?;
        match timeout(patience, send_all(stream, bytes.freeze(), false)).await {
            Ok(Ok(())) => {
                if let Some(sending) = sending {
                    sending.sent();
                }
                Ok(())
            }
            Ok(Err(_)) => Err(Stop::Gone),
            Err(_) => {
                stream.send_reset(Reason::CANCEL);
                Err(Stop::Unsent)
            }
        }
    }

    /// Waits for `work`, or until the client ends the stream.
    pub(super) async fn unless_gone<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.gone() => Err(Stop::Gone),
            done = work => Ok(done),
        }
    }

    /// Waits until the client ends the stream.
    async fn gone(&mut self) {
        let Exchange {
            respond, stream, ..
        } = self;
        let _ = match stream {
            Some(stream) => poll_fn(|cx| stream.poll_reset(cx)).await,
            None => poll_fn(|cx| respond.poll_reset(cx)).await,
        };
    }

    fn open(&mut self) -> Result<&mut SendStream<Bytes>, Stop> {
        if self.stream.is_none() {
            let opened = self.respond.send_response(headers(), false);
            self.stream = Some(opened.map_err(|_| Stop::Gone)?);
        }
        self.stream.as_mut().ok_or(Stop::Gone)
    }

    /// Ends the stream. Returns the result for the metrics.
    pub(super) fn finish(mut self, done: Result<(), Stop>) -> &'static str {
        let status = match done {
            Ok(()) => None,
            Err(Stop::Gone) => return "cancelled",
            Err(Stop::Unsent) => return "unsent",
            Err(Stop::With(status)) => Some(status),
        };
        let result = status.as_ref().map_or("ok", |status| status.label);
        match (status, &mut self.stream) {
            (Some(status), None) => {
                send_status(&mut self.respond, &status, &ResponseMetadata::default());
            }
            (status, _) => {
                let trailers = status.as_ref().map_or_else(ok, status_trailers);
                // Sending fails if the stream is gone.
                if let Ok(stream) = self.open() {
                    let _ = stream.send_trailers(trailers);
                }
            }
        }
        result
    }
}

impl Sent {
    /// The message without its compression.
    fn inflate(self) -> Result<Bytes, Status> {
        let Some(codec) = self.codec else {
            return Ok(self.bytes);
        };
        let limits = Limits {
            max_decompressed_bytes: MAX_REQUEST,
            ..Limits::default()
        };
        let inflated = Dcmp::new(limits).decompress(codec, &self.bytes);
        inflated.map(Bytes::from).map_err(|error| match error {
            AccelError::ZipBomb { .. } => {
                let why = format!("the inflated message: must have at most {MAX_REQUEST} bytes");
                Status::new(Code::ResourceExhausted, error.reason(), why)
            }
            _ => Status::new(Code::Internal, error.reason(), error),
        })
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if let Some(account) = &self.streams.account {
            account
                .ledger
                .borrow_mut()
                .forget_received(self.received.len());
        }
    }
}

fn ok() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", Code::Ok.header());
    trailers
}
