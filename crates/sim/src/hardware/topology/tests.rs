#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use super::*;
use crate::config::Config;

const CHIPLETS: [usize; 5] = [1, 2, 3, 4, 6];

fn package(chiplets: usize, instances: usize) -> Topology {
    let mut config = Config::default();
    config.set("network.chiplets", chiplets as f64).unwrap();
    Topology::new(&config.network, 36, 4, &[instances; Accel::COUNT])
}

fn accel(topology: &Topology, accel: Accel) -> Stop {
    topology.stop(Place::Accel(accel, 0))
}

fn steps(topology: &Topology, from: Stop, to: Stop) -> Vec<Step> {
    let mut steps = Vec::new();
    topology.route(from, to, |step| steps.push(step));
    steps
}

fn counted(steps: &[Step]) -> (u64, u64) {
    let count = |wanted: fn(&Step) -> bool| steps.iter().filter(|s| wanted(s)).count() as u64;
    (
        count(|s| matches!(s, Step::Hop(_))),
        count(|s| matches!(s, Step::Crossing(_))),
    )
}

#[test]
fn chiplets_hold_what_figure_18_says() {
    use accelflow_trace::nine::{Cmp, Dcmp, Decr, Dser, Encr, Ldb, Rpc, Ser, Tcp};
    let expected: [&[&[Accel]]; 5] = [
        &[&Accel::ALL],
        &[&[Ldb], &[Tcp, Encr, Decr, Rpc, Ser, Dser, Cmp, Dcmp]],
        &[&[Ldb], &[Tcp, Encr, Decr], &[Rpc, Ser, Dser, Cmp, Dcmp]],
        &[&[Ldb], &[Tcp, Encr, Decr], &[Rpc, Ser, Dser], &[Cmp, Dcmp]],
        &[
            &[Ldb],
            &[Tcp],
            &[Encr, Decr],
            &[Rpc],
            &[Ser, Dser],
            &[Cmp, Dcmp],
        ],
    ];
    for (chiplets, groups) in CHIPLETS.into_iter().zip(expected) {
        let topology = package(chiplets, 1);
        assert_eq!(topology.chiplets(), chiplets);
        for (chiplet, group) in groups.iter().enumerate() {
            for &member in *group {
                let found = accel(&topology, member).chiplet;
                assert_eq!(found, chiplet, "{member} of {chiplets} chiplets");
            }
        }
    }
}

#[test]
fn everything_has_an_interface_of_its_own() {
    for chiplets in CHIPLETS {
        let topology = package(chiplets, 3);
        let instances = Accel::ALL
            .into_iter()
            .flat_map(|accel| (0..3).map(move |n| Place::Accel(accel, n)))
            // The instances of LdB stand together.
            .filter(|place| !matches!(place, Place::Accel(Accel::Ldb, 1..)));
        let others = (0..36)
            .map(Place::Slice)
            .chain((0..4).map(Place::Controller));
        let mut seen = HashSet::new();
        for place in instances.chain(others) {
            let stop = topology.stop(place);
            let mesh = &topology.meshes[stop.chiplet];
            assert!(stop.x < mesh.width && stop.y < mesh.height, "{place:?}");
            let interface = topology.interface(stop, 0);
            assert!(seen.insert(interface), "{place:?} of {chiplets} chiplets");
        }
    }
}

#[test]
fn ways_are_as_long_as_distances_and_use_each_link_once() {
    for chiplets in CHIPLETS {
        let topology = package(chiplets, 2);
        let mut places: Vec<Place> = (0..36).map(Place::Slice).collect();
        places.extend((0..4).map(Place::Controller));
        places.extend((0..chiplets as u16).map(Place::Iommu));
        places.extend(Accel::ALL.map(|accel| Place::Accel(accel, 0)));
        places.extend(Accel::ALL.map(|accel| Place::Accel(accel, 1)));
        for &from in &places {
            for &to in &places {
                let (a, b) = (topology.stop(from), topology.stop(to));
                let there = steps(&topology, a, b);
                assert_eq!(counted(&there), topology.distance(a, b), "{from:?} {to:?}");
                assert_eq!(topology.distance(a, b), topology.distance(b, a));
                let links: HashSet<usize> = there
                    .iter()
                    .map(|step| match *step {
                        Step::Interface(l) | Step::Hop(l) | Step::Crossing(l) => l,
                    })
                    .collect();
                assert_eq!(links.len(), there.len(), "{from:?} {to:?}");
                assert!(links.iter().all(|&link| link < topology.links()));
                let back = steps(&topology, b, a);
                assert!(a == b || !there.iter().any(|step| back.contains(step)));
            }
        }
    }
}

