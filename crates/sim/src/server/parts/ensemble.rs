//! The accelerators: their queues, elements and dispatchers.

use std::ops::Range;

use accelflow_parameters::Refusal;
use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::config::{Config, DispatchPolicy, FallBackWhen, Isolation, Reuse, RpcProcessor};
use crate::hardware::{Dispatcher, Sizes, Station};
use crate::orchestrators::{Properties, Queueing};
use crate::server::error::SimError;
use crate::server::run::Run;
use crate::server::state::{JobId, Unit};

/// All accelerators of the server.
pub(crate) struct Ensemble {
    /// By type, then by instance, then by share.
    stations: Vec<Station<JobId>>,
    /// By [`Accel::index`], the stations of that type.
    of_types: [Range<usize>; Accel::MOST],
    /// By [`Accel::index`], the number of instances; 0 if the chip does not have the accelerator.
    instances: [usize; Accel::MOST],
    /// Number of shares of an instance: one for each tenant if tenants reserve them, else 1.
    shares: usize,
    /// By [`Accel::index`], the only unit that may execute the operations of that type which come
    /// from other accelerators, if there is only one.
    only: [Option<Unit>; Accel::MOST],
    /// Jobs that have been given an output entry and await a decision.
    unblocked: Vec<JobId>,
}

impl Ensemble {
    /// The accelerators for `tenants` tenants.
    pub(crate) fn new(
        run: &Run<'_>,
        properties: &Properties,
        tenants: usize,
    ) -> Result<Ensemble, SimError> {
        let shares = shares(run, properties, tenants)?;
        let mut ensemble = Ensemble {
            stations: stations(run, properties.policy, shares)?,
            of_types: of_types(run, shares),
            instances: Accel::EVERY.map(|accel| run.config.accelerator.instances_of(accel)),
            shares,
            only: [None; Accel::MOST],
            unblocked: Vec::new(),
        };
        ensemble.only = Accel::EVERY.map(|accel| ensemble.only_of(run.config, properties, accel));
        Ok(ensemble)
    }

    /// The unit of [`Ensemble::only`].
    fn only_of(&self, config: &Config, properties: &Properties, accel: Accel) -> Option<Unit> {
        let (hardware, host) = (&config.accelerator, config.element_of(accel));
        let directly = properties.queueing == Queueing::PerAccelerator
            && hardware.fallback == FallBackWhen::Full
            && hardware.reuse == Reuse::None
            && hardware.rpc_processor != RpcProcessor::Whole;
        let alone = self.instances_of(host) == 1 && self.shares == 1;
        (directly && alone).then(|| self.unit(host, 0, 0))
    }

    /// The unit of a share of an instance of `accel`. If the chip does not have that, the unit must
    /// not be used.
    #[inline]
    pub(crate) fn unit(&self, accel: Accel, instance: u8, share: u16) -> Unit {
        let first = self.of_types[accel.index()].start;
        let station = first + usize::from(instance) * self.shares + usize::from(share);
        Unit {
            accel,
            instance,
            share,
            station: station as u32,
        }
    }

    #[inline(always)]
    pub(crate) fn station(&self, unit: Unit) -> &Station<JobId> {
        &self.stations[unit.station as usize]
    }

    #[inline(always)]
    pub(crate) fn station_mut(&mut self, unit: Unit) -> &mut Station<JobId> {
        &mut self.stations[unit.station as usize]
    }

    /// The output dispatcher of a unit, which all shares of its instance have in common.
    #[inline(always)]
    pub(crate) fn dispatcher_of(&mut self, unit: Unit) -> &mut Dispatcher<JobId> {
        &mut self.stations[unit.whole()].dispatcher
    }

    /// All units, in the order of their stations.
    pub(crate) fn units(&self) -> Vec<Unit> {
        let of_type = |accel: Accel| {
            let stations = self.of_types[accel.index()].len();
            let number = move |index| (index / self.shares, index % self.shares);
            let unit = move |(instance, share)| self.unit(accel, instance as u8, share as u16);
            (0..stations).map(number).map(unit)
        };
        Accel::EVERY.into_iter().flat_map(of_type).collect()
    }

    /// The unit that executes all operations of `accel` which come from other accelerators, if
    /// there is only one and nothing else may take them.
    #[inline(always)]
    pub(crate) fn only(&self, accel: Accel) -> Option<Unit> {
        self.only[accel.index()]
    }

    /// Instances of `accel`; 0 if the chip does not have it.
    #[inline]
    pub(crate) fn instances_of(&self, accel: Accel) -> usize {
        self.instances[accel.index()]
    }

    /// The stations of a type.
    pub(crate) fn of_type(&self, accel: Accel) -> &[Station<JobId>] {
        &self.stations[self.of_types[accel.index()].clone()]
    }

