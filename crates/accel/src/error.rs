//! The error type of the accelerators.

use accelflow_trace::Format;

/// The error of an accelerator that refused its input.
///
/// Messages name the place (byte offset in the accelerator's input), the value found and what is
/// allowed. [`AccelError::reason`] is a stable name for counters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccelError {
    /// The input ends inside a value.
    #[error("truncated: {what} at byte {at} needs {need} bytes, the input has {have}")]
    Truncated {
        /// The value that was being read.
        what: &'static str,
        /// Offset of its first byte.
        at: usize,
        /// Bytes it needs.
        need: usize,
        /// Bytes left.
        have: usize,
    },
    /// Bytes follow the end of the message.
    #[error("{extra} unexpected bytes follow the end of the {what} at byte {at}")]
    TrailingBytes {
        /// The value that ended.
        what: &'static str,
        /// Offset of its end.
        at: usize,
        /// The number of bytes that follow.
        extra: usize,
    },
    /// A size exceeds its limit.
    #[error("{what} has size {size}; at most {limit} is allowed")]
    TooLarge {
        /// The value that is too large.
        what: &'static str,
        /// Its size or count.
        size: usize,
        /// The limit that applies.
        limit: usize,
    },
    /// Structs or containers are nested too deeply.
    #[error("nesting deeper than {limit} at byte {at}")]
    TooDeep {
        /// Offset at which the limit was passed.
        at: usize,
        /// The allowed depth.
        limit: usize,
    },
    /// A decompressed payload would exceed its bound.
    #[error(
        "decompression bomb: {compressed} compressed bytes inflate to more than {limit} bytes, \
         the most allowed for that input"
    )]
    ZipBomb {
        /// Size of the compressed input.
        compressed: usize,
        /// The limit in bytes, from [`crate::Limits::decompressed_limit`]; for gzip
        /// [`crate::Limits::max_decompressed_bytes`].
        limit: usize,
    },
    /// A checksum does not match.
    #[error("{protocol} checksum at byte {at} is {found:#06x}, computed {computed:#06x}")]
    BadChecksum {
        /// The protocol of the checksum.
        protocol: &'static str,
        /// Offset of the checksum field.
        at: usize,
        /// The value in the header.
        found: u16,
        /// The checksum of the bytes.
        computed: u16,
    },
    /// The header of a packet is not one that [`crate::tcp`] accepts.
    #[error("bad segment at byte {at}: {why}")]
    BadSegment {
        /// Offset of the packet or field.
        at: usize,
        /// The fault.
        why: String,
    },
    /// A packet belongs to another connection.
    #[error("segment at byte {at} has the addresses {found}; this connection receives {expected}")]
    WrongConnection {
        /// Offset of the packet.
        at: usize,
        /// "source > destination" of the packet.
        found: String,
        /// "source > destination" of the connection.
        expected: String,
    },
    /// Bytes are missing between two segments.
    #[error(
        "gap before the segment at byte {at}: sequence number {expected} is missing, {found} comes next"
    )]
    SegmentGap {
        /// Offset of the packet after the gap.
        at: usize,
        /// First sequence number that is missing.
        expected: u32,
        /// Sequence number of the packet.
        found: u32,
    },
    /// Two segments overlap in their sequence numbers but are not identical.
    #[error(
        "segment at byte {at} (sequence number {found}) overlaps data up to {expected}; only exact duplicates are allowed"
    )]
    SegmentOverlap {
        /// Offset of the packet.
        at: usize,
        /// The next sequence number expected.
        expected: u32,
        /// Sequence number of the packet.
        found: u32,
    },
    /// The job has no session for a layer that needs one.
    #[error("the job has no {layer} session")]
    NoSession {
        /// "TCP" or "TLS".
        layer: &'static str,
    },
    /// A TLS record's header or padding is wrong (RFC 8446, section 5).
    #[error("bad record at byte {at}: {why}")]
    BadRecord {
        /// Offset of the record or field.
        at: usize,
        /// The fault.
        why: String,
        /// The code of the TLS alert for this fault (section 6).
        alert: u8,
    },
    /// A TLS record is larger than the protocol allows (RFC 8446, sections 5.1 and 5.2).
    #[error("record at byte {at} holds {size} bytes; at most {limit} are allowed")]
    RecordOverflow {
        /// Offset of the record.
        at: usize,
        /// Its size.
        size: usize,
        /// The protocol's limit.
        limit: usize,
    },
    /// Authentication of a record failed.
    #[error("record at byte {at} fails authentication under sequence number {sequence}")]
    BadTag {
        /// Offset of the record.
        at: usize,
        /// The record sequence number tried.
        sequence: u64,
    },
    /// A decrypted record is not application data.
    #[error("record at byte {at} has content type {found}; only application data (23) is expected")]
    UnexpectedContentType {
        /// Offset of the record.
        at: usize,
        /// The inner content type.
        found: u8,
    },
    /// A record sequence number would wrap; the keys must be updated first.
    #[error("record sequence number {sequence} is the last; update the keys")]
    SequenceExhausted {
        /// The sequence number.
        sequence: u64,
    },
    /// Key material has the wrong size.
    #[error("{what} has {found} bytes; {allowed} are needed")]
    BadKey {
        /// The secret or key.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The size needed, in bytes.
        allowed: usize,
    },
    /// A transport frame or container is malformed.
    #[error("bad {what} at byte {at}: {why}")]
    BadFrame {
        /// The kind of frame.
        what: &'static str,
        /// Offset of the error.
        at: usize,
        /// The fault.
        why: String,
    },
    /// A compressed stream is corrupt.
    #[error("corrupt {codec} data: {why}")]
    CorruptData {
        /// Name of the codec.
        codec: &'static str,
        /// The message of the codec's library.
        why: String,
    },
    /// A Thrift message begins with an unknown protocol.
    #[error(
        "message at byte {at} begins with {found:#010x}; allowed are strict binary 0x8001.... and compact 0x82.1...."
    )]
    BadMagicOrVersion {
        /// Offset of the message.
        at: usize,
        /// Its first four bytes.
        found: u32,
    },
    /// A Thrift message type is unknown.
    #[error(
        "message type {found} at byte {at}; allowed are 1 (call), 2 (reply), 3 (exception), 4 (oneway)"
    )]
    BadMessageType {
        /// Offset of the byte.
        at: usize,
        /// The value.
        found: u8,
    },
    /// The function table has no such method.
    #[error("method = '{name}': must be {known}")]
    UnknownMethod {
        /// The name in the message.
        name: String,
        /// The first names in the table.
        known: String,
    },
    /// The schema has no such service.
    #[error("service = '{name}': must be {known}")]
    UnknownService {
        /// The name in the message.
        name: String,
        /// The services of the schema.
        known: String,
    },
    /// A type byte names no Thrift type.
    #[error("byte {at} is {found:#04x}, which is not a Thrift type")]
    BadWireType {
        /// Offset of the byte.
        at: usize,
        /// The value.
        found: u8,
    },
    /// A field, element or key has a type that differs from the schema.
    #[error("'{field}' at byte {at} has type {found}: must be {expected}, as in the schema")]
    WrongFieldType {
        /// Offset of the value.
        at: usize,
        /// The field.
        field: String,
        /// Type on the wire.
        found: &'static str,
        /// Type in the schema.
        expected: &'static str,
    },
    /// A length or count is negative.
    #[error("{what} at byte {at} = {found}: must not be negative")]
    NegativeLength {
        /// The kind of length.
        what: &'static str,
        /// Offset of the length.
        at: usize,
        /// The value.
        found: i64,
    },
    /// A variable-length integer does not end.
    #[error("variable-length integer at byte {at} is longer than {limit} bytes")]
    BadVarint {
        /// Offset of its first byte.
        at: usize,
        /// The most bytes it may have.
        limit: usize,
    },
    /// An integer does not fit its type.
    #[error("'{field}' = {found}: must be {allowed}")]
    OutOfRange {
        /// The field.
        field: String,
        /// The value.
        found: String,
        /// The range.
        allowed: &'static str,
    },
    /// A required field is absent.
    #[error("'{container}' lacks the required field '{field}'")]
    MissingField {
        /// The struct.
        container: String,
        /// The field.
        field: String,
    },
    /// A field occurs more than once.
    #[error("field '{field}' of '{container}' occurs a second time")]
    DuplicateField {
        /// The struct.
        container: String,
        /// The field.
        field: String,
    },
    /// A JSON member is not a field of the struct.
    #[error("'{container}': field = '{field}': must be one of {known}")]
    UnknownField {
        /// The struct.
        container: String,
        /// The member's name.
        field: String,
        /// The struct's fields.
        known: String,
    },
    /// A union has no field, or more than one.
    #[error("union '{container}': fields set = {found}: must be exactly 1")]
    BadUnion {
        /// The union.
        container: String,
        /// The number of fields that are set.
        found: usize,
    },
    /// A floating-point number cannot be expressed in JSON.
    #[error("'{field}' is {found}, which JSON cannot express")]
    NotFinite {
        /// The field.
        field: String,
        /// NaN or an infinity.
        found: String,
    },
    /// Text is not UTF-8.
    #[error("{what} is not UTF-8 at byte {at}")]
    BadUtf8 {
        /// The kind of text.
        what: String,
        /// Offset of the first bad byte.
        at: usize,
    },
    /// Text is not JSON, or the JSON does not fit the schema.
    #[error("bad JSON at line {line}, column {column}: {why}")]
    BadJson {
        /// Line, from 1.
        line: usize,
        /// Column, from 1 (0: the whole text).
        column: usize,
        /// The fault.
        why: String,
    },
    /// A value of an application's type does not fit the interface.
    #[error("a value does not fit the interface: {why}")]
    BadValue {
        /// The mismatch.
        why: String,
    },
    /// A JSON value has a type that differs from the schema.
    #[error("'{field}' is {found} in the JSON: must be {expected}, as in the schema")]
    WrongJsonType {
        /// The field.
        field: String,
        /// The type or value found.
        found: String,
        /// The type in the schema.
        expected: &'static str,
    },
    /// Binary data is not base64 (RFC 4648, section 4, padded).
    #[error("'{field}' is not padded base64: {why}")]
    BadBase64 {
        /// The field.
        field: String,
        /// The fault.
        why: String,
    },
    /// Bytes are not one BSON document, or JSON cannot be converted to one.
    #[error("bad BSON: {why}")]
    BadBson {
        /// The fault.
        why: String,
    },
    /// An HTTP message is not one that [`crate::http`] accepts.
    #[error("bad HTTP message at byte {at}: {why}")]
    BadHttp {
        /// Offset, as far as known.
        at: usize,
        /// The fault.
        why: String,
    },
    /// The compression method is not built in.
    #[error("codec = '{found}': must be zstd (1), snappy (2) or gzip (3)")]
    UnknownCodec {
        /// Name or number.
        found: String,
    },
    /// The accelerator itself has failed, as a device may. The input may be valid, and a core can
    /// process it.
    #[error("the device failed: {why}")]
    Device {
        /// The message of the device.
        why: String,
    },
    /// There is no core to choose from.
    #[error("the load balancer has no cores")]
    NoCore,
    /// The payload is not in the format that the step needs.
    #[error("{step} needs a payload in {expected}, but it is in {found}{hint}")]
    WrongFormat {
        /// Accelerator or transformation.
        step: &'static str,
        /// The format of the payload.
        found: Format,
        /// The formats allowed.
        expected: &'static str,
        /// How to convert the payload, or empty.
        hint: &'static str,
    },
    /// A custom accelerator cannot process the message: see [`AccelError::own`].
    #[error("{name}: {why}")]
    Own {
        /// Its name.
        name: String,
        /// The stable name of the kind of error.
        reason: &'static str,
        /// The fault.
        why: String,
    },
    /// The job lacks information about the message that the step needs.
    #[error("{step} cannot process this message: {why}")]
    NoCall {
        /// The accelerator.
        step: &'static str,
        /// The missing information.
        why: &'static str,
    },
}

impl AccelError {
    /// A stable machine-readable name of the kind of error, for counters and tests.
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
            AccelError::NotFinite { .. } => "not_finite",
            AccelError::BadUtf8 { .. } => "bad_utf8",
            AccelError::BadJson { .. } => "bad_json",
            AccelError::BadValue { .. } => "bad_value",
            AccelError::WrongJsonType { .. } => "wrong_json_type",
            AccelError::BadBase64 { .. } => "bad_base64",
            AccelError::BadBson { .. } => "bad_bson",
            AccelError::BadHttp { .. } => "bad_http",
            AccelError::UnknownCodec { .. } => "unknown_codec",
            AccelError::Device { .. } => "device_failed",
            AccelError::NoCore => "no_core",
            AccelError::WrongFormat { .. } => "wrong_format",
            AccelError::NoCall { .. } => "no_call",
            AccelError::Own { reason, .. } => reason,
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
