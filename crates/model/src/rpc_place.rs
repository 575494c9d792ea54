//! Places of RPC accelerators: one for all cores, one in the NIC, or one for each core (Cerebros,
//! sections 3.3 and 6.1).
//!
//! The paper prints three ratios. On 16 cores, the 16 private accelerators together have 5 times
//! the area and 6 times the power of one accelerator that all cores share. The shared accelerator
//! takes half as much area in the NIC, which already has a cache and an MMU. Absolute areas follow
//! from Optimus Prime: 64 private accelerators together have 75 % of the area of one core.
//!
//! ```
//! use accelflow_model::area::{Area, AreaInputs};
//! use accelflow_model::rpc_place::{Place, area_mm2};
//!
//! let mut inputs = AreaInputs::default();
//! inputs.set("cores", 16.0)?;
//! let area = Area::new(inputs)?;
//! let ratio = area_mm2(&area, Place::Private) / area_mm2(&area, Place::Shared);
//! assert!((ratio - 5.0).abs() < 1e-9);
//! # Ok::<(), accelflow_model::Refusal>(())
//! ```

use crate::area::Area;
use crate::power::Power;

/// The cores for which Optimus Prime's share of a core is printed.
const SHARE_CORES: f64 = 64.0;

/// Where the RPC accelerators of a processor are, and how many cores share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One accelerator for all cores, with its own cache and MMU.
    Shared,
    /// One accelerator for all cores, with the cache and the MMU of the NIC.
    Nic,
    /// One accelerator per core, with the cache and the MMU of the core.
    Private,
}

impl Place {
    /// The three places of RPC accelerators.
    pub const ALL: [Place; 3] = [Place::Shared, Place::Nic, Place::Private];

    /// The name of the place in results, such as `one in the NIC`.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Shared => "one for all cores",
            Place::Nic => "one in the NIC",
            Place::Private => "one for each core",
        }
    }
}

/// The area in mm2 of the RPC accelerators at `place` on the processor that `area` describes. A
/// shared accelerator has the same area for any number of cores, since 16 cores use only a small
/// share of its capacity. The number of private accelerators is the number of cores.
pub fn area_mm2(area: &Area, place: Place) -> f64 {
    let inputs = area.inputs();
    let core = area.part_mm2("cores").unwrap_or(0.0) / inputs.cores;
    let private = inputs.private_rpc_core_share * core / SHARE_CORES;
    let shared = inputs.private_rpc_cores * private / inputs.private_rpc_area_ratio;
    match place {
        Place::Shared => shared,
        Place::Nic => shared * (1.0 - inputs.nic_rpc_saved_share),
        Place::Private => inputs.cores * private,
    }
}

/// The maximum power of the RPC accelerators at `place`, in watts. A shared accelerator has the
/// same power per mm2 as AccelFlow's accelerators. An accelerator in the NIC is assumed to save the
/// same share of power as of area, since the paper does not state the power. The power of private
/// accelerators is proportional to the number of cores.
pub fn power_w(power: &Power, area: &Area, place: Place) -> f64 {
    let inputs = area.inputs();
    let shared = power.accelerators_w_per_mm2() * area_mm2(area, Place::Shared);
    match place {
        Place::Shared => shared,
        Place::Nic => shared * (1.0 - inputs.nic_rpc_saved_share),
        Place::Private => {
            shared * power.private_rpc_power_ratio() * inputs.cores / inputs.private_rpc_cores
        }
    }
}
