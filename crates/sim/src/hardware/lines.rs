//! A finer model of reads from memory, to measure the error of simulating whole transactions. Each
//! line of 64 B is requested separately, a cycle after the previous one, at the cache slice and the
//! memory controller of the line's address, and occupies each link separately. All resources serve
//! lines in the order of arrival.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use accelflow_kernel::attribute_unit;
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Cycles, Time};

use super::memory::{Memory, Source};
use super::network::Network;
use super::pipe::{Flow, Pipe};
use super::topology::Place;
use crate::config::Config;

const LINE: Bytes = Bytes(64);

/// A payload to be read.
#[derive(Clone, Copy, Debug)]
struct Read {
    at: Time,
    to: Place,
    address: u64,
    size: Bytes,
}

/// A stage that a line passes: the pipe, the time in it, and the latency to the next stage.
type Stage = (usize, Time, Time);

/// A line in transit, at a stage.
#[derive(Clone, Debug)]
struct Line {
    read: usize,
    tail: Time,
    stages: Vec<Stage>,
    next: usize,
}

struct Lines {
    config: Config,
    network: Network,
    memory: Memory,
    pipes: Vec<Pipe>,
}

impl Lines {
    fn new(config: &Config) -> Lines {
        let network = Network::new(config);
        let memory = &config.memory;
        let pipes = network.links() + memory.llc_slices + memory.controllers;
        Lines {
            memory: Memory::with_block(config, LINE),
            pipes: vec![Pipe::IDLE; pipes],
            network,
            config: config.clone(),
        }
    }

    /// The stage where a line begins to wait, and the stages from there.
    fn stages(&mut self, read: &Read, line: u64, cold: bool) -> (Time, Vec<Stage>) {
        let clock = self.config.core.clock;
        let memory = &self.config.memory;
        let (slice, _) = self.memory.home(line);
        let there = Place::Slice(slice as u16);
        let number = line - read.address / LINE.get();
        let asked = read.at + Cycles(number).at(clock) + latency(&mut self.network, read.to, there);
        let lookup = Cycles(LINE.get() / memory.llc_bytes).at(clock);
        let slices = self.network.links();
        let mut stages = vec![(slices + slice, lookup, memory.llc.at(clock))];
        if cold {
            let controller = self.memory.controller(line);
            let place = Place::Controller(controller as u16);
            // The command's way comes after the slice.
            stages[0].2 += latency(&mut self.network, there, place);
            let length = memory.dram_bandwidth.transfer(LINE);
            let controllers = slices + memory.llc_slices;
            stages.push((controllers + controller, length, memory.dram_latency));
            stages.extend(self.network.stages(place, there, LINE));
        }
        stages.extend(self.network.stages(there, read.to, LINE));
        (asked, stages)
    }

    /// How long each read takes.
    fn run(&mut self, reads: &[Read], cold: bool) -> Vec<Time> {
        let (mut lines, mut heap) = (Vec::new(), BinaryHeap::new());
        for (index, read) in reads.iter().enumerate() {
            let first = read.address / LINE.get();
            for number in first..first + read.size.get().div_ceil(LINE.get()) {
                let (asked, stages) = self.stages(read, number, cold);
                heap.push(Reverse((asked, lines.len())));
                lines.push(Line {
                    read: index,
                    tail: asked,
                    stages,
                    next: 0,
                });
            }
        }
        let mut done = vec![Time::ZERO; reads.len()];
        while let Some(Reverse((now, id))) = heap.pop() {
            let line = &mut lines[id];
            let Some(&(pipe, length, latency)) = line.stages.get(line.next) else {
                done[line.read] = done[line.read].max(line.tail);
                continue;
            };
            let flow = Flow {
                head: now,
                tail: line.tail,
            };
            let passed = self.pipes[pipe].pass(flow, length, latency);
            line.tail = passed.tail;
            line.next += 1;
            heap.push(Reverse((passed.head, id)));
        }
        done.iter()
            .zip(reads)
            .map(|(&done, read)| done - read.at)
            .collect()
    }
}

fn latency(network: &mut Network, from: Place, to: Place) -> Time {
    let (from, to) = (network.site(from), network.site(to));
    network.latency(from, to)
}

