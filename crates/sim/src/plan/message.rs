//! The sizes of messages, and their forms: compressed or not.

use accelflow_trace::Accel;
use accelflow_units::Bytes;

/// The form of a message before an operation: compressed or not, and the compression ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// Whether the message is compressed before the operation.
    pub compressed: bool,
    /// Size of a message before compression divided by its compressed size. It is set for
    /// uncompressed messages too, since Cmp may compress them.
    pub ratio: f64,
}

/// The size of one message of one request, and the mean size of the messages of the same trace in
/// the same chain. Both are sizes before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSize {
    /// The size of the message before compression.
    pub size: Bytes,
    /// The mean size, before compression, of the messages that the same trace of the same chain
    /// handles.
    pub mean: Bytes,
}

impl Form {
    /// The form of a message that is not compressed, and that Cmp does not make smaller: the ratio
    /// is 1.
    pub const PLAIN: Form = Form {
        compressed: false,
        ratio: 1.0,
    };

    /// Returns whether a message is compressed after an operation of `accel`, given that the
    /// message has this form before the operation.
    #[inline]
    pub fn after(self, accel: Accel) -> bool {
        match accel {
            Accel::Cmp => true,
            Accel::Dcmp => false,
            _ => self.compressed,
        }
    }

    #[inline]
    pub(crate) fn size_of(self, message: MessageSize, compressed: bool) -> Bytes {
        if compressed {
            Bytes((message.size.get() as f64 / self.ratio).ceil() as u64)
        } else {
            message.size
        }
    }
}

impl MessageSize {
    /// The size, for this message, of a payload with the size `mean` on average.
    pub(super) fn spread(self, mean: Bytes) -> Bytes {
        if self.mean == Bytes(0) {
            return mean;
        }
        let factor = self.size.get() as f64 / self.mean.get() as f64;
        Bytes((mean.get() as f64 * factor).round() as u64)
    }
}
