//! Conversion of the distributions, costs and times of a workload file to the types that the
//! simulator uses.

use accelflow_parameters::{Refusal, quoted};
use accelflow_trace::{Accel, Image};
use accelflow_units::{Bytes, Time};

use super::kinds::{of_kinds, typical, unpriced};
use super::tree::{CpuTime, Phase, Service, Workload};
use super::values::{
    Arrivals, ArrivalsPreset, Costs, Duration, OperationCost, Sizes, SizesPreset, Wait,
};
use crate::arrivals::{ASSUMED_DWELL, ArrivalProcess, ArrivalsError, Modulation, RateTable};
use crate::profile::{
    PaperOptions, PaperProfileError, Profile, Recording, RecordingOptions, RemoteWaits, StatedCost,
    StatedCosts, StatedCostsError, WaitDistribution,
};
use crate::services;
use crate::sizes::{LogNormal, PayloadSizes, QuantileTable, SizeDistribution, SizePreset};

impl Workload {
    /// Returns the size distributions of all messages of the workload. A chain without stated sizes
    /// has those of its service. A service without stated sizes has those of the file's `defaults`;
    /// if `defaults` has none, it has those of the preset `others`.
    ///
    /// # Errors
    /// [`Refusal`] if the file names a CSV file whose contents [`super::Document::inlined`] has not
    /// inserted yet, and for an invalid distribution, which [`super::Document::check`] also
    /// refuses.
    pub fn payload_sizes(&self, others: SizePreset) -> Result<PayloadSizes, Refusal> {
        let base = match &self.defaults.sizes {
            Some(sizes) => sizes.payloads("defaults.sizes")?,
            None => PayloadSizes::preset(others),
        };
        let mut made = base;
        for (index, service) in self.services.iter().enumerate() {
            let place = format!("services[{index}]");
            if let Some(sizes) = &service.sizes {
                let sizes = sizes.payloads(&format!("{place}.sizes"))?;
                made = made.with_service(&service.name, sizes);
            }
            for (phase, chain, stated) in service.chains() {
                // `check` names the one of several chains and sizes that is wrong.
                let sizes = stated.placed_sizes(&format!("{place}.path[{phase}]"));
                if sizes.is_empty() {
                    continue;
                }
                let each = sizes.iter().map(|(place, sizes)| sizes.distribution(place));
                let each = each.collect::<Result<_, _>>()?;
                made = made.with_chain(&service.name, (phase as u16, chain as u16), each);
            }
        }
        Ok(made)
    }

    /// Whether the workload file gives times that remote sides take to answer, for any service or
    /// chain or in its `defaults`.
    pub fn has_waits(&self) -> bool {
        let of = |service: &Service| {
            !service.waits.is_empty()
                || service
                    .chains()
                    .any(|(_, _, chain)| !chain.waits.is_empty())
        };
        !self.defaults.waits.is_empty() || self.services.iter().any(of)
    }

    /// Whether the workload file gives times that remote sides take to answer for any single
    /// service or chain, not only in its `defaults`.
    pub fn has_own_waits(&self) -> bool {
        let defaults = Workload {
            defaults: super::tree::Defaults::default(),
            ..self.clone()
        };
        defaults.has_waits()
    }

    /// Returns the times that remote sides take to answer in the whole workload: those in the
    /// file's `defaults`, and those of `others` for traces that `defaults` does not list. Times
    /// that single services or chains state are not included; [`Workload::own_wait`] returns them.
    pub fn remote_waits(&self, others: RemoteWaits) -> RemoteWaits {
        let mut waits = others;
        for (trace, wait) in &self.defaults.waits {
            waits = waits.stated(trace, wait.distribution());
        }
        waits
    }

    /// Returns the distribution of the time that a remote side takes to give the answer that the
    /// trace `trace` receives, as the workload file states it for the chain at `place`, or else for
    /// the service called `service`; `None` if the file states neither. An entry `other` in the
    /// file applies to all traces without an entry in the same table. `place` is (index of the
    /// phase, index of the chain in the phase).
    pub fn own_wait(
        &self,
        service: &str,
        place: (usize, usize),
        trace: &str,
    ) -> Option<WaitDistribution> {
        let service = self.service(service)?;
        let mut chains = service.chains();
        let chain = chains.find(|(phase, number, _)| (*phase, *number) == place);
        let of_chain = chain.map(|(_, _, chain)| &chain.waits);
        let tables = of_chain.into_iter().chain([&service.waits]);
        let mut found = tables.filter_map(|waits| waits.get(trace).or_else(|| waits.get("other")));
        found.next().map(Wait::distribution)
    }

