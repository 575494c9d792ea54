//! Fuzz target of trace files: any bytes are read as a trace file or refused. A file that is read
//! is written back byte for byte, links to the same trace memory, and has no trace that runs for
//! ever.

use accelflow_trace::{Field, Image, MAGIC, Visit, Walker, link, templates};

const HEADER: usize = 24;
const LENGTH: usize = 12;
const CHECKSUM: usize = 4;
/// Forks multiply, so that even a program that ends can be too long to follow to its end.
const VISITS: usize = 10_000;

/// Reads `bytes` as a file of compiled traces. Does nothing if the file is refused. Otherwise
/// panics unless
///
/// * the file is written back byte for byte;
/// * the file's traces link to the same trace memory;
/// * none of these traces runs for ever.
pub fn check(bytes: &[u8]) {
    let Ok(image) = Image::from_bytes(bytes) else {
        return;
    };
    assert_eq!(image.to_bytes(), bytes);
    let parts = image.disassemble().expect("a memory that was accepted");
    assert_eq!(link(parts).as_ref(), Ok(&image));
    for name in image.names() {
        for outcome in [0, 1] {
            follow(&image, name, outcome);
        }
    }
}

fn follow(image: &Image, name: &str, outcome: i64) {
    let Some(mut walker) = Walker::new(image, name) else {
        return; // a part
    };
    let facts = |_: Field<'_>| Some(outcome);
    // Without forks a path passes every nibble and the end of every word at most once.
    let longest = 1 + 17 * image.words().len();
    let (mut visits, mut forks) = (0, 0);
    while let Some(visit) = walker.advance(&facts).expect("all fields are known") {
        visits += 1;
        forks += usize::from(matches!(visit, Visit::Fork | Visit::Scatter));
        assert!(visits <= longest * (forks + 1) + 1);
        if visits > VISITS {
            return;
        }
    }
}

/// Repairs a mutated trace file, so that the reader does not refuse the file at once: corrects the
/// length and the checksum. The file is the first `size` bytes of `data`. A file that is too short
/// for a header becomes the trace file of the paper's templates, if `data` has room. Returns the
/// new size of the file in bytes.
pub fn repair(data: &mut [u8], mut size: usize) -> usize {
    if size < HEADER + CHECKSUM {
        let seed = templates()
            .ok()
            .and_then(|library| library.link().ok())
            .map(|image| image.to_bytes())
            .filter(|bytes| bytes.len() <= data.len());
        if let Some(bytes) = seed {
            data[..bytes.len()].copy_from_slice(&bytes);
            size = bytes.len();
        }
    }
    if size >= HEADER + CHECKSUM && data.starts_with(&MAGIC) {
        data[LENGTH..LENGTH + 4].copy_from_slice(&(size as u32).to_be_bytes());
        let end = size - CHECKSUM;
        let checksum = crc32(&data[..end]);
        data[end..size].copy_from_slice(&checksum.to_be_bytes());
    }
    size
}

/// CRC-32 bit by bit, independent of the code under test.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())
        })
    })
}
