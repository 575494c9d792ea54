//! The control plane's own numbers; [`super::PARAMETERS`] has their sources.

use accelflow_units::Time;

/// The part of the capacity that may be promised, or used by those without a promise.
pub(super) const MOST: f64 = 0.8;
/// How often promises are looked at.
pub(super) const PERIOD: Time = Time::from_us(100_000);
/// The share of all periods in which a promised rate holds.
pub(super) const PERIODS: f64 = 0.99;
/// The shortfall of a period that is no miss.
pub(super) const TOLERANCE: f64 = 0.01;
/// Requests or periods beyond a promised share without which it is not known.
pub(super) const BEYOND: f64 = 1.0;
/// The weight of the latest period in measured rates.
pub(super) const SMOOTHING: f64 = 0.25;
/// The most by which a rate is raised above its promise to make up for a shortfall.
pub(super) const CATCH_UP: f64 = 1.05;
/// The part of its promise that is kept free for a tenant that sends nothing.
pub(super) const KEPT: f64 = 0.25;
/// How many times what it used lately is kept free for a tenant.
pub(super) const GROWTH: f64 = 2.0;
/// What tenants without promises keep of their rate when a promise was missed.
pub(super) const CUT: f64 = 0.5;
/// What they get back of it in each period without a miss.
pub(super) const RECOVERY: f64 = 0.05;
/// The part of the capacity below which nobody is shaped.
pub(super) const TRICKLE: f64 = 0.001;
