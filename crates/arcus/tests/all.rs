//! All tests of this crate in one program, which is built faster than one for each file.

mod added_flows;
mod contention;
mod control;
mod dynamic;
mod experiments;
mod inline_storage;
mod link;
mod paths;
mod plan;
mod plan_edges;
mod prediction;
mod profiles;
mod sharing;
