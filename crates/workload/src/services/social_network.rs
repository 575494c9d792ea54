//! The eight SocialNetwork services of DeathStarBench on their most common paths.
//!
//! Paths are AccelFlow's Table IV. Which of the chains compress is not printed: it follows from the
//! table's operation counts, which come out exactly with the facts below and no others that treat
//! equal chains equally.

use super::chains::{path, read, receive, rpc, write};
use super::error::ServiceError;
use super::service::{Phase, Service};

/// The eight services in the paper's order.
pub const SOCIAL_NETWORK_NAMES: [&str; 8] = [
    "CPost", "ReadH", "StoreP", "Follow", "Login", "CUrls", "UniqId", "RegUsr",
];

/// The eight services in the paper's order.
///
/// # Errors
/// None in practice; the constructor is the fallible one that users have.
pub fn social_network() -> Result<Vec<Service>, ServiceError> {
    let calls = |count| Phase::parallel(count, &rpc("T9+Cmp", 1));
    let call = |compressed| Phase::one(rpc("T9", compressed));
    let write_compressed = || Phase::one(write("T8+Cmp"));
    // Name, method, whether the request is compressed, steps, and the trace of the response.
    let services = [
        ("CPost", "ComposePost", 1, vec![calls(4), calls(3)], "T2"),
        (
            "ReadH",
            "ReadHomeTimeline",
            0,
            vec![Phase::one(read(1, 1)), call(1)],
            "T3",
        ),
        ("StoreP", "StorePost", 1, vec![write_compressed()], "T2"),
        (
            "Follow",
            "Follow",
            0,
            vec![Phase::parallel(3, &write("T8"))],
            "T2",
        ),
        ("Login", "Login", 0, vec![Phase::one(read(0, 0))], "T2"),
        ("CUrls", "ComposeUrls", 1, vec![write_compressed()], "T3"),
        ("UniqId", "ComposeUniqueId", 0, vec![], "T2"),
        (
            "RegUsr",
            "RegisterUser",
            0,
            vec![Phase::one(write("T8")), call(0)],
            "T2",
        ),
    ];
    let service = |(name, method, compressed, steps, sent)| {
        Service::new(name, method, path(receive(compressed), steps, sent))
    };
    services.into_iter().map(service).collect()
}
