//! Registers for a promised rate.

use accelflow_shaping::{Clock, Registers, ShapingError};
use proptest::prelude::*;

const MEGAHERTZ: u64 = 1_000_000;

fn registers(rate: f64, bucket: u64) -> Result<(u32, u64), ShapingError> {
    let clock = Clock::from_hz(MEGAHERTZ).expect("a clock");
    let found = Registers::for_rate(rate, bucket, clock)?;
    Ok((found.refill(), found.interval().0))
}

#[test]
fn round_rates_have_the_shortest_interval() {
    assert_eq!(registers(1_000.0, 10), Ok((1, 1_000)));
    assert_eq!(registers(2.5, 1), Ok((1, 400_000)));
    assert_eq!(registers(1e6, 1), Ok((1, 1)));
    assert_eq!(registers(1.5e6, 3), Ok((3, 2)));
    assert_eq!(registers(125e6, 65_536), Ok((125, 1)));
    assert_eq!(registers(1.0 / 3_600.0, 1), Ok((1, 3_600_000_000)));
}

#[test]
fn a_refill_fits_the_bucket_of_any_rate() {
    let clock = Clock::from_hz(MEGAHERTZ).expect("a clock");
    for rate in [
        1_234.567,
        2_001.0,
        4_538.528_371_338_166,
        99_991.0,
        333_333.3,
    ] {
        for bucket in [(rate * 0.01) as u64, 12] {
            let found = Registers::for_rate(rate, bucket, clock).expect("registers");
            assert!(u64::from(found.refill()) <= bucket, "{found:?}");
            let given = found.tokens_per_s(clock.frequency());
            assert!((given / rate - 1.0).abs() < 0.01, "{given} for {rate}");
        }
    }
    // A token a cycle is half as much again, and one each two cycles three quarters.
    let refused = Registers::for_rate(666_667.0, 1, clock);
    assert!(matches!(refused, Err(ShapingError::ImpossibleRate { .. })));
}

#[test]
fn a_refill_between_two_convergents_is_found() {
    // The convergents are 0/1, 1/1 and 21/22, whose refill does not fit.
    assert_eq!(registers(955_000.0, 20), Ok((20, 21)));
}

#[test]
fn rates_that_cannot_be_are_refused() {
    for (rate, bucket) in [
        (0.0, 1),
        (-1.0, 1),
        (f64::NAN, 1),
        (f64::INFINITY, 1),
        (1e-9, 1),
        (2e6, 1),
        (1e18, 1 << 40),
        // The longest interval would give 1.6 times the rate.
        (0.6e6 / f64::from(u32::MAX), 1),
    ] {
        let error = registers(rate, bucket).expect_err("no registers");
        let text = error.to_string();
        assert!(text.contains("must be"), "{text}");
    }
    let overflow = registers(1.0, 1 << 40).expect_err("40 bits");
    assert!(matches!(
        overflow,
        ShapingError::RegisterOverflow {
            register: "bucket",
            ..
        }
    ));
}

proptest! {
    #[test]
    fn the_rate_is_kept(exponent in -3.0..9.0f64, hz in 1_000u64..1_000_000_000) {
        let rate = 10f64.powf(exponent);
        let clock = Clock::from_hz(hz).expect("a clock");
        if let Ok(found) = Registers::for_rate(rate, u64::from(u32::MAX), clock) {
            let given = found.tokens_per_s(clock.frequency());
            // A rate so low that few intervals of 32 bits are near it is met less exactly.
            let few = hz as f64 / (rate * f64::from(u32::MAX));
            let error = (given / rate - 1.0).abs();
            prop_assert!(error <= few.clamp(1e-6, 0.01), "{given} for {rate}: {found:?}");
        } else {
            let per_cycle = rate / hz as f64;
            prop_assert!(per_cycle < 1.0 / f64::from(u32::MAX), "{rate} at {hz} Hz");
        }
    }

    #[test]
    fn no_other_refill_that_fits_is_nearer(rate in 1e3..3e6f64, bucket in 1u64..300) {
        let per_cycle = rate / MEGAHERTZ as f64;
        let error = |refill: u64, interval: u64| {
            (refill as f64 / interval as f64 / per_cycle - 1.0).abs()
        };
        let nearest = (1..=bucket)
            .flat_map(|refill| {
                let interval = (refill as f64 / per_cycle) as u64;
                [interval.max(1), interval + 1].map(|interval| error(refill, interval))
            })
            .fold(f64::INFINITY, f64::min);
        match registers(rate, bucket) {
            Ok((refill, interval)) => {
                let found = error(u64::from(refill), interval);
                prop_assert!(found <= nearest.max(1e-6) * (1.0 + 1e-9), "{found} for {nearest}");
            }
            Err(_) => prop_assert!(nearest > 0.01, "{nearest}"),
        }
    }
}
