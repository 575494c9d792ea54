//! All tests of this crate in one program, which is built faster than one for each file.

mod algorithms;
mod bucket;
mod charges;
mod control;
mod rates;
mod reference;
mod shaper;
mod table2;
