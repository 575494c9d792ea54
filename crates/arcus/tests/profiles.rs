//! Tables of profiles: contexts, sweeps before tenants are known, tags, path selection.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::control::{
    AdmissionRequest, Candidate, Combination, Context, Manager, ProfileTable, Rate, RouteEntry,
    Sweep, Tag, Traffic, combinations,
};
use accelflow_arcus::parameters::{compression, ipsec, synthetic};
use accelflow_arcus::{Path, Platform, PlatformError};
use accelflow_units::Bytes;
use proptest::prelude::*;

const RX: Path = Path::InlineRx;
const CALL: Path = Path::FunctionCall;

fn platform() -> Platform {
    Platform::prototype(vec![ipsec()])
}

fn traffic(path: Path, size: u64, gbit_per_s: f64) -> Traffic {
    Traffic {
        route: RouteEntry::new(0, path),
        size: Bytes(size),
        gbit_per_s,
    }
}

fn request(name: &str, path: Path, size: u64, gbit_per_s: f64) -> AdmissionRequest {
    let slo = Rate::GbitPerS(gbit_per_s);
    AdmissionRequest::new(name, "ipsec", path, Bytes(size), slo)
}

/// Every size on every path of the accelerator, alone and in pairs.
fn swept(sizes: &[u64], most: usize) -> ProfileTable {
    let paths = [RX, CALL];
    let patterns = paths.iter().flat_map(|path| {
        let route = RouteEntry::new(0, *path);
        sizes.iter().map(move |size| (route.clone(), Bytes(*size)))
    });
    let patterns = patterns.collect();
    let sizes = sizes.iter().copied().map(Bytes).collect();
    let mut table = ProfileTable::new(platform()).of_sizes(sizes);
    table.sweep(&Sweep { patterns, most }, 2).unwrap();
    table
}

#[test]
fn a_profile_is_the_accelerators_curve_and_mixes_cost_what_their_parts_do() {
    let mut table = ProfileTable::new(platform());
    let alone = |table: &mut ProfileTable, size| {
        let context = Context::new(&[traffic(RX, size, 1.0)]);
        table.capacity(&context).unwrap().gbit_per_s
    };
    let (small, large) = (alone(&mut table, 64), alone(&mut table, 1_500));
    assert!(
        (small / ipsec().curve.gbit_per_s(Bytes(64)) - 1.0).abs() < 0.02,
        "{small}"
    );
    assert!((large / 32.0 - 1.0).abs() < 0.02, "{large}");
    let mixed = [traffic(RX, 64, 1.0), traffic(RX, 1_500, 3.0)];
    let mix = Context::new(&mixed);
    let capacity = table.capacity(&mix).unwrap();
    let expected = 1.0 / (0.25 / small + 0.75 / large);
    assert!(
        (capacity.gbit_per_s / expected - 1.0).abs() < 0.03,
        "{capacity:?} for {expected}"
    );
    // Turns by message: 64 bytes for each 1500.
    let unshaped = table.unshaped(&mix).unwrap();
    let ratio = unshaped[1] / unshaped[0];
    assert!((ratio / (1_500.0 / 64.0) - 1.0).abs() < 0.03, "{ratio}");
    let rates = |total: f64| {
        mixed.clone().map(|flow| Traffic {
            gbit_per_s: flow.gbit_per_s / 4.0 * total,
            ..flow
        })
    };
    let tag = |table: &mut ProfileTable, total| table.classify(&rates(total), 1.0).unwrap();
    assert_eq!(tag(&mut table, expected * 0.95), Tag::SloFriendly);
    assert_eq!(tag(&mut table, expected * 1.05), Tag::SloViolating);
    assert_eq!(table.entries().count(), 3, "each context is profiled once");
    assert_eq!(table.simulated(), 3);
}

#[test]
fn combinations_are_tagged_by_what_their_flows_ask_for() {
    let mut table = ProfileTable::new(platform());
    let kinds = [
        traffic(RX, 64, 1.0),
        traffic(RX, 512, 6.0),
        traffic(CALL, 64, 1.0),
        traffic(CALL, 512, 20.0),
    ];
    let candidate = |(flow, kind): (usize, &Traffic)| Candidate {
        flow,
        traffic: vec![kind.clone()],
        share: 1.0,
    };
    let candidates: Vec<Candidate> = kinds.iter().enumerate().map(candidate).collect();
    let found = combinations(&mut table, &candidates, 2).unwrap();
    // Four kinds: alone, and in six pairs.
    assert_eq!(found.len(), 4 + 6);
    let tag = |found: &[Combination], members: &[usize]| {
        let mut same = found.iter().filter(|one| one.members == members);
        same.next().unwrap().tag
    };
    assert_eq!(tag(&found, &[0, 1]), Tag::SloFriendly);
    // 512 B alone can have 22 Gbit/s, and not beside 6 more of them.
    assert_eq!(
        (tag(&found, &[3]), tag(&found, &[1, 3])),
        (Tag::SloFriendly, Tag::SloViolating)
    );
    // The same contexts are not simulated again, also in a table that they were inserted into.
    let before = table.simulated();
    assert_eq!(combinations(&mut table, &candidates, 2).unwrap(), found);
    assert_eq!(table.simulated(), before);
    let mut again = ProfileTable::new(platform());
    for (context, capacity) in table.entries() {
        again.insert(context.clone(), *capacity);
    }
    assert_eq!(combinations(&mut again, &candidates, 2).unwrap(), found);
    assert_eq!(again.simulated(), 0);
    // Two routes of one flow are not combined.
    let same: Vec<Candidate> = candidates
        .into_iter()
        .map(|one| Candidate { flow: 0, ..one })
        .collect();
    assert_eq!(combinations(&mut again, &same, 2).unwrap().len(), 4);
}

