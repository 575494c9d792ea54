//! Facts and waits drawn for each request.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use accelflow_trace::{Accel, AtmAddress, Facts, Field, Image, Library, templates, text};
use accelflow_units::Time;
use accelflow_workload::profile::{RemoteWaits, WaitDistribution};
use accelflow_workload::services::{Chain, ChainFacts, DrawnPath, FactOdds, Odds, Place};
use proptest::prelude::*;

fn image() -> &'static Image {
    static IMAGE: LazyLock<Image> = LazyLock::new(|| templates().unwrap().link().unwrap());
    &IMAGE
}

fn place() -> Place {
    Place {
        service: "Login".to_owned(),
        phase: 2,
        chain: 0,
    }
}

/// A read that hits, with all facts of its path.
fn read() -> Chain {
    Chain::new("T4")
        .with("T5", "hit", 1)
        .with("T5", "compressed", 0)
        .with("T6", "found", 1)
        .with("T6", "compressed", 1)
        .with("T6", "c_compressed", 1)
        .with("T7", "exception", 0)
}

fn drawn(chain: &Chain, odds: &FactOdds, at: (u16, u16)) -> ChainFacts {
    let image = image();
    let facts = ChainFacts::resolve(chain, &place(), image).unwrap();
    facts.with_odds(odds, at, image)
}

fn ask(facts: &ChainFacts, trace: &str, field: &str, seed: u64, request: u64) -> Option<i64> {
    let image = image();
    let index = image
        .predicates()
        .fields()
        .iter()
        .position(|name| name == field);
    let index = index.unwrap();
    let at = image.entry(trace).unwrap();
    facts
        .of_request(at, seed, request)
        .get(Field { index, name: field })
}

/// How often `field` is 1 in `count` requests.
fn ones(facts: &ChainFacts, trace: &str, field: &str, count: u64) -> f64 {
    let ones = (0..count).filter(|&n| ask(facts, trace, field, 1, n) == Some(1));
    ones.count() as f64
}

#[test]
fn facts_are_as_frequent_as_their_odds_say() {
    let odds = FactOdds::none()
        .with(
            "T5",
            "hit",
            Odds {
                where_one: 0.962,
                where_zero: 0.41,
            },
        )
        .unwrap()
        .with("T7", "exception", Odds::of(0.02))
        .unwrap();
    let count = 40_000_u64;
    let hits = drawn(&read(), &odds, (2, 0));
    let misses = drawn(&read().with("T5", "hit", 0), &odds, (2, 0));
    for (facts, trace, field, p) in [
        (&hits, "T5", "hit", 0.962),
        (&misses, "T5", "hit", 0.41),
        (&hits, "T7", "exception", 0.02),
    ] {
        let n = count as f64;
        let bound = 4.0 * (n * p * (1.0 - p)).sqrt();
        let seen = ones(facts, trace, field, count);
        assert!(
            (seen - n * p).abs() < bound,
            "{trace}.{field}: {seen} of {n}"
        );
    }
}

#[test]
fn chains_traces_and_requests_are_drawn_independently() {
    let odds = FactOdds::none()
        .with("T5", "hit", Odds::of(0.5))
        .unwrap()
        .with("T6", "found", Odds::of(0.5))
        .unwrap();
    let (first, second) = (drawn(&read(), &odds, (2, 0)), drawn(&read(), &odds, (2, 1)));
    let count = 10_000;
    let agree = |a: &dyn Fn(u64) -> Option<i64>, b: &dyn Fn(u64) -> Option<i64>| {
        (0..count).filter(|&n| a(n) == b(n)).count() as f64
    };
    let hit = |n| ask(&first, "T5", "hit", 1, n);
    let bound = 4.0 * (count as f64 / 4.0).sqrt();
    let near = |seen: f64| (seen - count as f64 / 2.0).abs() < bound;
    assert!(near(agree(&hit, &|n| ask(&second, "T5", "hit", 1, n))));
    assert!(near(agree(&hit, &|n| ask(&first, "T6", "found", 1, n))));
    assert!(near(agree(&hit, &|n| ask(&first, "T5", "hit", 1, n + 1))));
    assert!(near(agree(&hit, &|n| ask(&first, "T5", "hit", 2, n))));
}

