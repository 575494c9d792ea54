//! The nine accelerators, custom accelerators, and the pairs that may follow one another
//! (AccelFlow, Table I).

use std::fmt;
use std::str::FromStr;

use crate::limits::MAX_KINDS;

/// An accelerator that a trace calls: one of the nine in the AccelFlow paper (section III), or a
/// custom accelerator, which a [`Kind`](crate::Kind) declares.
///
/// A value that stands for one of the nine is valid for every trace memory. A value that stands for
/// a custom accelerator is valid for one trace memory only: it holds the accelerator's index in
/// this memory's table of declarations ([`Kind`](crate::Kind)s).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Accel(u8);

/// The nine accelerators, under the paper's names.
#[allow(non_upper_case_globals)]
impl Accel {
    /// The accelerator for TCP. As the first call of a trace, it receives a message; as any later
    /// call, it sends one.
    pub const Tcp: Accel = Accel(1);
    /// Encryption (Encr).
    pub const Encr: Accel = Accel(2);
    /// Decryption (Decr).
    pub const Decr: Accel = Accel(3);
    /// The accelerator for remote procedure calls (RPC): processes the headers of calls and
    /// dispatches the calls.
    pub const Rpc: Accel = Accel(4);
    /// Serialization (Ser): converts application data to a message.
    pub const Ser: Accel = Accel(5);
    /// Deserialization (Dser): converts a message to application data. The AccelFlow paper also
    /// writes "Deser".
    pub const Dser: Accel = Accel(6);
    /// Compression (Cmp).
    pub const Cmp: Accel = Accel(7);
    /// Decompression (Dcmp).
    pub const Dcmp: Accel = Accel(8);
    /// Load balancing (LdB): chooses the core that receives the result of the trace.
    pub const Ldb: Accel = Accel(9);
}

/// The paper's nine accelerators as constants to import by name: `nine::Tcp` is [`Accel::Tcp`].
#[allow(non_upper_case_globals)]
pub mod nine {
    use super::Accel;

    /// The accelerator for TCP, [`Accel::Tcp`].
    pub const Tcp: Accel = Accel::Tcp;
    /// The accelerator for encryption, [`Accel::Encr`].
    pub const Encr: Accel = Accel::Encr;
    /// The accelerator for decryption, [`Accel::Decr`].
    pub const Decr: Accel = Accel::Decr;
    /// The accelerator for the headers of remote procedure calls, [`Accel::Rpc`].
    pub const Rpc: Accel = Accel::Rpc;
    /// The accelerator for serialization, [`Accel::Ser`].
    pub const Ser: Accel = Accel::Ser;
    /// The accelerator for deserialization, [`Accel::Dser`].
    pub const Dser: Accel = Accel::Dser;
    /// The accelerator for compression, [`Accel::Cmp`].
    pub const Cmp: Accel = Accel::Cmp;
    /// The accelerator for decompression, [`Accel::Dcmp`].
    pub const Dcmp: Accel = Accel::Dcmp;
    /// The accelerator for load balancing, [`Accel::Ldb`].
    pub const Ldb: Accel = Accel::Ldb;
}

/// The error of an accelerator name that is not one of the paper's nine. Holds the name as given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "accelerator = '{0}': must be TCP, Encr, Decr, RPC, Ser, Dser (or Deser), Cmp, Dcmp or LdB"
)]
pub struct UnknownAccelerator(pub String);

impl Accel {
    /// The AccelFlow paper's nine accelerators, in the order of the 4-bit codes (1 to 9) by which
    /// compiled traces refer to them.
    pub const ALL: [Accel; 9] = [
        Accel::Tcp,
        Accel::Encr,
        Accel::Decr,
        Accel::Rpc,
        Accel::Ser,
        Accel::Dser,
        Accel::Cmp,
        Accel::Dcmp,
        Accel::Ldb,
    ];

    /// The number of accelerators in the AccelFlow paper: 9.
    pub const COUNT: usize = Self::ALL.len();

    /// The largest number of accelerators that the traces of one trace memory can call: the
    /// AccelFlow paper's nine and [`MAX_KINDS`] custom accelerators.
    pub const MOST: usize = Self::COUNT + MAX_KINDS;

    /// All accelerators that the traces of one trace memory can call, in the order of
    /// [`Accel::index`]: the AccelFlow paper's nine, then [`MAX_KINDS`] custom accelerators.
    pub const EVERY: [Accel; Self::MOST] = {
        let mut every = [Accel(1); Self::MOST];
        let mut index = 0;
        while index < Self::MOST {
            every[index] = Accel(index as u8 + 1);
            index += 1;
        }
        every
    };

