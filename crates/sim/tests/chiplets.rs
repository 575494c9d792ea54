//! Organisations into chiplets (AccelFlow, Fig. 18): longer ways take longer.

#![allow(clippy::unwrap_used)]

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load, Run, simulate};
use accelflow_trace::templates;
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

/// The mean response time of the eight services with AccelFlow, in us, of `requests` of each.
fn mean_us(plan: &Plan, (rate_rps, requests): (f64, u64), settings: &[(&str, f64)]) -> f64 {
    let mut config = Config::default();
    for (key, value) in settings {
        config.set(key, *value).unwrap();
    }
    let services = plan.services.len();
    let arrivals = ArrivalProcess::Poisson { rate_rps };
    let load = |service| Load::new(service, arrivals.clone(), requests, requests / 10);
    let loads: Vec<Load> = (0..services).map(load).collect();
    let outcome = simulate(&Run {
        config: &config,
        plan,
        orchestrator: orchestrator("accelflow").unwrap(),
        loads: &loads,
        seed: 1,
    })
    .unwrap();
    let means = outcome
        .services
        .iter()
        .map(|service| service.latency.mean().unwrap());
    means.map(|mean| mean.as_us_f64()).sum::<f64>() / services as f64
}

fn plan() -> Plan {
    let (image, services) = (templates().unwrap().link().unwrap(), social_network());
    let options = PaperOptions {
        tcp_cost: Time::from_us(7),
        ..PaperOptions::default()
    };
    let profile = Profile::paper(&services.unwrap(), &image, &options).unwrap();
    Plan::new(&profile, &image, &PayloadSizes::preset(SizePreset::Fleet)).unwrap()
}

/// By organisation, in the order of the number of chiplets.
fn means_us(load: (f64, u64), link_bytes: f64) -> [f64; 5] {
    let plan = plan();
    [1.0, 2.0, 3.0, 4.0, 6.0].map(|chiplets| {
        let organisation = ("network.chiplets", chiplets);
        mean_us(
            &plan,
            load,
            &[organisation, ("network.link_bytes", link_bytes)],
        )
    })
}

#[test]
fn on_an_idle_server_more_chiplets_take_longer() {
    let means = means_us((10.0, 40), 16.0);
    assert!(means.is_sorted_by(|fewer, more| fewer < more), "{means:?}");
}

/// The cores' chiplet has what it has of links and walkers, whatever the others are. With links of
/// 64 B, accelerators that share a mesh do not wait for each other's transfers.
#[test]
fn under_load_more_chiplets_take_longer() {
    let means = means_us((13_400.0, 300), 64.0);
    assert!(means.is_sorted_by(|fewer, more| fewer < more), "{means:?}");
}

/// With the paper's links, those that share a mesh wait a little for each other: less than two
/// thousandths of the response time.
#[test]
fn more_chiplets_are_not_faster_for_their_links() {
    let means = means_us((13_400.0, 300), 16.0);
    assert!(
        means.is_sorted_by(|fewer, more| *fewer < 1.002 * more),
        "{means:?}"
    );
    assert!(means[0] < means[1], "{means:?}");
}
