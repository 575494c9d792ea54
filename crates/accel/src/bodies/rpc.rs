//! RPC: Thrift's frames and message headers, gRPC's prefixes, and dispatch by method name.

use std::sync::Arc;

use accelflow_trace::{Accel, Format};

use crate::accelerator::Accelerator;
use crate::call::Call;
use crate::error::AccelError;
use crate::job::{Direction, Job, Packed};
use crate::limits::Limits;
use crate::protocols::grpc;
use crate::protocols::thrift::{Schema, read_answer};

/// The RPC accelerator: removes the header of a received message, or adds the header of a message
/// to send. For gRPC, `job.call` states whether the message is received or sent; otherwise
/// `job.direction` does.
///
/// - Received Thrift message: strips frame and header, finds the method and describes the message
///   in `job.call`. Sets the numbers `message_type` and `seqid` and the texts `service` and
///   `method` as facts.
/// - Thrift message to send: writes frame and header from `job.call`.
/// - Received gRPC message: strips the prefix, finds the method, and sets `job.packed` if the
///   message is compressed. Sets the numbers `compressed` (0 or 1) and `exception` (0) and the
///   texts `service` and `method` as facts.
/// - gRPC message to send: writes the prefix.
#[derive(Debug)]
pub struct Rpc {
    schema: Arc<Schema>,
    limits: Limits,
}

impl Rpc {
    /// Creates the RPC accelerator, which finds the methods of Thrift messages in `schema`.
    pub fn new(schema: Arc<Schema>, limits: Limits) -> Rpc {
        Rpc { schema, limits }
    }

    fn receive_thrift(&self, job: &mut Job) -> Result<(), AccelError> {
        let asked = match &job.call {
            Call::Thrift(call) => Some(call.function),
            _ => job.answers,
        };
        let (call, body) = read_answer(&self.schema, &job.bytes, asked, &self.limits)?;
        job.bytes.drain(..body);
        job.facts.set("message_type", call.message_type as i64);
        job.facts.set("seqid", call.sequence.into());
        job.facts.set_text("service", call.service.clone());
        job.facts.set_text("method", call.method.clone());
        job.call = Call::Thrift(call);
        Ok(())
    }

    fn send_thrift(&self, job: &mut Job) -> Result<(), AccelError> {
        let Call::Thrift(call) = &job.call else {
            let why = "no Thrift header is given: set job.call to a Thrift call";
            return Err(AccelError::NoCall { step: "RPC", why });
        };
        let header = call.write_header(job.bytes.len(), &self.limits)?;
        job.put_before(&header);
        Ok(())
    }
}

impl Accelerator for Rpc {
    fn kind(&self) -> Accel {
        Accel::Rpc
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        match &job.call {
            Call::Grpc(_) => frame_grpc(job, &self.limits),
            _ => match job.direction {
                Direction::Receive => self.receive_thrift(job),
                Direction::Send => self.send_thrift(job),
            },
        }
    }
}

/// Adds the prefix of a sent message, or removes that of a received one and finds its method.
fn frame_grpc(job: &mut Job, limits: &Limits) -> Result<(), AccelError> {
    let Call::Grpc(call) = &mut job.call else {
        let why = "no gRPC method is given: set job.call to a gRPC call";
        return Err(AccelError::NoCall { step: "RPC", why });
    };
    let (id, method) = call.find()?;
    if call.is_sent() {
        let prefix = grpc::write_prefix(job.bytes.len(), job.packed.is_some(), limits)?;
        job.put_before(&prefix);
        job.packed = None;
        return Ok(());
    }
    let compressed = grpc::read_prefix(&job.bytes, limits)?;
    let packed = match (compressed, call.codec) {
        (false, _) => None,
        (true, Some(codec)) => Some(Packed {
            codec,
            format: Format::Str,
        }),
        (true, None) => {
            let why = "the message is compressed, but its headers have no grpc-encoding".to_owned();
            return Err(grpc::malformed(0, why));
        }
    };
    let (service, name) = (method.service.clone(), method.name.clone());
    call.method = Some(id);
    job.bytes.drain(..grpc::PREFIX);
    job.packed = packed;
    job.format = Format::Str;
    job.facts.set("compressed", compressed.into());
    job.facts.set("exception", 0);
    job.facts.set_text("service", service);
    job.facts.set_text("method", name);
    Ok(())
}
