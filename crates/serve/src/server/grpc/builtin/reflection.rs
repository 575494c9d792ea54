//! gRPC's server reflection: the server's interface, for clients such as grpcurl that have no
//! `.proto` file.

use std::collections::BTreeSet;

use accelflow_accel::protobuf::Schema;
use prost::{Message, Oneof};

use super::exchange::{Exchange, Stop};
use crate::server::grpc::stream::{Active, stopping};
use crate::transport::grpc::code::Code;

/// A question, the same message in both packages.
#[derive(Clone, PartialEq, Message)]
struct ServerReflectionRequest {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 5, 6, 7")]
    question: Option<Question>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Question {
    /// A file, by its name.
    #[prost(string, tag = "3")]
    File(String),
    /// The file that declares a symbol.
    #[prost(string, tag = "4")]
    Symbol(String),
    /// The file that declares an extension.
    #[prost(message, tag = "5")]
    Extension(ExtensionRequest),
    /// The field numbers of all extensions of a message.
    #[prost(string, tag = "6")]
    ExtensionNumbers(String),
    /// All services; the text has no meaning.
    #[prost(string, tag = "7")]
    Services(String),
}

/// An extension, by the message that it extends and its field number.
#[derive(Clone, PartialEq, Message)]
struct ExtensionRequest {
    #[prost(string, tag = "1")]
    message: String,
    #[prost(int32, tag = "2")]
    number: i32,
}

/// An answer.
#[derive(Clone, PartialEq, Message)]
struct ServerReflectionResponse {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(message, optional, tag = "2")]
    asked: Option<ServerReflectionRequest>,
    #[prost(oneof = "Answer", tags = "4, 5, 6, 7")]
    answer: Option<Answer>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Answer {
    #[prost(message, tag = "4")]
    Files(FileDescriptorResponse),
    #[prost(message, tag = "5")]
    ExtensionNumbers(ExtensionNumberResponse),
    #[prost(message, tag = "6")]
    Services(ListServiceResponse),
    #[prost(message, tag = "7")]
    Error(ErrorResponse),
}

/// Files, as descriptors.
#[derive(Clone, PartialEq, Message)]
struct FileDescriptorResponse {
    /// Encoded `google.protobuf.FileDescriptorProto`s.
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

/// The field numbers of a message's extensions.
#[derive(Clone, PartialEq, Message)]
struct ExtensionNumberResponse {
    #[prost(string, tag = "1")]
    message: String,
    #[prost(int32, repeated, tag = "2")]
    numbers: Vec<i32>,
}

/// All services.
#[derive(Clone, PartialEq, Message)]
struct ListServiceResponse {
    #[prost(message, repeated, tag = "1")]
    services: Vec<ServiceResponse>,
}

/// A service.
#[derive(Clone, PartialEq, Message)]
struct ServiceResponse {
    #[prost(string, tag = "1")]
    name: String,
}

/// An error of one question; the stream goes on.
#[derive(Clone, PartialEq, Message)]
struct ErrorResponse {
    /// A status code of gRPC.
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Answers questions about the interface, as long as the client has some.
pub(super) async fn reflect(exchange: &mut Exchange<'_>) -> Result<(), Stop> {
    let streams = exchange.streams;
    let mut sent = BTreeSet::new();
    while let Some(asked) = exchange.next::<ServerReflectionRequest>().await? {
        let _active = Active::begin(streams);
        // One response at a time, since each may be as large as the interface.
        let one = exchange.unless_gone(streams.reflecting.acquire()).await?;
        let _one = one.map_err(|_| stopping())?;
        let answer = answer(&streams.schema, asked.question.as_ref(), &mut sent);
        let told = ServerReflectionResponse {
            host: asked.host.clone(),
            asked: Some(asked),
            answer: Some(answer),
        };
        exchange.send(&told).await?;
        // A stream may have any number of questions, each of which is answered.
        streams.frames.borrow_mut().answered();
    }
    Ok(())
}

/// The answer to a question. `sent` are the files that the stream has sent so far.
fn answer(schema: &Schema, question: Option<&Question>, sent: &mut BTreeSet<String>) -> Answer {
    let found = match question {
        Some(Question::File(name)) => (schema.file_named(name), format!("file '{name}'")),
        Some(Question::Symbol(name)) => (schema.file_of(name), format!("symbol '{name}'")),
        Some(Question::Extension(ExtensionRequest { message, number })) => (
            schema.file_of_extension(message, *number),
            format!("extension {number} of '{message}'"),
        ),
        Some(Question::ExtensionNumbers(message)) => {
            return match schema.extension_numbers(message) {
                Some(numbers) => Answer::ExtensionNumbers(ExtensionNumberResponse {
                    message: message.clone(),
                    numbers,
                }),
                None => failure(Code::NotFound, format!("message '{message}': not found")),
            };
        }
        Some(Question::Services(_)) => {
            let services = schema.services().map(|name| ServiceResponse { name });
            return Answer::Services(ListServiceResponse {
                services: services.collect(),
            });
        }
        None => {
            let why = "the request has no question that this server knows";
            return failure(Code::Unimplemented, why.to_owned());
        }
    };
    match found {
        (None, what) => failure(Code::NotFound, format!("{what}: not found")),
        (Some(file), _) => {
            // The file itself even if it was sent before, then what it imports.
            let (mut files, mut next) = (vec![file.encode_to_vec()], vec![file.clone()]);
            sent.insert(file.name().to_owned());
            while let Some(file) = next.pop() {
                for import in file.dependencies() {
                    if sent.insert(import.name().to_owned()) {
                        files.push(import.encode_to_vec());
                        next.push(import);
                    }
                }
            }
            Answer::Files(FileDescriptorResponse { files })
        }
    }
}

fn failure(code: Code, message: String) -> Answer {
    Answer::Error(ErrorResponse {
        code: code.number(),
        message,
    })
}
