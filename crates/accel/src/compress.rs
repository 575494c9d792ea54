//! Cmp and Dcmp: Zstandard, Snappy and gzip, with bounds on what an input may inflate to.

use std::fmt;
use std::io::{ErrorKind, Read, Write};

use accelflow_trace::{Accel, Format};
use zstd::zstd_safe::{self, CCtx, DCtx, DParameter, InBuffer, OutBuffer};

use crate::error::AccelError;
use crate::job::{Accelerator, Call, Job, Packed};
use crate::limits::Limits;
use crate::transform::payload;

/// The default Zstandard level: 1, the fastest of the positive levels. An assumption: messages of
/// a few KB are compressed once and read once, so speed matters more than the last percent.
pub const DEFAULT_LEVEL: i32 = 1;

/// The level of gzip, the fastest, for the same reason.
const GZIP_LEVEL: flate2::Compression = flate2::Compression::fast();

/// The largest window a streamed Zstandard frame may ask for: 2^24 bytes, the message limit.
const MAX_WINDOW_LOG: u32 = 24;
/// Output is inflated in steps of this size when a frame does not give its content size.
const STEP: usize = 128 * 1024;

/// A compression method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Zstandard frames (RFC 8878).
    #[default]
    Zstd,
    /// Snappy's raw block format.
    Snappy,
    /// gzip (RFC 1952), one member.
    Gzip,
}

impl Codec {
    /// All methods.
    pub const ALL: [Codec; 3] = [Codec::Zstd, Codec::Snappy, Codec::Gzip];

    /// The method's name in JSON envelopes and HTTP headers.
    pub const fn name(self) -> &'static str {
        match self {
            Codec::Zstd => "zstd",
            Codec::Snappy => "snappy",
            Codec::Gzip => "gzip",
        }
    }

    /// The method's number in Thrift envelopes.
    pub const fn number(self) -> u8 {
        match self {
            Codec::Zstd => 1,
            Codec::Snappy => 2,
            Codec::Gzip => 3,
        }
    }

    /// The method with a given number.
    ///
    /// # Errors
    /// `unknown_codec`.
    pub fn from_number(number: i64) -> Result<Codec, AccelError> {
        let known = Codec::ALL
            .into_iter()
            .find(|codec| i64::from(codec.number()) == number);
        known.ok_or_else(|| AccelError::UnknownCodec {
            found: number.to_string(),
        })
    }

    /// The method with a given name.
    ///
    /// # Errors
    /// `unknown_codec`.
    pub fn from_name(name: &str) -> Result<Codec, AccelError> {
        let known = Codec::ALL.into_iter().find(|codec| codec.name() == name);
        known.ok_or_else(|| AccelError::UnknownCodec {
            found: name.to_owned(),
        })
    }
}

/// The compression accelerator: the payload into `codec` data, for a gRPC message that of its call.
/// Sets `job.packed`.
pub struct Cmp {
    codec: Codec,
    level: i32,
    zstd: CCtx<'static>,
    snappy: snap::raw::Encoder,
    limits: Limits,
}

