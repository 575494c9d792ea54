//! The state of requests, jobs, events and tasks.

mod call;
mod draws;
mod event;
mod ids;
mod job;
mod join;
mod path;
mod payload;
mod request;
mod slab;
mod task;

pub(super) use call::{CallMessage, Caller, Envelope, Invocation};
pub(super) use draws::chain_place;
pub(super) use event::{By, Event, Start, Transfer, TransferKind};
pub(super) use ids::{CoreId, JobId, LegId, RequestId, Unit};
pub(super) use job::{Cursor, Deadline, Exception, Held, Job};
pub(super) use join::{Join, JoinArm, Meeting};
pub(super) use path::Path;
pub(super) use payload::{Buffer, Payload};
pub(super) use request::Request;
pub(super) use slab::Slab;
pub(super) use task::{CoreMessage, Task};