    /// Returns the arrival process of `service`, scaled to a mean rate of `rate_rps` requests per
    /// second; `None` if the workload file states no process. Arrivals at given times are not
    /// scaled.
    ///
    /// # Errors
    /// [`ArrivalsError`] for invalid states of a bursty process, and for an invalid table of rates.
    pub fn arrival_process(
        &self,
        service: &Service,
        rate_rps: f64,
    ) -> Result<Option<ArrivalProcess>, ArrivalsError> {
        let stated = self.arrivals_of(service);
        let bursty = |modulation| ArrivalProcess::Bursty {
            rate_rps,
            modulation,
        };
        let time = |us: f64| Time::from_ns_f64(us * 1e3);
        Ok(Some(match stated {
            None => return Ok(None),
            Some(Arrivals::Poisson {}) => ArrivalProcess::Poisson { rate_rps },
            Some(Arrivals::Modulated { states, dwell_us }) => {
                bursty(Modulation::new(states, time(*dwell_us))?)
            }
            Some(Arrivals::Preset { preset }) => bursty(match preset {
                ArrivalsPreset::Alibaba => Modulation::alibaba(ASSUMED_DWELL)?,
                ArrivalsPreset::Azure => Modulation::azure(ASSUMED_DWELL)?,
                ArrivalsPreset::ShortBursts => Modulation::short_bursts(),
            }),
            Some(Arrivals::Times { times_us, .. }) => {
                let times = times_us.iter().flatten().map(|us| time(*us));
                ArrivalProcess::Trace(times.collect())
            }
            Some(Arrivals::Rates { rates, from_us, .. }) => {
                let rows = rates
                    .iter()
                    .flatten()
                    .map(|&(start, rate)| (time(start), rate));
                let table = RateTable::new(rows.collect())?;
                let table = table.starting_at(time(from_us.unwrap_or(0.0)));
                let own = self.table_rate(service);
                ArrivalProcess::Rates(table).scaled(own.map_or(1.0, |own| rate_rps / own))
            }
        }))
    }

    /// Returns whether the workload file states costs of operations: a service has `costs`, or
    /// `defaults.costs` is a recording or lists the cost of each operation.
    pub fn has_own_costs(&self) -> bool {
        let own =
            |costs: &Costs| matches!(costs, Costs::Recording { .. } | Costs::Operations { .. });
        let of_services = self.services.iter().any(|service| service.costs.is_some());
        of_services || self.defaults.costs.as_ref().is_some_and(own)
    }

    /// Returns the times of application logic that the workload file states for the service called
    /// `name`, as a pair. First, the mean time of each CPU phase (phase of application logic) in
    /// order; `None` for a phase without a stated time. Second, the total time of the phases
    /// without a stated time; `None` if not stated.
    pub fn cpu_times(&self, name: &str) -> (Vec<Option<Time>>, Option<Time>) {
        let time = |us: f64| Time::from_ns_f64(us * 1e3);
        let Some(service) = self.service(name) else {
            return (Vec::new(), None);
        };
        let own = service.path.iter().filter_map(|phase| match phase {
            Phase::Timed(phase) => Some(Some(time(phase.cpu_us))),
            Phase::Cpu(phase) => Some(phase.cpu.drawn().map(|times| times.distribution().mean())),
            Phase::Chain(_) | Phase::Parallel(_) => None,
        });
        (own.collect(), service.app_us.map(time))
    }

    /// Returns the distribution from which the time of application logic is drawn for each request,
    /// in the phase with index `phase` of the service called `name`; `None` if this time is not
    /// random.
    pub fn drawn_cpu_time(&self, name: &str, phase: usize) -> Option<WaitDistribution> {
        match self.service(name)?.path.get(phase)? {
            Phase::Cpu(phase) => phase.cpu.drawn().map(Wait::distribution),
            Phase::Timed(_) | Phase::Chain(_) | Phase::Parallel(_) => None,
        }
    }

