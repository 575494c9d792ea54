//! Files as streams of bytes, of which the position is known and the longest piece is bounded.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::error::ImportError;

/// The most bytes of a file that may pass without a span.
pub(crate) const LONGEST_PIECE: u64 = 64 << 20;

/// How far a source has been read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    read: Rc<Cell<u64>>,
    since: Rc<Cell<u64>>,
}

/// The bytes of a file, decompressed if it is compressed by gzip.
pub(crate) struct Source {
    bytes: Box<dyn BufRead>,
    progress: Progress,
}

/// SHA-256 of what has been read of a file, in hexadecimal once all of it has.
#[derive(Clone, Default)]
pub(crate) struct Digests(Rc<RefCell<Sha256>>);

impl Digests {
    /// SHA-256 of the bytes read, in hexadecimal.
    pub(crate) fn hex(&self) -> String {
        let digest = self.0.borrow().clone().finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A file whose bytes are digested as they are read.
struct Digested {
    file: File,
    digest: Digests,
}

impl Read for Digested {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.digest.0.borrow_mut().update(&into[..count]);
        Ok(count)
    }
}

impl Progress {
    /// Bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.read.get()
    }

    /// A span has been read: the next piece begins.
    pub(crate) fn piece(&self) {
        self.since.set(0);
    }

    fn advance(&self, count: usize) -> io::Result<()> {
        let count = count as u64;
        self.read.set(self.read.get() + count);
        self.since.set(self.since.get() + count);
        if self.since.get() > LONGEST_PIECE {
            let why = "more than 64 MiB without a span";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(())
    }
}

impl Source {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`ImportError::Read`] for a file that cannot be read, [`ImportError::Kind`] for an empty one.
    pub(crate) fn open(path: &str) -> Result<(Source, Digests), ImportError> {
        let failed = |error| ImportError::Read {
            file: path.to_owned(),
            error,
        };
        let file = File::open(Path::new(path)).map_err(failed)?;
        let digest = Digests::default();
        let file = Digested {
            file,
            digest: digest.clone(),
        };
        let mut raw = BufReader::with_capacity(1 << 16, file);
        let zipped = raw.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
        let bytes: Box<dyn BufRead> = match zipped {
            true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(raw))),
            false => Box::new(raw),
        };
        Ok((Source::of(bytes, path)?, digest))
    }

    /// The bytes of `bytes`, which belong to the file called `path`.
    ///
    /// # Errors
    /// As [`Source::open`].
    fn of(mut bytes: Box<dyn BufRead>, path: &str) -> Result<Source, ImportError> {
        let failed = |error| ImportError::Read {
            file: path.to_owned(),
            error,
        };
        if bytes.fill_buf().map_err(failed)?.is_empty() {
            return Err(ImportError::Kind {
                file: path.to_owned(),
                why: "the file is empty".to_owned(),
            });
        }
        let progress = Progress::default();
        Ok(Source { bytes, progress })
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// The bytes that come next, at least one unless the file has ended, without taking them.
    ///
    /// # Errors
    /// As reading.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        self.bytes.fill_buf()
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // JSON is read byte by byte: this is the way of every byte.
        if let [only] = into {
            let Some(&first) = self.bytes.fill_buf()?.first() else {
                return Ok(0);
            };
            *only = first;
            self.bytes.consume(1);
            self.progress.advance(1)?;
            return Ok(1);
        }
        let count = self.bytes.read(into)?;
        self.progress.advance(count)?;
        Ok(count)
    }
}
