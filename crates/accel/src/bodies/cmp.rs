//! Cmp: compression with Zstandard, Snappy or gzip.

use std::fmt;
use std::io::Write;

use accelflow_trace::{Accel, Format};
use zstd::zstd_safe::{self, CCtx};

use crate::accelerator::Accelerator;
use crate::call::Call;
use crate::codec::Codec;
use crate::error::AccelError;
use crate::job::{Job, Packed};
use crate::limits::Limits;

/// The default Zstandard level: 1, the fastest of the positive levels. An assumption: messages of a
/// few KB are compressed once and read once, so speed matters more than the last percent of
/// compression.
pub const DEFAULT_LEVEL: i32 = 1;

/// The gzip level: the fastest, for the same reason as [`DEFAULT_LEVEL`].
const GZIP_LEVEL: flate2::Compression = flate2::Compression::fast();

/// The compression accelerator. Compresses the payload of a job, or the data of its JSON envelope.
/// Stores the codec and the format of the uncompressed data in `job.packed`. Uses the codec of the
/// job's gRPC call if there is one, otherwise the codec given to [`Cmp::new`].
pub struct Cmp {
    codec: Codec,
    level: i32,
    /// The compression context. `None` until it is needed, and after [`Accelerator::forget`].
    zstd: Option<CCtx<'static>>,
    snappy: snap::raw::Encoder,
    limits: Limits,
}

impl Cmp {
    /// Creates the compression accelerator. `codec` is for all messages except those of gRPC calls
    /// with a codec of their own. `level` applies only to Zstandard.
    ///
    /// # Errors
    /// `out_of_range` for a level outside 1 to 22.
    pub fn new(codec: Codec, level: i32, limits: Limits) -> Result<Cmp, AccelError> {
        if !(1..=22).contains(&level) {
            let (field, found) = ("Zstandard level".to_owned(), level.to_string());
            return Err(AccelError::OutOfRange {
                field,
                found,
                allowed: "1 to 22",
            });
        }
        let snappy = snap::raw::Encoder::new();
        Ok(Cmp {
            codec,
            level,
            zstd: None,
            snappy,
            limits,
        })
    }

    /// Compresses `data` with the codec given to [`Cmp::new`].
    ///
    /// # Errors
    /// `too_large` for `data` beyond [`Limits::max_message_bytes`]; `corrupt_data` for an error of
    /// the codec's library.
    pub fn compress(&mut self, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        self.compress_with(self.codec, data)
    }

    fn compress_with(&mut self, method: Codec, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        self.limits
            .check_size("bytes of the data to compress", data.len())?;
        match method {
            Codec::Zstd => {
                let mut out = Vec::with_capacity(zstd_safe::compress_bound(data.len()));
                let zstd = self.zstd.get_or_insert_with(CCtx::create);
                let done = zstd.compress(&mut out, data, self.level);
                done.map_err(|code| method.corrupt(zstd_safe::get_error_name(code)))?;
                Ok(out)
            }
            Codec::Snappy => {
                let done = self.snappy.compress_vec(data);
                done.map_err(|error| method.corrupt(error))
            }
            Codec::Gzip => {
                let room = Vec::with_capacity(data.len() / 2);
                let mut encoder = flate2::write::GzEncoder::new(room, GZIP_LEVEL);
                let done = encoder.write_all(data).and_then(|()| encoder.finish());
                done.map_err(|error| method.corrupt(error))
            }
        }
    }
}

impl fmt::Debug for Cmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (codec, level) = (&self.codec, &self.level);
        f.debug_struct("Cmp")
            .field("codec", codec)
            .field("level", level)
            .finish_non_exhaustive()
    }
}

impl Accelerator for Cmp {
    fn kind(&self) -> Accel {
        Accel::Cmp
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        if job.packed.is_some() {
            let (found, hint) = (
                job.format,
                "; the payload is compressed: decompress it first",
            );
            let expected = "uncompressed data";
            return Err(AccelError::WrongFormat {
                step: "Cmp",
                found,
                expected,
                hint,
            });
        }
        let (data, format) = job.data()?;
        let codec = match &job.call {
            Call::Grpc(call) => call.codec.unwrap_or(self.codec),
            _ => self.codec,
        };
        job.bytes = self.compress_with(codec, &data)?;
        job.packed = Some(Packed { codec, format });
        job.format = Format::Str;
        job.envelope = None;
        job.record = None;
        Ok(())
    }

    fn forget(&mut self) {
        self.zstd = None;
        self.snappy = snap::raw::Encoder::new();
    }
}
