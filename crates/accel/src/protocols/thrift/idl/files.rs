//! Loads a Thrift interface file and the files that it includes.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::document::{File, Name, locate};
use super::fault::{Fault, IdlError};
use super::parser::parse;

/// Most files of an interface.
const MAX_FILES: usize = 256;

/// Longest file, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// An error in reading a Thrift interface from files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceError {
    /// The interface file itself cannot be read, is longer than 4 MiB, or is not UTF-8.
    #[error("{}: {error}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system, or that the file is too long or not UTF-8.
        error: io::Error,
    },
    /// The text of the file, or of a file that it includes, is malformed or not supported, or an
    /// included file cannot be read.
    #[error(transparent)]
    Text(#[from] IdlError),
}

/// Parses an interface from a single text.
pub(crate) fn single(text: &str) -> Result<File, IdlError> {
    let read = || {
        let document = parse(text, 0)?;
        if let Some(include) = document.includes.first() {
            let why = "include: must not occur in an interface given as text; load the interface from a file";
            return Err(include.place.error(why));
        }
        Ok(document)
    };
    let document = read().map_err(|fault| locate(fault, &[]))?;
    Ok(File {
        document,
        ..File::default()
    })
}

/// Loads the file and all files that it includes. The file itself is the first.
pub(crate) fn load(path: &Path, search: &[PathBuf]) -> Result<Vec<File>, InterfaceError> {
    let unreadable = |error| InterfaceError::File {
        path: path.to_owned(),
        error,
    };
    let identity = path.canonicalize().map_err(unreadable)?;
    let text = read(&identity).map_err(unreadable)?;
    let mut loader = Loader {
        files: Vec::new(),
        known: HashMap::new(),
        open: Vec::new(),
        search,
    };
    match loader.add(path, identity, &text) {
        Ok(_) => Ok(loader.files),
        Err(fault) => Err(locate(fault, &loader.files).into()),
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        let why =
            format!("the interface file is too long: must have at most {MAX_FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

struct Loader<'s> {
    files: Vec<File>,
    /// The numbers of files by their canonical paths.
    known: HashMap<PathBuf, usize>,
    /// The chain of files that are being read, each of which includes the next.
    open: Vec<usize>,
    search: &'s [PathBuf],
}

impl Loader<'_> {
    fn add(&mut self, path: &Path, identity: PathBuf, text: &str) -> Result<usize, Fault> {
        let index = self.files.len();
        let name = path.file_stem().unwrap_or_default();
        self.files.push(File {
            path: Some(path.to_owned()),
            name: name.to_string_lossy().into_owned(),
            ..File::default()
        });
        self.known.insert(identity, index);
        self.open.push(index);
        let mut document = parse(text, index)?;
        for include in std::mem::take(&mut document.includes) {
            let found = self.include(path, &include)?;
            let name = self.files[found].name.clone();
            let before = self.files[index].includes.insert(name.clone(), found);
            if before.is_some_and(|before| before != found) {
                let why = format!("include '{name}': two included files have this name");
                return Err(include.place.error(why));
            }
        }
        self.open.pop();
        self.files[index].document = document;
        Ok(index)
    }

    /// The number of a file that `from` includes.
    fn include(&mut self, from: &Path, include: &Name) -> Result<usize, Fault> {
        let (path, identity) = self.find(from, include)?;
        if let Some(index) = self.known.get(&identity) {
            return match self.open.contains(index) {
                true => {
                    let why = format!(
                        "include '{}': a file must not include itself, directly or through other files",
                        include.text
                    );
                    Err(include.place.error(why))
                }
                false => Ok(*index),
            };
        }
        if self.files.len() == MAX_FILES {
            let why = format!("the interface has too many files: must have at most {MAX_FILES}");
            return Err(include.place.error(why));
        }
        let unreadable = |error| include.place.error(format!("'{}': {error}", include.text));
        let text = read(&identity).map_err(unreadable)?;
        self.add(&path, identity, &text)
    }

    /// The path of an included file, and its canonical path.
    fn find(&self, from: &Path, include: &Name) -> Result<(PathBuf, PathBuf), Fault> {
        let beside = from.parent().unwrap_or(Path::new(""));
        let folders = std::iter::once(beside).chain(self.search.iter().map(PathBuf::as_path));
        for folder in folders.clone() {
            let path = folder.join(&include.text);
            match path.canonicalize() {
                Ok(identity) => return Ok((path, identity)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let why = format!("'{}': {error}", include.text);
                    return Err(include.place.error(why));
                }
            }
        }
        let named = |folder: &Path| match folder.as_os_str().is_empty() {
            true => "the current folder".to_owned(),
            false => folder.display().to_string(),
        };
        let tried: Vec<String> = folders.map(named).collect();
        let why = format!(
            "include '{}': must be in one of the folders searched: {}",
            include.text,
            tried.join(", ")
        );
        Err(include.place.error(why))
    }
}