impl Cmp {
    /// A compression body; `level` matters to Zstandard alone.
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
            zstd: CCtx::create(),
            snappy,
            limits,
        })
    }

    /// Compresses `data`.
    ///
    /// # Errors
    /// `too_large`, or the codec's own refusal as `corrupt_data`.
    pub fn compress(&mut self, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        self.compress_with(self.codec, data)
    }

    fn compress_with(&mut self, method: Codec, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        AccelError::check_size("data to compress", data.len(), &self.limits)?;
        let codec = method.name();
        match method {
            Codec::Zstd => {
                let mut out = Vec::with_capacity(zstd_safe::compress_bound(data.len()));
                let done = self.zstd.compress(&mut out, data, self.level);
                done.map_err(zstd_failure)?;
                Ok(out)
            }
            Codec::Snappy => {
                let done = self.snappy.compress_vec(data);
                done.map_err(|error| AccelError::CorruptData {
                    codec,
                    why: error.to_string(),
                })
            }
            Codec::Gzip => {
                let room = Vec::with_capacity(data.len() / 2);
                let mut encoder = flate2::write::GzEncoder::new(room, GZIP_LEVEL);
                let done = encoder.write_all(data).and_then(|()| encoder.finish());
                done.map_err(|error| AccelError::CorruptData {
                    codec,
                    why: error.to_string(),
                })
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
            let (found, hint) = (job.format, "; decompress it first");
            let expected = "uncompressed data";
            return Err(AccelError::WrongFormat {
                step: "Cmp",
                found,
                expected,
                hint,
            });
        }
        let (data, format) = payload(job)?;
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
}

/// The decompression accelerator: compressed bytes (label str) into what they were, with the
/// codec and the format that `job.packed` names. Clears `job.packed`.
///
/// Takes the data out of a JSON envelope itself: of the paper's traces only T1 has a
/// transformation before Dcmp (Table II, Listing 1); T5, T6, T10 and T12 have none.
pub struct Dcmp {
    zstd: DCtx<'static>,
    snappy: snap::raw::Decoder,
    limits: Limits,
}

impl Dcmp {
    /// A decompression body with the given limits.
    pub fn new(limits: Limits) -> Dcmp {
        let mut zstd = DCtx::create();
        // The one parameter's value is a constant within the library's range.
        let _ = zstd.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG));
        Dcmp {
            zstd,
            snappy: snap::raw::Decoder::new(),
            limits,
        }
    }

    /// Decompresses `data`, which must be exactly one frame or block.
    ///
    /// # Errors
    /// `truncated`, `trailing_bytes`, `corrupt_data`, `zip_bomb`, `too_large`.
    pub fn decompress(&mut self, codec: Codec, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        AccelError::check_size("data to decompress", data.len(), &self.limits)?;
        match codec {
            Codec::Zstd => self.inflate_zstd(data),
            Codec::Snappy => self.inflate_snappy(data),
            Codec::Gzip => self.inflate_gzip(data),
        }
    }

    /// DEFLATE makes at most 1,032 bytes of one, so that what an honest client sends may be well
    /// beyond the ratio that is allowed elsewhere: only the absolute limit is applied.
    fn inflate_gzip(&mut self, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        let limit = self.limits.max_decompressed_bytes;
        let mut rest = data;
        let mut out = Vec::new();
        let decoder = flate2::bufread::GzDecoder::new(&mut rest);
        let most = u64::try_from(limit).map_or(u64::MAX, |limit| limit.saturating_add(1));
        let read = decoder.take(most).read_to_end(&mut out);
        if out.len() > limit {
            let compressed = data.len();
            return Err(AccelError::ZipBomb { compressed, limit });
        }
        match read {
            Ok(_) if rest.is_empty() => Ok(out),
            Ok(_) => Err(AccelError::TrailingBytes {
                what: "gzip member",
                at: data.len() - rest.len(),
                extra: rest.len(),
            }),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(AccelError::Truncated {
                what: "gzip member",
                at: data.len(),
                need: 1,
                have: 0,
            }),
            Err(error) => Err(AccelError::CorruptData {
                codec: Codec::Gzip.name(),
                why: error.to_string(),
            }),
        }
    }

    fn inflate_zstd(&mut self, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        check_zstd_frame(data)?;
        let limit = self.limits.decompressed_limit(data.len());
        match zstd_safe::get_frame_content_size(data) {
            Ok(Some(size)) => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                if size > limit {
                    return Err(AccelError::ZipBomb {
                        compressed: data.len(),
                        limit,
                    });
                }
                let mut out = Vec::with_capacity(size);
                self.zstd.decompress(&mut out, data).map_err(zstd_failure)?;
                Ok(out)
            }
            Ok(None) => self.stream_zstd(data, limit),
            Err(_) => {
                let why = "the frame header is invalid".to_owned();
                Err(AccelError::CorruptData {
                    codec: Codec::Zstd.name(),
                    why,
                })
            }
        }
    }

    /// Inflates a frame of unknown size step by step, and stops at the limit.
    fn stream_zstd(&mut self, data: &[u8], limit: usize) -> Result<Vec<u8>, AccelError> {
        let _ = self.zstd.reset(zstd_safe::ResetDirective::SessionOnly);
        let mut input = InBuffer::around(data);
        let mut out = Vec::new();
        let mut step = vec![0; STEP];
        loop {
            let mut piece = OutBuffer::around(&mut step[..]);
            let hint = self.zstd.decompress_stream(&mut piece, &mut input);
            let hint = hint.map_err(zstd_failure)?;
            let produced = piece.pos();
            if out.len() + produced > limit {
                return Err(AccelError::ZipBomb {
                    compressed: data.len(),
                    limit,
                });
            }
            out.extend_from_slice(&step[..produced]);
            if hint == 0 {
                return Ok(out);
            }
            if input.pos == data.len() && produced < STEP {
                return Err(AccelError::Truncated {
                    what: "zstd frame",
                    at: data.len(),
                    need: hint,
                    have: 0,
                });
            }
        }
    }

    fn inflate_snappy(&mut self, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        let codec = Codec::Snappy.name();
        let corrupt = |error: snap::Error| AccelError::CorruptData {
            codec,
            why: error.to_string(),
        };
        let size = snap::raw::decompress_len(data).map_err(corrupt)?;
        let limit = self.limits.decompressed_limit(data.len());
        if size > limit {
            return Err(AccelError::ZipBomb {
                compressed: data.len(),
                limit,
            });
        }
        self.snappy.decompress_vec(data).map_err(corrupt)
    }
}

