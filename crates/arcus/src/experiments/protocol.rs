//! Runs through the whole protocol: admission with profiles, planned registers, Algorithm 1.

use accelflow_units::Time;

use crate::control::{AdmissionRequest, FlowStatus, Manager, Rate, Runtime};
use crate::{
    Arrivals, Flow, Mechanism, Path, Platform, PlatformError, RunResult, Settings, Sizes, simulate,
    simulate_with,
};

/// A flow that requests admission, and its arrivals.
pub(super) struct Tenant {
    pub(super) request: AdmissionRequest,
    pub(super) arrivals: Arrivals,
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
        }
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
    /// Admits all tenants in order; a tenant without room is an error.
    pub(super) fn new(platform: &Platform, tenants: &[Tenant]) -> Result<Admitted, PlatformError> {
        let mut manager = Manager::new(platform.clone());
        for tenant in tenants {
            manager.register(tenant.request.clone())?;
        }
        let arrivals = |status: &FlowStatus| {
            let same = |tenant: &&Tenant| tenant.request.name == status.request.name;
            let found = tenants.iter().find(same);
            found.map_or(Arrivals::Backlogged, |tenant| tenant.arrivals)
        };
        let (flows, arcus) = manager.deploy(arrivals);
        Ok(Admitted {
            platform: platform.clone(),
            manager,
            flows,
            arcus,
        })
    }

    /// The run with ARCUS, whose runtime reads the counters every `period`.
    pub(super) fn run(
        &self,
        settings: &Settings,
        period: Time,
    ) -> Result<RunResult, PlatformError> {
        let settings = Settings {
            control_period: period,
            ..*settings
        };
        let mut runtime = Runtime::new(self.manager.clone());
        simulate_with(
            &self.platform,
            &self.flows,
            &self.arcus,
            &settings,
            &mut runtime,
        )
    }

    /// Runs the same flows under another mechanism.
    pub(super) fn without(
        &self,
        mechanism: &Mechanism,
        settings: &Settings,
    ) -> Result<RunResult, PlatformError> {
        simulate(&self.platform, &self.flows, mechanism, settings)
    }

    /// The largest relative deviation of a flow's rate from its SLO.
    pub(super) fn deviation(&self, result: &RunResult) -> f64 {
        let each = self.manager.flows().iter().enumerate();
        let deviation = each.map(|(number, status)| {
            let slo = status.slo_gbit_per_s().unwrap_or(f64::NAN);
            (result.gbit_per_s(number) / slo - 1.0).abs()
        });
        deviation.fold(0.0, f64::max)
    }
}
