//! Dcmp: decompression of Zstandard, Snappy and gzip, within limits on the size of the output.

use std::fmt;
use std::io::{ErrorKind, Read};

use accelflow_trace::{Accel, Format};
use zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer};

use crate::accelerator::Accelerator;
use crate::codec::Codec;
use crate::error::AccelError;
use crate::job::Job;
use crate::json::check_received;
use crate::limits::Limits;

/// The largest window that a streamed Zstandard frame may request: 2^24 bytes, the message limit.
const MAX_WINDOW_LOG: u32 = 24;
/// The step size of inflation for frames that do not state their content size.
const STEP: usize = 128 * 1024;

/// The decompression accelerator. Decompresses the payload of a job (a message) with the codec in
/// `job.packed`. Sets the payload's format to the one in `job.packed`, and clears `job.packed`. The
/// compressed payload has the format `Str` or is a JSON envelope.
///
/// If the decompressed data are JSON, Dcmp checks that they are valid JSON within [`Limits`]. JSON
/// may have twice the depth and 1.5 times the elements of the limits, since a map whose keys are
/// not text becomes a list of pairs.
///
/// A JSON envelope is an object whose member `data` has the compressed data in base64. Dcmp first
/// extracts these data. The paper's traces T5, T6, T10 and T12 need this: of the traces that
/// decompress, only T1 extracts the data before Dcmp, by a transformation (Table II, Listing 1).
pub struct Dcmp {
    /// The decompression context. `None` until it is needed, and after [`Accelerator::forget`].
    zstd: Option<DCtx<'static>>,
    snappy: snap::raw::Decoder,
    limits: Limits,
}

impl Dcmp {
    /// Creates the decompression accelerator, with limits on its input and output.
    pub fn new(limits: Limits) -> Dcmp {
        Dcmp {
            zstd: None,
            snappy: snap::raw::Decoder::new(),
            limits,
        }
    }

    fn zstd(&mut self) -> &mut DCtx<'static> {
        self.zstd.get_or_insert_with(|| {
            let mut zstd = DCtx::create();
            // The value is a constant within the library's range.
            let _ = zstd.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG));
            zstd
        })
    }

    /// Decompresses `data`, which must be exactly one Zstandard frame, Snappy block or gzip member.
    ///
    /// # Errors
    /// `truncated`, `trailing_bytes`, `corrupt_data`, `zip_bomb`, `too_large`; `bad_frame` for a
    /// Zstandard frame with a wrong magic number.
    pub fn decompress(&mut self, codec: Codec, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        self.limits
            .check_size("bytes of the data to decompress", data.len())?;
        match codec {
            Codec::Zstd => self.inflate_zstd(data),
            Codec::Snappy => self.inflate_snappy(data),
            Codec::Gzip => self.inflate_gzip(data),
        }
    }

    /// Inflates gzip data under the absolute limit only. DEFLATE expands a byte to at most 1,032,
    /// so valid data may exceed the ratio allowed for the other methods.
    fn inflate_gzip(&mut self, data: &[u8]) -> Result<Vec<u8>, AccelError> {
        let limit = self.limits.max_decompressed_bytes;
        let mut rest = data;
        let mut out = Vec::new();
        let decoder = flate2::bufread::GzDecoder::new(&mut rest);
        let most = u64::try_from(limit).map_or(u64::MAX, |limit| limit.saturating_add(1));
        let read = decoder.take(most).read_to_end(&mut out);
        if out.len() > limit {
            return Err(AccelError::ZipBomb {
                compressed: data.len(),
                limit,
                setting: "max_decompressed_bytes",
            });
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
                    return Err(self.limits.inflated(data.len()));
                }
                let mut out = Vec::with_capacity(size);
                self.zstd()
                    .decompress(&mut out, data)
                    .map_err(zstd_failure)?;
                Ok(out)
            }
            Ok(None) => self.stream_zstd(data, limit),
            Err(_) => {
                let why = "the Zstandard frame header is invalid".to_owned();
                Err(AccelError::CorruptData {
                    codec: Codec::Zstd.name(),
                    why,
                })
            }
        }
    }

    /// Inflates a frame of unknown size in steps, and stops at the limit.
    fn stream_zstd(&mut self, data: &[u8], limit: usize) -> Result<Vec<u8>, AccelError> {
        let zstd = self.zstd();
        let _ = zstd.reset(zstd_safe::ResetDirective::SessionOnly);
        let mut input = InBuffer::around(data);
        let mut out = Vec::new();
        let mut step = vec![0; STEP];
        loop {
            let mut piece = OutBuffer::around(&mut step[..]);
            let hint = zstd.decompress_stream(&mut piece, &mut input);
            let hint = hint.map_err(zstd_failure)?;
            let produced = piece.pos();
            if out.len() + produced > limit {
                return Err(self.limits.inflated(data.len()));
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
            return Err(self.limits.inflated(data.len()));
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
                why: "its payload is not compressed",
            });
        };
        if job.format != Format::Str && job.envelope.is_none() {
            let (found, hint) = (job.format, "; transform the payload to str first");
            return Err(AccelError::WrongFormat {
                step: "Dcmp",
                found,
                expected: "str",
                hint,
            });
        }
        let (data, _) = job.data()?;
        let inflated = self.decompress(packed.codec, &data)?;
        if packed.format == Format::Json {
            check_received(&inflated, &self.limits)?;
        }
        job.bytes = inflated;
        job.format = packed.format;
        job.packed = None;
        job.envelope = None;
        Ok(())
    }

    fn forget(&mut self) {
        self.zstd = None;
        self.snappy = snap::raw::Decoder::new();
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
            "magic number = {:02x?}: must be {ZSTD_MAGIC:02x?}",
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

/// The library's error code for truncated input, `ZSTD_error_srcSize_wrong`. Its number 72 is
/// documented as stable.
const ZSTD_SOURCE_SIZE_WRONG: usize = 72usize.wrapping_neg();

fn zstd_failure(code: usize) -> AccelError {
    Codec::Zstd.corrupt(zstd_safe::get_error_name(code))
}
