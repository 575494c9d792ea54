//! Arrival processes: Poisson, bursty (a Markov-modulated Poisson process), Poisson at rates that
//! change at given times, or arrivals at given times.
//!
//! The paper drives its services with the invocation rates of eight Alibaba services, 13.4 k
//! requests per second on average, and with Poisson arrivals at other loads (AccelFlow section VI).
//! Which bursts the Alibaba rates contained is not stated, so the bursty process here has named
//! parameter sets: [`Modulation::alibaba`], [`Modulation::azure`] and [`Modulation::short_bursts`].

use accelflow_kernel::Stream;
use accelflow_units::Time;
use thiserror::Error;

/// The smallest mean rate of an arrival process, in requests per second: one request in 1,000 s.
pub const MIN_RATE_RPS: f64 = 1e-3;

/// The largest rate of an arrival process, in requests per second. At higher rates, the time
/// between requests approaches the simulator's resolution of a picosecond.
pub const MAX_RATE_RPS: f64 = 1e9;

/// The shortest allowed dwell time of a bursty arrival process (the mean time from one random
/// choice of its rate to the next): 100 us. Together with [`MIN_RATE_RPS`] and [`MIN_PROBABILITY`],
/// this limit bounds the work to compute one arrival.
pub const MIN_DWELL: Time = Time::from_us(100);

/// The smallest allowed probability of a state of a bursty arrival process. A state is a rate, and
/// its probability is the share of time for which the process has this rate.
pub const MIN_PROBABILITY: f64 = 1e-4;

/// The default dwell time of the bursty processes [`Modulation::alibaba`] and [`Modulation::azure`]
/// (the mean time from one random choice of the rate to the next): 14.4 ms.
///
/// Provenance: assumed. The data of Alibaba and Azure has rates per minute and does not show
/// variation within a minute; 14.4 ms is the dwell time of [`Modulation::short_bursts`].
pub const ASSUMED_DWELL: Time = Time::from_us(14_400);

/// Rate over mean rate, and the number of minutes with it, of 711.
///
/// Provenance: derived from the per-minute rates (providerRPC_MCR) of service 6d9c26b9 in
/// alibaba/clusterdata cluster-trace-microservices-v2021 by `scripts/derive_alibaba_rates.py`,
/// which states the method. Mean 1 and coefficient of variation 0.8824513 are those of the minutes.
const ALIBABA_STATES: [(f64, f64); 8] = [
    (0.245952044, 71.0),
    (0.379533064, 107.0),
    (0.594887472, 178.0),
    (0.948747279, 177.0),
    (1.485179702, 107.0),
    (2.384719575, 50.0),
    (4.172841345, 14.0),
    (6.077020400, 7.0),
];

/// Rate over mean rate, and the number of minutes with it, of 1,440.
///
/// Provenance: derived from the invocations of 500 functions of Azure in each minute of a day
/// (vhive-serverless/invitro at b12de00f, `500_inv.csv`: a sample of Azure's 2019 trace, CC-BY 4.0)
/// by `scripts/derive_azure_functions.py`, with the method of [`ALIBABA_STATES`]. Mean 1 and
/// coefficient of variation 0.4907210 are those of the minutes.
const AZURE_STATES: [(f64, f64); 8] = [
    (0.576692130, 144.0),
    (0.672570920, 216.0),
    (0.785419653, 360.0),
    (0.964896963, 360.0),
    (1.251226527, 216.0),
    (1.785400393, 101.0),
    (2.517781012, 29.0),
    (4.140072409, 14.0),
];

