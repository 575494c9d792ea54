//! All tests of this crate in one program, which is built faster than one for each file.

mod common;
mod defects;
mod estimates;
mod forms;
mod paths;
mod traces;
