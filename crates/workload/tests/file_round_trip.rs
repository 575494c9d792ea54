//! Workloads' files: what is written is read as it was.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use accelflow_workload::file::{
    Arrivals, ArrivalsPreset, Chain, Costs, Cpu, CpuTime, Defaults, Document, Duration,
    LogNormalBytes, LogNormalTime, MessageSizes, OperationCost, Origin, OriginFile, Parallel,
    Phase, Printed, Probability, Rate, Retry, SchemaName, Service, Size, Sizes, SizesPreset, Timed,
    Traces, Wait, Workload, read, write,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z][A-Za-z0-9_]{0,8}"
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![name(), "[ -~\n\t\"'\\\\äµ😀]{0,20}"]
}

fn number(least: f64, most: f64) -> impl Strategy<Value = f64> {
    prop_oneof![least..most, Just(least), Just(most), Just(least + 1.0)]
}

fn sizes() -> impl Strategy<Value = Sizes> {
    let size = || (1_u64..1 << 40).prop_map(Size);
    prop_oneof![
        size().prop_map(Sizes::FixedBytes),
        (number(1.0, 1e9), number(0.0, 4.0)).prop_map(|(median_bytes, sigma)| Sizes::LogNormal(
            LogNormalBytes {
                median_bytes,
                sigma
            }
        )),
        (size(), size())
            .prop_map(|(a, b)| Sizes::Quantiles(vec![(0.0, a.min(b)), (1.0, a.max(b))])),
        name().prop_map(Sizes::HistogramFile),
        (1_u64..1000).prop_map(|count| Sizes::Histogram(vec![(Size(1), count), (Size(7), 0)])),
        Just(Sizes::Preset(SizesPreset::FleetWhole)),
    ]
}

fn wait() -> impl Strategy<Value = Wait> {
    let time = || number(0.0, 1e9).prop_map(Duration);
    prop_oneof![
        time().prop_map(Wait::ConstantUs),
        (number(0.0, 1e9), number(0.0, 4.0))
            .prop_map(|(median_us, sigma)| Wait::LogNormal(LogNormalTime { median_us, sigma })),
        time().prop_map(|time| Wait::QuantilesUs(vec![(0.0, Duration(0.0)), (1.0, time)])),
        name().prop_map(Wait::HistogramFile),
        (1_u64..1000).prop_map(|count| {
            Wait::HistogramUs(vec![(Duration(0.5), count), (Duration(7.0), 0)])
        }),
    ]
}

/// A rate that may stand beside `arrivals`: the mean of rates.
fn rate_beside(rate: Option<f64>, arrivals: Option<&Arrivals>) -> Option<Rate> {
    let table = match arrivals {
        Some(Arrivals::Rates { rates, .. }) => rates.as_ref().and_then(|rates| rates.first()),
        _ => None,
    };
    rate.map(|rate| Rate(table.map_or(rate, |row| row.1)))
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        Just(Arrivals::Poisson {}),
        number(100.0, 1e9).prop_map(|dwell_us| {
            let states = vec![(0.5, 3.0), (2.5, 1.0)];
            Arrivals::Modulated { states, dwell_us }
        }),
        Just(Arrivals::Preset {
            preset: ArrivalsPreset::ShortBursts
        }),
        name().prop_map(|file| Arrivals::Times {
            file: Some(file),
            times_us: None
        }),
        number(0.0, 1e6).prop_map(|last| Arrivals::Times {
            file: None,
            times_us: Some(vec![0.0, last])
        }),
        (number(1.0, 1e6), of(number(0.0, 1e12))).prop_map(|(rate, from_us)| Arrivals::Rates {
            file: None,
            rates: Some(vec![(0.0, rate)]),
            from_us,
        }),
    ]
}

fn costs() -> impl Strategy<Value = Costs> {
    let cost = || (number(0.0, 1e12), number(0.0, 1e6), of(number(0.0, 100.0)));
    prop_oneof![
        of(number(1.0, 1e9)).prop_map(|tcp_cost_ns| Costs::Paper { tcp_cost_ns }),
        text().prop_map(|text| Costs::Recording {
            file: None,
            text: Some(text)
        }),
        cost().prop_map(|(ns, ns_per_byte, relative_error)| {
            let cost = OperationCost {
                ns,
                ns_per_byte,
                relative_error,
            };
            let (tcp, ldb) = (Some(cost), Some(cost));
            let none = None;
            Costs::Operations {
                tcp,
                encr: none,
                decr: none,
                rpc: none,
                ser: none,
                dser: none,
                cmp: none,
                dcmp: none,
                ldb,
            }
        }),
        Just(Costs::Measured {}),
    ]
}

fn chain() -> impl Strategy<Value = Chain> {
    let retry =
        (number(0.0, 1.0), 1_u8..=64, number(0.0, 1e9)).prop_map(|(odds, attempts, us)| Retry {
            odds: Probability(odds),
            attempts,
            backoff_us: Duration(us),
        });
    let message_sizes = prop_oneof![
        sizes().prop_map(MessageSizes::All),
        vec(sizes(), 1..4).prop_map(MessageSizes::Each)
    ];
    let odds = btree_map(
        name(),
        btree_map(name(), number(0.0, 1.0).prop_map(Probability), 1..3),
        0..3,
    );
    (
        text(),
        of(1_u8..2),
        btree_map(text(), btree_map(text(), any::<i64>(), 1..3), 0..3),
        odds,
        of(message_sizes),
        btree_map(name(), wait(), 0..3),
        (of(retry), of(any::<bool>())),
    )
        .prop_map(|(trace, times, facts, odds, sizes, waits, rest)| Chain {
            trace,
            times,
            facts,
            odds,
            sizes,
            waits,
            calls: None,
            retry: rest.0,
            network: None,
            detached: rest.1,
        })
}

