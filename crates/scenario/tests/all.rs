//! All tests of this crate in one program, which is built faster than one for each file.

mod chips;
mod duration;
mod effects;
mod files;
mod own_kinds;
mod own_loads;
mod scenario;
mod spans;
mod timeouts;
mod unknown;
mod watch;
