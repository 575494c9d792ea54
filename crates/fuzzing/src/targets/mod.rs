//! The fuzz targets, with one module each. The first lines of a module state the property that the
//! module's function `check` checks.

pub mod admin;
pub mod client_http;
pub mod client_thrift;
pub mod condition;
pub mod decompress;
pub mod grpc_message;
pub mod grpc_record;
pub mod http;
pub mod http_length;
pub mod jaeger;
pub mod json_to_thrift;
pub mod otlp_json;
pub mod otlp_protobuf;
pub mod proto_idl;
pub mod protobuf;
pub mod recording;
pub mod rpc_header;
pub mod server_grpc;
pub mod server_thrift;
pub mod server_tls;
pub mod storage;
pub mod tcp;
pub mod thrift_idl;
pub mod thrift_record;
pub mod thrift_to_json;
pub mod tls_record;
pub mod trace_file;
pub mod transform;
pub mod workload;

use arbitrary::{Arbitrary, Unstructured};

/// A fuzz target: a property that must hold for any input of a parser, server, port or client.
pub struct Target {
    /// The target's name, which is also the name of its folder of example inputs in `fuzz/corpus/`.
    pub name: &'static str,
    /// Decodes the bytes as the target's input, and checks the target's property for this input.
    /// Does nothing if there are too few bytes.
    ///
    /// # Panics
    /// If the target's property is violated.
    pub check: fn(&[u8]),
}

/// Calls the macro `$macro` with the names of all fuzz targets, separated by commas.
#[macro_export]
macro_rules! for_each_target {
    ($macro:ident) => {
        $macro! {
            admin,
            client_http,
            client_thrift,
            condition,
            decompress,
            grpc_message,
            grpc_record,
            http,
            http_length,
            jaeger,
            json_to_thrift,
            otlp_json,
            otlp_protobuf,
            proto_idl,
            protobuf,
            recording,
            rpc_header,
            server_grpc,
            server_thrift,
            server_tls,
            storage,
            tcp,
            thrift_idl,
            thrift_record,
            thrift_to_json,
            tls_record,
            trace_file,
            transform,
            workload,
        }
    };
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        /// All fuzz targets, in alphabetical order of their names.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            check: |bytes| with_input(bytes, $name::check),
        }),*];
    };
}

for_each_target!(targets);

/// Calls `check` as libFuzzer does: with all bytes as its arguments, unless they are too few.
fn with_input<'a, T: Arbitrary<'a>>(bytes: &'a [u8], check: impl FnOnce(T)) {
    if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(bytes)) {
        check(input);
    }
}