fn transactions(config: &Config, reads: &[Read], cold: bool) -> Vec<Time> {
    let mut network = Network::new(config);
    let mut memory = Memory::new(config);
    let read = |read: &Read| {
        let data = (read.address, read.size);
        if !cold {
            memory.deliver(&mut network, read.address, read.size, read.at);
        }
        memory.read(&mut network, data, Source::Memory, read.to, read.at) - read.at
    };
    reads.iter().map(read).collect()
}

/// Poisson arrivals of reads of `kib`, to two accelerators in turn, that load the links into each
/// accelerator's router to `load`. No two read the same data.
fn reads(kib: u64, load: f64, count: u64) -> Vec<Read> {
    let size = Bytes::from_kib(kib);
    let mean_s = size.get() as f64 / (38.4e9 * load) / 2.0;
    let mut now = Time::from_us(1);
    let read = |number: u64| {
        let random = attribute_unit(7, number, 0);
        now += Time::from_s_f64(-(1.0 - random).ln() * mean_s);
        let accel = [Accel::Ser, Accel::Dser][number as usize % 2];
        Read {
            at: now,
            to: Place::Accel(accel, 0),
            address: (1 << 40) + (attribute_unit(7, number, 1) * 4e9) as u64 * 65_536,
            size,
        }
    };
    (0..count).map(read).collect()
}

/// Mean and P99 in nanoseconds.
fn summary(mut times: Vec<Time>) -> (f64, f64) {
    times.sort_unstable();
    let sum: f64 = times.iter().map(|time| time.as_ns_f64()).sum();
    let tail = times[times.len() * 99 / 100].as_ns_f64();
    (sum / times.len() as f64, tail)
}

/// By how much transactions differ from lines, in mean and P99, as shares of the latter.
fn difference(kib: u64, load: f64, cold: bool) -> (f64, f64) {
    let config = Config::default();
    let reads = reads(kib, load, 2_000);
    let addresses: HashSet<u64> = reads.iter().map(|read| read.address).collect();
    assert_eq!(addresses.len(), reads.len());
    let coarse = summary(transactions(&config, &reads, cold));
    let fine = summary(Lines::new(&config).run(&reads, cold));
    println!(
        "{kib:3} KiB, load {load}, cold {cold:5}: transactions {:7.1} {:7.1} ns, lines {:7.1} {:7.1} ns",
        coarse.0, coarse.1, fine.0, fine.1
    );
    (coarse.0 / fine.0 - 1.0, coarse.1 / fine.1 - 1.0)
}

#[test]
fn transactions_are_as_late_as_their_lines() {
    // Payloads and loads, in the cache or not, with the bounds of docs/simulator-reasons.md.
    let cases = [
        (2, 0.1, false, 0.05, 0.15),
        (2, 0.5, false, 0.10, 0.15),
        (8, 0.1, false, 0.05, 0.15),
        (8, 0.5, false, 0.10, 0.15),
        (2, 0.1, true, 0.05, 0.15),
        (8, 0.5, true, 0.10, 0.15),
    ];
    for (kib, load, cold, mean_bound, tail_bound) in cases {
        let (mean, tail) = difference(kib, load, cold);
        let what = format!("{kib} KiB at {load}: {mean} {tail}");
        assert!(mean.abs() < mean_bound, "{what}");
        assert!(tail.abs() < tail_bound, "{what}");
    }
}

#[test]
fn a_single_line_takes_the_same_in_both() {
    let config = Config::default();
    for cold in [false, true] {
        let read = Read {
            at: Time::from_us(1),
            to: Place::Accel(Accel::Ser, 0),
            address: 1 << 40,
            size: LINE,
        };
        let mut fine = Lines::new(&config);
        let lines = fine.run(&[read], cold);
        let mut network = Network::new(&config);
        let mut memory = Memory::with_block(&config, LINE);
        if !cold {
            memory.deliver(&mut network, read.address, read.size, read.at);
        }
        let data = (read.address, read.size);
        let done = memory.read(&mut network, data, Source::Memory, read.to, read.at);
        assert_eq!(lines, [done - read.at]);
    }
}
