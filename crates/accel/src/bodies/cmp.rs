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
/// few KB are compressed once and read once, so speed matters more than a slightly smaller output.
pub const DEFAULT_LEVEL: i32 = 1;

/// The gzip level: the fastest, for the same reason as [`DEFAULT_LEVEL`].
const GZIP_LEVEL: flate2::Compression = flate2::Compression::fast();

/// The compression accelerator. Compresses the payload of a job (a message). If the payload is a
/// JSON envelope, an object whose member `data` has the actual data in base64, compresses these
/// data instead. Stores the format of the data before compression, and the codec, in `job.packed`.
/// The codec is the one that the job's gRPC call states, or else the one given to [`Cmp::new`].
/// Refuses a payload that is already compressed (`wrong_format`).
///
/// Dcmp refuses Zstandard or Snappy data of more than 64 KiB after decompression if they were
/// compressed by a factor above [`Limits::max_decompression_ratio`]. To stay below this factor, Cmp
/// stores as many of the first bytes as necessary uncompressed, in raw blocks (Zstandard) or a
/// literal (Snappy). Any decoder can read the output.
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
    /// that state a codec. `level` applies only to Zstandard.
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
        let packed = self.pack(method, data)?;
        let stored = match method {
            Codec::Zstd | Codec::Snappy => self.limits.stored_bytes(data.len(), packed.len()),
            Codec::Gzip => 0,
        };
        if stored == 0 {
            return Ok(packed);
        }
        let (plain, rest) = data.split_at(stored);
        let rest = self.pack(method, rest)?;
        Ok(match method {
            Codec::Snappy => after_literal(data.len(), plain, &rest),
            _ => after_raw_blocks(data.len(), plain, &rest),
        })
    }

    fn pack(&mut self, method: Codec, data: &[u8]) -> Result<Vec<u8>, AccelError> {
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

/// The size of the largest block of a Zstandard frame, in bytes.
const ZSTD_BLOCK: usize = 128 * 1024;

/// Returns a Zstandard frame (RFC 8878, section 3.1.1) of `size` bytes of content: `plain` in raw
/// blocks, then the blocks of `frame`, which must be of the library and without a dictionary. They
/// stay valid: they refer back only to content of their own frame, and raw blocks leave a decoder's
/// tables and repeated offsets unchanged.
fn after_raw_blocks(size: usize, plain: &[u8], frame: &[u8]) -> Vec<u8> {
    const SINGLE_SEGMENT: u8 = 1 << 5;
    const SIZE_OF_8_BYTES: u8 = 3 << 6;
    let header = |size: usize| {
        // Bit 0 says that the block is the last, and bits 1 and 2 its type: 0 is raw.
        let [low, middle, high, ..] = (size << 3).to_le_bytes();
        [low, middle, high]
    };
    let mut out = frame[..4].to_vec();
    out.push(SINGLE_SEGMENT | SIZE_OF_8_BYTES);
    out.extend((size as u64).to_le_bytes());
    for block in plain.chunks(ZSTD_BLOCK) {
        out.extend(header(block.len()));
        out.extend(block);
    }
    let descriptor = frame[4];
    let single = descriptor & SINGLE_SEGMENT != 0;
    let content_size = match descriptor >> 6 {
        0 => usize::from(single),
        flag => 1 << flag,
    };
    let blocks = 5 + usize::from(!single) + content_size;
    out.extend(&frame[blocks..]);
    out
}

/// Returns a Snappy block of `size` bytes of content: `plain` as a literal, then the elements of
/// `block`, which refer back only to content of their own block.
fn after_literal(size: usize, plain: &[u8], block: &[u8]) -> Vec<u8> {
    const LITERAL_WITH_LENGTH_OF_4_BYTES: u8 = 63 << 2;
    let mut out = Vec::with_capacity(10 + plain.len() + block.len());
    let mut left = size;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
    out.push(LITERAL_WITH_LENGTH_OF_4_BYTES);
    out.extend((plain.len() as u32 - 1).to_le_bytes());
    out.extend(plain);
    let length = block.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    out.extend(&block[length..]);
    out
}
