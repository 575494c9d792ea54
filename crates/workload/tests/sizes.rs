//! Size distributions: quantile functions, presets against their sources, draws.

#![allow(clippy::unwrap_used)]

use accelflow_kernel::Stream;
use accelflow_units::Bytes;
use accelflow_workload::services::PhaseWalk;
use accelflow_workload::sizes::{
    FLEET_CUT, LogNormal, MAX_SIZE, MessagePlace, PayloadSizes, QuantileTable, SizeDistribution,
    SizeError, SizePreset, message_names,
};
use accelflow_workload::suites::social_network;

const ANY: MessagePlace = MessagePlace {
    phase: 0,
    chain: 0,
    trace: 0,
};

fn preset(preset: SizePreset) -> SizeDistribution {
    PayloadSizes::preset(preset)
        .distribution("UniqId", ANY)
        .clone()
}

fn table(points: &[(f64, u64)]) -> Result<SizeDistribution, SizeError> {
    let points: Vec<_> = points.iter().map(|&(p, size)| (p, Bytes(size))).collect();
    QuantileTable::new(&points).map(SizeDistribution::Quantiles)
}

#[test]
fn a_table_is_interpolated() {
    let sizes = table(&[(0.0, 100), (0.5, 200), (1.0, 1_000)]).unwrap();
    for (u, size) in [
        (0.0, 100),
        (0.25, 150),
        (0.5, 200),
        (0.75, 600),
        (1.0, 1_000),
    ] {
        assert_eq!(sizes.quantile(u), Bytes(size), "{u}");
    }
    assert_eq!(sizes.sample(-1.0), Bytes(100));
    assert_eq!(sizes.sample(2.0), Bytes(1_000));
    assert_eq!(sizes.sample(f64::NAN), Bytes(100));
    assert_eq!(sizes.mean(), Bytes(75 + 300));
    assert_eq!(sizes.share_beyond(Bytes(600)), 0.25);
    assert_eq!(sizes.share_beyond(Bytes(99)), 1.0);
    assert_eq!(sizes.share_beyond(Bytes(1_000)), 0.0);
    assert_eq!(SizeDistribution::Fixed(Bytes(7)).sample(0.3), Bytes(7));
    assert_eq!(SizeDistribution::Fixed(Bytes(7)).mean(), Bytes(7));
}

#[test]
fn an_atom_keeps_its_probability() {
    let sizes = table(&[(0.0, 10), (0.4, 10), (0.4, 50), (1.0, 50)]).unwrap();
    assert_eq!(
        (sizes.sample(0.39), sizes.sample(0.41)),
        (Bytes(10), Bytes(50))
    );
    assert_eq!(sizes.mean(), Bytes(34));
    assert!((sizes.share_beyond(Bytes(10)) - 0.6).abs() < 1e-12);
}

