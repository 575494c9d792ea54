//! The eight SocialNetwork services of DeathStarBench on their most common paths.
//!
//! Paths are AccelFlow's Table IV. Which of the chains compress is not printed: it follows from the
//! table's operation counts, which come out exactly with the facts below and no others that treat
//! equal chains equally.

use super::chains::{read, receive, rpc, send, write};
use super::{Phase, Service, ServiceError};

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
    let nested = rpc("T9+Cmp", 1);
    let compressed_write = write("T8+Cmp");
    let write = write("T8");
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