    /// Returns the accelerator's index in [`Accel::EVERY`]: 0 to 8 for the AccelFlow paper's nine
    /// accelerators, 9 and up for custom accelerators.
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }

    /// Returns the custom accelerator at the index `number` of the table of custom accelerators
    /// that each trace memory has. `None` if `number` is not below [`MAX_KINDS`].
    pub const fn custom(number: usize) -> Option<Accel> {
        if number < MAX_KINDS {
            Some(Accel((Self::COUNT + 1 + number) as u8))
        } else {
            None
        }
    }

    /// Returns the index of this custom accelerator in the table of custom accelerators that its
    /// trace memory has; `None` if it is one of the AccelFlow paper's nine accelerators.
    pub const fn custom_number(self) -> Option<usize> {
        self.index().checked_sub(Self::COUNT)
    }

    /// Returns the accelerator whose 4-bit code in compiled traces is `nibble`; `None` if `nibble`
    /// is not from 1 to 9.
    pub fn from_nibble(nibble: u8) -> Option<Accel> {
        Self::ALL.get(usize::from(nibble).checked_sub(1)?).copied()
    }

    /// Returns the accelerator's 4-bit code in compiled traces, 1 to 9; `None` for a custom
    /// accelerator, which has no such code.
    pub const fn nibble(self) -> Option<u8> {
        match self.custom_number() {
            None => Some(self.0),
            Some(_) => None,
        }
    }

    /// Returns the accelerator's name in the AccelFlow paper, such as `Decr`. Returns `own` for
    /// every custom accelerator; [`Image::accel_name`](crate::Image::accel_name) returns the actual
    /// name.
    pub const fn name(self) -> &'static str {
        match self {
            Accel::Tcp => "TCP",
            Accel::Encr => "Encr",
            Accel::Decr => "Decr",
            Accel::Rpc => "RPC",
            Accel::Ser => "Ser",
            Accel::Dser => "Dser",
            Accel::Cmp => "Cmp",
            Accel::Dcmp => "Dcmp",
            Accel::Ldb => "LdB",
            _ => "own",
        }
    }

    /// Returns whether `next` may process the output of `self` according to Table I of the
    /// AccelFlow paper: whether the table lists `next` as a destination of `self`, or `self` as a
    /// source of `next`.
    ///
    /// One of the two entries is enough, since the table's columns disagree in places: Cmp lists
    /// LdB as a destination, but LdB does not list Cmp as a source. False if one of the two is a
    /// custom accelerator, since the table has none.
    pub fn may_feed(self, next: Accel) -> bool {
        destinations(self).contains(&next) || sources(next).contains(&self)
    }

    /// Returns whether a core may start a trace at this accelerator according to Table I of the
    /// AccelFlow paper: whether the table lists a core as the accelerator's source, or lists no
    /// source at all. False for a custom accelerator, since the table has none.
    pub fn may_start(self) -> bool {
        matches!(self, Accel::Tcp | Accel::Ser | Accel::Cmp | Accel::Dcmp)
    }
}

fn destinations(of: Accel) -> &'static [Accel] {
    use Accel as A;
    match of {
        A::Tcp => &[A::Ldb, A::Decr, A::Dser, A::Dcmp],
        A::Encr => &[A::Tcp, A::Rpc],
        A::Decr => &[A::Rpc, A::Dser],
        A::Rpc => &[A::Encr, A::Dser, A::Ldb],
        A::Ser => &[A::Tcp, A::Encr, A::Rpc],
        A::Dser => &[A::Ser, A::Dcmp, A::Ldb],
        A::Cmp => &[A::Ser, A::Ldb, A::Tcp],
        A::Dcmp => &[A::Ser, A::Dser, A::Ldb, A::Tcp],
        _ => &[],
    }
}

fn sources(of: Accel) -> &'static [Accel] {
    use Accel as A;
    match of {
        A::Tcp => &[A::Ser, A::Encr, A::Cmp],
        A::Encr => &[A::Tcp, A::Rpc, A::Ser],
        A::Decr => &[A::Tcp],
        A::Rpc => &[A::Decr, A::Ser],
        A::Ser => &[A::Dser, A::Cmp],
        A::Dser => &[A::Tcp, A::Decr, A::Rpc],
        A::Cmp => &[A::Dser],
        A::Dcmp => &[A::Dser, A::Tcp],
        A::Ldb => &[A::Tcp, A::Dser, A::Dcmp],
        _ => &[],
    }
}

impl fmt::Display for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.custom_number() {
            None => f.write_str(self.name()),
            Some(number) => write!(f, "kind {number}"),
        }
    }
}

impl fmt::Debug for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Accel {
    type Err = UnknownAccelerator;

    /// Parses the paper's names, in any case. Long forms such as "Deser" are accepted only where
    /// the paper uses them.
    fn from_str(name: &str) -> Result<Accel, UnknownAccelerator> {
        let known = Self::ALL
            .into_iter()
            .find(|a| a.name().eq_ignore_ascii_case(name));
        match known {
            Some(accel) => Ok(accel),
            None if name.eq_ignore_ascii_case("Deser") => Ok(Accel::Dser),
            None => Err(UnknownAccelerator(name.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nibbles_and_names_round_trip() {
        for accel in Accel::ALL {
            assert_eq!(Accel::from_nibble(accel.nibble().unwrap()), Some(accel));
            assert_eq!(accel.name().parse(), Ok(accel));
        }
        assert_eq!("deser".parse(), Ok(Accel::Dser));
        assert_eq!(Accel::from_nibble(0), None);
        assert_eq!(Accel::from_nibble(10), None);
        assert!("Gzip".parse::<Accel>().is_err());
    }

    #[test]
    fn others_follow_the_nine() {
        for number in 0..MAX_KINDS {
            let accel = Accel::custom(number).unwrap();
            assert_eq!(accel.custom_number(), Some(number));
            assert_eq!((accel.index(), accel.nibble()), (9 + number, None));
        }
        assert_eq!(Accel::custom(MAX_KINDS), None);
        assert_eq!(Accel::Ldb.custom_number(), None);
    }

    #[test]
    fn table_1_pairs() {
        assert!(Accel::Tcp.may_feed(Accel::Decr));
        assert!(
            Accel::Cmp.may_feed(Accel::Ldb),
            "only the destination column has this pair"
        );
        assert!(Accel::Ser.may_feed(Accel::Tcp));
        assert!(
            !Accel::Dcmp.may_feed(Accel::Cmp),
            "T6 leaves the printed table here"
        );
        assert!(!Accel::Encr.may_feed(Accel::Dser));
    }
}
