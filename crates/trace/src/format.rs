//! Data formats of payloads, and the transformations between formats (AccelFlow, section V.2).

use std::fmt;
use std::str::FromStr;

/// A data format of a payload, which a dispatcher can transform into another one (AccelFlow,
/// section V.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Format {
    /// Plain bytes without structure.
    Str = 0,
    /// JSON text.
    Json = 1,
    /// Binary JSON (BSON document).
    Bson = 2,
}

/// The error of a name that is not a data format (`str`, `JSON` or `BSON`). Holds the name as
/// given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("format = '{0}': must be str (or string), JSON or BSON")]
pub struct UnknownFormat(pub String);

impl Format {
    /// All data formats, in the order of the numbers by which compiled traces refer to them.
    pub const ALL: [Format; 3] = [Format::Str, Format::Json, Format::Bson];

    /// Returns the format's name in sources of traces: `str`, `JSON` or `BSON`.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Str => "str",
            Format::Json => "JSON",
            Format::Bson => "BSON",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        match name.to_ascii_lowercase().as_str() {
            "str" | "string" => Ok(Format::Str),
            "json" => Ok(Format::Json),
            "bson" => Ok(Format::Bson),
            _ => Err(UnknownFormat(name.to_owned())),
        }
    }
}

/// A transformation of the payload from the data format `src` to a different data format `dst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transform {
    /// The format of the payload before the transformation.
    pub src: Format,
    /// The format of the payload after the transformation.
    pub dst: Format,
}

impl Transform {
    /// Returns the transformation's 4-bit code in compiled traces: `src` in the upper two bits,
    /// `dst` in the lower two.
    pub const fn nibble(self) -> u8 {
        ((self.src as u8) << 2) | self.dst as u8
    }

    /// Returns the transformation with the 4-bit code `nibble`: source format in the upper two
    /// bits, destination format in the lower two. `None` if a format is unknown or both are equal.
    pub fn from_nibble(nibble: u8) -> Option<Transform> {
        let src = *Format::ALL.get(usize::from(nibble >> 2))?;
        let dst = *Format::ALL.get(usize::from(nibble & 3))?;
        (src != dst).then_some(Transform { src, dst })
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}>{}", self.src, self.dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_of_sixteen_nibbles_are_transformations() {
        let known: Vec<_> = (0..16).filter_map(Transform::from_nibble).collect();
        assert_eq!(known.len(), 6);
        for transform in known {
            assert_eq!(Transform::from_nibble(transform.nibble()), Some(transform));
        }
    }
}
