/// A number by which many are divided: with a multiplication by its inverse (Lemire, Kaser and
/// Kurz, Faster remainder by direct computation, 2019).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: u32,
    /// 2^64 over it, rounded up; 0 for 1.
    inverse: u64,
}

impl Divisor {
    pub(crate) fn new(by: usize) -> Divisor {
        let by = u32::try_from(by).unwrap_or(u32::MAX).max(1);
        let inverse = (u64::MAX / u64::from(by)).wrapping_add(1);
        Divisor { by, inverse }
    }

    /// The number itself.
    #[inline]
    pub(crate) fn by(self) -> u32 {
        self.by
    }

    /// Quotient and remainder of `number`.
    #[inline]
    pub(crate) fn divide(self, number: u32) -> (u32, u32) {
        if self.by == 1 {
            return (number, 0);
        }
        let quotient = ((u128::from(self.inverse) * u128::from(number)) >> 64) as u32;
        (quotient, number - quotient * self.by)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_divided_by_multiplication(number: u32, by in 1_u32..5_000, shift in 0..20) {
            let by = by.saturating_mul(1_u32 << shift);
            let found = Divisor::new(by as usize).divide(number);
            prop_assert_eq!(found, (number / by, number % by));
            let ends = Divisor::new(by as usize).divide(u32::MAX);
            prop_assert_eq!(ends, (u32::MAX / by, u32::MAX % by));
        }
    }
}
