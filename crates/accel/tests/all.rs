//! All tests of this crate in one program, which is built faster than one for each file.

mod balance;
mod budget;
mod chains;
mod common;
mod corruption;
mod defaults;
mod extend_policy;
mod golden;
mod grpc;
mod grpc_echo;
mod grpc_records;
mod interfaces;
mod messages;
mod published;
mod records;
mod roundtrip;
mod transport;
