//! Simulation runs in which flows pass the whole protocol of ARCUS: admission with profiles,
//! planned registers, Algorithm 1.

use accelflow_units::Time;

use crate::control::{
    AdmissionRequest, Availability, FlowStatus, LatencySlo, Manager, Rate, Runtime, ServiceClass,
};
use crate::{
    Answers, Arrivals, Flow, Mechanism, Path, Platform, PlatformError, RunResult, Settings, Sizes,
    simulate, simulate_with,
};

/// A flow that requests admission, and its arrivals.
pub(super) struct Tenant {
    pub(super) request: AdmissionRequest,
    pub(super) arrivals: Arrivals,
    /// The Ethernet port on which the flow's messages arrive; `None` without one.
    port: Option<usize>,
    /// The flow's weight under PANIC.
    weight: f64,
    /// The host's answers to the flow's messages; `None` without answers.
    answers: Option<Answers>,
}

impl Tenant {
    /// An on-demand flow that always has something to send.
    pub(super) fn new(name: &str, accelerator: &str, path: Path, sizes: Sizes, slo: Rate) -> Self {
        let largest = sizes.largest();
        Tenant {
            request: AdmissionRequest {
                sizes,
                ..AdmissionRequest::new(name, accelerator, path, largest, slo)
            },
            arrivals: Arrivals::Backlogged,
            port: None,
            weight: 1.0,
            answers: None,
        }
    }

    /// Has the messages answered.
    pub(super) fn answered(self, answers: Answers) -> Self {
        let answers = Some(answers);
        Tenant { answers, ..self }
    }

    /// Lets the messages arrive on an Ethernet port.
    pub(super) fn over_port(self, port: usize) -> Self {
        let port = Some(port);
        Tenant { port, ..self }
    }

    /// Sets the weight under PANIC.
    pub(super) fn with_weight(self, weight: f64) -> Self {
        Tenant { weight, ..self }
    }

    /// Sets the class of the promise.
    pub(super) fn of_class(mut self, class: ServiceClass) -> Self {
        self.request.class = class;
        self
    }

    /// Sets the VM.
    pub(super) fn of_vm(mut self, vm: usize) -> Self {
        self.request.vm = vm;
        self
    }

    /// Sets the arrivals.
    pub(super) fn sending(self, arrivals: Arrivals) -> Self {
        Tenant { arrivals, ..self }
    }

    /// Promises the rate in `percent` of all periods.
    pub(super) fn promised_in(mut self, percent: f64, period: Time) -> Self {
        self.request.availability = Some(Availability { percent, period });
        self
    }

    /// Promises that `percent` of the messages take at most this long.
    pub(super) fn within(mut self, percent: f64, most: Time) -> Self {
        self.request.latency = Some(LatencySlo { percent, most });
        self
    }

    /// Lets `burst` messages pass at once.
    pub(super) fn in_bursts(mut self, burst: u32) -> Self {
        self.request.burst = burst;
        self
    }

    /// Allows other accelerators.
    pub(super) fn instead(mut self, accelerators: &[&str]) -> Self {
        self.request.instead = accelerators.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Sends the messages through more accelerators, in order.
    pub(super) fn then(mut self, accelerators: &[&str]) -> Self {
        self.request.then = accelerators.iter().map(|name| (*name).to_owned()).collect();
        self
    }
}

/// Closed-loop clients without think time.
pub(super) fn closed(clients: u32) -> Arrivals {
    let think = Time::ZERO;
    Arrivals::Closed { clients, think }
}

/// The highest load up to `most` whose result is good, with the result. It is found by bisection to
/// a 64th of `most`, as a result that is good at a load is good below. If none is good, it is the
/// lowest load.
pub(super) fn highest(
    most: f64,
    run: impl Fn(f64) -> Result<RunResult, PlatformError>,
    good: impl Fn(&RunResult) -> bool,
) -> Result<(f64, RunResult), PlatformError> {
    let result = run(most)?;
    if good(&result) {
        return Ok((most, result));
    }
    let (mut low, mut high) = (0, 64);
    let mut found = None;
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        let load = most * f64::from(middle) / 64.0;
        let result = run(load)?;
        match good(&result) {
            true => (low, found) = (middle, Some((load, result))),
            false => high = middle,
        }
    }
    match found {
        Some(found) => Ok(found),
        None => Ok((most / 64.0, run(most / 64.0)?)),
    }
}