proptest! {
    #[test]
    fn a_request_has_the_same_facts_whenever_it_is_asked(seed: u64, request: u64) {
        let odds = FactOdds::none().with("T6", "found", Odds::of(0.5)).unwrap();
        let (once, again) = (drawn(&read(), &odds, (2, 0)), drawn(&read(), &odds, (2, 0)));
        let answer = ask(&once, "T6", "found", seed, request);
        ask(&once, "T5", "hit", seed, request.wrapping_add(1));
        prop_assert_eq!(answer, ask(&once, "T6", "found", seed, request));
        prop_assert_eq!(answer, ask(&again, "T6", "found", seed, request));
    }

    #[test]
    fn fields_without_odds_are_those_of_the_common_path(seed: u64, request: u64) {
        let odds = FactOdds::none().with("T7", "exception", Odds::of(0.5)).unwrap();
        let image = image();
        let plain = ChainFacts::resolve(&read(), &place(), image).unwrap();
        for facts in [&plain, &drawn(&read(), &odds, (2, 0))] {
            for index in 0..image.words().len() {
                let Some(at) = AtmAddress::new(index).filter(|at| image.is_entry(*at)) else {
                    continue;
                };
                for (index, name) in image.predicates().fields().iter().enumerate() {
                    let field = Field { index, name };
                    if (image.name(at), name.as_str()) != ("T7", "exception") {
                        let drawn = facts.of_request(at, seed, request).get(field);
                        prop_assert_eq!(drawn, plain.of(at).get(field));
                    }
                }
            }
        }
    }

    #[test]
    fn certain_odds_are_facts(seed: u64, request: u64) {
        let odds = FactOdds::none().with("T5", "hit", Odds::of(0.0)).unwrap();
        let odds = odds.with("T6", "found", Odds::of(1.0)).unwrap();
        let facts = drawn(&read(), &odds, (2, 0));
        prop_assert_eq!(ask(&facts, "T5", "hit", seed, request), Some(0));
        prop_assert_eq!(ask(&facts, "T6", "found", seed, request), Some(1));
    }
}

#[test]
fn odds_outside_zero_to_one_are_refused() {
    let error = FactOdds::none()
        .with("T5", "hit", Odds::of(1.5))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "odds of T5.hit = 1.5: must be a probability from 0 to 1"
    );
    assert!(
        FactOdds::none()
            .with("T5", "hit", Odds::of(f64::NAN))
            .is_err()
    );
}

#[test]
fn waits_have_the_median_and_the_spread_of_their_distribution() {
    let wait = WaitDistribution::log_normal(Time::from_us(72), 0.503);
    let mut drawn: Vec<Time> = (0..40_001).map(|n| wait.draw(3, n, 10)).collect();
    drawn.sort_unstable();
    let at = |share: f64| drawn[(share * 40_000.0) as usize].as_ns_f64() / 72_000.0;
    // Standard errors: 1.2533 sigma / sqrt(n) of the median, 2.9 sigma / sqrt(n) of the logarithm
    // of the 84th percentile's surroundings, both below 1 %.
    assert!((at(0.5).ln()).abs() < 4.0 * 1.2533 * 0.503 / 200.0);
    assert!((at(0.841_345).ln() - 0.503).abs() < 0.02);
    assert!((at(0.158_655).ln() + 0.503).abs() < 0.02);
    assert_eq!(wait.draw(3, 7, 10), wait.draw(3, 7, 10));
    assert_ne!(wait.draw(3, 7, 10), wait.draw(4, 7, 10));
}

#[test]
fn waits_without_spread_are_constant_and_spreading_keeps_medians() {
    let plain = RemoteWaits::social_network();
    let spread = plain.clone().spread();
    for (trace, us, sigma) in [
        ("T5", 72, 0.503),
        ("T6", 276, 0.526),
        ("T7", 242, 0.163),
        ("T12", 269, 0.21),
    ] {
        assert_eq!(plain.distribution(trace).draw(1, 2, 3), Time::from_us(us));
        assert_eq!(spread.of(trace), Time::from_us(us));
        assert_eq!(spread.distribution(trace).sigma(), sigma);
        assert!(spread.distribution(trace).mean() > spread.of(trace));
    }
}

