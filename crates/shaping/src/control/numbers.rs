//! The constants of the control plane; [`super::PARAMETERS`] has their sources.

use accelflow_units::Time;

/// The share of the capacity that tenants may use, with or without promises.
pub(super) const MOST: f64 = 0.8;
/// The period after which promises are checked.
pub(super) const PERIOD: Time = Time::from_us(100_000);
/// The share of all periods in which a promised rate holds.
pub(super) const PERIODS: f64 = 0.99;
/// The share of the promise by which a period may fall short without counting as missed.
pub(super) const TOLERANCE: f64 = 0.01;
/// The number of misses that a promise must allow before its verdict can be `Kept`.
pub(super) const BEYOND: f64 = 1.0;
/// The weight of the latest period in the moving mean of a tenant's use.
pub(super) const SMOOTHING: f64 = 0.25;
/// The highest rate that makes up for a shortfall, as a multiple of the promised rate.
pub(super) const CATCH_UP: f64 = 1.05;
/// The share of a promise that is kept free for a tenant that sends nothing.
pub(super) const KEPT: f64 = 0.25;
/// The capacity that is kept free for a tenant, as a multiple of its recent use.
pub(super) const GROWTH: f64 = 2.0;
/// The factor on the rates of tenants without promises after a missed promise.
pub(super) const CUT: f64 = 0.5;
/// The share of their rates that tenants without promises get back in each period without a miss.
pub(super) const RECOVERY: f64 = 0.05;
/// The smallest rate of a tenant without a promise, as a share of the capacity.
pub(super) const TRICKLE: f64 = 0.001;