/// The error of an arrival process with a value that is not allowed, such as a rate out of its
/// range.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ArrivalsError {
    /// A rate is not from [`MIN_RATE_RPS`] to [`MAX_RATE_RPS`]. Holds the rate in requests per
    /// second.
    #[error("rate_rps = {0}: must be from 0.001 to 1e9 requests per second")]
    Rate(f64),
    /// A rate of a [`RateTable`] is not from 0 to [`MAX_RATE_RPS`].
    #[error("table of rates: rates[{index}] = {rate}: must be from 0 to 1e9 requests per second")]
    TableRate {
        /// The index of the row, counted from 0.
        index: usize,
        /// The rate as given, in requests per second.
        rate: f64,
    },
    /// The last rate of a [`RateTable`], which lasts forever, is below [`MIN_RATE_RPS`]. Holds the
    /// rate in requests per second.
    #[error("table of rates: last rate = {0}: must be at least 0.001 requests per second")]
    LastRate(f64),
    /// A bursty process has no states.
    #[error("number of states of the bursty process = 0: must be at least 1")]
    NoStates,
    /// A [`RateTable`] has no rows.
    #[error("table of rates: number of rates = 0: must be at least 1")]
    NoRates,
    /// The rate of a state of a bursty process is negative or not finite.
    #[error(
        "state {state}: rate divided by the mean rate = {value}: must be finite and not negative"
    )]
    Multiplier {
        /// The index of the state, counted from 0.
        state: usize,
        /// The state's rate over the mean rate, as given.
        value: f64,
    },
    /// The weight of a state of a bursty process is not finite, or its share of the sum of all
    /// weights is less than [`MIN_PROBABILITY`].
    #[error(
        "state {state}: weight = {value}: must be finite and at least 0.0001 of the sum of all weights"
    )]
    Weight {
        /// The index of the state, counted from 0.
        state: usize,
        /// The weight of the state, as given.
        value: f64,
    },
    /// The states' relative rates (rate divided by mean rate) do not have the weighted mean 1.
    /// Holds their weighted mean.
    #[error(
        "weighted mean of the states' rates, divided by the mean rate = {0}: must be 1 (to a \
         millionth)"
    )]
    MeanMultiplier(f64),
    /// The dwell time of a bursty process (the mean time from one random choice of its rate to the
    /// next) is shorter than [`MIN_DWELL`]. Holds this time.
    #[error("dwell time = {} us: must be at least 100 us", .0.as_us_f64())]
    Dwell(Time),
    /// A time in a list of arrivals or rates is earlier than the time before it in the list.
    #[error("time {index} = {} us: must be at least {} us, the time before it in the list",
        .at.as_us_f64(), .previous.as_us_f64())]
    Order {
        /// The index of the arrival or rate, counted from 0.
        index: usize,
        /// The time of this arrival or rate.
        at: Time,
        /// The previous time in the list.
        previous: Time,
    },
}

/// The states of a bursty arrival process (a Markov-modulated Poisson process). Each state has an
/// arrival rate, relative to the mean rate, and a probability.
///
/// A state lasts for an exponentially distributed time with the mean *dwell*. Then a new state is
/// drawn by probability, independently of the last state, so the last state may be drawn again. The
/// states' probabilities are thus stationary, the autocorrelation of the rate is `exp(-lag /
/// dwell)`, and the process stays in a state of probability `p` for `dwell / (1 - p)` on average.
#[derive(Clone, Debug, PartialEq)]
pub struct Modulation {
    states: Vec<State>,
    dwell: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    multiplier: f64,
    probability: f64,
    /// The probability of this state and those before it.
    cumulative: f64,
}

impl Modulation {
    /// Creates the states of a bursty process. `states` has a pair (rate divided by mean rate,
    /// weight) for each state. The weights are proportional to the states' probabilities, and need
    /// not add up to 1. `dwell` is the mean time from one random choice of a state to the next.
    ///
    /// # Errors
    /// [`ArrivalsError`] for no states, for a rate, a weight or a dwell time out of its range, and
    /// for relative rates whose weighted mean is not 1.
    pub fn new(states: &[(f64, f64)], dwell: Time) -> Result<Modulation, ArrivalsError> {
        if states.is_empty() {
            return Err(ArrivalsError::NoStates);
        }
        if dwell < MIN_DWELL {
            return Err(ArrivalsError::Dwell(dwell));
        }
        for (state, &(multiplier, weight)) in states.iter().enumerate() {
            if !multiplier.is_finite() || multiplier < 0.0 {
                return Err(ArrivalsError::Multiplier {
                    state,
                    value: multiplier,
                });
            }
            if !weight.is_finite() || weight <= 0.0 {
                return Err(ArrivalsError::Weight {
                    state,
                    value: weight,
                });
            }
        }
        let modulation = Modulation::of(states, dwell);
        let likely = |state: &State| state.probability >= MIN_PROBABILITY;
        if let Some(state) = modulation.states.iter().position(|state| !likely(state)) {
            return Err(ArrivalsError::Weight {
                state,
                value: states[state].1,
            });
        }
        let mean = modulation.mean_multiplier();
        if (mean - 1.0).abs() > 1e-6 {
            return Err(ArrivalsError::MeanMultiplier(mean));
        }
        Ok(modulation)
    }

    /// Returns the states of a bursty process whose rates are distributed like those of one Alibaba
    /// service over 711 minutes: coefficient of variation 0.88, and 6.1 times the mean rate for 1 %
    /// of the time.
    ///
    /// This distribution is derived from data. `dwell`, the mean time from one random choice of the
    /// rate to the next, is not in the data; [`ASSUMED_DWELL`] is its default.
    ///
    /// # Errors
    /// [`ArrivalsError::Dwell`] if `dwell` is shorter than [`MIN_DWELL`].
    pub fn alibaba(dwell: Time) -> Result<Modulation, ArrivalsError> {
        Modulation::new(&ALIBABA_STATES, dwell)
    }