    /// Index of the share that the tenant with the index `tenant` uses.
    pub(crate) fn share_of(&self, tenant: u16) -> u16 {
        if self.shares == 1 { 0 } else { tenant }
    }

    /// The data of an output entry of `unit` has left.
    #[inline(always)]
    pub(crate) fn withdraw(&mut self, unit: Unit, now: Time) {
        if let Some(blocked) = self.station_mut(unit).withdraw(now) {
            self.unblocked.push(blocked);
        }
    }

    /// Whether no job has been given an output entry and awaits a decision.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.unblocked.is_empty()
    }

    /// Takes a job that has been given an output entry.
    pub(crate) fn next_unblocked(&mut self) -> Option<JobId> {
        self.unblocked.pop()
    }

    /// Busy time of the elements of a type: of all together, and of any.
    pub(crate) fn busy_at(&self, accel: Accel, now: Time) -> (Time, Time) {
        let mut times = (Time::ZERO, Time::ZERO);
        for station in self.of_type(accel) {
            times.0 += station.busy.total_at(now);
            times.1 += station.any.total_at(now) * self.weight(station);
        }
        times
    }

    /// Busy time of the output dispatchers of a type.
    pub(crate) fn dispatching_at(&self, accel: Accel, now: Time) -> Time {
        let stations = self.of_type(accel).iter();
        stations
            .map(|station| station.dispatcher.busy.total_at(now))
            .sum()
    }

    /// The sum of the weights of the stations of a type.
    pub(crate) fn weight_of(&self, accel: Accel) -> u64 {
        let stations = self.of_type(accel).iter();
        stations.map(|station| self.weight(station)).sum()
    }

    /// The weight of a station's busy time in that of its instance. A share is an accelerator to
    /// its tenant, and weighs as much as it has elements.
    fn weight(&self, station: &Station<JobId>) -> u64 {
        match self.shares {
            1 => 1,
            _ => station.elements(),
        }
    }

    /// Busy time of all elements together.
    pub(crate) fn total_busy_at(&self, now: Time) -> Time {
        let stations = self.stations.iter();
        stations.map(|station| station.busy.total_at(now)).sum()
    }

    /// Whether nothing is queued or running.
    pub(crate) fn is_idle(&self) -> bool {
        self.stations.iter().all(Station::is_idle)
    }
}

/// Number of shares of each instance: one for each of `tenants`, if they reserve them.
fn shares(run: &Run<'_>, properties: &Properties, tenants: usize) -> Result<usize, SimError> {
    let reserved = run.config.tenant.isolation == Isolation::Reserved;
    if !reserved || tenants < 2 {
        return Ok(1);
    }
    if properties.queueing == Queueing::Central {
        let allowed = format!(
            "must be 'shared' with several tenants under {}, whose accelerators have one common queue",
            run.orchestrator.id()
        );
        return Err(not_reserved(allowed));
    }
    Ok(tenants)
}

fn not_reserved(allowed: String) -> SimError {
    Refusal::new("tenant.isolation", "reserved", allowed).into()
}

fn stations(
    run: &Run<'_>,
    policy: DispatchPolicy,
    shares: usize,
) -> Result<Vec<Station<JobId>>, SimError> {
    let (image, hardware) = (&run.plan.image, &run.config.accelerator);
    let mut stations = Vec::new();
    for accel in image.accelerators().filter(|&accel| hardware.has(accel)) {
        let sizes = Sizes {
            elements: hardware.pes_of(accel),
            input: hardware.input_entries_of(accel),
            overflow: hardware.overflow_entries_of(accel),
            output: hardware.output_entries_of(accel),
        };
        let counts = [
            ("processing elements", sizes.elements),
            ("input entries", sizes.input),
            ("output entries", sizes.output),
        ];
        if let Some((what, count)) = counts.into_iter().find(|(_, count)| *count < shares) {
            let allowed = format!(
                "must be shared, unless every accelerator has a processing element, an input entry \
                 and an output entry for each of the {shares} tenants: {} has {count} {what}",
                image.accel_name(accel)
            );
            return Err(not_reserved(allowed));
        }
        for _ in 0..hardware.instances_of(accel) {
            let station = |share| Station::new(sizes.share(share, shares), policy);
            stations.extend((0..shares).map(station));
        }
    }
    Ok(stations)
}

/// By [`Accel::index`], the stations of that type.
fn of_types(run: &Run<'_>, shares: usize) -> [Range<usize>; Accel::MOST] {
    let present = Accel::COUNT + run.plan.image.kinds().len();
    let mut end = 0;
    Accel::EVERY.map(|accel| {
        let first = end;
        if accel.index() < present {
            end += run.config.accelerator.instances_of(accel) * shares;
        }
        first..end
    })
}