#[test]
fn a_cut_conditions_the_distribution() {
    let sizes = table(&[(0.0, 100), (0.5, 200), (1.0, 1_000)]).unwrap();
    let cut = sizes.cut_at(Bytes(600)).unwrap();
    assert_eq!(cut.max(), Bytes(600));
    assert!((cut.share_beyond(Bytes(200)) - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(sizes.cut_at(Bytes(5_000)).unwrap(), sizes);
    let atom = table(&[(0.0, 10), (0.3, 10), (0.5, 50), (0.8, 50), (1.0, 90)]).unwrap();
    let kept = atom.cut_at(Bytes(50)).unwrap();
    assert!(
        (kept.share_beyond(Bytes(49)) - 0.38125).abs() < 1e-9,
        "an atom at the cut stays"
    );
    let (cut, min) = (Bytes(50), Bytes(100));
    assert_eq!(sizes.cut_at(cut), Err(SizeError::Cut { cut, min }));
    assert_eq!(sizes.cut_at(min).unwrap(), SizeDistribution::Fixed(min));
}

#[test]
fn samples_have_the_mean_that_is_stated() {
    let sizes = preset(SizePreset::Fleet);
    let mut stream = Stream::new(1, 2);
    let n = 200_000;
    let sum: u64 = (0..n).map(|_| sizes.sample(stream.uniform()).get()).sum();
    let mean = sizes.mean().get() as f64;
    // The standard deviation is 12.5 KB, so five standard errors are 140 bytes.
    assert!((sum as f64 / f64::from(n) - mean).abs() < 140.0);
}

#[test]
fn the_presets_are_as_documented() {
    let near = |sizes: &SizeDistribution, median: u64, mean: u64, p99: u64| {
        let close = |found: Bytes, stated: u64| found.get().abs_diff(stated) * 200 <= stated;
        let found = (sizes.quantile(0.5), sizes.mean(), sizes.quantile(0.99));
        assert!(
            close(found.0, median) && close(found.1, mean) && close(found.2, p99),
            "{found:?}"
        );
    };
    near(&preset(SizePreset::Fleet), 2_360, 7_980, 59_260);
    near(&preset(SizePreset::FleetWhole), 2_690, 21_780, 237_250);
    near(
        &preset(SizePreset::HyperCompressBench),
        7_850,
        66_130,
        936_450,
    );
    assert_eq!(preset(SizePreset::Fleet).max(), FLEET_CUT);
    // The data set's own mean over its 841 million calls, whose buckets are fuller at the bottom.
    let published = 19_538.0;
    let mean = preset(SizePreset::FleetWhole).mean().get() as f64;
    assert!((mean / published - 1.115).abs() < 0.001, "{mean}");
}

#[test]
fn social_network_names_a_measured_message_for_every_trace() {
    let image = accelflow_trace::templates().unwrap().link().unwrap();
    let sizes = PayloadSizes::preset(SizePreset::SocialNetwork);
    for service in social_network().unwrap() {
        for (phase, walk) in service.walk(&image).unwrap().iter().enumerate() {
            for (chain, walk) in walk.chains().iter().enumerate() {
                let names = message_names(service.name(), phase as u16, chain as u16);
                assert!(
                    names.len() >= walk.traces.len(),
                    "{} {phase} {chain}",
                    service.name()
                );
            }
        }
        assert!(matches!(
            service.walk(&image).unwrap()[0],
            PhaseWalk::Traces(_)
        ));
    }
    let posts = sizes.distribution(
        "ReadH",
        MessagePlace {
            phase: 6,
            chain: 0,
            trace: 0,
        },
    );
    assert_eq!(
        (posts.quantile(0.5), posts.max()),
        (Bytes(10_772), Bytes(13_318))
    );
    let unique_id = sizes.distribution("UniqId", ANY);
    assert_eq!(*unique_id, SizeDistribution::Fixed(Bytes(132)));
    let unnamed = sizes.distribution("Other", ANY);
    assert_eq!(*unnamed, SizeDistribution::Fixed(Bytes(28)));
}

#[test]
fn draws_depend_on_seed_request_and_place_alone() {
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    let draw = |place, seed, request| sizes.draw("CPost", place, seed, request);
    let next = MessagePlace { chain: 1, ..ANY };
    assert_eq!(draw(ANY, 1, 7), draw(ANY, 1, 7));
    let differing = |other: &dyn Fn(u64) -> Bytes| {
        (0..100)
            .filter(|&request| draw(ANY, 1, request) != other(request))
            .count()
    };
    assert!(differing(&|request| draw(ANY, 2, request)) > 95);
    assert!(differing(&|request| draw(next, 1, request)) > 95);
    assert!(differing(&|request| draw(ANY, 1, request + 1)) > 95);
}

#[test]
fn wrong_tables_are_refused() {
    assert_eq!(table(&[(0.0, 1)]), Err(SizeError::Points(1)));
    assert_eq!(
        table(&[(0.1, 1), (1.0, 2)]),
        Err(SizeError::Ends {
            first: 0.1,
            last: 1.0
        })
    );
    assert_eq!(
        table(&[(0.0, 1), (0.5, 9), (1.0, 2)]),
        Err(SizeError::Order(2))
    );
    assert_eq!(
        table(&[(0.0, 1), (f64::NAN, 2), (1.0, 3)]),
        Err(SizeError::Order(1))
    );
    assert_eq!(
        table(&[(0.0, 1), (1.0, 1 << 41)]),
        Err(SizeError::TooLarge(Bytes(1 << 41)))
    );
    for preset in SizePreset::ALL {
        assert_eq!(preset.to_string().parse(), Ok(preset));
    }
    assert_eq!(
        "paper".parse::<SizePreset>().unwrap_err().to_string(),
        "sizes = 'paper': must be socialnetwork, fleet, fleet_whole or hypercompressbench"
    );
}

#[test]
fn log_normal_sizes_have_their_quantiles_and_mean() {
    let sizes = SizeDistribution::LogNormal(LogNormal::new(1e6, 0.5).unwrap());
    // 1e6 exp(0.5 z), z the quantiles of Python's statistics.NormalDist.
    let expected = [
        (0.5, 1_000_000),
        (0.975, 2_664_408),
        (0.025, 375_318),
        (0.99, 3_200_074),
    ];
    for (probability, size) in expected {
        let found = sizes.quantile(probability).get();
        assert!(found.abs_diff(size) <= 1, "{probability}: {found}");
        assert!((sizes.share_beyond(Bytes(found)) - (1.0 - probability)).abs() < 1e-6);
    }
    // Far out: the standard normal's quantile of 1e-10 is -6.3613.
    assert!(
        sizes.quantile(1e-10).get().abs_diff(41_558) <= 1,
        "{}",
        sizes.quantile(1e-10).get()
    );
    assert_eq!(sizes.mean(), Bytes(1_133_148));
    assert_eq!((sizes.quantile(0.0), sizes.max()), (Bytes(1), MAX_SIZE));
    let cut = sizes.cut_at(Bytes(1_000_000)).unwrap();
    assert_eq!(cut.max(), Bytes(1_000_000));
    assert!(cut.quantile(0.5).get().abs_diff(sizes.quantile(0.25).get()) < 200);
    let narrow = SizeDistribution::LogNormal(LogNormal::new(300.0, 0.0).unwrap());
    assert_eq!(
        (narrow.quantile(0.0), narrow.max()),
        (Bytes(300), Bytes(300))
    );
    assert_eq!(LogNormal::new(0.5, 1.0), None);
    assert_eq!(LogNormal::new(10.0, 4.5), None);
}

#[test]
fn services_and_chains_may_have_sizes_of_their_own() {
    let fixed = |bytes| SizeDistribution::Fixed(Bytes(bytes));
    let sizes = PayloadSizes::same(fixed(1))
        .with_service("Stock", PayloadSizes::same(fixed(2)))
        .with_chain("Stock", (2, 1), vec![fixed(3), fixed(4)]);
    let of = |service, phase, chain, trace| {
        let place = MessagePlace {
            phase,
            chain,
            trace,
        };
        sizes.distribution(service, place).clone()
    };
    assert_eq!(of("Cart", 2, 1, 0), fixed(1));
    assert_eq!(of("Stock", 2, 0, 0), fixed(2));
    assert_eq!(
        [0, 1, 7].map(|trace| of("Stock", 2, 1, trace)),
        [3, 4, 4].map(fixed)
    );
}