    /// Returns the states of a bursty process whose rates are distributed like the total
    /// invocations of 500 Azure functions in each minute of a day: coefficient of variation 0.49,
    /// and 4.1 times the mean rate for 1 % of the time.
    ///
    /// This distribution is derived from data. `dwell`, the mean time from one random choice of the
    /// rate to the next, is not in the data; [`ASSUMED_DWELL`] is its default.
    ///
    /// # Errors
    /// [`ArrivalsError::Dwell`] if `dwell` is shorter than [`MIN_DWELL`].
    pub fn azure(dwell: Time) -> Result<Modulation, ArrivalsError> {
        Modulation::new(&AZURE_STATES, dwell)
    }

    /// Returns the states of a bursty process with short bursts: the rate is 1.7 times the mean
    /// rate for 20 % of the time, in bursts of 18 ms on average, and 0.825 of the mean rate
    /// otherwise.
    ///
    /// Provenance: derived. The numbers 1.7, 20 % and 18 ms are not in the AccelFlow paper. They
    /// are from a search for queueing parameters that explain the paper's reductions of mean and
    /// P99 latency when all eight services share one server. A random choice of a state ends a
    /// burst with a probability of 80 %, so the dwell time is 18 ms times 0.8, which is 14.4 ms.
    pub fn short_bursts() -> Modulation {
        Modulation::of(&[(1.7, 0.2), (0.825, 0.8)], Time::from_us(14_400))
    }

    fn of(states: &[(f64, f64)], dwell: Time) -> Modulation {
        let total: f64 = states.iter().map(|state| state.1).sum();
        let mut cumulative = 0.0;
        let states = states.iter().map(|&(multiplier, weight)| {
            let probability = weight / total;
            cumulative += probability;
            State {
                multiplier,
                probability,
                cumulative,
            }
        });
        Modulation {
            states: states.collect(),
            dwell,
        }
    }

    /// Returns the states of the bursty process as pairs of (rate divided by mean rate,
    /// probability).
    pub fn states(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.states
            .iter()
            .map(|state| (state.multiplier, state.probability))
    }

    /// Returns the dwell time: the mean time from one random choice of a state to the next.
    pub fn dwell(&self) -> Time {
        self.dwell
    }

    /// Returns the weighted mean of the states' relative rates (rate divided by mean rate), which
    /// is 1 to within a millionth.
    pub fn mean_multiplier(&self) -> f64 {
        self.states()
            .map(|(multiplier, probability)| multiplier * probability)
            .sum()
    }

    /// Returns the coefficient of variation of the arrival rate: its standard deviation divided by
    /// its mean.
    pub fn coefficient_of_variation(&self) -> f64 {
        let square = |(x, p): (f64, f64)| p * (x - 1.0) * (x - 1.0);
        self.states().map(square).sum::<f64>().sqrt()
    }

    /// Returns the index of dispersion of arrivals at a mean rate of `rate_rps` requests per
    /// second: the variance of the number of arrivals in windows of length `window`, divided by the
    /// mean of this number. For a Poisson process, the index is 1.
    ///
    /// The index is `1 + 2 rate CV^2 dwell (1 - (1 - exp(-x)) / x)`, which follows from the
    /// integral of the rate's autocorrelation. Here `rate` is `rate_rps`, `x = window / dwell`,
    /// `dwell` is the mean time between random choices of a state, and `CV` is the rate's
    /// coefficient of variation ([`Modulation::coefficient_of_variation`]).
    pub fn index_of_dispersion(&self, rate_rps: f64, window: Time) -> f64 {
        let x = window.as_s_f64() / self.dwell.as_s_f64();
        if x == 0.0 {
            return 1.0;
        }
        let cv = self.coefficient_of_variation();
        1.0 + 2.0 * rate_rps * cv * cv * self.dwell.as_s_f64() * (1.0 + (-x).exp_m1() / x)
    }

    fn draw(&self, stream: &mut Stream) -> f64 {
        let u = stream.uniform();
        let last = self.states.len() - 1;
        // The cumulative probabilities may end a rounding error below 1.
        let state = self
            .states
            .iter()
            .position(|state| u < state.cumulative)
            .unwrap_or(last);
        self.states[state].multiplier
    }
}

/// A table of arrival rates, each with the time from which it applies. Before the first of these
/// times, nothing arrives.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTable {
    /// The start of each rate, and the rate in requests per second. The last rate is above 0.
    rows: Vec<(Time, f64)>,
}

