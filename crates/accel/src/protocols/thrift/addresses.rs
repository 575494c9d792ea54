//! The addresses of the containers and structs in one Thrift message: the per-message half of a
//! split schema.
//!
//! Cerebros divides the schema of a message in two (section 4.3): the types of its fields, which
//! all messages of a function share ([`super::schema::Schema`] is that half), and their addresses,
//! which the accelerator fills in for each message. Here only containers and structs have
//! addresses, since the ends of numbers and texts follow from their encoding.

/// The containers and structs of a checked message, in the order of the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses(Vec<Place>);

/// The place of a container or struct in the message.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    end: u32,
    /// The number of the first container or struct after it.
    next: u32,
}

/// An address in 32 bits, which no message of a size that Thrift can frame exceeds.
fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Addresses {
    /// Records that a container or struct begins at `start`. Pass the result to [`Addresses::end`].
    pub(crate) fn begin(&mut self, start: usize) -> usize {
        let start = narrow(start);
        self.0.push(Place {
            start,
            end: start,
            next: 0,
        });
        self.0.len() - 1
    }

    /// Records that container or struct `number` ends before `end`.
    pub(crate) fn end(&mut self, number: usize, end: usize) {
        let next = narrow(self.0.len());
        if let Some(place) = self.0.get_mut(number) {
            (place.end, place.next) = (narrow(end), next);
        }
    }

    /// Returns the end of container or struct `number`, and the number of the next one after it.
    /// `None` unless it begins at `start`.
    pub(crate) fn behind(&self, number: usize, start: usize) -> Option<(usize, usize)> {
        let place = self.0.get(number)?;
        (place.start as usize == start).then_some((place.end as usize, place.next as usize))
    }
}
