//! The error type of the accelerators.

use accelflow_trace::Format;

/// The error of an accelerator that cannot process its input.
///
/// Where they exist, the error messages name the place (a byte offset in the accelerator's input),
/// the value found and what is allowed. [`AccelError::reason`] returns a stable name of the error,
/// for counters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccelError {
    /// The input ends inside a value.
    #[error(
        "truncated input: {what} at byte {at}: must have at least {need} bytes, but {have} are left"
    )]
    Truncated {
        /// The name of the value that was being read.
        what: &'static str,
        /// The offset of the value's first byte.
        at: usize,
        /// The number of bytes that the value needs.
        need: usize,
        /// The number of bytes left from `at` on.
        have: usize,
    },
    /// Bytes follow the end of the message.
    #[error("{extra} bytes follow the end of the {what} at byte {at}: must be 0")]
    TrailingBytes {
        /// The name of the value that ended.
        what: &'static str,
        /// The offset of the value's end.
        at: usize,
        /// The number of bytes that follow.
        extra: usize,
    },
    /// A size or count exceeds its limit.
    #[error("{what} = {size}: must be at most {limit}")]
    TooLarge {
        /// The name of the size or count.
        what: &'static str,
        /// The size in bytes, or the count.
        size: usize,
        /// The limit, in the unit of `size`.
        limit: usize,
    },
    /// Structs or containers are nested too deeply.
    #[error("nesting at byte {at} = over {limit} levels: must be at most {limit}")]
    TooDeep {
        /// The offset in bytes at which the limit was passed.
        at: usize,
        /// The allowed depth, in levels.
        limit: usize,
    },
    /// A payload would exceed a limit when decompressed: the limit on its size, or on its size
    /// relative to the compressed size.
    #[error(
        "decompressed size of {compressed} compressed bytes = over {limit} bytes: must be at most \
         {limit} bytes, the limit of {setting}"
    )]
    ZipBomb {
        /// The size of the compressed input, in bytes.
        compressed: usize,
        /// The limit in bytes, from [`crate::Limits::decompressed_limit`]; for gzip
        /// [`crate::Limits::max_decompressed_bytes`].
        limit: usize,
        /// The name of the setting in [`crate::Limits`] that `limit` comes from.
        setting: &'static str,
    },
    /// A checksum in a packet does not match its bytes.
    #[error("{protocol} checksum at byte {at} = {found:#06x}: must be {computed:#06x}")]
    BadChecksum {
        /// The protocol of the checksum: IPv4 or TCP.
        protocol: &'static str,
        /// The offset of the checksum field, in bytes.
        at: usize,
        /// The checksum in the packet.
        found: u16,
        /// The checksum computed from the bytes.
        computed: u16,
    },
    /// A packet has an IPv4 or TCP header that is malformed, or that [`crate::tcp`] does not
    /// support, such as one with options or with the flag SYN.
    #[error("bad TCP segment at byte {at}: {why}")]
    BadSegment {
        /// The offset of the packet or field, in bytes.
        at: usize,
        /// What is wrong with the packet.
        why: String,
    },
    /// A packet belongs to another connection.
    #[error(
        "packet at byte {at}: addresses (source > destination) = {found}: must be {expected}, \
         those of packets to this end of the connection"
    )]
    WrongConnection {
        /// The offset of the packet, in bytes.
        at: usize,
        /// The packet's addresses, as "source > destination".
        found: String,
        /// The addresses of received packets of this connection, as "source > destination".
        expected: String,
    },
    /// Bytes are missing between two segments.
    #[error(
        "gap before the TCP segment at byte {at}: sequence number = {found}: must be {expected}"
    )]
    SegmentGap {
        /// The offset of the packet after the gap, in bytes.
        at: usize,
        /// The first TCP sequence number that is missing.
        expected: u32,
        /// The TCP sequence number of the packet after the gap.
        found: u32,
    },
    /// Two segments overlap in their sequence numbers but are not identical.
    #[error(
        "TCP segment at byte {at}: sequence number = {found}: must be {expected}, \
         since overlaps must be exact duplicates"
    )]
    SegmentOverlap {
        /// The offset of the packet, in bytes.
        at: usize,
        /// The TCP sequence number that follows the data so far.
        expected: u32,
        /// The TCP sequence number of the packet.
        found: u32,
    },
    /// An accelerator needs the TCP or TLS state of the message's connection, but the job's
    /// [`Session`](crate::Session) does not have it.
    #[error(
        "the message has no {layer} session (the state of its connection), but an accelerator of the \
         trace needs one"
    )]
    NoSession {
        /// The protocol whose state is missing: "TCP" or "TLS".
        layer: &'static str,
    },
    /// A TLS record's header or padding is wrong (RFC 8446, section 5).
    #[error("bad TLS record at byte {at}: {why}")]
    BadRecord {
        /// The offset of the TLS record or field, in bytes.
        at: usize,
        /// What is wrong with the record.
        why: String,
        /// The code of the TLS alert for this error (RFC 8446, section 6).
        alert: u8,
    },
    /// A TLS record is larger than the protocol allows (RFC 8446, sections 5.1 and 5.2).
    #[error("TLS record at byte {at}: size = {size} bytes: must be at most {limit}")]
    RecordOverflow {
        /// The offset of the TLS record, in bytes.
        at: usize,
        /// The size of the record's ciphertext or plaintext, in bytes.
        size: usize,
        /// The protocol's limit on that size, in bytes.
        limit: usize,
    },
    /// The authentication of a TLS record failed: its bytes, the keys or the sequence number are
    /// wrong.
    #[error(
        "TLS record at byte {at} fails authentication with this connection's keys and \
         record sequence number {sequence}"
    )]
    BadTag {
        /// The offset of the TLS record, in bytes.
        at: usize,
        /// The record sequence number with which the record was decrypted.
        sequence: u64,
    },
    /// A decrypted TLS record has a content type that is not allowed: for Decr any but application
    /// data.
    #[error(
        "TLS record at byte {at}: content type = {found}: must be 23 (application data), or 21 or \
         22 where an alert or a handshake message is read"
    )]
    UnexpectedContentType {
        /// The offset of the TLS record, in bytes.
        at: usize,
        /// The number of the record's inner content type (RFC 8446, section 5.1).
        found: u8,
    },
    /// A TLS record sequence number would exceed 64 bits. The keys must be updated first.
    #[error(
        "TLS record sequence number {sequence} is the last that the keys allow: update the keys"
    )]
    SequenceExhausted {
        /// The last record sequence number that the keys allow.
        sequence: u64,
    },
    /// A TLS secret or key has the wrong number of bytes.
    #[error("{what} = {found} bytes: must be {allowed} bytes")]
    BadKey {
        /// The name of the secret or key.
        what: &'static str,
        /// The size of the secret or key, in bytes.
        found: usize,
        /// The size that is needed, in bytes.
        allowed: usize,
    },
    /// A message, the frame around it, or a Zstandard frame of compressed data is malformed.
    #[error("bad {what} at byte {at}: {why}")]
    BadFrame {
        /// The name of what is malformed, such as `gRPC message`.
        what: &'static str,
        /// The offset of the error, in bytes.
        at: usize,
        /// What is wrong with the message or frame.
        why: String,
    },
    /// The compressed data of a message are corrupt.
    #[error("corrupt {codec} data: {why}")]
    CorruptData {
        /// The name of the codec.
        codec: &'static str,
        /// The message of the codec's library.
        why: String,
    },
    /// A Thrift message begins with an unknown protocol.
    #[error(
        "Thrift message at byte {at} begins with {found:#010x}: must be 0x8001.... (strict binary) or \
         0x82.1.... (compact)"
    )]
    BadMagicOrVersion {
        /// The offset of the message, in bytes.
        at: usize,
        /// The message's first four bytes, as a big-endian number.
        found: u32,
    },
    /// The type of a Thrift message is none of call, reply, exception and oneway.
    #[error(
        "Thrift message type at byte {at} = {found}: must be 1 (call), 2 (reply), 3 (exception) or \
         4 (oneway)"
    )]
    BadMessageType {
        /// The offset of the message type, in bytes.
        at: usize,
        /// The message type as a number.
        found: u8,
    },
    /// The Thrift or gRPC interface has no method of this name, or several.
    #[error("method = '{name}': must be {known}")]
    UnknownMethod {
        /// The name of the method as given.
        name: String,
        /// The method names that are allowed; only the first ones if there are many.
        known: String,
    },
    /// The Thrift interface has no service of this name.
    #[error("service = '{name}': must be {known}")]
    UnknownService {
        /// The name of the service as given.
        name: String,
        /// The names of the interface's services; only the first ones if there are many.
        known: String,
    },
    /// A value in a message has a wire type that the encoding (Thrift or protobuf) does not define.
    #[error(
        "type at byte {at} = {found:#04x}: must be a type that the message's encoding (Thrift or \
         Protocol Buffers) defines"
    )]
    BadWireType {
        /// The offset of the type, in bytes.
        at: usize,
        /// The type as a number.
        found: u8,
    },
    /// A field, element or key of a message has a type that differs from the schema.
    #[error("'{field}' at byte {at} has type {found}: must be {expected}, as in the schema")]
    WrongFieldType {
        /// The offset of the value, in bytes.
        at: usize,
        /// The name of the field, element or key whose type is wrong.
        field: String,
        /// The type in the message.
        found: &'static str,
        /// The type in the schema.
        expected: &'static str,
    },
    /// A length or count is negative.
    #[error("{what} at byte {at} = {found}: must not be negative")]
    NegativeLength {
        /// The name of the length or count.
        what: &'static str,
        /// The offset of the length or count, in bytes.
        at: usize,
        /// The length or count.
        found: i64,
    },
    /// A variable-length integer has more bytes than allowed.
    #[error("variable-length integer at byte {at}: must have at most {limit} bytes")]
    BadVarint {
        /// The offset of the integer's first byte.
        at: usize,
        /// The largest number of bytes that the integer may have.
        limit: usize,
    },
    /// An integer is outside the range of its type or of the values that are allowed.
    #[error("'{field}' = {found}: must be {allowed}")]
    OutOfRange {
        /// The name of the field.
        field: String,
        /// The integer as it was given.
        found: String,
        /// The range that is allowed.
        allowed: &'static str,
    },
    /// A required field of a struct is absent.
    #[error("struct '{container}': field '{field}' is required, but absent")]
    MissingField {
        /// The name of the struct.
        container: String,
        /// The name of the field.
        field: String,
    },
    /// A field of a struct occurs more than once.
    #[error("struct '{container}': field '{field}' occurs a second time: must occur once")]
    DuplicateField {
        /// The name of the struct.
        container: String,
        /// The name of the field.
        field: String,
    },
    /// A JSON member is not a field of the struct.
    #[error("struct '{container}': field = '{field}': must be {known}")]
    UnknownField {
        /// The name of the struct.
        container: String,
        /// The name of the JSON member.
        field: String,
        /// The names of the struct's fields, in words; only the first ones if there are many.
        known: String,
    },
    /// A union has no field, or more than one.
    #[error("union '{container}': fields set = {found}: must be exactly 1")]
    BadUnion {
        /// The name of the union.
        container: String,
        /// The number of fields that are set.
        found: usize,
    },
    /// A text in a message is not UTF-8.
    #[error("{what} is not UTF-8 at byte {at}")]
    BadUtf8 {
        /// What the text is, such as a field or a method name.
        what: String,
        /// The offset of the first byte that is not UTF-8.
        at: usize,
    },
    /// Text is not JSON, or the JSON does not fit the schema.
    #[error("bad JSON at line {line}, column {column}: {why}")]
    BadJson {
        /// The line of the error, from 1.
        line: usize,
        /// The column of the error, from 1; 0 if the error concerns the whole text.
        column: usize,
        /// What is wrong with the text at this position.
        why: String,
    },
    /// A value that the application writes as a message, or a Rust type into which it reads a
    /// record, does not fit the message type in the Thrift or gRPC interface.
    #[error("the application's value or type does not fit the interface: {why}")]
    BadValue {
        /// How the value or type and the interface differ.
        why: String,
    },
    /// A floating-point number that is not finite stands where the schema has no `double`.
    #[error("'{field}' is the float {found}: must be {expected}, as in the schema")]
    NotFinite {
        /// The field's name.
        field: String,
        /// The number.
        found: String,
        /// The type in the schema.
        expected: &'static str,
    },
    /// A JSON value has a type that differs from the schema.
    #[error("'{field}' is {found} in the JSON: must be {expected}, as in the schema")]
    WrongJsonType {
        /// The name of the field.
        field: String,
        /// The JSON type or value found.
        found: String,
        /// The type in the schema.
        expected: &'static str,
    },
    /// The text for binary data is not padded base64 (RFC 4648, section 4).
    #[error("'{field}' is not padded base64: {why}")]
    BadBase64 {
        /// The name of the field.
        field: String,
        /// What is wrong with the base64 text.
        why: String,
    },
    /// Bytes are not one BSON document, or JSON cannot be converted to one.
    #[error("bad BSON: {why}")]
    BadBson {
        /// What is wrong with the document.
        why: String,
    },
    /// An HTTP message is not one that [`crate::http`] accepts.
    #[error("bad HTTP message{}: {why}", .at.map(|at| format!(" at byte {at}")).unwrap_or_default())]
    BadHttp {
        /// The offset of the error in a received message, in bytes. `None` for a message to send,
        /// and for a received start line that is well-formed but not allowed.
        at: Option<usize>,
        /// What is wrong with the message.
        why: String,
    },
    /// The name or number of a compression codec is unknown.
    #[error("codec = '{found}': must be zstd (1), snappy (2) or gzip (3)")]
    UnknownCodec {
        /// The name or number as it was given.
        found: String,
    },
    /// The accelerator itself has failed, as a device may. The input may be valid, and a core can
    /// process it.
    #[error("the accelerator device failed: {why}")]
    Device {
        /// The message of the device.
        why: String,
    },
    /// The load balancer has no core to choose from.
    #[error("the load balancer LdB has no cores to choose from")]
    NoCore,
    /// The payload is not in the format that an accelerator or transformation needs.
    #[error("{step} needs {expected}, but the payload's format is {found}{hint}")]
    WrongFormat {
        /// The name of the accelerator or transformation.
        step: &'static str,
        /// The format of the payload.
        found: Format,
        /// The formats that are allowed.
        expected: &'static str,
        /// How to convert the payload; may be empty.
        hint: &'static str,
    },
    /// A custom accelerator has not processed the message.
    #[error("{name}: {why}")]
    Custom {
        /// The name of the custom accelerator.
        name: String,
        /// The kind of error: `body_failed`, `no_body`, `other_kind`, `wrong_direction` or
        /// `wrong_facts`.
        reason: &'static str,
        /// Why the accelerator has not processed the message.
        why: String,
    },
    /// An accelerator cannot process a message of this kind or in this state, for example a message
    /// without a method.
    #[error("{step} cannot process this message: {why}")]
    NoCall {
        /// The name of the accelerator.
        step: &'static str,
        /// Why the accelerator cannot process the message.
        why: &'static str,
    },
}

