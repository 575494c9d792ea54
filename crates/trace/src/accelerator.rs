//! The nine accelerators and the pairs that may follow one another (AccelFlow, Table I).

use std::fmt;
use std::str::FromStr;

/// One of the nine accelerator types of the ensemble (AccelFlow, section III).
///
/// The discriminant is the accelerator's nibble in a trace word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Accel {
    /// Transport: receives when first in a trace, sends when last on a path.
    Tcp = 1,
    /// Encryption.
    Encr = 2,
    /// Decryption.
    Decr = 3,
    /// Remote procedure call header processing and dispatch.
    Rpc = 4,
    /// Serialization.
    Ser = 5,
    /// Deserialization; the paper also writes "Deser".
    Dser = 6,
    /// Compression.
    Cmp = 7,
    /// Decompression.
    Dcmp = 8,
    /// Load balancing: picks the core that gets the result.
    Ldb = 9,
}

/// An accelerator name that is not one of the nine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown accelerator '{0}'; known are TCP, Encr, Decr, RPC, Ser, Dser (or Deser), Cmp, Dcmp, LdB"
)]
pub struct UnknownAccelerator(pub String);

impl Accel {
    /// All nine, in nibble order.
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

    /// The number of accelerator types.
    pub const COUNT: usize = Self::ALL.len();

    /// A dense index from 0 to 8, for tables.
    pub const fn index(self) -> usize {
        self as usize - 1
    }

    /// The accelerator whose nibble is `nibble`, if there is one.
    pub fn from_nibble(nibble: u8) -> Option<Accel> {
        Self::ALL.get(usize::from(nibble).checked_sub(1)?).copied()
    }

    /// The accelerator's nibble in a trace word.
    pub const fn nibble(self) -> u8 {
        self as u8
    }

    /// The name the paper uses.
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
        }
    }

    /// Whether Table I names `next` as a destination of `self`, or `self` as a source of `next`.
    ///
    /// The two columns of the printed table disagree in places (Cmp lists LdB as a destination,
    /// LdB does not list Cmp as a source), so a pair that either column names is legal.
    pub fn may_feed(self, next: Accel) -> bool {
        destinations(self).contains(&next) || sources(next).contains(&self)
    }

    /// Whether Table I lets a core start a sequence here or names no source at all.
    pub fn may_start(self) -> bool {
        matches!(self, Accel::Tcp | Accel::Ser | Accel::Cmp | Accel::Dcmp)
    }
}

fn destinations(of: Accel) -> &'static [Accel] {
    use Accel::*;
    match of {
        Tcp => &[Ldb, Decr, Dser, Dcmp],
        Encr => &[Tcp, Rpc],
        Decr => &[Rpc, Dser],
        Rpc => &[Encr, Dser, Ldb],
        Ser => &[Tcp, Encr, Rpc],
        Dser => &[Ser, Dcmp, Ldb],
        Cmp => &[Ser, Ldb, Tcp],
        Dcmp => &[Ser, Dser, Ldb, Tcp],
        Ldb => &[],
    }
}

fn sources(of: Accel) -> &'static [Accel] {
    use Accel::*;
    match of {
        Tcp => &[Ser, Encr, Cmp],
        Encr => &[Tcp, Rpc, Ser],
        Decr => &[Tcp],
        Rpc => &[Decr, Ser],
        Ser => &[Dser, Cmp],
        Dser => &[Tcp, Decr, Rpc],
        Cmp => &[Dser],
        Dcmp => &[Dser, Tcp],
        Ldb => &[Tcp, Dser, Dcmp],
    }
}

impl fmt::Display for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Accel {
    type Err = UnknownAccelerator;

    /// Reads the paper's names, in any case; "Deser" and "Decmp" style long forms are accepted
    /// only where the paper itself uses them.
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
            assert_eq!(Accel::from_nibble(accel.nibble()), Some(accel));
            assert_eq!(accel.name().parse(), Ok(accel));
        }
        assert_eq!("deser".parse(), Ok(Accel::Dser));
        assert_eq!(Accel::from_nibble(0), None);
        assert_eq!(Accel::from_nibble(10), None);
        assert!("Gzip".parse::<Accel>().is_err());
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
