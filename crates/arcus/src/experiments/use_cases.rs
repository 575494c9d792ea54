//! Fig. 8 (use cases 1 and 2): messages of 4 KB beside messages of 1 to 512 KB.

use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant};
use super::report::{Report, Row, Series};
use crate::control::Rate;
use crate::parameters::datapath;
use crate::{Arrivals, Flow, Mechanism, Path, Platform, PlatformError, Settings, Sizes, simulate};

/// The runtime's period: a message of 512 KB takes a third of it.
const PERIOD: Time = Time::from_us(500);

/// Messages of 4 KB of VM1 next to messages of 1 to 512 KB of VM2. Both call the same accelerator.
pub(super) fn fig8(seed: u64) -> Result<Report, PlatformError> {
    let platform = Platform::prototype(vec![datapath()]);
    let settings = Settings::lasting(Time::from_us(8_000)).seeded(seed);
    let flow = |vm, kib| Flow {
        queue_limit: 16,
        ..Flow::new(
            vm,
            Path::FunctionCall,
            Bytes::from_kib(kib),
            Arrivals::Backlogged,
        )
    };
    let run = |kib, mechanism: &Mechanism| {
        simulate(&platform, &[flow(0, 4), flow(1, kib)], mechanism, &settings)
    };
    // The rate that two equal flows get; each is promised half, less 2 %, through the whole
    // protocol.
    let capacity = run(4, &Mechanism::NoShaping)?.total_gbit_per_s();
    let half = Rate::GbitPerS(0.49 * capacity);
    let tenant = |name, kib| {
        let sizes = Sizes::Fixed(Bytes::from_kib(kib));
        Tenant::new(name, "datapath", Path::FunctionCall, sizes, half)
    };
    let sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
    let mut curves: Vec<Vec<(f64, f64)>> = vec![Vec::new(); 4];
    for kib in sizes {
        let unshaped = run(kib, &Mechanism::NoShaping)?;
        let admitted = Admitted::new(&platform, &[tenant("VM1", 4), tenant("VM2", kib)])?;
        let arcus = admitted.run(&settings, PERIOD)?;
        let values = [&unshaped, &arcus].map(|result| [result.gbit_per_s(0), result.gbit_per_s(1)]);
        for (curve, value) in curves.iter_mut().zip(values.concat()) {
            curve.push((kib as f64, value / capacity));
        }
    }
    let rows = fig8_rows(&curves);
    let names = [
        ("Host_noTS", 1),
        ("Host_noTS", 2),
        ("Arcus", 1),
        ("Arcus", 2),
    ];
    let series = names.into_iter().zip(curves);
    let series = series.map(|((system, user), points)| Series {
        name: format!("VM{user}"),
        panel: "shares".to_owned(),
        system,
        user: Some(user),
        x: "message KiB of VM2",
        y: "share of capacity",
        points,
        ..Series::default()
    });
    Ok(Report {
        rows,
        series: series.collect(),
        ..Report::default()
    })
}

fn fig8_rows(curves: &[Vec<(f64, f64)>]) -> Vec<Row> {
    let lost = |share: f64| 1.0 - share / 0.5;
    let large = curves[0]
        .iter()
        .filter(|point| point.0 > 4.0)
        .map(|point| lost(point.1));
    let (least, most) = large.fold((f64::MAX, f64::MIN), |(a, b), share| {
        (a.min(share), b.max(share))
    });
    let of_arcus = || curves[2].iter().chain(&curves[3]).map(|point| point.1);
    let worst = of_arcus().fold(0.0, |worst: f64, share| {
        worst.max((share / 0.5 - 1.0).abs())
    });
    let none = "Host_noTS";
    vec![
        Row::new(
            format!("arcus.fig8.vm1_loss_least.{none}"),
            none,
            "VM1's least loss beside more than 4 KB",
            "",
            least,
        ),
        Row::new(
            format!("arcus.fig8.vm1_loss_greatest.{none}"),
            none,
            "VM1's greatest loss beside more than 4 KB",
            "",
            most,
        ),
        Row::new(
            format!("arcus.fig8.vm2_loss_with_1_kb.{none}"),
            none,
            "VM2's loss with 1 KB",
            "",
            lost(curves[1][0].1),
        ),
        Row::new(
            "arcus.fig8.deviation_from_half.Arcus",
            "Arcus",
            "largest deviation from half",
            "",
            worst,
        ),
    ]
}