impl AccelError {
    /// Returns a stable machine-readable name of the kind of error, such as `bad_checksum`, for
    /// counters and tests.
    pub fn reason(&self) -> &'static str {
        match self {
            AccelError::Truncated { .. } => "truncated",
            AccelError::TrailingBytes { .. } => "trailing_bytes",
            AccelError::TooLarge { .. } => "too_large",
            AccelError::TooDeep { .. } => "too_deep",
            AccelError::ZipBomb { .. } => "zip_bomb",
            AccelError::BadChecksum { .. } => "bad_checksum",
            AccelError::BadSegment { .. } => "bad_segment",
            AccelError::WrongConnection { .. } => "wrong_connection",
            AccelError::SegmentGap { .. } => "segment_gap",
            AccelError::SegmentOverlap { .. } => "segment_overlap",
            AccelError::NoSession { .. } => "no_session",
            AccelError::BadRecord { .. } => "bad_record",
            AccelError::RecordOverflow { .. } => "record_overflow",
            AccelError::BadTag { .. } => "bad_tag",
            AccelError::UnexpectedContentType { .. } => "unexpected_content_type",
            AccelError::SequenceExhausted { .. } => "sequence_exhausted",
            AccelError::BadKey { .. } => "bad_key",
            AccelError::BadFrame { .. } => "bad_frame",
            AccelError::CorruptData { .. } => "corrupt_data",
            AccelError::BadMagicOrVersion { .. } => "bad_magic_or_version",
            AccelError::BadMessageType { .. } => "bad_message_type",
            AccelError::UnknownMethod { .. } => "unknown_method",
            AccelError::UnknownService { .. } => "unknown_service",
            AccelError::BadWireType { .. } => "bad_wire_type",
            AccelError::WrongFieldType { .. } => "wrong_field_type",
            AccelError::NegativeLength { .. } => "negative_length",
            AccelError::BadVarint { .. } => "bad_varint",
            AccelError::OutOfRange { .. } => "out_of_range",
            AccelError::MissingField { .. } => "missing_field",
            AccelError::DuplicateField { .. } => "duplicate_field",
            AccelError::UnknownField { .. } => "unknown_field",
            AccelError::BadUnion { .. } => "bad_union",
            AccelError::BadUtf8 { .. } => "bad_utf8",
            AccelError::BadJson { .. } => "bad_json",
            AccelError::BadValue { .. } => "bad_value",
            AccelError::NotFinite { .. } | AccelError::WrongJsonType { .. } => "wrong_json_type",
            AccelError::BadBase64 { .. } => "bad_base64",
            AccelError::BadBson { .. } => "bad_bson",
            AccelError::BadHttp { .. } => "bad_http",
            AccelError::UnknownCodec { .. } => "unknown_codec",
            AccelError::Device { .. } => "device_failed",
            AccelError::NoCore => "no_core",
            AccelError::WrongFormat { .. } => "wrong_format",
            AccelError::NoCall { .. } => "no_call",
            AccelError::Custom { reason, .. } => reason,
        }
    }

    /// Converts an error of the JSON library.
    pub(crate) fn from_json(error: serde_json::Error) -> AccelError {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        // Line and column have fields of their own.
        let why = text
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        AccelError::BadJson { line, column, why }
    }
}

/// An [`AccelError`] as a serde error, for a value that cannot be written, or cannot be read as the
/// requested type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueError(pub(crate) AccelError);

impl std::fmt::Display for ValueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ValueError {}

impl From<AccelError> for ValueError {
    fn from(error: AccelError) -> ValueError {
        ValueError(error)
    }
}

impl serde::de::Error for ValueError {
    fn custom<T: std::fmt::Display>(why: T) -> ValueError {
        let why = why.to_string();
        ValueError(AccelError::BadValue { why })
    }
}

impl serde::ser::Error for ValueError {
    fn custom<T: std::fmt::Display>(why: T) -> ValueError {
        serde::de::Error::custom(why)
    }
}
