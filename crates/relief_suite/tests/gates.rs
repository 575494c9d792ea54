//! Small graphs whose times are sums that can be written down: each latency counts where it
//! should, and by its exact size.

#![allow(clippy::unwrap_used)]

use accelflow_relief_suite::dag::Operation::{Add, Convolution5, Grayscale, Isp, Sqr};
use accelflow_relief_suite::dag::{Dag, Kind, Source};
use accelflow_relief_suite::parameters::PARAMETERS;
use accelflow_relief_suite::{
    Load, Manager, Orchestrator, Payload, Platform, SimulationResult, simulate,
};
use accelflow_units::{Bytes, Time};

const RAW: Source = Source::Memory(Bytes::from_kib(64));
const KERNEL: Source = Source::Memory(Bytes(64));

fn us(us: f64) -> Time {
    Time::from_ns_f64(us * 1e3)
}

/// Sensor to grey.
fn chain() -> Dag {
    let mut dag = Dag::new("chain", Time::from_us(1_000));
    let colour = dag.task(Isp, &[RAW]).unwrap();
    dag.task(Grayscale, &[Source::Task(colour)]).unwrap();
    dag
}

/// A short and a long arm that a sum joins.
fn join() -> Dag {
    let mut dag = Dag::new("join", Time::from_us(5_000));
    let short = dag.task(Isp, &[RAW]).unwrap();
    let long = dag.task(Convolution5, &[RAW, KERNEL]).unwrap();
    dag.task(Add, &[Source::Task(short), Source::Task(long)])
        .unwrap();
    dag
}

fn alone(dag: &Dag, platform: &Platform, orchestrator: Orchestrator) -> SimulationResult {
    simulate(dag, platform, orchestrator, &Load::closed(1, 1)).unwrap()
}

#[test]
fn a_chain_under_relief_is_the_sum_of_its_phases() {
    let run = alone(&chain(), &Platform::default(), Orchestrator::Relief);
    // Load, compute, forward of 48 KiB, compute, store; an interrupt after each.
    let expected = us(11.8 + 35.0 + 0.75 * 10.3 + 10.0 + 6.3 + 5.0 * 2.0);
    assert_eq!(run.makespan, expected);
    assert_eq!((run.interrupts, run.forwards, run.reloads), (5, 1, 0));
    assert_eq!(run.manager, us(10.0));
}

#[test]
fn one_step_of_any_latency_changes_the_chain_by_what_it_occurs() {
    let step = Time::from_ns(64);
    let base = alone(&chain(), &Platform::default(), Orchestrator::Relief).makespan;
    for (change, occurs) in [
        (
            (|p: &mut Platform, s| p.load += s) as fn(&mut Platform, Time),
            1.0,
        ),
        (|p, s| p.store += s, 1.0),
        (|p, s| p.forward += s, 0.75),
        (
            |p, s| p.manager = Manager::PerInterrupt(Time::from_us(2) + s),
            5.0,
        ),
    ] {
        let mut platform = Platform::default();
        change(&mut platform, step);
        let changed = alone(&chain(), &platform, Orchestrator::Relief).makespan;
        assert_eq!(changed, base + step.scale(occurs));
    }
}

#[test]
fn a_manager_charged_by_the_task_serves_completions_alone() {
    let platform = Platform {
        manager: Manager::PerTask(us(1.5)),
        ..Platform::default()
    };
    let run = alone(&chain(), &platform, Orchestrator::Relief);
    assert_eq!(run.manager, us(3.0));
    assert_eq!(
        run.makespan,
        us(11.8 + 35.0 + 0.75 * 10.3 + 10.0 + 6.3 + 2.0 * 1.5)
    );
}

/// Between a queue and a scratchpad, at 100 GB/s and 10 ns.
fn queue(kib: u64) -> Time {
    Time::from_ns(10) + Time::from_ps(kib * 1024 * 10)
}

#[test]
fn a_chain_under_accelflow_is_the_sum_of_its_transfers() {
    let run = alone(&chain(), &Platform::default(), Orchestrator::AccelFlow);
    let first = us(11.8) + queue(64) + us(35.0) + queue(48);
    let hop = Time::from_ns(18) + us(0.75 * 10.3);
    let second = queue(48) + us(10.0) + queue(64) + Time::from_ns(18) + us(6.3);
    assert_eq!(run.makespan, first + hop + second);
    assert_eq!((run.interrupts, run.manager), (0, Time::ZERO));
}

#[test]
fn one_step_of_accelflows_latencies_changes_the_chain() {
    let step = Time::from_ns(64);
    let base = alone(&chain(), &Platform::default(), Orchestrator::AccelFlow).makespan;
    for (change, occurs) in [
        (
            (|p: &mut Platform, s| p.load += s) as fn(&mut Platform, Time),
            1.0,
        ),
        (|p, s| p.store += s, 1.0),
        (|p, s| p.forward += s, 0.75),
        (|p, s| p.dispatch += s, 2.0),
        (|p, s| p.queue_latency += s, 4.0),
    ] {
        let mut platform = Platform::default();
        change(&mut platform, step);
        let changed = alone(&chain(), &platform, Orchestrator::AccelFlow).makespan;
        assert_eq!(changed, base + step.scale(occurs));
    }
}

