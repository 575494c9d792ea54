//! All tests of this crate in one program, which is built faster than one for each file.

mod arms;
mod collections;
mod command;
mod common;
mod faults;
mod goodbye;
mod own;
mod sizes;
