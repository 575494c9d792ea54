//! The enums whose values a scenario chooses by name.

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
        /// Poisson arrivals at a constant mean rate.
        Poisson = "poisson",
        /// Bursts whose rates are fitted to the requests per minute of a service of Alibaba.
        Alibaba = "alibaba",
        /// Bursts whose rates are fitted to the invocations per minute of functions on Azure.
        Azure = "azure",
        /// Short bursts of 1.7 times the mean rate.
        ShortBursts = "short_bursts",
    }
}

choices! {
    /// The source of the facts, such as `hit` or `compressed`, that branches of traces test.
    FactSource {
        /// The facts of the most common path, the same for each request.
        Common = "common",
        /// Random facts for each request: by the workload's probabilities or, if it has none, by
        /// the server parameters `facts.*`.
        Drawn = "drawn",
        /// The facts of a recorded request, drawn at random for each simulated request.
        Recorded = "recorded",
    }
}

choices! {
    /// The choice between medians and distributions of the operation times in a recording.
    Times {
        /// The median of each operation, the same for each request.
        Median = "median",
        /// Random times for each request, drawn from the recorded distributions, including the time
        /// that recorded requests spent outside of their operations.
        Distribution = "distribution",
    }
}

impl Times {
    /// Returns the corresponding choice of a cost profile.
    pub(crate) fn recorded(self) -> RecordedTimes {
        match self {
            Times::Median => RecordedTimes::Median,
            Times::Distribution => RecordedTimes::Distribution,
        }
    }
}

choices! {
    /// The source of the times of operations on a core.
    CostSource {
        /// Measurements of software on real bytes on this machine, which a recording in the
        /// scenario must contain.
        Measured = "measured",
        /// The shares of time that the paper prints, scaled by the time of a TCP operation.
        Paper = "paper",
    }
}

choices! {
    /// The times for which requests wait for remote sides: caches, databases and other services.
    Remote {
        /// A constant wait of 5 us for each message.
        Short = "short",
        /// Constant waits by the trace that receives the answer, as measured in SocialNetwork.
        SocialNetwork = "socialnetwork",
        /// Random (log-normal) waits for each message, with the median of `short`.
        ShortDrawn = "short_drawn",
        /// Random (log-normal) waits for each message, with the medians of `socialnetwork`.
        SocialNetworkDrawn = "socialnetwork_drawn",
    }
}

/// The source of the times that operations take on a core, after defaults are filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// The shares of time that the paper prints.
    Paper,
    /// Measurements of software on real bytes on this machine, before the simulation. The recording
    /// in the scenario must contain them.
    Measured,
    /// The recording that the scenario contains.
    Recording,
    /// Recordings or costs of operations that the workload file states.
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
    /// Returns this arrival process with a mean rate of `rate_rps` requests per second.
    ///
    /// # Errors
    /// Does not fail in practice: the constants of all named processes are valid.
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
    /// Returns the times that remote sides (caches, databases and other services) take to answer,
    /// for each trace that receives an answer.
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