/// A platform whose control plane has admitted tenants.
pub(super) struct Admitted {
    platform: Platform,
    manager: Manager,
    pub(super) flows: Vec<Flow>,
    arcus: Mechanism,
}

impl Admitted {
    /// Admits all tenants in order. A tenant that does not fit is an error.
    pub(super) fn new(platform: &Platform, tenants: &[Tenant]) -> Result<Admitted, PlatformError> {
        Admitted::by(Manager::new(platform.clone()), platform, tenants)
    }

    /// [`Admitted::new`] without second shapers.
    pub(super) fn shaped_once(
        platform: &Platform,
        tenants: &[Tenant],
    ) -> Result<Admitted, PlatformError> {
        let manager = Manager::new(platform.clone()).shaping_once();
        Admitted::by(manager, platform, tenants)
    }

    fn by(
        mut manager: Manager,
        platform: &Platform,
        tenants: &[Tenant],
    ) -> Result<Admitted, PlatformError> {
        for tenant in tenants {
            manager.register(tenant.request.clone())?;
        }
        let arrivals = |status: &FlowStatus| {
            let same = |tenant: &&Tenant| tenant.request.name == status.request.name;
            let found = tenants.iter().find(same);
            found.map_or(Arrivals::Backlogged, |tenant| tenant.arrivals)
        };
        let (mut flows, arcus) = manager.deploy(arrivals);
        for (flow, tenant) in flows.iter_mut().zip(tenants) {
            flow.port = tenant.port.or(flow.port);
            flow.weight = tenant.weight;
            flow.answers = tenant.answers.clone();
        }
        Ok(Admitted {
            platform: platform.clone(),
            manager,
            flows,
            arcus,
        })
    }

    /// The same flows with the arrivals of `tenants`, in the same order.
    pub(super) fn sending(&self, tenants: &[Tenant]) -> Admitted {
        let mut flows = self.flows.clone();
        for (flow, tenant) in flows.iter_mut().zip(tenants) {
            flow.arrivals = tenant.arrivals;
        }
        Admitted {
            platform: self.platform.clone(),
            manager: self.manager.clone(),
            flows,
            arcus: self.arcus.clone(),
        }
    }

    /// The run with ARCUS, whose runtime reads the counters every `period`.
    pub(super) fn run(
        &self,
        settings: &Settings,
        period: Time,
    ) -> Result<RunResult, PlatformError> {
        Ok(self.run_predicting(settings, period, 0)?.0)
    }

    /// [`Admitted::run`], with a runtime that predicts violations so many periods ahead, and the
    /// runtime after the run.
    pub(super) fn run_predicting(
        &self,
        settings: &Settings,
        period: Time,
        ahead: u32,
    ) -> Result<(RunResult, Runtime), PlatformError> {
        let settings = Settings {
            control_period: period,
            ..*settings
        };
        let mut runtime = Runtime::new(self.manager.clone()).predicting(ahead);
        let result = simulate_with(
            &self.platform,
            &self.flows,
            &self.arcus,
            &settings,
            &mut runtime,
        )?;
        Ok((result, runtime))
    }

    /// The row of a flow in the table of flows.
    pub(super) fn status(&self, flow: usize) -> &FlowStatus {
        &self.manager.flows()[flow]
    }

    /// The name of ARCUS in reports.
    pub(super) fn name(&self) -> &'static str {
        self.arcus.name()
    }

    /// Runs the same flows under another mechanism.
    pub(super) fn without(
        &self,
        mechanism: &Mechanism,
        settings: &Settings,
    ) -> Result<RunResult, PlatformError> {
        simulate(&self.platform, &self.flows, mechanism, settings)
    }

    /// The largest relative deviation of any flow's rate from its SLO.
    pub(super) fn deviation(&self, result: &RunResult) -> f64 {
        let each = self.manager.flows().iter().enumerate();
        let deviation = each.map(|(number, status)| {
            let slo = status.slo_gbit_per_s().unwrap_or(f64::NAN);
            (result.gbit_per_s(number) / slo - 1.0).abs()
        });
        deviation.fold(0.0, f64::max)
    }
}