#[test]
fn rows_come_before_columns() {
    let topology = package(2, 1);
    let slices = [0, 8].map(|n| topology.stop(Place::Slice(n)));
    // From (0, 0) to (2, 1): twice east, once south.
    let links: Vec<usize> = steps(&topology, slices[0], slices[1])
        .iter()
        .filter_map(|step| match step {
            Step::Hop(link) => Some(*link),
            _ => None,
        })
        .collect();
    let router = |x, y| topology.router(0, (x, y));
    let expected = [
        router(0, 0) + EAST,
        router(1, 0) + EAST,
        router(2, 0) + SOUTH,
    ];
    assert_eq!(links, expected);
}

#[test]
fn hops_and_crossings_of_the_base_server() {
    let topology = package(2, 1);
    let apart = |from, to| topology.distance(accel(&topology, from), accel(&topology, to));
    assert_eq!(apart(Accel::Tcp, Accel::Decr), (1, 0));
    assert_eq!(apart(Accel::Tcp, Accel::Dcmp), (4, 0));
    assert_eq!(apart(Accel::Tcp, Accel::Tcp), (0, 0));
    // A hop to the router of the link, and two from (3, 5) to (3, 3).
    assert_eq!(apart(Accel::Dser, Accel::Ldb), (1 + 2, 1));
    assert_eq!(apart(Accel::Tcp, Accel::Ldb), (2 + 2, 1));
    let slice = |n| topology.distance(accel(&topology, Accel::Ser), topology.stop(n));
    assert_eq!(slice(Place::Slice(0)), (2 + 8, 1));
    assert_eq!(slice(Place::Slice(35)), (2 + 2, 1));
    assert_eq!(slice(Place::Controller(0)), (2 + 7, 1));
    assert_eq!(slice(Place::Controller(3)), (2 + 3, 1));
}

#[test]
fn each_further_chiplet_puts_accelerators_further_apart() {
    // (hops, crossings) of TCP-Decr, Decr-RPC, RPC-Dser, Dser-Dcmp, Dser-LdB.
    let expected = [
        (1, [(1, 0), (1, 0), (1, 0), (1, 0), (4, 0)]),
        (2, [(1, 0), (1, 0), (1, 0), (1, 0), (3, 1)]),
        (3, [(1, 0), (3, 1), (1, 0), (1, 0), (4, 1)]),
        (4, [(1, 0), (3, 1), (1, 0), (3, 1), (4, 1)]),
        (6, [(2, 1), (2, 1), (2, 1), (2, 1), (3, 1)]),
    ];
    for (chiplets, distances) in expected {
        let topology = package(chiplets, 1);
        let pairs = [
            (Accel::Tcp, Accel::Decr),
            (Accel::Decr, Accel::Rpc),
            (Accel::Rpc, Accel::Dser),
            (Accel::Dser, Accel::Dcmp),
            (Accel::Dser, Accel::Ldb),
        ];
        let found =
            pairs.map(|(from, to)| topology.distance(accel(&topology, from), accel(&topology, to)));
        assert_eq!(found, distances, "{chiplets} chiplets");
    }
}

#[test]
fn the_other_chiplets_share_the_way_into_the_cores_mesh() {
    for chiplets in [2, 3, 4, 6] {
        let topology = package(chiplets, 1);
        let slice = topology.stop(Place::Slice(0));
        let others = Accel::ALL.map(|kind| accel(&topology, kind));
        let others = others.into_iter().filter(|stop| stop.chiplet != 0);
        // From the crossing on, and up to it the other way.
        let (mut there, mut back) = (HashSet::new(), HashSet::new());
        for stop in others {
            let way = steps(&topology, stop, slice);
            let from = way
                .iter()
                .position(|step| matches!(step, Step::Crossing(_)));
            there.insert(format!("{:?}", &way[from.unwrap()..]));
            let way = steps(&topology, slice, stop);
            let until = way
                .iter()
                .position(|step| matches!(step, Step::Crossing(_)));
            back.insert(format!("{:?}", &way[..=until.unwrap()]));
        }
        assert_eq!((there.len(), back.len()), (1, 1), "{chiplets} chiplets");
    }
}

#[test]
fn instances_stand_side_by_side() {
    let topology = package(2, 3);
    let at = |n| topology.stop(Place::Accel(Accel::Ser, n));
    assert_eq!((at(0).x, at(1).x, at(2).x), (0, 3, 6));
    assert_eq!(topology.distance(at(0), at(2)), (6, 0));
}

#[test]
fn the_mesh_grows_with_its_tiles() {
    let config = Config::default();
    for (tiles, side) in [(1, 1), (2, 2), (36, 6), (37, 7), (64, 8)] {
        let topology = Topology::new(&config.network, tiles, 4, &[1; Accel::COUNT]);
        assert_eq!(topology.side(), side, "{tiles}");
    }
}
