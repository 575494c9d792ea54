//! The core times of operations as functions of the message's size, in a form that is quick to
//! evaluate for many messages.

use accelflow_units::Time;
use accelflow_workload::profile::Cost;

use super::message::MessageSize;

/// The core time of an operation as a function of its message's size, where nothing is drawn and
/// the payload is the message. It is [`Cost::at`] without what is the same for every message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Law {
    mean_ps: f64,
    fixed: f64,
    of_size: f64,
}

impl Law {
    pub(super) fn new(cost: Cost) -> Law {
        Law {
            mean_ps: cost.mean().as_ps() as f64,
            fixed: 1.0 - cost.size_share(),
            of_size: cost.size_share(),
        }
    }

    /// The core time for a message with this [`MessageSize::relative`].
    #[inline]
    pub(crate) fn at(&self, relative: f64) -> Time {
        Time::from_ps_f64(self.mean_ps * (self.fixed + self.of_size * relative))
    }
}

impl MessageSize {
    /// The size over the mean; 1, for the mean cost, if the mean is zero.
    #[inline]
    pub(crate) fn relative(self) -> f64 {
        match self.mean.get() {
            0 => 1.0,
            mean => self.size.get() as f64 / mean as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use accelflow_units::Bytes;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_law_is_the_cost(
            ps in 0_u64..1 << 40,
            share in 0.0..1.0,
            size in 0_u64..1 << 30,
            mean in prop_oneof![Just(0), 1_u64..1 << 30],
        ) {
            let cost = Cost::new(Time::from_ps(ps), share);
            let message = MessageSize { size: Bytes(size), mean: Bytes(mean) };
            let found = Law::new(cost).at(message.relative());
            prop_assert_eq!(found, cost.at(message.size, message.mean));
        }
    }
}
