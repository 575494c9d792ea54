//! Fig. 3's four patterns under other readings of what the paper leaves open, as a table in
//! Markdown: `cargo run --release -p accelflow-arcus --example fig3_readings`.

use std::error::Error;

use accelflow_arcus::parameters::ipsec;
use accelflow_arcus::{Arrivals, Flow, Mechanism, Order, Path, Platform, Settings, simulate};
use accelflow_units::{Bytes, Time};

/// Sizes of VM1 and VM2 in the four patterns of Table 1.
const PATTERNS: [(u64, u64); 4] = [(256, 64), (256, 512), (128, 512), (1500, 512)];

/// What a load of 1 is.
#[derive(Clone, Copy)]
enum Load {
    /// A message each cycle of 250 MHz.
    Messages,
    /// So many gigabits a second.
    GbitPerS(f64),
}

struct Reading {
    name: &'static str,
    mechanism: Mechanism,
    load: Load,
    /// Whether each VM has a port of 50 Gbit/s, or the generator is behind the ports.
    ports: bool,
}

fn one_buffer(order: Order, buffer: usize) -> Mechanism {
    Mechanism::Panic { order, buffer }
}

fn readings() -> Vec<Reading> {
    let reading = |name, mechanism, load, ports| Reading {
        name,
        mechanism,
        load,
        ports,
    };
    let by_arrival = |buffer| one_buffer(Order::Priority, buffer);
    let messages = Load::Messages;
    vec![
        reading(
            "one buffer of 256, as used",
            by_arrival(256),
            messages,
            false,
        ),
        reading("one buffer of 16", by_arrival(16), messages, false),
        reading("one buffer of 4,096", by_arrival(4_096), messages, false),
        reading("the same behind ports", by_arrival(256), messages, true),
        reading("turns by message", Mechanism::NoShaping, messages, false),
        reading(
            "one buffer, equal bytes",
            one_buffer(Order::WeightedFair, 256),
            messages,
            false,
        ),
        reading(
            "load of 32 Gbit/s",
            by_arrival(256),
            Load::GbitPerS(32.0),
            false,
        ),
        reading(
            "load of 128 Gbit/s",
            by_arrival(256),
            Load::GbitPerS(128.0),
            false,
        ),
    ]
}

/// By load of VM2 from 0.1 to 0.9 what both get, in gigabits a second.
fn points(it: &Reading, sizes: (u64, u64)) -> Result<Vec<[f64; 2]>, Box<dyn Error>> {
    let platform = Platform::prototype(vec![ipsec()]);
    let settings = Settings::lasting(Time::from_us(500));
    let flow = |vm: usize, size: u64, load: f64| {
        let arrivals = match it.load {
            Load::Messages => Arrivals::poisson_per_s(load * 250e6),
            Load::GbitPerS(rate) => Arrivals::poisson_gbit_per_s(Bytes(size), load * rate),
        };
        let flow = Flow::new(vm, Path::InlineRx, Bytes(size), arrivals);
        if it.ports { flow.over_port(vm) } else { flow }
    };
    let mut found = Vec::new();
    for load in 1..=9 {
        let flows = [
            flow(0, sizes.0, 0.1),
            flow(1, sizes.1, f64::from(load) / 10.0),
        ];
        let result = simulate(&platform, &flows, &it.mechanism, &settings)?;
        found.push([result.gbit_per_s(0), result.gbit_per_s(1)]);
    }
    Ok(found)
}

fn share(point: &[f64; 2]) -> f64 {
    point[0] / (point[0] + point[1])
}

/// The load at which both get the same, if VM2 overtakes VM1 anywhere.
fn fair(points: &[[f64; 2]]) -> String {
    let crossing = points.windows(2).enumerate().find_map(|(number, it)| {
        let [a, b] = [share(&it[0]) - 0.5, share(&it[1]) - 0.5];
        (a >= 0.0 && b < 0.0).then(|| (number as f64 + 1.0 + a / (a - b)) / 10.0)
    });
    crossing.map_or("none".to_owned(), |load| format!("{load:.2}"))
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "| reading | pattern 1: of 32 Gbit/s | pattern 1: equal at | pattern 4: equal at | \
         pattern 4: VM1's share | pattern 3: VM1, highest load over lowest |"
    );
    println!("|---|---|---|---|---|---|");
    println!("| the paper | 18 to 32 % | 0.70 | 0.30 | 26 to 75 % | above 1 |");
    for it in readings() {
        let [one, _, three, four] = PATTERNS.map(|sizes| points(&it, sizes));
        let (one, three, four) = (one?, three?, four?);
        let totals = one.iter().map(|rates| 100.0 * (rates[0] + rates[1]) / 32.0);
        let (low, high) = totals.fold((f64::MAX, 0.0_f64), |(a, b), it| (a.min(it), b.max(it)));
        let shares = four.iter().map(|rates| 100.0 * share(rates));
        let (least, most) = shares.fold((f64::MAX, 0.0_f64), |(a, b), it| (a.min(it), b.max(it)));
        println!(
            "| {} | {low:.0} to {high:.0} % | {} | {} | {least:.0} to {most:.0} % | {:.2} |",
            it.name,
            fair(&one),
            fair(&four),
            three[8][0] / three[0][0],
        );
    }
    Ok(())
}