impl RateTable {
    /// Creates a table of arrival rates from pairs of (start time, rate in requests per second).
    /// Each rate lasts until the next start time, and the last rate forever.
    ///
    /// # Errors
    /// [`ArrivalsError::TableRate`] for a rate outside 0 to [`MAX_RATE_RPS`];
    /// [`ArrivalsError::LastRate`] for a last rate below [`MIN_RATE_RPS`];
    /// [`ArrivalsError::Order`] for times that decrease; [`ArrivalsError::NoRates`] without rates.
    pub fn new(rows: Vec<(Time, f64)>) -> Result<RateTable, ArrivalsError> {
        let allowed = 0.0..=MAX_RATE_RPS;
        if let Some(index) = rows.iter().position(|row| !allowed.contains(&row.1)) {
            let rate = rows[index].1;
            return Err(ArrivalsError::TableRate { index, rate });
        }
        let times: Vec<Time> = rows.iter().map(|row| row.0).collect();
        check_order(&times)?;
        match rows.last() {
            Some(&(_, rate)) if rate >= MIN_RATE_RPS => Ok(RateTable { rows }),
            Some(&(_, rate)) => Err(ArrivalsError::LastRate(rate)),
            None => Err(ArrivalsError::NoRates),
        }
    }

    /// Returns this table with its times counted from `start`: the rate at time t of the result is
    /// the rate at time `start` + t of this table.
    #[must_use]
    pub fn starting_at(&self, start: Time) -> RateTable {
        let row = self.rows.partition_point(|row| row.0 <= start);
        let current = row.checked_sub(1).map(|row| (Time::ZERO, self.rows[row].1));
        let later = self.rows[row..].iter().map(|row| (row.0 - start, row.1));
        RateTable {
            rows: current.into_iter().chain(later).collect(),
        }
    }

    /// Returns the rows of the table: the start of each rate, and the rate in requests per second.
    pub fn rows(&self) -> &[(Time, f64)] {
        &self.rows
    }

    /// Returns the time at which the expected number of requests since time zero (the integral of
    /// the rate) reaches `requests`; `None` if this time is too large to be represented.
    pub fn expects(&self, requests: f64) -> Option<Time> {
        self.after(Time::ZERO, requests)
    }

    fn scaled(&self, factor: f64) -> RateTable {
        let row = |&(from, rate): &(Time, f64)| (from, rate * factor);
        RateTable {
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// The time when the integral of the rate from `time` on reaches `requests`; `None` beyond
    /// representable time.
    fn after(&self, time: Time, mut requests: f64) -> Option<Time> {
        let mut row = self.rows.partition_point(|row| row.0 <= time);
        let mut from = time;
        loop {
            let rate = row.checked_sub(1).map_or(0.0, |before| self.rows[before].1);
            let Some(&(end, _)) = self.rows.get(row) else {
                let wait_ps = (requests / rate * 1e12).round();
                return Some(Time::from_ps(from.as_ps().checked_add(wait_ps as u64)?));
            };
            let within = (end - from).as_s_f64() * rate;
            if requests <= within && rate > 0.0 {
                let wait_ps = (requests / rate * 1e12).round();
                return Some(from + Time::from_ps(wait_ps as u64));
            }
            requests -= within;
            (from, row) = (end, row + 1);
        }
    }
}

/// A process by which requests arrive at a service.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalProcess {
    /// Poisson arrivals: independent, exponentially distributed times between requests.
    Poisson {
        /// The mean rate, in requests per second.
        rate_rps: f64,
    },
    /// Poisson arrivals at a rate that varies at random (a Markov-modulated Poisson process).
    Bursty {
        /// The long-term mean rate, in requests per second.
        rate_rps: f64,
        /// The states between which the rate changes, relative to the mean rate.
        modulation: Modulation,
    },
    /// Arrivals at given times. Holds the times, in ascending order.
    Trace(Vec<Time>),
    /// Poisson arrivals at a rate that changes at given times.
    Rates(RateTable),
}

impl ArrivalProcess {
    /// Returns this arrival process with all rates multiplied by `factor`. Arrivals at given times
    /// ([`ArrivalProcess::Trace`]) are not changed.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> ArrivalProcess {
        match self {
            ArrivalProcess::Poisson { rate_rps } => ArrivalProcess::Poisson {
                rate_rps: rate_rps * factor,
            },
            ArrivalProcess::Bursty {
                rate_rps,
                modulation,
            } => ArrivalProcess::Bursty {
                rate_rps: rate_rps * factor,
                modulation: modulation.clone(),
            },
            ArrivalProcess::Trace(times) => ArrivalProcess::Trace(times.clone()),
            ArrivalProcess::Rates(table) => ArrivalProcess::Rates(table.scaled(factor)),
        }
    }
}