#[test]
fn a_sweep_before_tenants_are_known_serves_their_admission_without_simulations() {
    let table = swept(&[64, 512, 1_500], 2);
    let mut manager = Manager::new(platform()).with_profiles(table.clone());
    let before = manager.profiles().simulated();
    // Sizes of the sweep, and one between them, at rates that nobody had in mind.
    manager.register(request("a", RX, 1_500, 11.3)).unwrap();
    manager.register(request("b", RX, 512, 6.07)).unwrap();
    let left = manager.left(&request("c", RX, 1_500, 1.0)).unwrap();
    assert!(
        manager
            .register(request("c", RX, 1_500, 1.01 * left))
            .is_err()
    );
    manager
        .register(request("c", RX, 1_500, 0.99 * left))
        .unwrap();
    assert_eq!(manager.profiles().simulated(), before);
    // 1000 B count as 512 B, whose rate is lower; so the tenant gets no more than with profiles of
    // its own, and not much less.
    let mut between = Manager::new(platform()).with_profiles(table);
    let mut own = Manager::new(platform());
    let asked = request("d", RX, 1_000, 1.0);
    let (counted, measured) = (between.left(&asked).unwrap(), own.left(&asked).unwrap());
    assert_eq!(between.profiles().simulated(), before);
    assert!(
        (0.7..=1.0).contains(&(counted / measured)),
        "{counted} {measured}"
    );
    // A third pattern in one context is beyond the sweep of pairs.
    between.register(request("a", RX, 1_500, 5.0)).unwrap();
    between.register(request("b", RX, 64, 0.2)).unwrap();
    between.register(request("c", CALL, 512, 1.0)).unwrap();
    assert!(between.profiles().simulated() > before);
}

#[test]
fn a_sweep_that_would_be_too_large_is_refused_with_its_size() {
    let refused = |sizes: u64, most| {
        let patterns = (1..=sizes).map(|size| (RouteEntry::new(0, RX), Bytes(64 * size)));
        let patterns = patterns.collect();
        let mut table = ProfileTable::new(platform());
        let error = table.sweep(&Sweep { patterns, most }, 1).unwrap_err();
        assert_eq!(table.simulated(), 0);
        error.to_string()
    };
    // 60 sizes alone, and 1,770 pairs with 25 divisions each.
    assert_eq!(
        refused(60, 2),
        "number of mixes of flows to profile = 44310: must be at most 20000: give fewer sizes or \
         paths, or combine fewer flows at a time"
    );
    // Then 34,220 times 300 of three and 487,635 times 2,300 of four.
    assert!(refused(60, 4).contains(" = 1131870810: must be"));
    assert!(refused(20_001, 1).contains(" = 20001: must be"));
}

#[test]
fn combinations_that_would_be_too_many_are_refused_with_their_number() {
    let refused = |flows: usize, routes: usize, most: usize| {
        let candidate = |number: usize| Candidate {
            flow: number / routes,
            traffic: vec![traffic(RX, 64, 1.0)],
            share: 1.0,
        };
        let candidates: Vec<Candidate> = (0..flows * routes).map(candidate).collect();
        let mut table = ProfileTable::new(platform());
        let error = combinations(&mut table, &candidates, most).unwrap_err();
        error.to_string()
    };
    let limit = "must be at most 2000";
    // 20 flows of 4 routes each: 80 alone, and 190 pairs on 16 pairs of routes.
    assert_eq!(
        refused(20, 4, 2),
        format!("combinations of flows = 3120: {limit}: lower --most")
    );
    assert_eq!(
        refused(30, 1, 30),
        format!("combinations of flows = 1073741823: {limit}: lower --most")
    );
    // Numbers that a message cannot state exactly.
    let uncounted = format!(
        "combinations of flows = 9007199254740992: {limit}, and there are more than this value \
         says: lower --most"
    );
    for (flows, routes) in [(60, 1), (1_500, 1), (1_500, 64)] {
        assert_eq!(refused(flows, routes, flows), uncounted);
    }
}

