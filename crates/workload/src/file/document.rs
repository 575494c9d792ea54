//! Documents: workloads read from files, with the position of each value in the file.

use accelflow_parameters::Refusal;

use super::check;
use super::error::FileError;
use super::places::{Places, Position};
use super::tree::Workload;

/// A workload together with its origin: the name of the file and, for a TOML file, the line and
/// column of each value, for error messages.
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

    /// Creates a document for a workload that was not read from text. Error messages use `name` in
    /// place of the file's name.
    pub fn of(workload: Workload, name: &str) -> Document {
        Document::new(workload, name.to_owned(), Places::default())
    }

    /// Returns the name of the workload file, for error messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks that the values of the workload are consistent with one another. Examples of errors
    /// are two services with the same name, a path whose first phase is not a single chain of
    /// traces, quantiles that are not in order, and services that call one another in a cycle.
    ///
    /// # Errors
    /// [`FileError`] for the first value that is not allowed, with its position in a TOML file.
    pub fn check(&self) -> Result<(), FileError> {
        check::workload(&self.workload).map_err(|refusal| self.locate(refusal))
    }

    /// Returns the line and column in the file of the value at `path`, such as `services[0].sizes`.
    /// If the file does not contain the value, or if the value is in an array of more than 1,000
    /// values, returns the position of the innermost value that encloses `path` and has a known
    /// position. Returns `None` if no enclosing value has a known position, as in a workload that
    /// was not read from TOML text.
    pub fn place(&self, path: &str) -> Option<Position> {
        self.places.of(path)
    }

    /// Creates a file error from `refusal`, the description of a value that is not allowed. Adds
    /// the value's position in the file if it is known ([`Document::place`]).
    pub fn locate(&self, refusal: Refusal) -> FileError {
        let place = &refusal.place;
        // A place in another file follows the place that names the file. But names of this file may
        // have a colon, too.
        let outer = place
            .split_once(": ")
            .map_or(&place[..], |(outer, _)| outer);
        let exact = self.places.exact(place);
        FileError {
            file: self.name.clone(),
            at: exact.or_else(|| self.places.of(outer)),
            cause: refusal.into(),
        }
    }
}
