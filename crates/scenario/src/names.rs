//! The values that a scenario chooses by name.

use accelflow_shaping::Unit;
use accelflow_sim::compare::Placement;
use accelflow_sim::config::DispatchPolicy;
use accelflow_workload::arrivals::{ASSUMED_DWELL, ArrivalProcess, ArrivalsError, Modulation};
use accelflow_workload::profile::{RecordedTimes, RemoteWaits};
use accelflow_workload::sizes::SizePreset;
use accelflow_workload::suites::Suite;

use crate::choice::{Choice, OWN};

/// Declares an enum whose values have names.
macro_rules! choices {
    ($(#[$of_all:meta])* $kind:ident { $($(#[$of_one:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$of_all])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($(#[$of_one])* $value,)+ }

        impl Choice for $kind {
            const ALL: &'static [Self] = &[$($kind::$value,)+];

            fn name(self) -> &'static str {
                match self { $($kind::$value => $name,)+ }
            }
        }
    };
}

choices! {
    /// The arrival process of requests.
    Arrivals {
        /// Poisson arrivals.
        Poisson = "poisson",
        /// Bursts fitted to the rates per minute of a service of Alibaba.
        Alibaba = "alibaba",
        /// Bursts fitted to the rates per minute of Azure's functions.
        Azure = "azure",
        /// Short bursts of 1.7 times the mean rate.
        ShortBursts = "short_bursts",
    }
}

choices! {
    /// The source of the facts that branches of traces test.
    FactSource {
        /// Those of the most common path.
        Common = "common",
        /// Drawn for each request with the odds `facts.*` of the server's parameters.
        Drawn = "drawn",
        /// Those of one of the requests in the recording, drawn for each request.
        Recorded = "recorded",
    }
}

choices! {
    /// The use of the times of a recording.
    Times {
        /// The medians, the same for each request.
        Median = "median",
        /// A time for each request, drawn from the recorded distributions, and the time of requests
        /// outside of their steps.
        Distribution = "distribution",
    }
}

impl Times {
    /// The profile's name for it.
    pub(crate) fn recorded(self) -> RecordedTimes {
        match self {
            Times::Median => RecordedTimes::Median,
            Times::Distribution => RecordedTimes::Distribution,
        }
    }
}

choices! {
    /// The source of the costs of operations on a core.
    CostSource {
        /// Measured on real bytes.
        Measured = "measured",
        /// Derived from the shares of time that the paper prints and from the cost of TCP.
        Paper = "paper",
    }
}

choices! {
    /// The waits for remote sides.
    Remote {
        /// 5 us.
        Short = "short",
        /// As traced in SocialNetwork.
        SocialNetwork = "socialnetwork",
        /// Drawn for each message, with the mean of `short`.
        ShortDrawn = "short_drawn",
        /// Drawn for each message, with the means of `socialnetwork`.
        SocialNetworkDrawn = "socialnetwork_drawn",
    }
}

/// The source of the costs of a checked scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// The paper's shares.
    Paper,
    /// Measured on this machine.
    Measured,
    /// A recording that was given.
    Recording,
    /// The workload's file, with its own recordings or individual operations.
    Own,
}

impl Choice for Costs {
    const ALL: &'static [Costs] = &[Costs::Paper, Costs::Measured, Costs::Recording, Costs::Own];

    fn name(self) -> &'static str {
        match self {
            Costs::Paper => CostSource::Paper.name(),
            Costs::Measured => CostSource::Measured.name(),
            Costs::Recording => "recording",
            Costs::Own => OWN,
        }
    }
}

impl Arrivals {
    /// The process with a mean of `rate_rps` requests per second.
    ///
    /// # Errors
    /// None in practice: the modulations are constants.
    pub fn process(self, rate_rps: f64) -> Result<ArrivalProcess, ArrivalsError> {
        let modulation = match self {
            Arrivals::Poisson => return Ok(ArrivalProcess::Poisson { rate_rps }),
            Arrivals::Alibaba => Modulation::alibaba(ASSUMED_DWELL)?,
            Arrivals::Azure => Modulation::azure(ASSUMED_DWELL)?,
            Arrivals::ShortBursts => Modulation::short_bursts(),
        };
        Ok(ArrivalProcess::Bursty {
            rate_rps,
            modulation,
        })
    }
}

impl Remote {
    /// The waits for remote sides under this choice.
    pub fn waits(self) -> RemoteWaits {
        match self {
            Remote::Short => RemoteWaits::short(),
            Remote::SocialNetwork => RemoteWaits::social_network(),
            Remote::ShortDrawn => RemoteWaits::short().spread(),
            Remote::SocialNetworkDrawn => RemoteWaits::social_network().spread(),
        }
    }
}

/// Makes a choice of an engine's enum, which has `ALL` and `name` itself.
macro_rules! engine_choice {
    ($($kind:ty),+) => {
        $(impl Choice for $kind {
            const ALL: &'static [Self] = &<$kind>::ALL;

            fn name(self) -> &'static str {
                self.name()
            }
        })+
    };
}

engine_choice!(Suite, Placement, SizePreset, DispatchPolicy, Unit);
