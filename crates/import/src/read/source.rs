//! Files as streams of bytes, with the current position and a limit on the number of bytes between
//! spans.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::error::ImportError;

/// The largest number of bytes of a file without a span.
pub(crate) const LONGEST_PIECE: u64 = 64 << 20;

/// The position in a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    read: Rc<Cell<u64>>,
    since: Rc<Cell<u64>>,
}

/// The bytes of a file, decompressed if it is compressed by gzip.
pub(crate) struct Source {
    inner: Box<dyn Read>,
    /// Bytes read from `inner`; those from `at` to `end` come next.
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    progress: Progress,
}

/// The size of the buffers of a file.
const BUFFER: usize = 1 << 16;

/// SHA-256 of the bytes read from a file.
#[derive(Clone, Default)]
pub(crate) struct Digests(Rc<RefCell<Sha256>>);

impl Digests {
    /// SHA-256 of the bytes read, in hexadecimal.
    pub(crate) fn hex(&self) -> String {
        let digest = self.0.borrow().clone().finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A reader that digests bytes as they are read.
struct Digested<R> {
    bytes: R,
    digest: Digests,
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(into)?;
        self.digest.0.borrow_mut().update(&into[..count]);
        Ok(count)
    }
}

impl Progress {
    /// Bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.read.get()
    }

    /// Notes that a span has been read, which restarts the count of bytes without a span.
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
    /// The bytes of `bytes`, which are those of the file called `path`.
    ///
    /// # Errors
    /// [`ImportError::Read`] for bytes that cannot be read, [`ImportError::Kind`] for an empty
    /// file.
    pub(crate) fn of(
        bytes: impl Read + 'static,
        path: &str,
    ) -> Result<(Source, Digests), ImportError> {
        let failed = |error| ImportError::Read {
            file: path.to_owned(),
            error,
        };
        let digest = Digests::default();
        let bytes = Digested {
            bytes,
            digest: digest.clone(),
        };
        let mut raw = BufReader::with_capacity(BUFFER, bytes);
        let zipped = raw.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
        let inner: Box<dyn Read> = match zipped {
            true => Box::new(MultiGzDecoder::new(raw)),
            false => Box::new(raw),
        };
        let mut source = Source {
            inner,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            at: 0,
            end: 0,
            progress: Progress::default(),
        };
        // The byte-order mark of UTF-8: no format, text or binary, begins with it.
        if source
            .peek()
            .map_err(failed)?
            .starts_with(&[0xEF, 0xBB, 0xBF])
        {
            source.consume(3).map_err(failed)?;
        }
        if source.peek().map_err(failed)?.is_empty() {
            return Err(ImportError::Kind {
                file: path.to_owned(),
                why: "must not be empty".to_owned(),
            });
        }
        Ok((source, digest))
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// The bytes that come next, at least one unless the file has ended, without taking them.
    ///
    /// # Errors
    /// As reading.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        if self.at == self.end {
            (self.at, self.end) = (0, 0);
            self.end = loop {
                match self.inner.read(&mut self.buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    done => break done?,
                }
            };
        }
        Ok(&self.buffer[self.at..self.end])
    }

    /// Takes `count` of the bytes that come next.
    fn consume(&mut self, count: usize) -> io::Result<()> {
        self.at += count;
        self.progress.advance(count)
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // JSON is read byte by byte: this is the hot path.
        let next = self.peek()?;
        let count = next.len().min(into.len());
        match count {
            1 => into[0] = next[0],
            _ => into[..count].copy_from_slice(&next[..count]),
        }
        self.consume(count)?;
        Ok(count)
    }
}
