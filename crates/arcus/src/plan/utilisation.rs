//! The utilisation of a platform's resources in the runs of a plan.

use serde::Serialize;

use super::by_run::{ByRun, Runs};
use crate::{Platform, Usage};

/// A link, accelerator, port or the SSDs, and the shares of the measured time in which it was in
/// use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceUse {
    /// The resource's name: `PCIe to host`, `PCIe from host`; an accelerator's name, `#` and its
    /// index on the platform; `port 0 in`, `port 0 out` and so on; `SSD units`, `SSD links`.
    pub resource: String,
    /// The kind of the resource: `link`, `accelerator`, `port` or `storage`.
    pub kind: &'static str,
    /// The share of the measured time in which the resource was in use, from 0 to 1; for SSDs, the
    /// mean over their units or links. A PCIe link is in use while packets are on the wire, and
    /// idles while they wait for credits.
    pub utilisation: ByRun<f64>,
}

/// The utilisation of all resources, in the order of the platform.
pub(super) fn utilisation(platform: &Platform, runs: Runs<'_>) -> Vec<ResourceUse> {
    let row = |resource: String, kind, share: &dyn Fn(&Usage) -> f64| ResourceUse {
        resource,
        kind,
        utilisation: runs.each(|run| share(&run.usage)),
    };
    let mut rows = vec![
        row("PCIe to host".to_owned(), "link", &|usage| usage.up),
        row("PCIe from host".to_owned(), "link", &|usage| usage.down),
    ];
    for (number, accelerator) in platform.accelerators.iter().enumerate() {
        let name = format!("{}#{number}", accelerator.name);
        rows.push(row(name, "accelerator", &|usage| {
            usage.accelerators[number]
        }));
    }
    for number in 0..platform.ports.len() {
        let name = |way: &str| format!("port {number} {way}");
        rows.push(row(name("in"), "port", &|usage| usage.ports_in[number]));
        rows.push(row(name("out"), "port", &|usage| usage.ports_out[number]));
    }
    if platform.storage.is_some() {
        let of = |share: Option<f64>| share.unwrap_or(0.0);
        let units = row("SSD units".to_owned(), "storage", &|usage| {
            of(usage.ssd_units)
        });
        let links = row("SSD links".to_owned(), "storage", &|usage| {
            of(usage.ssd_links)
        });
        rows.extend([units, links]);
    }
    rows
}
