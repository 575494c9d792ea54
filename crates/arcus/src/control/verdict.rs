//! Verdicts: whether a run kept the promises to a flow.

use accelflow_units::Time;

use super::periods::Owed;
use super::request::{Availability, LatencySlo};
use super::status::FlowStatus;
use super::thresholds::{BEYOND, TOLERANCE};
use crate::RunResult;

/// The verdict on one flow: whether a run kept the promises to the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing was promised to the flow.
    NoPromise,
    /// Every promise to the flow was kept. A mean rate may be 1 % below the promise. It may be
    /// lower still by the share of the flow's time that its largest message takes, at most another
    /// 1 %, since the run does not count messages that are incomplete at its end. For a flow added
    /// after the warm-up, its shortest latency is added to the time of this message.
    Kept,
    /// Undecided: the flow was present too briefly, or passed too few messages, for a verdict.
    TooShort,
    /// A promise to the flow was broken: on its mean rate (beyond the tolerance), on the share of
    /// periods in which it gets its rate, or on its latency.
    Below,
}

impl Verdict {
    /// The verdict's name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Kept => "kept",
            Verdict::Below => "below",
            Verdict::TooShort => "too short",
            Verdict::NoPromise => "no promise",
        }
    }
}

/// The numbers of periods in which a flow was present, and in which the flow missed its promised
/// rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// The number of whole periods in which the flow was present.
    pub all: u64,
    /// The number of whole periods in which the flow got less than its promised rate although it
    /// had more to send. A shortfall of up to 1 % of the bytes due in the period, plus the flow's
    /// largest message, is allowed.
    pub missed: u64,
}

impl Periods {
    /// The percentage of periods in which the flow got its promised rate; 0 if the flow was present
    /// in no whole period.
    pub fn kept_percent(self) -> f64 {
        100.0 * (self.all - self.missed) as f64 / self.all.max(1) as f64
    }
}

impl FlowStatus {
    /// Returns the verdict on all promises to this flow: the worse of the verdicts on its rate and
    /// its latency. From worst to best, verdicts are `Below`, `TooShort`, `Kept` and `NoPromise`.
    /// `number` is the flow's index in `run`. If the flow sends less than its SLO, the rate counts
    /// as kept when all that the flow sends is served.
    pub fn verdict(&self, run: &RunResult, number: usize) -> Verdict {
        let rate = self.rate_verdict(run, number);
        rate.max(self.latency_verdict(run, number))
    }

    /// Returns the verdict on the rate promised to this flow; [`Verdict::NoPromise`] for an
    /// opportunistic flow. `number` is the flow's index in `run`.
    pub fn rate_verdict(&self, run: &RunResult, number: usize) -> Verdict {
        let Some(slo) = self.slo_gbit_per_s() else {
            return Verdict::NoPromise;
        };
        let Some(got) = run.gbit_per_s_present(number) else {
            return Verdict::TooShort;
        };
        if let Some(availability) = self.request.availability {
            return self.periods_verdict(run, number, availability);
        }
        let present = run.present(number).as_ns_f64();
        let unseen = self.unseen_ns(slo, run, number) / present;
        let due = self.due_gbit_per_s(slo, run, number);
        if got < due * (1.0 - TOLERANCE - unseen) {
            return Verdict::Below;
        }
        match unseen <= TOLERANCE {
            true => Verdict::Kept,
            false => Verdict::TooShort,
        }
    }

    /// The rate that was due to the flow while it was present, in gigabits per second: its SLO, or
    /// the rate that it sent if that is less.
    fn due_gbit_per_s(&self, slo: f64, run: &RunResult, number: usize) -> f64 {
        if run.flows[number].backlogged {
            return slo;
        }
        let (from, to) = run.presence(number);
        let due = Owed::new(&run.flows[number], slo).bytes(from, to);
        due * 8.0 / (to - from).as_ns_f64()
    }

    fn periods_verdict(&self, run: &RunResult, number: usize, promised: Availability) -> Verdict {
        let Some(Periods { all, missed }) = self.periods(run, number) else {
            return Verdict::NoPromise;
        };
        let allowed = all as f64 * (1.0 - promised.percent / 100.0);
        // One missed period of a few does not show the share of a hundred.
        if missed as f64 > allowed.max(1.0) {
            return Verdict::Below;
        }
        match allowed >= 1.0 {
            true => Verdict::Kept,
            false => Verdict::TooShort,
        }
    }

