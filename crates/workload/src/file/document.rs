//! Documents: workloads that were read, with the positions of their values.

use accelflow_parameters::Refusal;

use super::check;
use super::error::FileError;
use super::places::{Places, Position};
use super::tree::Workload;

/// A workload that was read, with the positions of its values in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The workload that the file describes.
    pub workload: Workload,
    name: String,
    places: Places,
}

impl Document {
    pub(super) fn new(workload: Workload, name: String, places: Places) -> Document {
        Document {
            workload,
            name,
            places,
        }
    }

    /// Creates a document for a workload that was not read from text. Messages use `name` instead
    /// of a file's name.
    pub fn of(workload: Workload, name: &str) -> Document {
        Document::new(workload, name.to_owned(), Places::default())
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks the consistency of the workload. Refuses two services with one name, a path that does
    /// not begin with one chain, tables of probabilities that are not in order, and cycles of
    /// calls.
    ///
    /// # Errors
    /// [`FileError`] for the first value that is not allowed, with its position.
    pub fn check(&self) -> Result<(), FileError> {
        check::workload(&self.workload).map_err(|refusal| self.locate(refusal))
    }

    /// The position of the value at `path`, or of the nearest value that contains it; `None`
    /// without a text.
    pub fn place(&self, path: &str) -> Option<Position> {
        self.places.of(path)
    }

    /// Adds the position in the file to `refusal`.
    pub fn locate(&self, refusal: Refusal) -> FileError {
        FileError {
            file: self.name.clone(),
            at: self.places.of(&refusal.place),
            cause: refusal.into(),
        }
    }
}
