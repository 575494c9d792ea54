//! The parameters of the control plane.

use accelflow_parameters::{Kind, Parameter, Provenance, Row, Table};
use accelflow_units::Time;

use crate::Registers;
use crate::costs::SHARE;

use super::ControlSettings;
use super::numbers::{
    BEYOND, CATCH_UP, CUT, GROWTH, KEPT, MOST, PERIOD, PERIODS, RECOVERY, SMOOTHING, TOLERANCE,
    TRICKLE,
};

/// The parameters of the control plane, with their sources: the settings that have a default, and
/// every constant.
///
/// ARCUS prints the algorithm of the control plane (Algorithm 1), but gives only one constant of
/// the algorithm, the variance.
pub const PARAMETERS: Table<ControlSettings> = Table::new(&[&[
    Row {
        parameter: Parameter {
            key: "control.most",
            unit: "",
            kind: Kind::number(1e-9, 1.0),
            default: MOST,
            provenance: Provenance::Assumed,
            source: "part of the capacity that may be promised",
            why: "The rest is for handlers, the operating system and errors of prediction.",
        },
        get: |settings| settings.most,
        set: |settings, value| settings.most = value,
    },
    Row {
        parameter: Parameter {
            key: "control.period_s",
            unit: "s",
            kind: Kind::number(0.001, 60.0),
            default: PERIOD.as_ps() as f64 / 1e12,
            provenance: Provenance::Assumed,
            source: "ARCUS, Algorithm 1, line 2: \"periodically\"",
            why: "Long enough to hold hundreds of requests, short enough that operators see what they changed.",
        },
        get: |settings| settings.period.as_s_f64(),
        set: |settings, value| settings.period = Time::from_ns_f64(value * 1e9),
    },
    constant(
        "control.periods",
        PERIODS,
        Provenance::Paper,
        "ARCUS, section 5.2: \"Both SLOs should be under 99th% guarantee\"",
        "With 99 % a promise is judged after a hundred periods.",
        |_| PERIODS,
    ),
    constant(
        "control.tolerance",
        TOLERANCE,
        Provenance::Paper,
        "ARCUS, abstract: throughput variance below 1 %",
        "",
        |_| TOLERANCE,
    ),
    constant(
        "control.beyond",
        BEYOND,
        Provenance::Assumed,
        "misses that a promise allows before its verdict is known",
        "One miss in a few samples does not show a share of one in a hundred.",
        |_| BEYOND,
    ),
    constant(
        "control.smoothing",
        SMOOTHING,
        Provenance::Assumed,
        "weight of the last period in the moving mean of a tenant's use, as in arcus.control.smoothing",
        "",
        |_| SMOOTHING,
    ),
    constant(
        "control.catch_up",
        CATCH_UP,
        Provenance::Assumed,
        "the highest rate that makes up for a shortfall, as a multiple of the promise, as in arcus.control.catch_up",
        "",
        |_| CATCH_UP,
    ),
    constant(
        "control.kept",
        KEPT,
        Provenance::Assumed,
        "part of its promise that is kept free for a tenant that sends nothing",
        "Capacity that is kept free is idle; capacity that others use returns after a period.",
        |_| KEPT,
    ),
    constant(
        "control.growth",
        GROWTH,
        Provenance::Assumed,
        "a tenant's use may at most double from one period to the next",
        "",
        |_| GROWTH,
    ),
    constant(
        "control.cut",
        CUT,
        Provenance::Assumed,
        "additive increase, multiplicative decrease: what others keep after a missed promise",
        "TCP's congestion control halves its window after a loss, too.",
        |_| CUT,
    ),
    constant(
        "control.recovery",
        RECOVERY,
        Provenance::Assumed,
        "additive increase, multiplicative decrease: what they get back in a period without a miss",
        "From the smallest share to the whole takes 20 periods, 2 s.",
        |_| RECOVERY,
    ),
    constant(
        "control.trickle",
        TRICKLE,
        Provenance::Assumed,
        "the smallest rate, as a share of the capacity: registers cannot hold 0; as in arcus.control.trickle",
        "",
        |_| TRICKLE,
    ),
    constant(
        "costs.share",
        SHARE,
        Provenance::Assumed,
        "share of a new measurement in the moving mean that predicts what a request takes",
        "Sixteen requests of a size are enough to follow a change, and one outlier moves it little.",
        |_| SHARE,
    ),
    Row {
        parameter: Parameter {
            key: "shaping.burst_s",
            unit: "s",
            kind: Kind::Fixed,
            default: Registers::BURST_S,
            provenance: Provenance::Assumed,
            source: "a bucket without a size of its own holds the traffic of this time",
            why: "The paper gives no rule for sizes of buckets.",
        },
        get: |_| Registers::BURST_S,
        set: |_, _| {},
    },
]]);

/// A number that cannot be set.
const fn constant(
    key: &'static str,
    value: f64,
    provenance: Provenance,
    source: &'static str,
    why: &'static str,
    get: fn(&ControlSettings) -> f64,
) -> Row<ControlSettings> {
    Row {
        parameter: Parameter {
            key,
            unit: "",
            kind: Kind::Fixed,
            default: value,
            provenance,
            source,
            why,
        },
        get,
        set: |_, _| {},
    }
}
