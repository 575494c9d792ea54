//! The suites of services that come with this crate: workloads with files in the folder `suites/`.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use accelflow_parameters::{Refusal, any_of, quoted};
use accelflow_units::Time;

use crate::file::{FileError, Workload, read};
use crate::services::{Service, ServiceError};

/// A suite of microservices or serverless functions, such as DeathStarBench's SocialNetwork, whose
/// workload file is built into AccelFlow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// DeathStarBench's SocialNetwork: the eight services of the paper's Table IV.
    SocialNetwork,
    /// The services of DeathStarBench's HotelReservation.
    HotelReservation,
    /// The services of DeathStarBench's MediaServices.
    MediaServices,
    /// The services of TrainTicket.
    TrainTicket,
    /// Serverless functions like those of FunctionBench.
    Serverless,
    /// The services of uSuite.
    USuite,
}

/// The error of a suite whose workload file is invalid. This does not occur with the suites of this
/// crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// The suite's workload file cannot be parsed or used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A service in the suite's workload file has an invalid path.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// The short names of the eight services of DeathStarBench's SocialNetwork, in the order of Table
/// IV of the AccelFlow paper.
pub const SOCIAL_NETWORK_NAMES: [&str; 8] = [
    "CPost", "ReadH", "StoreP", "Follow", "Login", "CUrls", "UniqId", "RegUsr",
];

/// Returns the eight services of DeathStarBench's SocialNetwork with their paths (the phases of one
/// invocation), in the order of Table IV of the AccelFlow paper.
///
/// # Errors
/// Does not fail in practice: the workload file is part of the crate, and tested.
pub fn social_network() -> Result<Vec<Service>, SuiteError> {
    Suite::SocialNetwork.services()
}

/// The workloads of all suites, each read once.
static WORKLOADS: LazyLock<Vec<Result<Workload, FileError>>> = LazyLock::new(|| {
    let workload = |suite: Suite| {
        let document = read(suite.text(), suite.name())?;
        document.check()?;
        Ok(document.workload)
    };
    Suite::ALL.into_iter().map(workload).collect()
});

impl Suite {
    /// All suites, in the order in which commands list them.
    pub const ALL: [Suite; 6] = [
        Suite::SocialNetwork,
        Suite::HotelReservation,
        Suite::MediaServices,
        Suite::TrainTicket,
        Suite::Serverless,
        Suite::USuite,
    ];

    /// Returns the suite's name in commands and results, such as `socialnetwork`.
    pub const fn name(self) -> &'static str {
        match self {
            Suite::SocialNetwork => "socialnetwork",
            Suite::HotelReservation => "hotelreservation",
            Suite::MediaServices => "mediaservices",
            Suite::TrainTicket => "trainticket",
            Suite::Serverless => "serverless",
            Suite::USuite => "usuite",
        }
    }

    /// Returns the text of the suite's workload file, comments included.
    pub const fn text(self) -> &'static str {
        match self {
            Suite::SocialNetwork => include_str!("../suites/socialnetwork.toml"),
            Suite::HotelReservation => include_str!("../suites/hotelreservation.toml"),
            Suite::MediaServices => include_str!("../suites/mediaservices.toml"),
            Suite::TrainTicket => include_str!("../suites/trainticket.toml"),
            Suite::Serverless => include_str!("../suites/serverless.toml"),
            Suite::USuite => include_str!("../suites/usuite.toml"),
        }
    }

    /// Returns the workload that the suite's file describes.
    ///
    /// # Errors
    /// Does not fail in practice: the file is part of the crate, and tested.
    pub fn workload(self) -> Result<&'static Workload, FileError> {
        WORKLOADS[self as usize].as_ref().map_err(Clone::clone)
    }

    /// Returns the services of the suite with their paths (the phases of one invocation), in the
    /// order of the suite's workload file. Names of services are unique across all suites.
    ///
    /// # Errors
    /// Does not fail in practice: the file is part of the crate, and tested.
    pub fn services(self) -> Result<Vec<Service>, SuiteError> {
        Ok(self.workload()?.paths()?)
    }

    /// Returns the total core time of application logic in one invocation of `service`, as the
    /// suite's workload file states it. `None` if the file does not state it; then the time comes
    /// from the cost profile.
    pub fn app_time(self, service: &str) -> Option<Time> {
        let app_us = self.workload().ok()?.service(service)?.app_us?;
        Some(Time::from_ns_f64(app_us * 1e3))
    }

    /// Returns the share, from 0 to 1, of this suite's sequences (accelerator calls without a core
    /// in between) that have a branch, as the AccelFlow paper reports it (section III, Q2); `None`
    /// if the paper reports none.
    pub fn printed_branching_share(self) -> Option<f64> {
        let printed = self.workload().ok()?.printed.as_ref()?;
        Some(printed.branching_share)
    }

    /// Returns the arrival rate of `service` divided by the mean arrival rate of the suite's
    /// services. `shares` is the name of the set of arrival rates to use; [`Workload::rate_names`]
    /// lists the sets.
    ///
    /// # Errors
    /// [`Refusal`] if the suite does not have the service or the set of rates.
    pub fn rate_share(self, service: &str, shares: &str) -> Result<f64, Refusal> {
        let unreadable = |error| Refusal::new("workload", self, format!("must be read: {error}"));
        let workload = self.workload().map_err(unreadable)?;
        let names = || workload.services.iter().map(|listed| listed.name.as_str());
        let Some(index) = names().position(|name| name == service) else {
            return Err(Refusal::unknown("service", service, names()));
        };
        let found = workload.rate_shares(shares, true);
        let found = found.and_then(|shares| shares.get(index).copied());
        found.ok_or_else(|| {
            let allowed = format!(
                "must be {} (the rates that {self} has)",
                any_of(workload.rate_names())
            );
            Refusal::new("rates", quoted(shares), allowed)
        })
    }
}

impl FromStr for Suite {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Suite, Refusal> {
        let found = Suite::ALL.into_iter().find(|suite| suite.name() == name);
        found.ok_or_else(|| Refusal::unknown("workload", name, Suite::ALL.map(Suite::name)))
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
