//! Fuzz target of Thrift RPC messages: any bytes are read as a message or refused. A message that
//! is read can be written with the same meaning.

use accelflow_accel::Limits;
use accelflow_accel::rpc::{MessageType, read_message, write_message};
use accelflow_accel::thrift::Schema;

/// Reads bytes as a Thrift RPC message, after a valid frame length if the flag is true. Panics
/// unless the bytes are refused with an error message, or the Thrift message is equal after writing
/// and reading.
pub fn check(input: (bool, &[u8])) {
    let (frame, bytes) = input;
    let mut message = Vec::new();
    if frame {
        message.extend((bytes.len() as u32).to_be_bytes());
    }
    message.extend(bytes);
    let (schema, limits) = (Schema::social_network(), Limits::default());
    match read_message(&schema, &message, &limits) {
        Ok((mut call, body)) => {
            let again = write_message(&call, &message[body..], &limits).expect("no longer");
            // Replies are written with the method's name alone.
            call.multiplexed &=
                matches!(call.message_type, MessageType::Call | MessageType::Oneway);
            let (same, at) = read_message(&schema, &again, &limits).expect("just written");
            assert_eq!((&same, &again[at..]), (&call, &message[body..]));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