/// An iterator over the times at which requests arrive, in ascending order.
///
/// With [`ArrivalProcess::Trace`] the iterator ends after the last given time; the other processes
/// continue up to [`Time::MAX`]. The times depend only on the process and the stream of random
/// numbers.
#[derive(Clone, Debug)]
pub struct Arrivals {
    source: Source,
    stream: Stream,
    last: Time,
}

#[derive(Clone, Debug)]
enum Source {
    Poisson {
        gap_ps: f64,
    },
    Bursty {
        gap_ps: f64,
        modulation: Modulation,
        multiplier: f64,
        left_ps: f64,
    },
    Trace(std::vec::IntoIter<Time>),
    Rates(RateTable),
}

impl Arrivals {
    /// Creates an iterator over the arrival times of `process`, from time zero on, with random
    /// numbers from `stream`.
    ///
    /// # Errors
    /// [`ArrivalsError`] for a rate outside [`MIN_RATE_RPS`] to [`MAX_RATE_RPS`], or given times
    /// that are not in ascending order.
    pub fn new(process: ArrivalProcess, mut stream: Stream) -> Result<Arrivals, ArrivalsError> {
        let source = match process {
            ArrivalProcess::Poisson { rate_rps } => Source::Poisson {
                gap_ps: gap_ps(rate_rps)?,
            },
            ArrivalProcess::Bursty {
                rate_rps,
                modulation,
            } => Source::Bursty {
                gap_ps: gap_ps(rate_rps)?,
                multiplier: modulation.draw(&mut stream),
                left_ps: stream.exponential(modulation.dwell.as_ps() as f64),
                modulation,
            },
            ArrivalProcess::Trace(times) => {
                check_order(&times)?;
                Source::Trace(times.into_iter())
            }
            ArrivalProcess::Rates(table) => Source::Rates(table),
        };
        Ok(Arrivals {
            source,
            stream,
            last: Time::ZERO,
        })
    }

    /// Creates an iterator over the given arrival times `times`, without random numbers.
    ///
    /// # Errors
    /// [`ArrivalsError::Order`] if a time is earlier than the previous one.
    pub fn from_trace(times: Vec<Time>) -> Result<Arrivals, ArrivalsError> {
        Arrivals::new(ArrivalProcess::Trace(times), Stream::new(0, 0))
    }
}

impl Iterator for Arrivals {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        let stream = &mut self.stream;
        let after_ps = match &mut self.source {
            Source::Poisson { gap_ps } => stream.exponential(*gap_ps),
            Source::Bursty {
                gap_ps,
                modulation,
                multiplier,
                left_ps,
            } => {
                // The arrival comes when the integral of the rate has grown by an exponential.
                let mut growth_ps = stream.exponential(*gap_ps);
                let mut passed_ps = 0.0;
                while growth_ps > *left_ps * *multiplier {
                    growth_ps -= *left_ps * *multiplier;
                    passed_ps += *left_ps;
                    *multiplier = modulation.draw(stream);
                    *left_ps = stream.exponential(modulation.dwell.as_ps() as f64);
                }
                // Both are zero if the state has rate zero and the drawn growth is zero.
                let rest_ps = if growth_ps > 0.0 {
                    growth_ps / *multiplier
                } else {
                    0.0
                };
                *left_ps -= rest_ps;
                passed_ps + rest_ps
            }
            Source::Trace(times) => {
                self.last = times.next()?;
                return Some(self.last);
            }
            Source::Rates(table) => {
                self.last = table.after(self.last, stream.exponential(1.0))?;
                return Some(self.last);
            }
        };
        let at = self.last.as_ps().checked_add(after_ps.round() as u64)?;
        self.last = Time::from_ps(at);
        Some(self.last)
    }
}

fn gap_ps(rate_rps: f64) -> Result<f64, ArrivalsError> {
    if (MIN_RATE_RPS..=MAX_RATE_RPS).contains(&rate_rps) {
        Ok(1e12 / rate_rps)
    } else {
        Err(ArrivalsError::Rate(rate_rps))
    }
}

fn check_order(times: &[Time]) -> Result<(), ArrivalsError> {
    match times.windows(2).position(|pair| pair[1] < pair[0]) {
        Some(before) => Err(ArrivalsError::Order {
            index: before + 1,
            at: times[before + 1],
            previous: times[before],
        }),
        None => Ok(()),
    }
}