    /// Counts the periods in which this flow was present, and those in which it missed its promised
    /// rate. `number` is the flow's index in `run`. `None` unless the rate is promised in a
    /// percentage of periods.
    pub fn periods(&self, run: &RunResult, number: usize) -> Option<Periods> {
        let (slo, availability) = (self.slo_gbit_per_s()?, self.request.availability?);
        let result = &run.flows[number];
        let (mut from, end) = run.presence(number);
        let message = self.request.sizes.largest().get() as f64;
        let owed = Owed::new(result, slo);
        let mut found = Periods { all: 0, missed: 0 };
        let mut done = result.completions.iter().peekable();
        while from + availability.period <= end {
            let to = from + availability.period;
            while done.next_if(|completion| completion.at < from).is_some() {}
            let mut got = 0.0;
            while let Some(completion) = done.next_if(|completion| completion.at < to) {
                got += completion.size.get() as f64;
            }
            let due = owed.bytes(from, to);
            found.all += 1;
            found.missed += u64::from(got < due * (1.0 - TOLERANCE) - message);
            from = to;
        }
        Some(found)
    }

    /// Counts the periods in which this flow missed its promised rate: it got less by more than 1 %
    /// although it had more to send. `number` is the flow's index in `run`. Only the measured time
    /// counts; 0 for an opportunistic flow.
    ///
    /// If the rate is promised in a percentage of periods, these are [`Periods::missed`]. Otherwise
    /// the periods have length `period`; with 0, none is missed, since nothing is due in no time.
    /// Shortfalls add up until the flow makes up for them. A sum up to the size of the flow's
    /// largest message is no miss: a message of this size may be under way.
    pub fn missed_periods(&self, run: &RunResult, number: usize, period: Time) -> u64 {
        let Some(slo) = self.slo_gbit_per_s() else {
            return 0;
        };
        if let Some(periods) = self.periods(run, number) {
            return periods.missed;
        }
        if period == Time::ZERO {
            return 0;
        }
        let (from, end) = run.presence(number);
        let message = self.request.sizes.largest().get() as f64;
        Owed::new(&run.flows[number], slo).missed(from, end, period, message)
    }

    /// Returns the verdict on the percentile of latencies promised to this flow;
    /// [`Verdict::NoPromise`] if none is promised. `number` is the flow's index in `run`.
    pub fn latency_verdict(&self, run: &RunResult, number: usize) -> Verdict {
        let Some(LatencySlo { percent, most }) = self.request.latency else {
            return Verdict::NoPromise;
        };
        let result = &run.flows[number];
        let beyond = result.completions.len() as f64 * (1.0 - percent / 100.0);
        let late = |completion: &&crate::Completion| completion.latency > most;
        let late = result.completions.iter().filter(late).count() as f64;
        match () {
            () if late > beyond.max(BEYOND) => Verdict::Below,
            () if beyond < BEYOND => Verdict::TooShort,
            () if late > beyond => Verdict::Below,
            () => Verdict::Kept,
        }
    }

    /// Returns the time for which this flow must be present for a verdict on its rate and latency;
    /// `None` if nothing is promised. `number` is the flow's index in `run`. The time depends on
    /// the promise:
    ///
    /// * a mean rate: a hundred times the time that the flow's largest message takes at the SLO;
    ///   for a flow added after the warm-up, a hundred times the sum of that time and the flow's
    ///   shortest latency;
    /// * a rate in a percentage of periods: so many periods that one of them may be missed, such as
    ///   100 periods for 99 %;
    /// * a latency percentile: the estimated time until 10 messages lie beyond the percentile;
    /// * both a rate and a latency: the longer of the two times.
    pub fn shown_within(&self, run: &RunResult, number: usize) -> Option<Time> {
        let slo = self.slo_gbit_per_s();
        let rate = slo.map(|slo| match self.request.availability {
            Some(Availability { percent, period }) => period.as_ns_f64() / (1.0 - percent / 100.0),
            None => self.unseen_ns(slo, run, number) / TOLERANCE,
        });
        let latency = self.request.latency.map(|promised| {
            let needed = BEYOND / (1.0 - promised.percent / 100.0);
            let passed = run.flows[number].completions.len().max(1) as f64;
            run.present(number).as_ns_f64() * needed / passed
        });
        let needed = rate.into_iter().chain(latency).reduce(f64::max)?;
        // Rounding errors must not make 99 % of 100 periods more than 99.
        Some(Time::from_ns_f64((needed * (1.0 - 1e-9)).ceil()))
    }

    /// The time of a flow's messages that a run does not count, in nanoseconds. It is the time that
    /// the largest message takes at the SLO, since a message may be incomplete at the end; for a
    /// flow added after the warm-up, the flow's shortest latency is added.
    fn unseen_ns(&self, slo: f64, run: &RunResult, number: usize) -> f64 {
        let message = self.request.sizes.largest().get() as f64 * 8.0 / slo;
        let flow = &run.flows[number];
        let first = match flow.since > run.warmup {
            true => flow
                .completions
                .iter()
                .map(|completion| completion.latency)
                .min(),
            false => None,
        };
        message + first.map_or(0.0, Time::as_ns_f64)
    }
}