#[test]
fn an_entry_with_several_sources_is_ready_when_the_last_has_arrived() {
    let run = alone(&join(), &Platform::default(), Orchestrator::AccelFlow);
    let kernel = queue(64) + Time::from_ps(64 * 10);
    let long = us(11.8) + kernel + us(1_545.6) + queue(64);
    let hop = Time::from_ns(18) + us(10.3);
    // The sum loads 48 and 64 KiB at once.
    let sum = queue(112) + us(10.92) + queue(64) + Time::from_ns(18) + us(6.3);
    assert_eq!(run.makespan, long + hop + sum);
    assert_eq!(run.forwards, 2);
}

#[test]
fn the_short_arm_does_not_release_the_join() {
    // Without the long arm the sum starts as soon as the short one is there.
    let mut dag = Dag::new("short", Time::from_us(5_000));
    let short = dag.task(Isp, &[RAW]).unwrap();
    dag.task(Sqr, &[Source::Task(short)]).unwrap();
    let short = alone(&dag, &Platform::default(), Orchestrator::AccelFlow).makespan;
    let joined = alone(&join(), &Platform::default(), Orchestrator::AccelFlow).makespan;
    assert!(joined > short + us(1_500.0));
}

#[test]
fn one_a_dma_engine_serialises_what_ten_overlap() {
    let one = Platform {
        adma_engines: 1,
        ..Platform::default()
    };
    let base = alone(&join(), &Platform::default(), Orchestrator::AccelFlow).makespan;
    // The long arm's image waits for the short arm's, and its kernel for both.
    let serial = us(11.8) + Time::from_ps(11_800_000 * 64 / 65_536 + 1);
    let delayed = alone(&join(), &one, Orchestrator::AccelFlow).makespan;
    assert_eq!(delayed, base + serial);
}

#[test]
fn a_full_queue_sends_entries_through_the_overflow_area_and_loses_none() {
    let load = Load::closed(8, 40);
    let tight = Platform {
        queue_entries: 1,
        ..Platform::default()
    };
    let wide = Platform {
        queue_entries: 4_096,
        ..Platform::default()
    };
    let run = |p| simulate(&join(), p, Orchestrator::AccelFlow, &load).unwrap();
    assert!(run(&tight).overflows > 0);
    assert_eq!(run(&wide).overflows, 0);
    assert_eq!(run(&tight).latency.count(), 40);
    assert!(run(&tight).latency.mean_ps() > run(&wide).latency.mean_ps());
}

#[test]
fn results_behind_a_pointer_are_loaded_while_the_element_waits() {
    let platform = Platform {
        payload: Payload::ByPointer,
        ..Platform::default()
    };
    let run = alone(&chain(), &platform, Orchestrator::AccelFlow);
    let latency = Time::from_ns(10);
    let first = latency + us(11.8) + us(35.0) + queue(48);
    let stored = Time::from_ns(18) + us(0.75 * 6.3);
    let second = latency + us(0.75 * 11.8) + us(10.0) + queue(64);
    assert_eq!(
        run.makespan,
        first + stored + second + Time::from_ns(18) + us(6.3)
    );
    assert_eq!((run.forwards, run.reloads), (0, 1));
}

#[test]
fn impossible_settings_are_refused() {
    let mut dag = Dag::new("bad", Time::from_us(1));
    let later = dag.task(Isp, &[Source::Task(0)]).unwrap_err();
    assert_eq!(
        later.to_string(),
        "index of a task that provides an input = 0: must be below 0, the index of the task that \
         uses it"
    );
    assert_eq!(
        dag.task(Isp, &[]).unwrap_err().to_string(),
        "number of inputs of a task = 0: must be 1 or 2"
    );
    let run = |dag: &Dag, platform: &Platform, load: &Load| {
        simulate(dag, platform, Orchestrator::Relief, load)
            .unwrap_err()
            .to_string()
    };
    let fine = Platform::default();
    assert_eq!(
        run(&dag, &fine, &Load::closed(1, 1)),
        "number of tasks of the application = 0: must be at least 1"
    );
    assert_eq!(
        run(&chain(), &fine, &Load::closed(0, 1)),
        "number of graphs in flight = 0: must be at least 1"
    );
    assert_eq!(
        run(&chain(), &fine, &Load::closed(1, 0)),
        "graphs = 0: must be above the number of graphs in the warm-up (0)"
    );
    let mut without = Platform::default();
    without.units[Kind::Isp.index()] = 0;
    assert_eq!(
        run(&chain(), &without, &Load::closed(1, 1)),
        "number of accelerators of kind isp = 0: must be from 1 to 64"
    );
}

#[test]
fn the_table_of_parameters_is_sound() {
    assert_eq!(PARAMETERS.faults(Platform::default), Vec::<String>::new());
}