impl fmt::Debug for Dcmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dcmp")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Accelerator for Dcmp {
    fn kind(&self) -> Accel {
        Accel::Dcmp
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let Some(packed) = job.packed else {
            return Err(AccelError::NoCall {
                step: "Dcmp",
                why: "the payload is not compressed",
            });
        };
        if job.format != Format::Str && job.envelope.is_none() {
            let (found, hint) = (job.format, "; transform it to string first");
            return Err(AccelError::WrongFormat {
                step: "Dcmp",
                found,
                expected: "str",
                hint,
            });
        }
        let (data, _) = payload(job)?;
        let inflated = self.decompress(packed.codec, &data)?;
        job.bytes = inflated;
        job.format = packed.format;
        job.packed = None;
        job.envelope = None;
        Ok(())
    }
}

const ZSTD_MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// Checks that `data` is one whole Zstandard frame: magic number, then its extent.
fn check_zstd_frame(data: &[u8]) -> Result<(), AccelError> {
    let (what, need) = ("zstd frame", ZSTD_MAGIC.len());
    if data.len() < need {
        return Err(AccelError::Truncated {
            what,
            at: 0,
            need,
            have: data.len(),
        });
    }
    if data[..need] != ZSTD_MAGIC {
        let why = format!(
            "begins with {:02x?}, not the magic number {ZSTD_MAGIC:02x?}",
            &data[..need]
        );
        return Err(AccelError::BadFrame { what, at: 0, why });
    }
    match zstd_safe::find_frame_compressed_size(data) {
        Ok(end) if end < data.len() => Err(AccelError::TrailingBytes {
            what,
            at: end,
            extra: data.len() - end,
        }),
        Ok(_) => Ok(()),
        Err(ZSTD_SOURCE_SIZE_WRONG) => {
            let have = data.len();
            Err(AccelError::Truncated {
                what,
                at: 0,
                need: have + 1,
                have,
            })
        }
        Err(code) => Err(zstd_failure(code)),
    }
}

/// The library's code for input that ends early: `ZSTD_error_srcSize_wrong`, whose number 72 is
/// documented as stable.
const ZSTD_SOURCE_SIZE_WRONG: usize = 72usize.wrapping_neg();

fn zstd_failure(code: usize) -> AccelError {
    let why = zstd_safe::get_error_name(code).to_owned();
    AccelError::CorruptData {
        codec: Codec::Zstd.name(),
        why,
    }
}
