//! The eight SocialNetwork services of DeathStarBench on their most common paths.
//!
//! Paths are AccelFlow's Table IV. Which of the chains compress is not printed: it follows from the
//! table's operation counts, which come out exactly with the facts below and no others that treat
//! equal chains equally.
//!
//! A chain also has the facts for traces that it visits only when a branch goes the less common
//! way (the reads that follow a cache miss), so that a simulator can draw branches.

use super::{Chain, Phase, Service, ServiceError};

/// The eight services in the paper's order.
pub const SOCIAL_NETWORK_NAMES: [&str; 8] = [
    "CPost", "ReadH", "StoreP", "Follow", "Login", "CUrls", "UniqId", "RegUsr",
];

/// The eight services in the paper's order.
///
/// # Errors
/// None in practice; the constructor is the fallible one that users have.
pub fn social_network() -> Result<Vec<Service>, ServiceError> {
    let cpu = || Phase::Cpu;
    let send = |trace: &str| Phase::one(Chain::new(trace));
    let nested = rpc("T9+Cmp", 1);
    let write = Chain::new("T8").with("T7", "exception", 0);
    let compressed_write = Chain::new("T8+Cmp").with("T7", "exception", 0);
    Ok(vec![
        Service::new(
            "CPost",
            "ComposePost",
            vec![
                receive(1),
                cpu(),
                Phase::parallel(4, &nested),
                cpu(),
                Phase::parallel(3, &nested),
                cpu(),
                send("T2"),
            ],
        )?,
        Service::new(
            "ReadH",
            "ReadHomeTimeline",
            vec![
                receive(0),
                cpu(),
                Phase::one(read(1, 1)),
                cpu(),
                Phase::one(rpc("T9", 1)),
                cpu(),
                send("T3"),
            ],
        )?,
        Service::new(
            "StoreP",
            "StorePost",
            vec![
                receive(1),
                cpu(),
                Phase::one(compressed_write.clone()),
                cpu(),
                send("T2"),
            ],
        )?,
        Service::new(
            "Follow",
            "Follow",
            vec![
                receive(0),
                cpu(),
                Phase::parallel(3, &write),
                cpu(),
                send("T2"),
            ],
        )?,
        Service::new(
            "Login",
            "Login",
            vec![receive(0), cpu(), Phase::one(read(0, 0)), cpu(), send("T2")],
        )?,
        Service::new(
            "CUrls",
            "ComposeUrls",
            vec![
                receive(1),
                cpu(),
                Phase::one(compressed_write),
                cpu(),
                send("T3"),
            ],
        )?,
        Service::new(
            "UniqId",
            "ComposeUniqueId",
            vec![receive(0), cpu(), send("T2")],
        )?,
        Service::new(
            "RegUsr",
            "RegisterUser",
            vec![
                receive(0),
                cpu(),
                Phase::one(write),
                cpu(),
                Phase::one(rpc("T9", 0)),
                cpu(),
                send("T2"),
            ],
        )?,
    ])
}

fn receive(compressed: i64) -> Phase {
    Phase::one(Chain::new("T1").with("T1", "compressed", compressed))
}

/// A nested call. An exception is off the most common path.
fn rpc(entry: &str, compressed: i64) -> Chain {
    Chain::new(entry)
        .with("T10", "exception", 0)
        .with("T10", "compressed", compressed)
}

/// A read through the cache; on a miss, of the database, which then refills the cache with data
/// in the form the database has it in.
fn read(hit: i64, compressed: i64) -> Chain {
    Chain::new("T4")
        .with("T5", "hit", hit)
        .with("T5", "compressed", compressed)
        .with("T6", "found", 1)
        .with("T6", "compressed", compressed)
        .with("T6", "c_compressed", compressed)
        .with("T7", "exception", 0)
}
