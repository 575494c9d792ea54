//! A workload that was read, and where its values stand.

use accelflow_parameters::Refusal;

use super::check;
use super::error::FileError;
use super::places::{Places, Position};
use super::tree::Workload;

/// A workload that was read, and where its values stand in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The workload.
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

    /// A workload without a text. `name` stands in messages in the place of a file's.
    pub fn of(workload: Workload, name: &str) -> Document {
        Document::new(workload, name.to_owned(), Places::default())
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Refuses what does not go together: two services of one name, a path that does not begin with
    /// one chain, tables of probabilities that are not in order, calls that go round in a circle.
    ///
    /// # Errors
    /// [`FileError`] of the first value that is not allowed, and where it stands.
    pub fn check(&self) -> Result<(), FileError> {
        check::workload(&self.workload).map_err(|refusal| self.locate(refusal))
    }

    /// Where the value at `path` stands, or the nearest one that it is in; `None` if the file has no
    /// text.
    pub fn place(&self, path: &str) -> Option<Position> {
        self.places.of(path)
    }

    /// `refusal` with its place in the file.
    pub fn locate(&self, refusal: Refusal) -> FileError {
        FileError {
            file: self.name.clone(),
            at: self.places.of(&refusal.place),
            cause: refusal.into(),
        }
    }
}
