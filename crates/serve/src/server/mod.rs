//! A server: its setup, its connections, and the state that they share.

pub(crate) mod accept;
pub(crate) mod admission;
pub(crate) mod dispatch;
pub(crate) mod executors;
pub(crate) mod greeting;
pub(crate) mod grpc;
pub(crate) mod pace;
pub(crate) mod pages;
pub(crate) mod peer;
pub(crate) mod places;
pub(crate) mod protocol;
pub(crate) mod running;
pub(crate) mod setup;
pub(crate) mod shared;
pub(crate) mod steering;
pub(crate) mod tenants;
pub(crate) mod thread_scope;
pub(crate) mod thrift;
pub(crate) mod traces;
