//! Splitting of large messages into segments.

use accelflow_units::Bytes;

use crate::ShapingError;

/// Whether and how a flow's messages are split into segments, "by splitting the payloads and
/// duplicating another message header" (ARCUS, section 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Splitting {
    /// Messages are never split: each message passes as a whole.
    #[default]
    Never,
    /// Messages of more than `segment` bytes are split into segments.
    Segments {
        /// The largest size of a segment, including its header.
        segment: Bytes,
        /// The size of a message's header, a copy of which is in every segment.
        header: Bytes,
    },
}

impl Splitting {
    /// Creates a splitting into segments of at most `segment` bytes, each with a header of `header`
    /// bytes.
    ///
    /// # Errors
    /// [`ShapingError::SegmentWithoutPayload`] for a segment that is no larger than the header.
    pub fn segments(segment: Bytes, header: Bytes) -> Result<Splitting, ShapingError> {
        let splitting = Splitting::Segments { segment, header };
        splitting.check()?;
        Ok(splitting)
    }

    /// Returns the number of segments of a message of `size` bytes.
    pub fn count(self, size: Bytes) -> u64 {
        match self {
            Splitting::Segments { segment, header } if size > segment => {
                // The payload of every segment except the last.
                let payload = segment.beyond(header).get().max(1);
                size.beyond(segment).get().div_ceil(payload) + 1
            }
            _ => 1,
        }
    }

    pub(crate) fn check(self) -> Result<(), ShapingError> {
        match self {
            Splitting::Segments { segment, header } if segment <= header => {
                Err(ShapingError::SegmentWithoutPayload { segment, header })
            }
            _ => Ok(()),
        }
    }

    /// Returns the size of the first segment of a message of `size` bytes, and the size of the rest
    /// with a repeated header; zero if there is no rest.
    pub(crate) fn cut(self, size: Bytes) -> (Bytes, Bytes) {
        match self {
            Splitting::Segments { segment, header } if size > segment => {
                (segment, size.beyond(segment) + header)
            }
            _ => (size, Bytes(0)),
        }
    }
}
