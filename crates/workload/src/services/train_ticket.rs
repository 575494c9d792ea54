//! The services of TrainTicket.
//!
//! Derived from a captured trace of a fault-free minute (IntelligentDDS/Nezha at d8140101,
//! `construct_data/2023-01-29/trace/08_50_trace.csv`): for each procedure below, the calls by HTTP and
//! the statements to its database that its most frequent span tree holds, in the order of their
//! begin. Two are cut: a search of trips asks for seats once for each trip and class, in the
//! capture 2 to 12 times (here 2), and a route has two lists of stops read for each route (here one
//! route).
//!
//! TrainTicket has no RPC layer and no cache. A call by HTTP is T11 and T12. A statement to the
//! database, of either kind, is T8 and T7: Table II has no trace for a read that goes around the
//! cache, and T7 has what the answer to a statement needs, the test for an error. A request by HTTP
//! is received with T1 and answered with T2, the only traces of the table for that, so it counts an
//! RPC header that it does not have.

use super::chains::{http, path, receive, write};
use super::error::ServiceError;
use super::service::{Phase, Service};

/// A span of a span tree.
#[derive(Clone, Copy)]
enum Step {
    /// A call by HTTP.
    Call,
    /// A statement to the database.
    Sql,
}

/// Name, procedure and steps.
const SERVICES: [(&str, &str, &[Step]); 22] = {
    use Step::{Call, Sql};
    [
        ("VerifyCode", "verifycode/verify/{verifyCode}", &[]),
        ("TtLogin", "users/login", &[Call, Sql, Sql, Sql]),
        ("Station", "stationservice/stations/idlist", &[Sql]),
        ("Train", "trainservice/trains/byNames", &[Sql]),
        ("Route", "routeservice/routes/{routeId}", &[Sql, Sql, Sql]),
        ("Price", "priceservice/prices/{routeId}/{trainType}", &[Sql]),
        ("TtConfig", "configservice/configs/{configName}", &[Sql]),
        ("Contacts", "contactservice/contacts/{id}", &[Sql]),
        ("TtUser", "userservice/users/id/{userId}", &[Sql]),
        (
            "Basic",
            "basicservice/basic/travel",
            &[Call, Call, Call, Call, Call],
        ),
        (
            "Basics",
            "basicservice/basic/travels",
            &[Call, Call, Call, Call],
        ),
        ("Tickets", "orderservice/order/tickets", &[Sql]),
        (
            "OrderState",
            "orderservice/order/status/{orderId}/{status}",
            &[Sql, Sql],
        ),
        ("NewOrder", "orderOtherService/orderOther", &[Sql, Sql, Sql]),
        ("Seats", "seatservice/seats/left_tickets", &[Call, Call]),
        (
            "Security",
            "securityservice/securityConfigs/{accountId}",
            &[Call, Call, Sql, Sql],
        ),
        (
            "Food",
            "foodservice/foods/{date}/{from}/{to}/{tripId}",
            &[Call, Call, Call],
        ),
        (
            "TrainFood",
            "trainfoodservice/trainfoods/{tripId}",
            &[Sql, Sql],
        ),
        ("TripRoute", "travelservice/routes/{tripId}", &[Sql, Call]),
        (
            "TripsLeft",
            "travelservice/trips/left",
            &[Sql, Call, Call, Call],
        ),
        (
            "Pay",
            "inside_pay_service/inside_payment",
            &[Call, Sql, Sql, Call, Sql, Call],
        ),
        (
            "Preserve",
            "preserveotherservice/preserveOther",
            &[Call, Call, Call, Call, Call, Call, Call],
        ),
    ]
};

/// The services of TrainTicket.
///
/// # Errors
/// None in practice; the constructor is the fallible one that users have.
pub fn train_ticket() -> Result<Vec<Service>, ServiceError> {
    let step = |step: &Step| match step {
        Step::Call => Phase::one(http("T11")),
        Step::Sql => Phase::one(write("T8")),
    };
    let service = |&(name, method, steps): &(&str, &str, &[Step])| {
        let steps = steps.iter().map(step).collect();
        Service::new(name, method, path(receive(0), steps, "T2"))
    };
    SERVICES.iter().map(service).collect()
}