    /// Returns the costs of the services `paths`, derived from the shares of time that the
    /// AccelFlow paper prints for each kind of work. Costs in the workload file are ignored, except
    /// for those of custom accelerators.
    ///
    /// The costs of operations are chosen such that the services `reference` have the paper's mean
    /// shares; `paths` get the same costs. `image` has the traces, and `sizes` the message sizes.
    /// `waits` are the times that remote sides take to answer, and `tcp_cost_ns` is the cost of a
    /// TCP operation on a core, in ns.
    ///
    /// # Errors
    /// [`Refusal`] for a custom accelerator whose cost is not stated, for costs that do not fit a
    /// service, and the errors of [`Workload::kind_speedups`].
    pub fn paper_profile(
        &self,
        paths: &[services::Service],
        reference: &[services::Service],
        image: &Image,
        sizes: &PayloadSizes,
        waits: &RemoteWaits,
        tcp_cost_ns: f64,
    ) -> Result<Profile, Refusal> {
        let kinds = self.kind_costs(image)?;
        let parts = paths.iter().map(|path| {
            of_paper(path, reference, image, sizes, &kinds, tcp_cost_ns).map_err(|error| {
                let allowed = format!("must fit the service: {error}");
                let place = format!("costs of {}", path.name());
                unpriced(&error).unwrap_or_else(|| Refusal::new(place, "paper", allowed))
            })
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        Ok(Profile::together(parts, waits.clone()))
    }

    /// Returns a copy of the workload without `tcp_cost_ns` in the services' own costs
    /// ([`Costs::Paper`]). For all services with costs from the AccelFlow paper,
    /// [`Workload::profile`] then uses its argument `tcp_cost_ns`.
    pub fn with_one_tcp_cost(&self) -> Workload {
        let mut workload = self.clone();
        for service in &mut workload.services {
            if let Some(Costs::Paper { tcp_cost_ns }) = &mut service.costs {
                *tcp_cost_ns = None;
            }
        }
        workload
    }

    /// Returns the costs of the services `paths`. Each service has the costs that it states in the
    /// workload file, else those of `defaults.costs`, else costs derived from the AccelFlow paper's
    /// shares of time. `image` has the traces, and `sizes` the message sizes. `waits` are the times
    /// that remote sides take to answer.
    ///
    /// `reference` and `tcp_cost_ns` matter only for costs derived from the paper's shares. The
    /// costs of operations are chosen such that the services `reference` have the paper's mean
    /// shares; `paths` get the same costs. `tcp_cost_ns` is the cost of a TCP operation on a core,
    /// in ns; a cost of TCP in a service's own `costs` overrides it. A cost of TCP in
    /// `defaults.costs` is ignored here: the caller passes it as `tcp_cost_ns`.
    ///
    /// # Errors
    /// [`Refusal`] for costs that do not fit a service, for an invalid recording and one that
    /// [`super::Document::inlined`] has not inserted yet, for costs that are still to be measured
    /// ([`Costs::Measured`]), for a cost of an operation or a time of application logic that a
    /// service needs but the file does not state, and the errors of [`Workload::kind_speedups`].
    pub fn profile(
        &self,
        paths: &[services::Service],
        reference: &[services::Service],
        image: &Image,
        sizes: &PayloadSizes,
        waits: &RemoteWaits,
        tcp_cost_ns: f64,
    ) -> Result<Profile, Refusal> {
        let mut parts = Vec::with_capacity(paths.len());
        for path in paths {
            let index = self
                .services
                .iter()
                .position(|service| service.name == path.name());
            let place = format!("services[{}]", index.unwrap_or(0));
            let own = index.and_then(|index| self.services[index].costs.as_ref());
            let place = match own {
                Some(_) => format!("{place}.costs"),
                None => "defaults.costs".to_owned(),
            };
            let refuse = |error: &dyn std::fmt::Display| {
                Refusal::new(
                    &place,
                    "as stated",
                    format!("must fit the service: {error}"),
                )
            };
            let one = std::slice::from_ref(path);
            let kinds = self.kind_costs(image)?;
            let part = match own.or(self.defaults.costs.as_ref()) {
                None | Some(Costs::Paper { .. }) => {
                    let tcp_ns = own.and_then(Costs::tcp_cost_ns).unwrap_or(tcp_cost_ns);
                    let made = of_paper(path, reference, image, sizes, &kinds, tcp_ns);
                    made.map_err(|error| unpriced(&error).unwrap_or_else(|| refuse(&error)))?
                }
                Some(Costs::Recording { text, .. }) => {
                    let text = text.as_deref().unwrap_or_default();
                    let recording = Recording::from_json(text).map_err(|e| refuse(&e))?;
                    let options = RecordingOptions::default();
                    let read = Profile::from_recording(&recording, one, image, &options);
                    read.map_err(|e| refuse(&e))?
                }
                Some(costs @ Costs::Operations { .. }) => {
                    if let Some(index) = index {
                        check_cpu(&self.services[index], index)?;
                    }
                    let stated = Profile::stated(path, image, &costs.stated(&kinds), sizes);
                    stated.map_err(|error| missing(&error, &place, image))?
                }
                Some(Costs::Measured {}) => {
                    let allowed = "must be paper, recording or operations, since a service of \
                                   the file has costs of its own";
                    return Err(Refusal::new(
                        format!("{place}.source"),
                        "'measured'",
                        allowed,
                    ));
                }
            };
            parts.push(part);
        }
        Ok(Profile::together(parts, waits.clone()))
    }
}

/// The costs of the service `path` by the paper's shares, where TCP costs a core `tcp_ns`, and
/// custom accelerators cost what `kinds` states.
fn of_paper(
    path: &services::Service,
    reference: &[services::Service],
    image: &Image,
    sizes: &PayloadSizes,
    kinds: &[Option<StatedCost>],
    tcp_ns: f64,
) -> Result<Profile, PaperProfileError> {
    let options = PaperOptions {
        tcp_cost: Time::from_ns_f64(tcp_ns),
        kinds: typical(kinds, path, sizes),
        ..PaperOptions::default()
    };
    let made = Profile::paper_like(std::slice::from_ref(path), reference, image, &options)?;
    Ok(made.with_stated(image, &of_kinds(kinds), sizes)?)
}

/// Refuses application logic without a time, since stated costs do not include it.
fn check_cpu(service: &Service, index: usize) -> Result<(), Refusal> {
    let open = service
        .path
        .iter()
        .position(|phase| matches!(phase, Phase::Cpu(cpu) if cpu.cpu.drawn().is_none()));
    match open {
        Some(phase) if service.app_us.is_none() => {
            let place = format!("services[{index}].path[{phase}].cpu");
            let allowed = "must be cpu_us = TIME or cpu = DISTRIBUTION, or the service must have \
                           app_us, since costs of operations say nothing of application time";
            Err(Refusal::new(place, "true", allowed))
        }
        _ => Ok(()),
    }
}

fn missing(error: &StatedCostsError, place: &str, image: &Image) -> Refusal {
    match error {
        StatedCostsError::Missing { service, accel } => {
            let own = image.kinds().iter().any(|kind| kind.name() == accel);
            let place = if own { "kinds" } else { place };
            let allowed = format!("must be stated, since service {service} uses it");
            Refusal::left_out(format!("{place}.{accel}"), allowed)
        }
        StatedCostsError::Service(error) => {
            Refusal::new(place, "as stated", format!("must fit the service: {error}"))
        }
    }
}

impl Costs {
    /// Returns the cost of a TCP operation on a core, in ns, that is stated for costs from the
    /// AccelFlow paper ([`Costs::Paper`]); `None` if it is not stated, or if the costs have another
    /// source.
    pub fn tcp_cost_ns(&self) -> Option<f64> {
        match self {
            Costs::Paper { tcp_cost_ns } => *tcp_cost_ns,
            _ => None,
        }
    }

    /// The stated cost of each operation, by [`Accel::index`]; none for other sources of costs.
    fn stated(&self, kinds: &[Option<StatedCost>]) -> StatedCosts {
        let Costs::Operations {
            tcp,
            encr,
            decr,
            rpc,
            ser,
            dser,
            cmp,
            dcmp,
            ldb,
        } = self
        else {
            return [None; Accel::MOST];
        };
        let cost = |cost: &OperationCost| StatedCost {
            ns: cost.ns,
            ns_per_byte: cost.ns_per_byte,
            relative_error: cost.relative_error,
        };
        let mut costs = of_kinds(kinds);
        for accel in Accel::ALL {
            let stated = match accel {
                Accel::Tcp => tcp,
                Accel::Encr => encr,
                Accel::Decr => decr,
                Accel::Rpc => rpc,
                Accel::Ser => ser,
                Accel::Dser => dser,
                Accel::Cmp => cmp,
                Accel::Dcmp => dcmp,
                Accel::Ldb => ldb,
                _ => continue,
            };
            costs[accel.index()] = stated.as_ref().map(cost);
        }
        costs
    }
}

impl SizesPreset {
    /// Returns the preset of message sizes with the same name in [`crate::sizes`].
    pub const fn preset(self) -> SizePreset {
        match self {
            SizesPreset::SocialNetwork => SizePreset::SocialNetwork,
            SizesPreset::Fleet => SizePreset::Fleet,
            SizesPreset::FleetWhole => SizePreset::FleetWhole,
            SizesPreset::HyperCompressBench => SizePreset::HyperCompressBench,
        }
    }
}

impl Sizes {
    fn payloads(&self, place: &str) -> Result<PayloadSizes, Refusal> {
        match self {
            Sizes::Preset(preset) => Ok(PayloadSizes::preset(preset.preset())),
            other => Ok(PayloadSizes::same(other.distribution(place)?)),
        }
    }

    fn distribution(&self, place: &str) -> Result<SizeDistribution, Refusal> {
        let refuse = |why: &dyn std::fmt::Display| {
            Refusal::new(
                place,
                "as stated",
                format!("must be a valid distribution: {why}"),
            )
        };
        let table = |points: &[(f64, Bytes)]| {
            let table = QuantileTable::new(points).map_err(|error| refuse(&error))?;
            Ok(SizeDistribution::Quantiles(table))
        };
        match self {
            Sizes::FixedBytes(size) => Ok(SizeDistribution::Fixed(Bytes(size.0))),
            Sizes::LogNormal(sizes) => {
                let made = LogNormal::new(sizes.median_bytes, sizes.sigma);
                made.map(SizeDistribution::LogNormal)
                    .ok_or_else(|| refuse(&"the median or sigma is out of range"))
            }
            Sizes::Quantiles(points) => {
                let points: Vec<_> = points.iter().map(|&(p, size)| (p, Bytes(size.0))).collect();
                table(&points)
            }
            Sizes::Histogram(rows) => {
                let all: f64 = rows.iter().map(|row| row.1 as f64).sum();
                let mut points = Vec::with_capacity(2 * rows.len());
                let mut below = 0.0;
                for (size, count) in rows.iter().filter(|row| row.1 > 0) {
                    points.push((below / all, Bytes(size.0)));
                    below += *count as f64;
                    points.push((below / all, Bytes(size.0)));
                }
                table(&points)
            }
            Sizes::HistogramFile(file) => {
                let place = format!("{place}.histogram_file");
                let allowed = "must be replaced by the file's contents first, by Document::inlined";
                Err(Refusal::new(place, quoted(file), allowed))
            }
            Sizes::Preset(preset) => {
                let all = PayloadSizes::preset(preset.preset());
                let other = crate::sizes::MessagePlace {
                    phase: 0,
                    chain: 0,
                    trace: 0,
                };
                Ok(all.distribution("", other).clone())
            }
        }
    }
}

impl Wait {
    /// Returns the distribution of times that this value of a workload file describes. A value that
    /// names a CSV file gives times of 0 until [`super::Document::inlined`] has replaced the name
    /// by the file's contents.
    pub fn distribution(&self) -> WaitDistribution {
        let time = |us: f64| Time::from_ns_f64(us * 1e3);
        match self {
            Wait::ConstantUs(wait) => WaitDistribution::constant(time(wait.0)),
            Wait::LogNormal(wait) => WaitDistribution::log_normal(time(wait.median_us), wait.sigma),
            Wait::QuantilesUs(points) => {
                let each = points.iter().map(|&(p, Duration(us))| (p, time(us)));
                let points: Vec<_> = each.collect();
                let longest = points.last().map_or(Time::ZERO, |point| point.1);
                // The check has refused invalid tables.
                let table = WaitDistribution::of_quantiles(&points);
                table.unwrap_or(WaitDistribution::constant(longest))
            }
            Wait::HistogramUs(rows) => {
                let counted: Vec<_> = rows.iter().filter(|row| row.1 > 0).collect();
                let all: f64 = counted.iter().map(|row| row.1 as f64).sum();
                let mut points = Vec::with_capacity(2 * counted.len());
                let mut below = 0.0;
                for (us, count) in &counted {
                    points.push((below / all, time(us.0)));
                    below += *count as f64;
                    points.push((below / all, time(us.0)));
                }
                // The check has refused counts that are all 0.
                let table = WaitDistribution::of_quantiles(&points);
                table.unwrap_or(WaitDistribution::constant(Time::ZERO))
            }
            // The contents of files are in the tree before anything is drawn.
            Wait::HistogramFile(_) => WaitDistribution::constant(Time::ZERO),
        }
    }
}

impl CpuTime {
    /// The distribution, if it is drawn.
    pub(super) fn drawn(&self) -> Option<&Wait> {
        match self {
            CpuTime::Elsewhere(_) => None,
            CpuTime::Drawn(times) => Some(times),
        }
    }
}
