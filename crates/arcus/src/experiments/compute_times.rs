//! Section 5.3.1: synthetic accelerators with several distributions of compute times. Section 5.3:
//! flows of one VM, and flows of several VMs on different paths.

use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant};
use super::report::{Report, Row};
use crate::control::Rate;
use crate::parameters::{datapath, synthetic};
use crate::{
    Accelerator, Curve, Law, Mechanism, Path, Platform, PlatformError, Settings, Sizes, gbit_per_s,
};

/// The runtime's period: several hundred messages of each flow.
const PERIOD: Time = Time::from_us(500);

fn settings(seed: u64) -> Settings {
    Settings::lasting(Time::from_us(10_000)).seeded(seed)
}

/// Calls of 1 KB and of 4 KB, promised 8 and 12 Gbit/s of a synthetic accelerator.
pub(super) fn compute_times(seed: u64) -> Result<Report, PlatformError> {
    let mut rows = Vec::new();
    for law in Law::ALL {
        let curve = Curve::Saturating {
            setup: Time::from_ns(100),
            peak: gbit_per_s(50.0),
        };
        let accelerator = Accelerator {
            law,
            ..Accelerator::new("synthetic", curve)
        };
        let call = |name, size, rate| {
            let sizes = Sizes::Fixed(Bytes(size));
            let rate = Rate::GbitPerS(rate);
            Tenant::new(name, "synthetic", Path::FunctionCall, sizes, rate)
        };
        let tenants = [call("VM1", 1_024, 8.0), call("VM2", 4_096, 12.0)];
        let what = format!(
            "{} compute times, largest deviation from an SLO",
            law.name()
        );
        rows.extend(deviations(
            &format!("compute_times.{}", law.name().replace('-', "_")),
            &what,
            &Platform::prototype(vec![accelerator]),
            &tenants,
            seed,
        )?);
    }
    Ok(Report {
        rows,
        ..Report::default()
    })
}

/// Three flows of one VM on one path, and flows of VMs that meet on different paths.
pub(super) fn paths(seed: u64) -> Result<Report, PlatformError> {
    let flow = |name, accelerator, path, size, rate| {
        let sizes = Sizes::Fixed(Bytes(size));
        Tenant::new(name, accelerator, path, sizes, Rate::GbitPerS(rate))
    };
    let (rx, tx, call) = (Path::InlineRx, Path::InlineTx, Path::FunctionCall);
    let one = Platform::prototype(vec![datapath()]);
    let two = Platform::prototype(vec![synthetic("one"), synthetic("two")]);
    let cases = [
        (
            "intra_vm",
            "one VM, one path",
            &one,
            [
                flow("1 KB", "datapath", call, 1_024, 8.0),
                flow("4 KB", "datapath", call, 4_096, 14.0),
                flow("64 KB", "datapath", call, 65_536, 14.0),
            ],
        ),
        (
            "inter_path",
            "VMs on three paths, one accelerator",
            &one,
            [
                flow("in", "datapath", rx, 1_500, 16.0),
                flow("out", "datapath", tx, 4_096, 16.0),
                flow("call", "datapath", call, 65_536, 14.0),
            ],
        ),
        (
            "inter_accelerator",
            "VMs on three paths, two accelerators, one link",
            &two,
            [
                flow("in", "one", rx, 4_096, 30.0),
                flow("also in", "two", rx, 1_500, 14.0),
                flow("out", "two", tx, 16_384, 25.0),
            ],
        ),
    ];
    let mut rows = Vec::new();
    for (key, what, platform, tenants) in cases {
        let what = format!("{what}, largest deviation from an SLO");
        let key = format!("paths.{key}");
        rows.extend(deviations(&key, &what, platform, &tenants, seed)?);
    }
    Ok(Report {
        rows,
        ..Report::default()
    })
}

/// A row with ARCUS, and one without shaping.
fn deviations(
    key: &str,
    what: &str,
    platform: &Platform,
    tenants: &[Tenant],
    seed: u64,
) -> Result<Vec<Row>, PlatformError> {
    let admitted = Admitted::new(platform, tenants)?;
    let arcus = admitted.run(&settings(seed), PERIOD)?;
    let turns = admitted.without(&Mechanism::NoShaping, &settings(seed))?;
    let row = |system, result| {
        let key = format!("arcus.{key}.{system}");
        Row::new(key, system, what, "", admitted.deviation(result))
    };
    Ok(vec![row("Host_noTS", &turns), row("Arcus", &arcus)])
}
