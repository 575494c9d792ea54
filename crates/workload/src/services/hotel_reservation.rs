//! The services of DeathStarBench's HotelReservation.
//!
//! Derived from the gRPC interfaces `services/*/proto/*.proto` of hotelReservation
//! (delimitrou/DeathStarBench at 6ecb0970), one path for each remote procedure of the seven services
//! that its load generator (`hotel_mixed-workload_type_1.lua`) reaches. The interfaces say what is
//! called with what; where the data lives follows the suite's design: rates, profiles and
//! reservations in memcached before MongoDB, while the indexes of geo and recommendation and the users
//! are loaded into memory at the start. The frontend is left out: it is reached by HTTP, and Table II
//! of the paper has no trace that receives an HTTP request.
//!
//! What the interfaces do not show is assumed: caches hit, and messages are compressed that
//! carry lists of records with text (rate plans, profiles of hotels).

use super::chains::{path, read, receive, rpc, write};
use super::error::ServiceError;
use super::service::{Phase, Service};

/// The services of HotelReservation.
///
/// # Errors
/// None in practice; the constructor is the fallible one that users have.
pub fn hotel_reservation() -> Result<Vec<Service>, ServiceError> {
    let service =
        |name, method, steps, sent| Service::new(name, method, path(receive(0), steps, sent));
    Ok(vec![
        // Search.Nearby: the hotels near a place (Geo.Nearby), then their rates (Rate.GetRates).
        service(
            "Search",
            "Search.Nearby",
            vec![Phase::one(rpc("T9", 0)), Phase::one(rpc("T9", 1))],
            "T2",
        )?,
        // Geo.Nearby: an index in memory.
        service("Geo", "Geo.Nearby", vec![], "T2")?,
        // Rate.GetRates: the rate plans of hotels, one read of several keys.
        service("Rate", "Rate.GetRates", vec![Phase::one(read(1, 1))], "T3")?,
        // Profile.GetProfiles: the same with descriptions, addresses and images.
        service(
            "Profile",
            "Profile.GetProfiles",
            vec![Phase::one(read(1, 1))],
            "T3",
        )?,
        // Recommendation.GetRecommendations: a scan of what is in memory.
        service(
            "Recommend",
            "Recommendation.GetRecommendations",
            vec![],
            "T2",
        )?,
        // User.CheckUser: a name and the hash of a password, compared in memory.
        service("CheckUser", "User.CheckUser", vec![], "T2")?,
        // Reservation.CheckAvailability: capacities of hotels, then what is reserved of them.
        service(
            "CheckAvail",
            "Reservation.CheckAvailability",
            vec![Phase::one(read(1, 0)), Phase::one(read(1, 0))],
            "T2",
        )?,
        // Reservation.MakeReservation for one night: reserved rooms, capacity, then the
        // reservation into the database and the new number into the cache.
        service(
            "MakeReserv",
            "Reservation.MakeReservation",
            vec![
                Phase::one(read(1, 0)),
                Phase::one(read(1, 0)),
                Phase::parallel(2, &write("T8")),
            ],
            "T2",
        )?,
    ])
}
