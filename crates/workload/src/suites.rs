//! The suites of services that can be simulated, and how often each service is invoked.

use std::fmt;
use std::str::FromStr;

use accelflow_units::Time;

use crate::services::{
    Service, ServiceError, hotel_reservation, media_services, serverless, serverless_app_time,
    serverless_rate_share, social_network, train_ticket,
};

/// A suite of services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// DeathStarBench's SocialNetwork: the eight services of Table IV.
    SocialNetwork,
    /// DeathStarBench's HotelReservation.
    HotelReservation,
    /// DeathStarBench's MediaServices.
    MediaServices,
    /// TrainTicket.
    TrainTicket,
    /// Serverless functions like FunctionBench's.
    Serverless,
}

/// The division of a suite's rate among its services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateShares {
    /// All services have the same rate.
    Equal,
    /// The rates of eight services of Alibaba ([`ALIBABA_RATES_RPS`]), for SocialNetwork.
    Alibaba,
    /// The rates of Azure's functions, for serverless functions.
    Azure,
}

/// An unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{name}'; known are {known}")]
pub struct UnknownName {
    /// The name as given.
    pub what: &'static str,
    /// The name.
    pub name: String,
    /// The known names.
    pub known: String,
}

/// Rates that a suite does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rates {shares} are not those of {suite}; allowed are {allowed}")]
pub struct WrongRates {
    /// The rates as given.
    pub shares: RateShares,
    /// The suite.
    pub suite: Suite,
    /// The rates that the suite has.
    pub allowed: String,
}

/// Requests per second of eight services of Alibaba, 13.45 k on average, by SocialNetwork's service
/// that each stands for.
///
/// Provenance: derived. The rates are replicas times calls a second of each (providerRPC_MCR) at the
/// begin of cluster-trace-microservices-v2021 (alibaba/clusterdata), of services 05b41ed6, 01371e5f,
/// 0289b9eb, 002251d4, 059fa693, 0674d4c8, 0023afa7 and 01b68874: eight whose mean is the paper's
/// 13.4 k (section VI), which does not name its own. Which of them has "similar size and call
/// structure" as which service is not stated either; here the slowest by its response time there
/// stands for the service with the most accelerator calls, and so on down (assumed).
pub const ALIBABA_RATES_RPS: [(&str, f64); 8] = [
    ("CPost", 17_877.0),
    ("Follow", 19_063.8),
    ("Login", 13_455.1),
    ("ReadH", 18_437.9),
    ("RegUsr", 10_826.3),
    ("CUrls", 4_049.1),
    ("StoreP", 17_070.4),
    ("UniqId", 6_828.6),
];

impl Suite {
    /// All suites, in the order in which commands list them.
    pub const ALL: [Suite; 5] = [
        Suite::SocialNetwork,
        Suite::HotelReservation,
        Suite::MediaServices,
        Suite::TrainTicket,
        Suite::Serverless,
    ];

    /// The name in commands and results.
    pub const fn name(self) -> &'static str {
        match self {
            Suite::SocialNetwork => "socialnetwork",
            Suite::HotelReservation => "hotelreservation",
            Suite::MediaServices => "mediaservices",
            Suite::TrainTicket => "trainticket",
            Suite::Serverless => "serverless",
        }
    }

    /// Its services. No two services of all suites have the same name.
    ///
    /// # Errors
    /// None in practice; the constructor is the fallible one that users have.
    pub fn services(self) -> Result<Vec<Service>, ServiceError> {
        match self {
            Suite::SocialNetwork => social_network(),
            Suite::HotelReservation => hotel_reservation(),
            Suite::MediaServices => media_services(),
            Suite::TrainTicket => train_ticket(),
            Suite::Serverless => serverless(),
        }
    }

    /// The time of the application logic of one invocation of `service`, if the suite states it;
    /// otherwise it comes from the profile.
    pub fn app_time(self, service: &str) -> Option<Time> {
        match self {
            Suite::Serverless => serverless_app_time(service),
            _ => None,
        }
    }

    /// The share of sequences with a conditional that AccelFlow prints for this suite (section III,
    /// Q2).
    pub const fn printed_branching_share(self) -> Option<f64> {
        match self {
            Suite::SocialNetwork => Some(0.692),
            Suite::HotelReservation => Some(0.625),
            Suite::MediaServices => Some(0.825),
            Suite::TrainTicket => Some(0.538),
            Suite::Serverless => None,
        }
    }

    /// The factor on the rate of `service`; the mean over the suite's services is 1.
    ///
    /// # Errors
    /// [`WrongRates`] for rates of services that the suite does not have.
    pub fn rate_share(self, service: &str, shares: RateShares) -> Result<f64, WrongRates> {
        let share = match (shares, self) {
            (RateShares::Equal, _) => Some(1.0),
            (RateShares::Alibaba, Suite::SocialNetwork) => {
                let mean = ALIBABA_RATES_RPS.iter().map(|entry| entry.1).sum::<f64>() / 8.0;
                let rate = ALIBABA_RATES_RPS.iter().find(|entry| entry.0 == service);
                rate.map(|entry| entry.1 / mean)
            }
            (RateShares::Azure, Suite::Serverless) => serverless_rate_share(service),
            _ => None,
        };
        share.ok_or_else(|| WrongRates {
            shares,
            suite: self,
            allowed: match self {
                Suite::SocialNetwork => "equal, alibaba",
                Suite::Serverless => "equal, azure",
                _ => "equal",
            }
            .to_owned(),
        })
    }
}

impl RateShares {
    /// All, in the order in which commands list them.
    pub const ALL: [RateShares; 3] = [RateShares::Equal, RateShares::Alibaba, RateShares::Azure];

    /// The name in commands and results.
    pub const fn name(self) -> &'static str {
        match self {
            RateShares::Equal => "equal",
            RateShares::Alibaba => "alibaba",
            RateShares::Azure => "azure",
        }
    }
}

fn named<T: Copy>(
    what: &'static str,
    name: &str,
    all: &[T],
    of: impl Fn(T) -> &'static str,
) -> Result<T, UnknownName> {
    let found = all.iter().copied().find(|known| of(*known) == name);
    found.ok_or_else(|| UnknownName {
        what,
        name: name.to_owned(),
        known: all
            .iter()
            .map(|known| of(*known))
            .collect::<Vec<_>>()
            .join(", "),
    })
}

impl FromStr for Suite {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Suite, UnknownName> {
        named("workload", name, &Suite::ALL, Suite::name)
    }
}

impl FromStr for RateShares {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<RateShares, UnknownName> {
        named("rates", name, &RateShares::ALL, RateShares::name)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for RateShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