fn path() -> impl Strategy<Value = Vec<Phase>> {
    let middle = prop_oneof![
        chain().prop_map(Phase::Chain),
        vec(chain(), 1..4).prop_map(|parallel| Phase::Parallel(Parallel { parallel })),
        number(0.0, 1e9).prop_map(|cpu_us| Phase::Timed(Timed { cpu_us })),
        Just(Phase::Cpu(Cpu {
            cpu: CpuTime::Elsewhere(true)
        })),
        wait().prop_map(|times| Phase::Cpu(Cpu {
            cpu: CpuTime::Drawn(times)
        })),
    ];
    (chain(), vec(middle, 0..4), chain()).prop_map(|(mut first, middle, mut last)| {
        (first.detached, last.detached) = (None, Some(false));
        (first.retry, last.retry) = (None, None);
        let mut path = vec![Phase::Chain(first)];
        path.extend(middle);
        path.push(Phase::Chain(last));
        path
    })
}

fn service() -> impl Strategy<Value = Service> {
    let path = path();
    let numbers = (
        of(any::<u16>()),
        of(any::<u8>()),
        of(number(0.001, 1e9)),
        of(number(1e-3, 1e6)),
    );
    let values = (
        of(arrivals()),
        of(sizes()),
        of(costs()),
        btree_map(name(), wait(), 0..3),
    );
    (
        of(text()),
        of(text()),
        numbers,
        of(number(1e-3, 1e9)),
        of(number(0.0, 1e9)),
        values,
        path,
    )
        .prop_map(
            |(
                method,
                server,
                (tenant, priority, rate, rate_share),
                slo_us,
                app_us,
                values,
                path,
            )| {
                let (arrivals, sizes, costs, waits) = values;
                Service {
                    name: String::new(),
                    method,
                    tenant,
                    priority,
                    server,
                    rate_rps: rate_beside(rate, arrivals.as_ref()),
                    rate_share,
                    slo_us,
                    slo_factor: None,
                    app_us,
                    arrivals,
                    sizes,
                    costs,
                    waits,
                    path,
                }
            },
        )
}

fn defaults() -> impl Strategy<Value = Defaults> {
    (
        of(number(0.001, 1e9)),
        of(arrivals()),
        of(sizes()),
        of(costs()),
        of(wait()),
    )
        .prop_map(|(rate, arrivals, sizes, costs, network)| Defaults {
            rate_rps: rate_beside(rate, arrivals.as_ref()),
            arrivals,
            sizes,
            costs,
            network,
            ..Defaults::default()
        })
}

fn origin() -> impl Strategy<Value = Origin> {
    let counts = || btree_map(text(), 0..1_u64 << 60, 0..3);
    (text(), vec((text(), text()), 0..3), counts(), counts()).prop_map(
        |(kind, files, understood, dropped)| Origin {
            kind,
            files: files
                .into_iter()
                .map(|(name, sha256)| OriginFile { name, sha256 })
                .collect(),
            understood,
            guessed: BTreeMap::new(),
            dropped,
        },
    )
}

fn workload() -> impl Strategy<Value = Workload> {
    let traces = prop_oneof![
        text().prop_map(Traces::Source),
        text().prop_map(Traces::File),
        name().prop_map(Traces::Module)
    ];
    let (defaults, origin) = (defaults(), origin());
    let printed = number(0.0, 1.0).prop_map(|branching_share| Printed { branching_share });
    let rates = of(number(0.001, 1e9));
    (
        name(),
        of(text()),
        of(printed),
        of(origin),
        vec(traces, 0..3),
        defaults,
        rates,
        vec(service(), 1..4),
    )
        .prop_map(
            |(name, description, printed, origin, traces, defaults, rate, mut services)| {
                for (index, service) in services.iter_mut().enumerate() {
                    service.name = format!("S.{index}");
                }
                let all = |rate| {
                    services
                        .iter()
                        .map(|service| (service.name.clone(), Rate(rate)))
                        .collect()
                };
                let rates = rate
                    .map(|rate| ("measured".to_owned(), all(rate)))
                    .into_iter()
                    .collect();
                Workload {
                    schema: SchemaName::V1,
                    name,
                    description,
                    printed,
                    origin,
                    traces,
                    kinds: BTreeMap::new(),
                    defaults,
                    rates,
                    services,
                }
            },
        )
}

proptest! {
    #[test]
    fn written_files_are_read_back_and_written_again_unchanged(workload in workload()) {
        let text = write(&workload).unwrap();
        let document = read(&text, "any.toml").map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        document.check().map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&document.workload, &workload);
        prop_assert_eq!(write(&document.workload).unwrap(), text);
        prop_assert!(Document::of(workload, "any").check().is_ok());
    }
}
