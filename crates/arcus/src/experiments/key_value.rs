//! Fig. 11(a): two users of a key-value store beside a live migration.

use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant, highest};
use super::report::Row;
use crate::control::{Context, Manager, Rate, ServiceClass};
use crate::parameters::{MICA_CLIENTS, PANIC_BUFFER, aes_cbc, sha1_hmac};
use crate::{
    Arrivals, FRAME_OVERHEAD, Mechanism, Order, Path, Platform, PlatformError, RunResult, Settings,
    Sizes,
};

/// The value sizes of the two users.
const VALUES: [u64; 2] = [64, 256];
/// The size of a key: that of MICA's data sets with small values (Lim et al., NSDI 2014).
const KEY: u64 = 16;
/// The clients of a user, each with one message in flight: as many as PANIC's buffer has room for.
/// The network's protocol (LTL) loses no message, and these clients' messages are never dropped.
/// Dropped arrivals would also change the mixture: room is found by the message that ends next at
/// the port, more likely a long one. With Poisson arrivals above the SLO the device would get longer
/// messages than admission counted on, and 15 % fewer of them.
const CLIENTS: u32 = MICA_CLIENTS;
/// The criterion of section 5.4: the 99th percentile is below this multiple of the mean.
const MOST_OVER_MEAN: f64 = 10.0;
/// The share of the largest promise that the users request: admission searches in whole percents.
const ASKED: f64 = 0.99;

/// The reason for differences of the shares of the SLO.
const NO_SLO: &str = "The paper prints neither the SLOs nor the accelerators' rates. Here the SLO is the \
     largest that two such users can be promised (row `slo`). What needs no SLO is user 1 over user 2.";

/// Half of a user's messages are GETs, which bring a key; the others are SETs, which bring a key and
/// a value. Answers are not simulated.
fn sizes(user: usize) -> Sizes {
    Sizes::Mix(vec![(Bytes(KEY), 0.5), (Bytes(KEY + VALUES[user]), 0.5)])
}

/// The rate of a user's messages that a port takes, per second.
fn port_per_s(platform: &Platform, user: usize) -> f64 {
    let bytes = sizes(user).mean() + FRAME_OVERHEAD.get() as f64;
    platform.ports[user].as_bytes_per_s() as f64 / bytes
}

/// The arrivals of a user at a share of what its port takes, if answers took no time.
fn arrivals(platform: &Platform, user: usize, load: f64) -> Arrivals {
    let clients = CLIENTS;
    let think = match load < 1.0 {
        true => Time::from_s_f64(f64::from(clients) / (load * port_per_s(platform, user))),
        false => Time::ZERO,
    };
    Arrivals::Closed { clients, think }
}

/// Two users of MICA, encrypted and authenticated, beside a live migration that is encrypted.
fn tenants(platform: &Platform, load: f64, slo: f64) -> [Tenant; 3] {
    let user = |user: usize| {
        let name = format!("user {}", user + 1);
        let rate = Rate::OperationsPerS(slo);
        Tenant::new(&name, "aes-128-cbc", Path::InlineRx, sizes(user), rate)
            .then(&["sha1-hmac"])
            .of_vm(user)
            .of_class(ServiceClass::Reserved)
            .over_port(user)
            .with_weight(2.0)
            .sending(arrivals(platform, user, load))
    };
    let mtu = Sizes::Fixed(Bytes(1_500));
    let rest = Rate::GbitPerS(1.0);
    let migration = Tenant::new("migration", "aes-128-cbc", Path::InlineTx, mtu, rest)
        .of_vm(2)
        .of_class(ServiceClass::Opportunistic);
    [user(0), user(1), migration]
}

fn p99_over_mean(result: &RunResult, user: usize) -> f64 {
    let mut latencies = result.flows[user].latencies();
    let mean = latencies.mean_ps().unwrap_or(1.0);
    latencies.percentile(99.0).unwrap_or(Time::ZERO).as_ps() as f64 / mean
}

/// The SLO of each user, in operations per second: the largest that both may have as reserved flows.
fn equal_slo(platform: &Platform) -> Result<f64, PlatformError> {
    let asked = 1e6;
    let [one, two, _] = tenants(platform, 1.0, asked);
    let mut manager = Manager::new(platform.clone());
    let mut traffic = Vec::new();
    for user in [one, two] {
        let routes = manager.candidates(&user.request)?;
        traffic.extend(routes.into_iter().take(1).flat_map(|route| route.1));
    }
    let total: f64 = traffic.iter().map(|flow| flow.gbit_per_s).sum();
    let capacity = manager.profiles().capacity(&Context::new(&traffic))?;
    Ok(ASKED * ServiceClass::RESERVED_SHARE * asked * capacity.gbit_per_s / total)
}

/// Panel (a). The paper prints no SLO: both users request the largest that two can be promised.
pub(super) fn panel(seed: u64) -> Result<Vec<Row>, PlatformError> {
    let platform = Platform::prototype(vec![aes_cbc(), sha1_hmac()]);
    let settings = Settings::lasting(Time::from_us(2_000)).seeded(seed);
    let panic = Mechanism::Panic {
        order: Order::WeightedFair,
        buffer: PANIC_BUFFER,
    };
    let slo = equal_slo(&platform)?;
    let admitted = Admitted::new(&platform, &tenants(&platform, 1.0, slo))?;
    let sending = |load| admitted.sending(&tenants(&platform, load, slo));
    let good = |result: &RunResult| (0..2).all(|user| p99_over_mean(result, user) < MOST_OVER_MEAN);
    let unshaped = highest(1.0, |load| sending(load).without(&panic, &settings), good)?;
    let period = settings.control_period;
    let shaped = highest(1.0, |load| sending(load).run(&settings, period), good)?;
    Ok([
        rows(panic.name(), &unshaped, slo),
        rows(admitted.name(), &shaped, slo),
    ]
    .concat())
}

fn rows(name: &'static str, (load, result): &(f64, RunResult), slo: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    let row = |key: &str, what: String, unit, ours| {
        Row::new(format!("arcus.fig11.{key}.{name}"), name, what, unit, ours)
    };
    for user in [0, 1] {
        let number = user + 1;
        let over = result.per_s(user) / slo - 1.0;
        let key = format!("user_{number}_over_slo");
        let what = format!("user {number}, over its SLO");
        rows.push(row(&key, what, "", over).because(NO_SLO));
        let tail = p99_over_mean(result, user);
        let key = format!("user_{number}_p99_over_mean");
        let what = format!("user {number}, 99th percentile over mean");
        rows.push(row(&key, what, "times", tail));
    }
    // The ratio needs no SLO: both users have the same one.
    let ratio = result.per_s(0) / result.per_s(1);
    let what = "user 1 over user 2".to_owned();
    rows.push(row("user_1_over_user_2", what, "times", ratio));
    let what = "the SLO of each user".to_owned();
    rows.push(row("slo", what, "M/s", slo / 1e6));
    let what = "highest load by the criterion, of what the ports take".to_owned();
    rows.push(row("highest_load", what, "", *load));
    let what = "live migration".to_owned();
    rows.push(row("live_migration", what, "Gbit/s", result.gbit_per_s(2)));
    rows
}
