//! All tests of this crate in one program, which is built faster than one for each file.

mod conditions;
mod kinds;
mod language;
mod memories;
mod properties;
mod text;