#[test]
fn waits_of_a_table_have_its_quantiles() {
    let us = Time::from_us;
    let points = [(0.0, us(3)), (0.5, us(70)), (0.5, us(80)), (1.0, us(900))];
    let wait = WaitDistribution::of_quantiles(&points).unwrap();
    let mut drawn: Vec<f64> = (0..40_000)
        .map(|request| wait.draw(3, request, 10).as_us_f64())
        .collect();
    drawn.sort_by(f64::total_cmp);
    assert!(drawn[0] >= 3.0 && drawn[39_999] <= 900.0);
    // Between 70 and 80 us there is nothing.
    let at = drawn.partition_point(|&wait| wait < 75.0) as f64 / 40_000.0;
    assert!((at - 0.5).abs() < 4.0 * 0.5 / 200.0, "{at}");
    let mean = drawn.iter().sum::<f64>() / 40_000.0;
    assert!((mean - wait.mean().as_us_f64()).abs() < 4.0 * 300.0 / 200.0);
    assert_eq!(wait.mean(), Time::from_ns_f64(263_250.0));
    assert!((wait.exceeds(us(490)) - 0.25).abs() < 1e-12);
    assert_eq!((wait.exceeds(us(900)), wait.exceeds(us(2))), (0.0, 1.0));
    for wrong in [
        &points[1..],
        &points[..2],
        &[(0.0, us(5)), (1.0, us(4))],
        &[],
    ] {
        assert_eq!(WaitDistribution::of_quantiles(wrong), None);
    }
}

proptest! {
    /// The paths of a read through a cache have the probabilities of their branches.
    #[test]
    fn paths_have_the_probabilities_of_their_branches(
        hit in 0.0..=1.0_f64,
        found in 0.0..=1.0_f64,
        compressed in 0.0..=1.0_f64,
    ) {
        let odds = FactOdds::none()
            .with("T5", "hit", Odds::of(hit)).unwrap()
            .with("T6", "found", Odds::of(found)).unwrap()
            .with("T5", "compressed", Odds::of(compressed)).unwrap();
        let paths = read().drawn_paths(&place(), image(), &odds).unwrap();
        let share = |wanted: &dyn Fn(&DrawnPath) -> bool| -> f64 {
            paths.iter().filter(|path| wanted(path)).map(|path| path.probability).sum()
        };
        let near = |one: f64, other: f64| (one - other).abs() < 1e-12;
        let calls = |path: &DrawnPath, trace: &str, accel: Accel| {
            path.walk.operations.iter().any(|call| call.trace == trace && call.accel == accel)
        };
        prop_assert!(near(share(&|_| true), 1.0));
        prop_assert!(paths.iter().all(|path| path.probability > 0.0));
        let missed = share(&|path| path.walk.traces.iter().any(|trace| trace == "T6"));
        prop_assert!(near(missed, 1.0 - hit));
        let unpacked = share(&|path| calls(path, "T5", Accel::Dcmp));
        prop_assert!(near(unpacked, hit * compressed));
        let failed = share(&|path| path.fails);
        prop_assert!(near(failed, (1.0 - hit) * (1.0 - found)), "{failed}");
    }
}

/// The paths of two traces with a branch on each of 12 fields, all of which are 1 with the
/// probability `one`, and the mean number of fields that are 1.
fn branching(one: f64) -> (Vec<DrawnPath>, f64) {
    let branch = |bit: usize| {
        format!("  branch out[{bit}] == 1 (expected: true)\n    on true:\n      Cmp\n")
    };
    let branches: String = (0..12).map(branch).collect();
    let written =
        format!("trace wide:\n  Ser\n{branches}  tail wider\ntrace wider:\n  TCP\n{branches}");
    let mut library = Library::new();
    for (name, nodes) in text::parse(&written).unwrap() {
        library.register(&name, nodes).unwrap();
    }
    let image = library.link().unwrap();
    let (mut chain, mut odds) = (Chain::new("wide"), FactOdds::none());
    for field in (0..12).map(|bit| format!("out[{bit}]")) {
        for trace in ["wide", "wider"] {
            chain = chain.with(trace, &field, 0);
            odds = odds.with(trace, &field, Odds::of(one)).unwrap();
        }
    }
    let paths = chain.drawn_paths(&place(), &image, &odds).unwrap();
    // A path has a Ser, a TCP, and a Cmp for each field that is 1.
    let ones = |path: &DrawnPath| (path.walk.operations.len() - 2) as f64 * path.probability;
    let mean = paths.iter().map(ones).sum();
    (paths, mean)
}

#[test]
fn very_many_paths_are_represented_by_some_of_them() {
    for one in [0.5, 0.1, 0.01] {
        let (paths, mean) = branching(one);
        assert!(paths.len() < 25 * 1024, "{}", paths.len());
        let whole: f64 = paths.iter().map(|path| path.probability).sum();
        assert!((whole - 1.0).abs() < 1e-9, "{whole}");
        // At 0.5, 14 fields of 1,024 paths or more are drawn: 0.06 is a standard error.
        assert!((mean - 24.0 * one).abs() < 0.25, "{one}: {mean}");
        let (again, _) = branching(one);
        assert!(again == paths);
    }
}
