//! A discrete-event kernel: the order of events, random numbers, and statistics.
//!
//! The kernel has three parts, which are independent of the simulated model:
//!
//! * **Order.** [`Calendar`] holds any number of pending events of any `Copy` type in the total
//!   order (time, [`Priority`], sequence number). [`SlotQueue`] is faster for models whose event
//!   sources are a fixed set of slots with at most one pending event each. [`Wheel`] is faster for
//!   models with many events in the near future. All three implement [`EventQueue`].
//! * **Chance.** [`Stream`] is one independent source of random numbers per purpose;
//!   [`attribute()`] gives the properties of the n-th request as a pure function of n. So systems
//!   under comparison see the same requests, in whatever order they handle the requests.
//! * **Statistics** of runs: [`Samples`], [`TimeAverage`], [`BusyTime`] and [`ConfidenceInterval`].
//!
//! A model owns its state, its queue and its main loop:
//!
//! ```
//! use accelflow_kernel::{Calendar, Priority};
//! use accelflow_units::Time;
//!
//! #[derive(Clone, Copy)]
//! enum Event { Arrive, Depart }
//!
//! let mut calendar = Calendar::new();
//! calendar.schedule(Time::from_ns(5), Priority::NORMAL, Event::Arrive);
//! let mut served = 0;
//! while let Some((now, event)) = calendar.pop() {
//!     match event {
//!         Event::Arrive => {
//!             calendar.schedule(now + Time::from_ns(10), Priority::NORMAL, Event::Depart)
//!         }
//!         Event::Depart => served += 1,
//!     }
//! }
//! assert_eq!((served, calendar.now()), (1, Time::from_ns(15)));
//! ```
//!
//! Results are bit-identical for a seed on every machine: times are integers, no order depends on
//! an address or a hash seed, and the few logarithms and exponentials come from a pinned
//! pure-Rust library instead of the platform's.

mod attribute;
mod calendar;
mod queue;
mod slot_queue;
mod stats;
mod stream;
mod wheel;
mod ziggurat;

pub use attribute::{Attributes, attribute, attribute_unit};
pub use calendar::Calendar;
pub use queue::{EventQueue, Priority};
pub use slot_queue::{SlotQueue, TooManySlots};
pub use stats::{BIN_ERROR, BusyTime, ConfidenceInterval, Samples, TimeAverage};
pub use stream::Stream;
pub use wheel::Wheel;
