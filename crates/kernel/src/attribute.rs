//! Random attributes of requests, which depend on the seed, the request and the attribute, but not
//! on the order in which they are drawn.

/// Returns 64 random bits that depend only on `seed`, `request` and `index`.
///
/// A simulation derives the random attributes of a request from these bits, such as its kind, a
/// branch taken or a size. Attribute number `index` of request number `request` is then the same in
/// every simulated system, whatever random numbers the system draws before. Each of the three
/// arguments goes through the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014;
/// constants of Stafford's variant 13), so a changed bit in any argument changes each bit of the
/// result with probability one half.
#[inline]
pub fn attribute(seed: u64, request: u64, index: u64) -> u64 {
    Attributes::of(seed, request).at(index)
}

/// The random attributes of one request, numbered from 0, each 64 random bits. They equal the
/// results of [`attribute`], but take less time: the seed and the request are hashed only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes(u64);

impl Attributes {
    /// Creates the attributes of the request with the index `request` for the random seed `seed`.
    #[inline]
    pub fn of(seed: u64, request: u64) -> Attributes {
        let keyed = mix(seed.wrapping_add(WEYL));
        Attributes(mix(keyed ^ request.wrapping_mul(WEYL)))
    }

    /// Returns the attributes of the request from index `first` on: attribute 0 of the result is
    /// attribute `first` of `self`.
    #[inline]
    pub fn from(self, first: u64) -> Attributes {
        Attributes(self.0.wrapping_add(first.wrapping_mul(WEYL)))
    }

    /// Returns the attribute with the index `index`: 64 random bits.
    #[inline]
    pub fn at(self, index: u64) -> u64 {
        mix(self
            .0
            .wrapping_add(index.wrapping_add(1).wrapping_mul(WEYL)))
    }
}

/// Returns a random number, uniform in `[0, 1)`, that depends only on `seed`, `request` and
/// `index`. It is the upper 53 bits of [`attribute`] for the same arguments, times 2^-53.
#[inline]
pub fn attribute_unit(seed: u64, request: u64, index: u64) -> f64 {
    unit(attribute(seed, request, index))
}

/// 2^64 divided by the golden ratio, made odd.
pub(crate) const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}