#[test]
fn inserted_tags_decide_admission() {
    let mut table = ProfileTable::new(platform());
    let together = [traffic(RX, 1_500, 10.0), traffic(CALL, 1_500, 8.0)];
    table.insert_tag(&together, 1.0, Tag::SloViolating);
    // A tag for another limit on the load does not count.
    table.insert_tag(&together[..1], 1.6, Tag::SloViolating);
    let mut manager = Manager::new(platform()).with_profiles(table);
    let whole = |name, path, rate| AdmissionRequest {
        sizes: accelflow_arcus::Sizes::Fixed(Bytes(1_500)),
        ..request(name, path, 1_500, rate)
    };
    manager.register(whole("a", RX, 10.0)).unwrap();
    // The capacity is there, but the context is tagged; another path is not.
    let error = manager.register(whole("b", CALL, 8.0)).unwrap_err();
    assert!(
        matches!(error, PlatformError::NotAdmitted { .. }),
        "{error}"
    );
    let other = AdmissionRequest {
        other_paths: vec![RX],
        ..whole("b", CALL, 8.0)
    };
    assert_eq!(manager.register(other).unwrap().route.path, RX);
}

#[test]
fn routes_are_classified_again_whenever_a_flow_comes_or_leaves() {
    let two = Platform::prototype(vec![synthetic("one"), synthetic("two")]);
    let mut manager = Manager::new(two);
    let asking = |name: &str, first: &str, instead: &[&str], rate| AdmissionRequest {
        instead: instead.iter().map(|name| (*name).to_owned()).collect(),
        ..AdmissionRequest::new(name, first, RX, Bytes(4_096), Rate::GbitPerS(rate))
    };
    manager
        .register(asking("a", "one", &["two"], 20.0))
        .unwrap();
    let other = manager.alternatives(0).unwrap().to_vec();
    assert_eq!((other.len(), other[0].tag), (1, Tag::SloFriendly));
    assert_eq!(
        manager.select_path(0).unwrap(),
        Some(other[0].route.clone())
    );
    // Another flow takes most of that accelerator: the route becomes violating.
    let there = if other[0].route.accelerator() == Some(0) {
        "one"
    } else {
        "two"
    };
    manager.register(asking("b", there, &[], 32.0)).unwrap();
    assert_eq!(manager.alternatives(0).unwrap()[0].tag, Tag::SloViolating);
    assert_eq!(manager.select_path(0).unwrap(), None);
    manager.release("b").unwrap();
    assert_eq!(manager.alternatives(0).unwrap()[0].tag, Tag::SloFriendly);
}

#[test]
fn a_flow_takes_the_dma_engine_that_has_room() {
    let mut platform = Platform::prototype(vec![synthetic("one"), synthetic("two")]);
    platform.dma.engines = 2;
    // An engine with little memory for reads carries little: it is what is short.
    platform.dma.read_window = Bytes(2_048);
    let mut manager = Manager::new(platform.clone());
    let call = |name: &str, accelerator: &str, rate| {
        AdmissionRequest::new(name, accelerator, CALL, Bytes(1_024), Rate::GbitPerS(rate))
    };
    let alone = manager.left(&call("a", "one", 1.0)).unwrap();
    let first = manager
        .register(call("a", "one", 0.8 * alone))
        .unwrap()
        .route
        .engine;
    let second = manager
        .register(call("b", "two", 0.8 * alone))
        .unwrap()
        .route
        .engine;
    assert_ne!(first, second);
    // With one engine the second does not fit.
    platform.dma.engines = 1;
    let mut manager = Manager::new(platform);
    manager.register(call("a", "one", 0.8 * alone)).unwrap();
    assert!(manager.register(call("b", "two", 0.8 * alone)).is_err());
}

#[test]
fn a_slow_flow_has_a_rate_and_capacity_is_that_of_the_mixture() {
    let mut table = ProfileTable::new(Platform::prototype(vec![compression()]));
    let mut of = |flows: &[Traffic]| {
        let context = Context::new(flows);
        table.capacity(&context).unwrap().gbit_per_s
    };
    let alone = of(&[traffic(CALL, 16_384, 1.0)]);
    // In 200 us one flow in a hundred has no message of 16 KiB.
    let mix = of(&[traffic(CALL, 16_384, 0.99), traffic(CALL, 16_384, 0.01)]);
    assert!((mix / alone - 1.0).abs() < 0.02, "{mix} of {alone}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Interpolation promises no more than a simulation of the very mixture delivers, and not much
    /// less.
    #[test]
    fn interpolated_capacities_are_those_of_simulations(
        rates in prop::array::uniform3(0.2f64..5.0),
        sizes in prop::array::uniform3(prop::sample::select(vec![64u64, 256, 1_024, 1_500])),
    ) {
        let flows = [
            traffic(RX, sizes[0], rates[0]),
            traffic(CALL, sizes[1], rates[1]),
            traffic(Path::InlineTx, sizes[2], rates[2]),
        ];
        let mut table = ProfileTable::new(platform());
        let interpolated = table.capacity_of(&flows).unwrap();
        let simulated = table.capacity(&Context::new(&flows)).unwrap().gbit_per_s;
        let ratio = interpolated / simulated;
        prop_assert!((0.93..1.03).contains(&ratio), "{ratio}");
    }
}
